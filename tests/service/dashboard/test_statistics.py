"""Numbers of the page against independent computations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser
from scipy.stats import binomtest

from tests.service.dashboard.adverts import Adverts
from tests.service.dashboard.visitor import Visitor

MINUTE = 60


@pytest.fixture(scope="module")
def visitor(chromium: Browser, served: Adverts) -> Iterator[Visitor]:
    """One page for all tests: they ask its modules, which keep nothing."""
    with Visitor.arriving(chromium, served.url) as found:
        yield found
        assert found.faults == []


@pytest.mark.parametrize(("clicks", "impressions"), [(0, 7), (3, 3), (1, 900), (50, 117)])
def test_wilson_intervals(visitor: Visitor, clicks: int, impressions: int) -> None:
    found = visitor.evaluate(
        "/dashboard/statistics.js", "return module.wilson(...values)", clicks, impressions
    )
    expected = binomtest(clicks, impressions).proportion_ci(method="wilson")
    assert found["estimate"] == clicks / impressions
    assert [found["lower"], found["upper"]] == pytest.approx(list(expected), abs=1e-12)


def test_open_outcomes_widen_an_interval(visitor: Visitor) -> None:
    script = "return module.wilsonSoFar(...values)"
    found = visitor.evaluate("/dashboard/statistics.js", script, 7, 7, 13)
    none = binomtest(7, 20).proportion_ci(method="wilson")
    assert (found["estimate"], found["upper"]) == (0.35, 1.0)
    assert found["lower"] == pytest.approx(none.low)


def buckets(rng: np.random.Generator, minutes: int, most: int) -> list[dict[str, Any]]:
    """Counts of some of the minutes of a period."""
    starts = np.flatnonzero(rng.random(minutes) < 0.8) * MINUTE
    return [
        {
            "start": int(start),
            "arm": arm,
            "decisions": int(rng.integers(most)),
            "impressions": int(rng.integers(most)),
            "clicks": 1,
            "log_loss": 0.5,
            "entropy": 0.25,
        }
        for start, arm in itertools.product(starts, ["bandit", "holdback"])
    ]


@pytest.mark.parametrize(
    ("minutes", "most"), [(3, 100), (60, 4), (60, 500), (1440, 3), (10_080, 9)]
)
def test_points_are_few_and_lose_nothing(visitor: Visitor, minutes: int, most: int) -> None:
    counts = buckets(np.random.default_rng(minutes), minutes, most)
    script = """
        const [counts, now] = values;
        const width = module.pointWidth(counts, "bandit", module.period(counts, now));
        return module.points(counts, "bandit", width);
    """
    found = visitor.evaluate("/dashboard/timeline.js", script, counts, minutes * MINUTE)
    assert len(found) <= 41
    assert [point["start"] for point in found] == sorted({point["start"] for point in found})
    for name in ("decisions", "impressions", "clicks", "log_loss", "entropy"):
        expected = sum(each[name] for each in counts if each["arm"] == "bandit")
        assert sum(point[name] for point in found) == pytest.approx(expected)


def test_ticks_are_round_and_cover(visitor: Visitor) -> None:
    rng = np.random.default_rng(5)
    for start, size in zip(rng.normal(size=20), 10.0 ** rng.uniform(-4, 4, 20), strict=True):
        low, high = float(start * size), float(start * size + size)
        ticks = visitor.evaluate(
            "/dashboard/scales.js", "return module.roundTicks(...values)", low, high, 5
        )
        steps = np.diff(ticks)
        assert ticks[0] <= low + 1e-9 * size
        assert ticks[-1] >= high - 1e-9 * size
        assert 2 <= len(ticks) <= 8
        assert steps == pytest.approx(steps[0])
        assert f"{steps[0]:.1e}"[:3] in {"1.0", "2.0", "2.5", "5.0"}
