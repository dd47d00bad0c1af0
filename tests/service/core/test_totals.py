"""What the bandit gains, of the minutes whose outcomes are known."""

from __future__ import annotations

import asyncio

import pytest

from fabcost.bandit.lift import Arm, lift
from fabcost.service.models.totals import Trial, foretold, gain, settled
from fabcost.service.store.rows import CountRow
from fabcost.wire.statistics import Foretold
from tests.service.core.running import Hands, cars, serving, shown, stats_now, told, until

WAIT = 600.0
TRIAL = Trial(held=0.1, since=0.0, wait=WAIT)


def row(minute: int, arm: str, decisions: int, impressions: int, clicks: int) -> CountRow:
    counts = (decisions, impressions, clicks)
    sums = (0.0, 0.0, 0.1 * impressions, clicks, clicks)
    return CountRow("cars", 60.0 * minute, arm, *counts, *sums)


def test_minutes_that_wait_are_left_out() -> None:
    old = [row(0, "bandit", 50, 49, 5), row(0, "holdback", 5, 5, 0)]
    complete = [row(20, "bandit", 3, 3, 1)]
    waiting = [row(21, "bandit", 9, 1, 1)]
    after = [row(22, "bandit", 1, 1, 1)]
    rows = old + complete + waiting + after
    assert settled(rows, TRIAL, now=60.0 * 23) == old + complete
    assert settled(rows, TRIAL, now=60.0 * 40) == rows


def test_clicks_alone_say_nothing_of_minutes_that_may_wait() -> None:
    assert settled([row(20, "bandit", 2, 2, 2)], TRIAL, now=60.0 * 22) == []


def test_parts_of_the_first_minutes_wait_no_longer_than_they_last() -> None:
    young = TRIAL._replace(created=60.0 * 20 + 7.0)
    part = row(20, "bandit", 9, 4, 4)
    assert settled([part], young, now=60.0 * 20 + 5.0 + WAIT) == [part]
    assert settled([part], TRIAL, now=60.0 * 20 + 5.0 + WAIT) == []


def test_what_was_foretold_is_by_arm_and_without_what_was_not() -> None:
    old = row(0, "bandit", 5, 5, 5)._replace(predicted=0.0)
    found = foretold([old, row(1, "bandit", 50, 40, 6), row(1, "holdback", 5, 5, 0)])
    assert found["bandit"] == Foretold(impressions=40, predicted=4.0, rewards=6)
    assert found["holdback"] == Foretold(impressions=5, predicted=0.5, rewards=0)


def test_over_the_arm_that_is_there() -> None:
    ours = row(0, "bandit", 4000, 4000, 400)
    for arm in ("holdback", "baseline"):
        found = gain([ours, row(0, arm, 400, 400, 20)], TRIAL, now=1e6)
        expected = lift(Arm(400, 4000), Arm(20, 400))
        assert found is not None
        assert (found.over, found.low, found.high) == (arm, expected.low, expected.high)
        assert found.value == pytest.approx(1.0)
        assert found.gained == pytest.approx(200.0)
    assert gain([ours], TRIAL, now=1e6) is None
    no_click = gain([ours, row(0, "holdback", 40, 40, 0)], TRIAL, now=1e6)
    assert no_click is not None
    assert (no_click.value, no_click.high, no_click.gained) == (None, None, None)


def test_a_share_that_was_not_planned_is_told() -> None:
    ours, theirs = row(0, "bandit", 900, 900, 90), row(0, "holdback", 100, 100, 5)
    sound = gain([ours, theirs], TRIAL, now=1e6)
    lost = gain([ours, row(0, "holdback", 100, 40, 5)], TRIAL, now=1e6)
    assert sound is not None
    assert lost is not None
    assert (sound.share, sound.planned_share, sound.share_p) == (0.1, 0.1, 1.0)
    assert lost.share_p is not None
    assert lost.share_p < 0.001
    baseline = gain([ours, row(0, "baseline", 100, 40, 5)], TRIAL, now=1e6)
    assert baseline is not None
    assert (baseline.planned_share, baseline.share_p) == (None, None)


def test_new_settings_begin_a_new_trial() -> None:
    rows = [row(m, arm, 10, 10, m) for m in (0, 9) for arm in ("bandit", "holdback")]
    found = gain(rows, TRIAL._replace(since=500.0), now=1e6)
    assert found is not None
    assert (found.impressions, found.clicks) == (10, 9.0)


def test_of_a_service(store_address: str) -> None:
    async def scenario() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service, holdback=0.5, reward_wait_seconds=WAIT)
            for number in range(40):
                await shown(service, f"d-{number}")
            assert (await stats_now(service)).lift is None
            for number in range(0, 40, 4):
                await told(service, f"d-{number}")
            hands.pass_by(WAIT + 120.0)

            async def all_known() -> bool:
                stats = await stats_now(service)
                return stats.lift is not None and stats.pending == 0

            await until(all_known)
            stats = await stats_now(service)
            assert stats.lift is not None
            sums = {b.arm: (b.clicks, b.impressions) for b in stats.buckets}
            assert (stats.lift.clicks, stats.lift.impressions) == sums["bandit"]
            beside = (stats.lift.clicks_beside, stats.lift.impressions_beside)
            assert beside == sums["holdback"]

    asyncio.run(scenario())
