"""What the bandit earns, in words; and how much of what it promises is selection."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from fabcost.service.models.totals import Trial, gain
from fabcost.service.store.rows import CountRow
from fabcost.wire.statistics import Foretold
from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

SETTINGS = {"holdback": 0.1}


def lift_of(ours: tuple[int, int], theirs: tuple[int, int]) -> Any:
    """As a server tells it: clicks and impressions of both arms."""
    rows = [
        CountRow("cars", 0.0, arm, shown, shown, clicks, 0.0, 0.0, 0.0, clicks, clicks)
        for arm, (clicks, shown) in (("bandit", ours), ("holdback", theirs))
    ]
    found = gain(rows, Trial(held=0.0, since=0.0, wait=1.0), now=1e6)
    return {name: getattr(found, name) for name in found.__struct_fields__}  # type: ignore[union-attr]


def told(visitor: Visitor, lift: Any, settings: Any = SETTINGS, **stats: Any) -> list[str]:
    given = {"decisions": 9, "pending": 4, "buckets": [], "lift": lift, **stats}
    script = "return module.headline(...values)"
    found = visitor.evaluate("/dashboard/headline.js", script, given, settings)
    return [found[name].replace("\u00a0", " ") for name in ("verdict", "text", "note")]


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict", "words"),
    [
        ((400, 4000), (10, 400), "better", "The bandit earns +300 % clicks over the holdback"),
        ((40, 4000), (100, 1000), "worse", "The bandit earns fewer clicks than the holdback"),
        ((12, 100), (1, 10), "unknown", "Not known yet whether the bandit earns more clicks than"),
        ((4, 40), (0, 4), "early", "Too early to tell: 4 clicks of 40 so far, beside none of 4 by"),
        ((900, 4000), (0, 400), "early", "The bandit earns at least +"),
    ],
)
def test_an_interval_in_words(
    visitor: Visitor, ours: tuple[int, int], theirs: tuple[int, int], verdict: str, words: str
) -> None:
    found, text, note = told(visitor, lift_of(ours, theirs))
    assert (found, text[: len(words)]) == (verdict, words)
    assert f"{theirs[0]} of {theirs[1]:,} by the holdback" in note


def test_clicks_gained_are_those_of_the_interval(visitor: Visitor) -> None:
    text = told(visitor, lift_of((400, 4000), (10, 400)))[1]
    assert text.endswith(": about 300 clicks gained.")


def test_before_there_is_an_interval(visitor: Visitor) -> None:
    assert told(visitor, None, decisions=0)[1] == "No decisions yet."
    assert "4 decisions wait for their outcome." in told(visitor, None)[2]
    assert "Nothing is held back" in told(visitor, None, {"holdback": 0})[2]


def test_outcomes_that_get_lost(visitor: Visitor) -> None:
    lift = {**lift_of((400, 4000), (10, 40)), "share_p": 1e-9, "planned_share": 0.1}
    assert told(visitor, lift)[0] == "untrusted"


@pytest.mark.parametrize(
    ("bandit", "holdback", "words"),
    [
        ((4000, 600, 400), (400, 12.0, 12), "So choosing overstates by +50 %"),
        ((400, 42, 40), (400, 12.5, 12), "No effect of selection can be seen"),
        ((400, 42, 40), (40, 1.5, 2), "due to selection: 2 of 10 clicks there so far."),
    ],
)
def test_selection_in_words(
    visitor: Visitor, bandit: tuple[int, float, float], holdback: Any, words: str
) -> None:
    names = Foretold.__struct_fields__
    arms = {"bandit": bandit, "holdback": holdback}
    if words.startswith("So"):  # enough clicks for a clear answer
        arms["holdback"] = (40_000, 1200.0, 1200)
    given = {arm: dict(zip(names, numbers, strict=True)) for arm, numbers in arms.items()}
    text = visitor.evaluate(
        "/dashboard/selection.js", "return module.selectionText(values[0])", given
    )
    assert words in text.replace("\u00a0", " ")


def test_the_page_says_it(visitor: Visitor, served: Adverts) -> None:
    visitor.see_figures()
    expect(visitor.page.locator("#headline-title")).to_contain_text("clicks")
    stats = served.ask("GET", "models/cars/stats")
    assert sum(each["decisions"] for each in stats["buckets"]) == stats["decisions"]
    assert {each["seconds"] for each in stats["buckets"]} == {5.0}
    assert stats["foretold"] == {}  # of a minute that waits nothing is settled
    expect(visitor.page.locator("#ctr .marker.open").first).to_be_attached()
