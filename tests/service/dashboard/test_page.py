from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_decision_is_shown_within_two_seconds(visitor: Visitor, served: Adverts) -> None:
    """Two seconds of the page's clock: how long the machine takes to answer does not count."""
    clock, row = visitor.page.clock, visitor.page.locator("#decisions tbody tr", has_text="newest")
    clock.install()
    clock.pause_at(visitor.page.evaluate("Date.now() + 1_000"))
    visitor.page.reload()
    visitor.see_figures()
    served.decide("cars", candidates={"newest": {"make": "ford", "age": 1}})
    clock.run_for(2_000)
    expect(row).to_be_visible(timeout=20_000)


def test_tiles_agree_with_the_counts(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    stats = served.ask("GET", "models/cars/stats")
    sums = {
        name: sum(bucket[name] for bucket in stats["buckets"])
        for name in ("decisions", "impressions", "clicks")
    }
    assert sums["impressions"] == 20
    assert sums["clicks"] == 10
    for name, label in [("decisions", "Decisions"), ("impressions", "Impressions")]:
        assert visitor.figure(label) == str(sums[name])
    assert visitor.figure("Clicks") == "10"


def test_charts_have_names_and_their_numbers_as_tables(visitor: Visitor) -> None:
    visitor.see_figures()
    for chart in ("calibration", "entropy"):
        holder = visitor.page.locator(f"#{chart}")
        assert holder.get_by_role("img").get_attribute("aria-label")
        assert holder.locator("table thead th[scope=col]").count() >= 3


def test_what_was_learnt_is_filtered_by_name(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    visitor.page.get_by_label("Filter").fill("MAKE = KIA")
    tables = visitor.page.locator("#learnt tbody")
    assert [each.locator(".name").all_inner_texts() for each in tables.all()] == [
        ["make = kia"],
        _pairs(served, "kia"),
    ]
    visitor.page.get_by_label("Filter").fill("no such level")
    expect(visitor.page.locator("#learnt")).to_have_text("Nothing has “no such level” in its name.")


def _pairs(served: Adverts, make: str) -> list[str]:
    """Who likes it, the best first."""
    pairs = [e for e in served.ask("GET", "models/cars/contrasts")["pairs"] if e["level"] == make]
    pairs.sort(key=lambda each: -each["mean"])
    return [f"{each['context']} = {each['context_level']}: make = {make}" for each in pairs]


def test_why_shows_what_the_explanation_says(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    decision = served.ask("GET", "models/cars/decisions?limit=1")["decisions"][0]
    told = served.ask("GET", f"models/cars/explanations/{decision['decision_id']}")
    visitor.page.get_by_role("button", name="Why").first.click()
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=2)).to_have_text(f"Why {decision['item']}?")
    expect(dialog.locator("code")).to_have_text(decision["decision_id"])
    total = sum(each["contribution"] for each in told["contributions"])
    size = f"{abs(total):.2f}"
    expect(dialog.locator("tfoot strong")).to_have_text(
        f"−{size}" if total < 0 and float(size) else size
    )
    names = dialog.locator("table").first.locator("tbody .name").all_inner_texts()
    assert names == [each["name"] for each in told["contributions"]][:15]


def test_names_from_outside_are_only_text(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    served.decide("cars", context={"device": HOSTILE}, candidates={HOSTILE: {"make": HOSTILE}})
    row = visitor.page.locator("#decisions tbody tr", has_text=HOSTILE)
    expect(row).to_be_visible(timeout=20_000)
    row.get_by_role("button").click()
    expect(visitor.page.locator("#why-title")).to_have_text(f"Why {HOSTILE}?")
    expect(visitor.page.locator("#why-body tfoot")).to_be_visible()
    assert visitor.page.locator("img[src=x]").count() == 0


def test_a_model_is_picked_and_kept_in_the_address(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    served.make_model("vans", mode="logging-only")
    expect(visitor.page.locator("#model option")).to_have_count(2, timeout=20_000)
    visitor.page.get_by_label("Model", exact=True).select_option("vans")
    expect(visitor.page.locator("#state")).to_contain_text("Mode: logging-only", timeout=20_000)
    expect(visitor.page.locator("#decisions")).to_have_text("No decisions yet.")
    visitor.page.reload()
    visitor.see_figures()
    assert visitor.page.get_by_label("Model", exact=True).input_value() == "vans"
    served.ask("DELETE", "models/vans")
    expect(visitor.page.get_by_label("Model", exact=True)).to_have_value("cars", timeout=20_000)
    visitor.faults[:] = [each for each in visitor.faults if "404" not in each]


def test_a_hidden_page_asks_nothing(visitor: Visitor) -> None:
    visitor.see_figures()
    hide = """(hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    visitor.page.evaluate(hide, True)
    visitor.wait_until_quiet()
    with visitor.page.expect_request("**/stats*", timeout=60_000):
        visitor.page.evaluate(hide, False)


def test_counts_of_long_periods_are_asked_for_less_often(visitor: Visitor) -> None:
    visitor.see_figures()
    with visitor.page.expect_request("**/stats?minutes=10080", timeout=60_000):
        visitor.page.get_by_label("Period").select_option("7 days")
    visitor.asked.clear()
    began = time.monotonic()
    for _ in range(3):
        with visitor.page.expect_request("**/decisions?limit=20", timeout=60_000):
            pass
    asked = [each.rpartition("/")[2] for each in visitor.asked]
    # The counts of a week are good for 35 s.
    assert asked.count("stats?minutes=10080") <= (time.monotonic() - began) // 30


@pytest.mark.parametrize(
    ("scheme", "darkest", "brightest"), [("light", 0.9, 1.0), ("dark", 0.0, 0.15)]
)
def test_the_page_is_light_or_dark(
    chromium: Browser, served: Adverts, scheme: str, darkest: float, brightest: float
) -> None:
    with Visitor.arriving(chromium, served.url, color_scheme=scheme) as visitor:
        visitor.see_figures()
        assert darkest <= visitor.background() <= brightest
        assert visitor.faults == []


def test_a_phone_needs_no_sideways_scrolling(chromium: Browser, served: Adverts) -> None:
    served.decide(
        "cars", candidates={"the-longest-name-of-all-adverts": {"make": "ford", "age": 1}}
    )
    phone: dict[str, Any] = {
        "viewport": {"width": 360, "height": 740},
        "has_touch": True,
        "is_mobile": True,
    }
    with Visitor.arriving(chromium, served.url, **phone) as visitor:
        visitor.see_figures()
        assert visitor.overflow() == 0
        visitor.page.get_by_role("button", name="Why").first.tap()
        expect(visitor.page.locator("#why-body tfoot")).to_be_attached()
        inside = "why.scrollWidth - why.clientWidth"
        assert (visitor.page.evaluate(inside), visitor.overflow()) == (0, 0)
        assert visitor.faults == []


def test_nothing_moves_for_those_who_want_no_motion(chromium: Browser, served: Adverts) -> None:
    with Visitor.arriving(chromium, served.url, reduced_motion="reduce") as visitor:
        visitor.see_figures()
        moving = """[...document.querySelectorAll("*")].filter((each) => {
            const { transitionDuration, animationName } = getComputedStyle(each);
            return transitionDuration !== "0s" || animationName !== "none";
        }).length"""
        assert visitor.page.evaluate(moving) == 0
