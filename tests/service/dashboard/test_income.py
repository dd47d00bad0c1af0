"""What the page shows of a model whose clicks have values."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "is_mobile": True}


@pytest.fixture(scope="module")
def shop(served: Adverts) -> Adverts:
    """A model whose items have prices and fees; every impression is known."""
    served.make_model("shop", value_feature="price", cost_feature="fee", holdback=0.5)
    items = {f"advert-{k}": {"make": "kia", "price": 400.0 * k, "fee": 0.01} for k in range(6)}
    served.ask("PUT", "models/shop/items", {"items": items})
    served.answer("shop", [float(k % 3 == 0) for k in range(24)])
    return served


def tile(visitor: Visitor, name: str) -> Any:
    page = visitor.page
    return page.locator(".tile", has=page.locator("dt", has_text=name))


def written(number: float) -> str:
    """As the page writes amounts; none of these lies half way between two."""
    text = f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
    return text.replace("-", "−")


def test_income_stands_beside_clicks(chromium: Browser, shop: Adverts) -> None:
    stats = shop.ask("GET", "models/shop/stats")
    assert sum(each["impressions"] for each in stats["buckets"]) == 24
    with Visitor.arriving(chromium, shop.url, path="/?model=shop") as visitor:
        visitor.see_figures()
        for arm in ("bandit", "holdback"):
            buckets = [each for each in stats["buckets"] if each["arm"] == arm]
            income = sum(each["income"] for each in buckets)
            assert income == stats["income"][arm]
            assert income > 100
            found = tile(visitor, f"Income {arm}")
            expect(found.locator(".value")).to_have_text(written(income))
            many = sum(each["impressions"] for each in buckets)
            expect(found.locator(".note")).to_have_text(f"{written(income / many)} an impression")
        head = visitor.page.locator("#items thead th").all_inner_texts()
        assert head[2:4] == ["Clicks", "Income"]
        first = visitor.page.locator("#items tbody tr").first.locator("td, th").all_inner_texts()
        tally = next(each for each in stats["top_items"] if each["item"] == first[0])
        assert first[3] == written(tally["income"])
        assert visitor.faults == []


def test_without_values_there_is_none(visitor: Visitor) -> None:
    visitor.see_figures()
    assert visitor.page.locator(".tile").count() == 6
    assert "Income" not in visitor.page.locator("#figures").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_room_for_it(chromium: Browser, shop: Adverts, scheme: str) -> None:
    screen = {**PHONE, "color_scheme": scheme}
    with Visitor.arriving(chromium, shop.url, path="/?model=shop", **screen) as visitor:
        visitor.see_figures()
        expect(tile(visitor, "Income bandit")).to_be_visible()
        assert visitor.overflow() == 0
        assert visitor.faults == []


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (-0.5, "−0.5"), (99.96, "100"), (-1234.5, "−1,234")],
)
def test_amounts_in_words(visitor: Visitor, number: float, text: str) -> None:
    script = "return module.amount(values[0]);"
    assert visitor.evaluate("/dashboard/numbers.js", script, number) == text
