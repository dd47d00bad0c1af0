from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

ACTIVE = "document.activeElement.id || document.activeElement.textContent.trim()"


def walk_to(visitor: Visitor, name: str) -> list[str]:
    """Press Tab until an element has the focus; what had it on the way."""
    path: list[str] = []
    while not path or path[-1] != name:
        visitor.page.keyboard.press("Tab")
        path.append(visitor.page.evaluate(ACTIVE))
        assert len(path) < 30, path
    return path


def test_tab_reaches_everything_in_order(visitor: Visitor) -> None:
    visitor.see_figures()
    path = walk_to(visitor, "Why?")
    assert path == [
        "Skip to the figures",
        "All models",
        "API",
        "model",
        "minutes",
        "filter",
        "Why?",
    ]


def test_the_focus_can_be_seen(visitor: Visitor) -> None:
    visitor.see_figures()
    for name in ("model", "filter", "Why?"):
        walk_to(visitor, name)
        width = visitor.page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert width == "2px"


def test_enter_opens_why_and_escape_returns_to_its_button(visitor: Visitor) -> None:
    visitor.see_figures()
    walk_to(visitor, "Why?")
    label = visitor.page.evaluate("document.activeElement.ariaLabel")
    visitor.page.keyboard.press("Enter")
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert visitor.page.evaluate("why.contains(document.activeElement)")
    visitor.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert visitor.page.evaluate("document.activeElement.ariaLabel") == label


def test_a_table_in_use_stays_as_it_is(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    walk_to(visitor, "Why?")
    served.decide("cars", candidates={"meanwhile": {"make": "kia", "age": 2}})
    expect(visitor.page.locator("#held")).to_be_visible(timeout=20_000)
    row = visitor.page.locator("#decisions tbody tr", has_text="meanwhile")
    visitor.page.wait_for_timeout(1_500)
    assert row.count() == 0
    visitor.page.keyboard.press("Shift+Tab")
    expect(row).to_be_visible(timeout=20_000)
    expect(visitor.page.locator("#held")).to_be_hidden()


def test_the_skip_link_skips_the_header(visitor: Visitor) -> None:
    visitor.see_figures()
    walk_to(visitor, "Skip to the figures")
    visitor.page.keyboard.press("Enter")
    visitor.page.keyboard.press("Tab")
    assert visitor.page.evaluate(ACTIVE) == "filter"


def test_every_control_has_a_name(visitor: Visitor) -> None:
    visitor.see_figures()
    for role in ("button", "combobox", "searchbox"):
        controls = visitor.page.get_by_role(role)
        assert controls.count() > 0
        for control in controls.all():
            expect(control).to_have_accessible_name(re.compile(r"\w+"))
