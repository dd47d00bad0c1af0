"""The reference of the API at /docs, in a browser: a key is entered, and a call is tried."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.accessible import problems
from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.test_accessible import PHONE
from tests.service.dashboard.visitor import Visitor

MAKING = "#operations-Models-create_model"


def test_a_call_is_tried_with_a_key(chromium: Browser, locked: Adverts) -> None:
    key = locked.ask("POST", "keys", {"name": "reader", "roles": ["admin"]})["key"]
    with Visitor.arriving(chromium, locked.url, path="/docs") as visitor:
        page = visitor.page
        page.locator(".auth-wrapper .authorize").first.click()
        page.get_by_label("auth-bearer-value").fill(key)
        page.get_by_role("button", name="Authorize").nth(1).click()
        page.get_by_label("Close").first.click()
        page.locator(f"{MAKING} .opblock-summary-control").click()
        asked = json.loads(page.get_by_label("Request body").input_value())
        assert asked["name"] == "shop"
        page.get_by_role("button", name="Execute").click()
        expect(page.locator(".live-responses-table .response-col_status").last).to_have_text("201")
        assert problems(page) == []
        assert visitor.faults == []
    assert [each["name"] for each in locked.ask("GET", "models")["models"]] == ["cars", "shop"]


def test_it_can_be_read_in_the_dark_on_a_phone(chromium: Browser, locked: Adverts) -> None:
    dark = {"color_scheme": "dark", **PHONE}
    with Visitor.arriving(chromium, locked.url, path="/docs", **dark) as visitor:
        operation = visitor.page.locator(MAKING)
        operation.locator(".opblock-summary-control").click()
        expect(operation.locator(".responses-table").first).to_be_visible()
        assert problems(visitor.page, firsts=MAKING) == []
        assert visitor.overflow() == 0
        assert visitor.faults == []
