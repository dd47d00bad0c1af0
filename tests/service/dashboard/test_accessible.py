"""Nothing that axe-core finds serious, at a desk and on a phone, light and dark."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.accessible import problems
from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize(("scheme", "screen"), [("light", {}), ("dark", PHONE)])
def test_every_view(
    chromium: Browser, served: Adverts, scheme: str, screen: dict[str, Any]
) -> None:
    with Visitor.arriving(chromium, served.url, color_scheme=scheme, **screen) as visitor:
        visitor.see_figures()
        for summary in visitor.page.locator("summary").all():
            summary.click()
        assert problems(visitor.page) == []
        visitor.page.get_by_role("button", name="Why").first.click()
        expect(visitor.page.locator("#why-body tfoot").first).to_be_attached()
        assert problems(visitor.page) == []
        visitor.page.goto(f"{visitor.url}/?view=models")
        expect(visitor.page.locator("#models tbody tr").first).to_be_visible()
        assert problems(visitor.page) == []
        assert visitor.overflow() == 0
        assert visitor.faults == []


def test_what_is_wrong_is_found(visitor: Visitor) -> None:
    visitor.see_figures()
    visitor.page.evaluate("document.querySelector('label[for=filter]').remove()")
    visitor.page.evaluate("document.getElementById('filter').removeAttribute('placeholder')")
    assert any(each.startswith("label: ") for each in problems(visitor.page))
