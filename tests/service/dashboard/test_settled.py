"""Rates are those of minutes whose outcomes are known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts, adverts
from tests.service.dashboard.conftest import settings_for
from tests.service.dashboard.visitor import Visitor
from tests.service.http.serving import running

MINUTE, WAIT, NOW = 60, 600, 6000
SEVEN_CLICKS_OF_TWENTY = [1.0 if i % 3 == 0 else None for i in range(20)]


def bucket(start: int, decisions: int, impressions: int, clicks: int, arm: str = "bandit") -> Any:
    sums = {"decisions": decisions, "impressions": impressions, "clicks": clicks}
    return {"start": start, "arm": arm, "log_loss": 0.0, "entropy": 0.0, **sums}


def settled(visitor: Visitor, *buckets: Any) -> tuple[list[int], dict[str, int]]:
    """The starts of what is settled, and the sums of what is left out."""
    script = "return module.settled({ buckets: values[0], now: values[1] }, values[2])"
    found = visitor.evaluate("/dashboard/settled.js", script, list(buckets), NOW, WAIT)
    return [each["start"] for each in found["buckets"]], found["left"]


def test_minutes_whose_wait_is_over(visitor: Visitor) -> None:
    old = bucket(NOW - WAIT - MINUTE, 10, 10, 10)
    longer = bucket(NOW - WAIT - 2 * MINUTE, 10, 3, 3)
    starts, left = settled(visitor, longer, old)
    assert starts == [old["start"]]
    assert (left["decisions"], left["impressions"]) == (10, 3)


def test_minutes_after_one_that_waits(visitor: Visitor) -> None:
    first, second, third = NOW - 180, NOW - 120, NOW - 60
    answered = bucket(first, 100, 98, 4), bucket(third, 50, 50, 2)
    assert settled(visitor, *answered)[0] == [first, third]
    assert settled(visitor, answered[0], bucket(second, 1, 0, 0), answered[1])[0] == [first]
    assert settled(visitor, bucket(first, 100, 97, 4), answered[1])[0] == []


def test_an_arm_waits_for_the_others_but_not_for_what_was_imported(visitor: Visitor) -> None:
    start = NOW - 60
    answered = bucket(start, 50, 50, 2)
    assert settled(visitor, answered, bucket(start, 9, 0, 0, "holdback"))[0] == []
    assert settled(visitor, answered, bucket(start, 9, 0, 0, "imported"))[0] == [start, start]


def test_nothing_but_clicks_is_no_rate_until_the_wait_is_over(visitor: Visitor) -> None:
    minutes = [bucket(NOW - 60 * k, 1, 1, 1) for k in (3, 2, 1)]
    assert settled(visitor, *minutes)[0] == []
    assert len(settled(visitor, *minutes[:2], bucket(NOW - 60, 2, 2, 1))[0]) == 3


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adverts]:
    database = tmp_path_factory.mktemp("settled") / "bandit.db"
    with running(settings_for(database)) as server, adverts(server.address) as found:
        yield found


def sums_of(stats: Any, arm: str, *names: str) -> list[int]:
    own = [each for each in stats["buckets"] if each["arm"] == arm]
    return [sum(each[name] for each in own) for name in names]


def said_of(rate: str) -> tuple[str, float]:
    """The sign and the number of a percentage."""
    found = re.fullmatch(r"(≥?)\s*([\d.]+)\s%", rate)
    assert found, rate
    return found[1], float(found[2])


def percentage(clicks: int, of: int) -> Any:
    return pytest.approx(100 * clicks / of, abs=0.0501)


def seen(chromium: Browser, site: Adverts, model: str) -> Any:
    return Visitor.arriving(chromium, site.url, path=f"/?model={model}")


def test_clicks_of_open_decisions_are_only_a_bound(chromium: Browser, site: Adverts) -> None:
    site.make_model("open", holdback=0.3)
    site.answer("open", SEVEN_CLICKS_OF_TWENTY)
    with seen(chromium, site, "open") as visitor:
        visitor.see_figures()
        stats = site.ask("GET", "models/open/stats")
        for arm in ("bandit", "holdback"):
            clicks, made = sums_of(stats, arm, "clicks", "decisions")
            assert said_of(visitor.figure(f"CTR {arm}")) == ("≥", percentage(clicks, made))
        assert visitor.figure("Gained over holdback") == "–"
        assert (visitor.figure("Impressions"), visitor.figure("Clicks")) == ("7", "7")
        expect(visitor.page.locator("#ctr-note")).to_contain_text(
            "lower bounds: 13 of the latest 20 decisions still wait for their outcome."
        )
        rows = visitor.page.locator("#items tbody tr")
        rates = rows.locator("td:last-child").all_inner_texts()
        counts = [list(map(int, each.split()[1:3])) for each in rows.all_inner_texts()]
        for rate, (decisions, clicks) in zip(rates, counts, strict=True):
            if clicks == 0:  # all outcomes that are known are clicks
                assert rate == "–"
            else:
                sign = "≥" if decisions > clicks else ""
                assert said_of(rate) == (sign, percentage(clicks, decisions))
        said = visitor.page.locator("#tiles .value").all_inner_texts()
        assert not any("100" in each for each in said)
        assert visitor.faults == []


def test_clicks_alone_are_no_rate(chromium: Browser, site: Adverts) -> None:
    site.make_model("clicked", holdback=0.0)
    site.answer("clicked", [1.0, 1.0, 1.0])
    with seen(chromium, site, "clicked") as visitor:
        visitor.see_figures()
        assert visitor.figure("CTR bandit") == "–"
        expect(visitor.page.locator("#ctr-note")).to_contain_text(
            "only clicks are known of the latest 3 decisions."
        )


def test_decisions_that_are_answered_at_once_have_a_rate_at_once(
    chromium: Browser, site: Adverts
) -> None:
    site.make_model("answered", holdback=0.3)
    site.answer("answered", [float(i % 4 == 0) for i in range(60)])
    with seen(chromium, site, "answered") as visitor:
        visitor.see_figures()
        stats = site.ask("GET", "models/answered/stats")
        for arm in ("bandit", "holdback"):
            clicks, shown = sums_of(stats, arm, "clicks", "impressions")
            assert said_of(visitor.figure(f"CTR {arm}")) == ("", percentage(clicks, shown))
        assert re.fullmatch(r"−?\d+", visitor.figure("Gained over holdback"))
        expect(visitor.page.locator("#ctr-note")).not_to_contain_text("Hollow")
        chart = visitor.page.locator("#ctr")
        assert chart.get_by_role("img").get_attribute("aria-label")
        rows = [each.split("\t") for each in chart.locator("tbody tr").all_inner_texts()]
        assert {row[1] for row in rows} == {"bandit", "holdback"}
        assert sum(int(row[2]) for row in rows) == 60
        assert visitor.faults == []
