"""Data alarms on the page, and the items' own effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

RAW = {"features": {"price": {"kind": "numeric"}, "<b>seats</b>": {"kind": "numeric"}}}
LUMINANCE = """
(element) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((each) => {
    const share = each / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = (colour) => {
    const [red, green, blue] = channels(colour);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [text, card] = [element, element.closest(".card")].map((each) => getComputedStyle(each));
  const both = [light(text.color), light(card.backgroundColor)];
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}
"""


@pytest.fixture(scope="module")
def raw(served: Adverts) -> Adverts:
    """A model of raw prices beside the healthy one."""
    settings = {"schema": RAW, "prior_variance": 10.0}
    served.ask("POST", "models", {"name": "raw", "settings": settings})
    items = {f"ad-{k}": {"price": 9_000.0 + 500 * k, "<b>seats</b>": 4.0} for k in range(6)}
    served.ask("PUT", "models/raw/items", {"items": items})
    served.answer("raw", [float(k % 5 == 0) for k in range(100)])
    return served


@pytest.fixture(params=["light", "dark"])
def seen(request: pytest.FixtureRequest, chromium: Browser, raw: Adverts) -> Iterator[Visitor]:
    scheme: Literal["light", "dark"] = request.param
    arriving = Visitor.arriving(chromium, raw.url, path="/?model=raw", color_scheme=scheme)
    with arriving as found:
        found.see_figures()
        yield found
        assert found.faults == []


def test_alarms_are_told_in_words(seen: Visitor, raw: Adverts) -> None:
    told = raw.ask("GET", "models/raw/alarms")["alarms"]
    assert {each["kind"] for each in told} >= {"number out of scale", "constant number"}
    panel = seen.page.get_by_role("region", name="Data alarms")
    expect(panel).to_be_visible()
    lines = panel.get_by_role("listitem")
    expect(lines).to_have_count(len(told))
    for line, each in zip(lines.all_inner_texts(), told, strict=True):
        assert each["text"] in line
        assert each["subject"] in line
    expect(seen.page.locator("#state .alarm")).to_have_text(f"Data: {len(told)} alarms")


def test_alarms_can_be_read_in_light_and_dark(seen: Visitor) -> None:
    """4.5 to 1 is what WCAG asks of text."""
    panel = seen.page.locator("#alarms")
    for part in ("h2", "li", "strong"):
        assert panel.locator(part).first.evaluate(LUMINANCE) >= 4.5


def test_a_model_without_alarms_has_no_panel(visitor: Visitor, served: Adverts) -> None:
    visitor.page.goto(f"{visitor.url}/?model=cars")
    visitor.see_figures()
    assert served.ask("GET", "models/cars/alarms") == {"alarms": []}
    expect(visitor.page.locator("#alarms")).to_be_hidden()
    expect(visitor.page.locator("#state .alarm")).to_have_count(0)


def test_items_have_their_own_effects(visitor: Visitor, served: Adverts) -> None:
    visitor.page.goto(f"{visitor.url}/?model=cars")
    visitor.see_figures()
    tallies: list[dict[str, Any]] = served.ask("GET", "models/cars/stats")["top_items"]
    heads = visitor.page.locator("#items thead th").all_inner_texts()
    place = heads.index("Own effect")
    rows = visitor.page.locator("#items tbody tr")
    for row, tally in zip(rows.all(), tallies, strict=False):
        effect = tally["effect"]
        shown = row.locator("th, td").nth(place).inner_text().replace("\u2212", "-")
        assert shown == f"{effect['mean']:.2f} ± {effect['sd']:.2f}".replace("-0.00", "0.00")
    expect(visitor.page.locator("#effects-note")).to_be_visible()


def test_items_without_effects_have_no_such_column(seen: Visitor) -> None:
    assert "Own effect" not in seen.page.locator("#items thead th").all_inner_texts()
    expect(seen.page.locator("#effects-note")).to_be_hidden()
