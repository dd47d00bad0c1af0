"""All models, and what an admin does from the page: make one, give it items, try a decision."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"
ITEMS = {
    "tea": {"price": 4, "_name": "Green tea", "_image": PICTURE},
    "mug": {"price": 9, "_image": "https://elsewhere.example/mug.png"},
}
KEPT = "[Object.values(sessionStorage), Object.keys(localStorage), document.cookie]"


def test_a_model_is_made_and_tried(chromium: Browser, locked: Adverts) -> None:
    key = locked.ask("POST", "keys", {"name": "me", "roles": ["admin"]})["key"]
    with Visitor.arriving(chromium, locked.url, path="/?view=models") as visitor:
        page = visitor.page
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        expect(page.locator("#models tbody tr")).to_have_count(1)
        page.get_by_label("Name").fill("shop")
        page.get_by_role("button", name="Make the model").click()
        expect(page.get_by_label("Model", exact=True)).to_have_value("shop", timeout=60_000)
        page.get_by_text("Put items").click()
        page.get_by_label("Items as JSON").fill("{not JSON")
        page.get_by_role("button", name="Put them").click()
        expect(page.locator("#new-items-said")).to_contain_text("This is not JSON")
        page.get_by_label("Items as JSON").fill(json.dumps(ITEMS))
        page.get_by_role("button", name="Put them").click()
        expect(page.locator("#new-items-said")).to_have_text("Version 1 of the catalogue.")
        page.get_by_text("Try a decision").click()
        page.get_by_label("Context as JSON").fill('{"device": "tv"}')
        for button in ("It was clicked", "It was not"):
            page.get_by_role("button", name="Decide").click()
            expect(page.locator("#tried table")).to_contain_text("Green tea")
            page.get_by_role("button", name=button).click()
            expect(page.locator("#tried [role=status]")).to_have_text("Feedback applied.")
        stats = locked.ask("GET", "models/shop/stats")
        assert (stats["decisions"], stats["impressions"]) == (2, 2)
        assert page.evaluate(KEPT) == [[key], [], ""]
        see_names(visitor, locked)
        assert [each for each in visitor.faults if "401" not in each] == []


def see_names(visitor: Visitor, site: Adverts) -> None:
    """Names and pictures of the catalogue; what would come from elsewhere is not loaded."""
    for item in ("tea", "mug"):
        site.decide("shop", items=[item])
    items = visitor.page.locator("#items tbody tr")
    expect(items).to_have_count(2)
    expect(items.filter(has_text="Green tea").locator("img")).to_have_count(1)
    expect(items.filter(has_text="mug").locator("img")).to_have_count(0)
    expect(visitor.page.locator("#decisions")).to_contain_text("Green tea")


def test_a_key_that_may_only_read_is_told_so(chromium: Browser, locked: Adverts) -> None:
    key = locked.ask("POST", "keys", {"name": "reader", "roles": ["read"]})["key"]
    with Visitor.arriving(chromium, locked.url, path="/?view=models") as visitor:
        visitor.page.get_by_label("API key").fill(key)
        visitor.page.keyboard.press("Enter")
        visitor.page.get_by_label("Name").fill("shop")
        visitor.page.get_by_role("button", name="Make the model").click()
        expect(visitor.page.locator("#new-model-said")).to_contain_text("role admin")
        assert len(locked.ask("GET", "models")["models"]) == 1


def test_all_models_lead_to_each(visitor: Visitor) -> None:
    visitor.page.get_by_role("link", name="All models").click()
    row = visitor.page.locator("#models tbody tr", has_text="cars")
    expect(row).to_contain_text("clicks")
    expect(visitor.page.locator("#figures")).to_be_hidden()
    row.get_by_role("link", name="cars").click()
    visitor.see_figures()
