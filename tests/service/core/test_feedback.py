"""What becomes of feedback, over both stores."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fabcost.wire.messages import DecisionRequest
from tests.service.core.running import Hands, cars, serving, shown, stats_now, told, until


def run(address: str, scenario: Any, **settings: Any) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(address, hands) as service:
            await cars(service, **settings)
            await scenario(service, hands)

    asyncio.run(main())


def impressions(service: Any) -> int:
    return int(service.model("cars").impressions)


def test_the_first_feedback_counts(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        assert await told(service, "d", 1.0, key="a") == "applied"
        assert await told(service, "d", 1.0, key="a") == "applied"
        assert await told(service, "d", 0.0, key="a") == "duplicate"
        assert await told(service, "d", 0.0, key="b") == "duplicate"
        assert await told(service, "d", 1.0, key="a") == "applied"
        assert impressions(service) == 1
        view = await service.decision("cars", "d")
        assert (view.outcome, view.value, view.applied_lsn) == ("feedback", 1.0, 1)

    run(store_address, scenario)


def test_many_at_once_are_applied_once(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        ids = [f"d{k}" for k in range(40)]
        await asyncio.gather(*(shown(service, each) for each in ids))
        statuses = await asyncio.gather(
            *(told(service, each, key=str(k)) for each in ids for k in range(3))
        )
        assert statuses.count("applied") == 40
        assert statuses.count("duplicate") == 80
        assert impressions(service) == 40

    run(store_address, scenario)


def test_no_feedback_by_the_deadline_is_no_click(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        hands.pass_by(9.9)
        await asyncio.sleep(0.6)
        assert impressions(service) == 0
        hands.pass_by(0.2)
        await until(lambda: _has(service, 1))
        view = await service.decision("cars", "d")
        assert (view.outcome, view.value) == ("expired", 0.0)
        assert await told(service, "d") == "late"
        assert impressions(service) == 1

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_a_reward_after_the_deadline_is_late_even_before_the_sweeper_came(
    store_address: str,
) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        hands.pass_by(10.1)
        assert await told(service, "d") == "late"
        await until(lambda: _has(service, 1))
        assert (await service.decision("cars", "d")).value == 0.0

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_a_second_feedback_is_a_duplicate_until_the_deadline(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        assert await told(service, "d", key="first") == "applied"
        hands.pass_by(10.0)
        assert await told(service, "d", key="second") == "duplicate"
        hands.pass_by(0.1)
        assert await told(service, "d", key="third") == "late"
        assert impressions(service) == 1

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_a_reward_racing_with_its_deadline_has_one_winner(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        ids = [f"d{k}" for k in range(60)]
        for each in ids:
            await shown(service, each)
        hands.pass_by(10.0)  # on the deadline itself: both may still win
        statuses = await asyncio.gather(*(told(service, each) for each in ids))
        await until(lambda: _has(service, 60))
        views = [await service.decision("cars", each) for each in ids]
        for status, view in zip(statuses, views, strict=True):
            assert (status, view.outcome) in [("applied", "feedback"), ("late", "expired")]
        assert sorted(view.applied_lsn for view in views) == list(range(1, 61))

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_feedback_before_its_decision_waits_for_it(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d", 1.0) == "parked"
        assert impressions(service) == 0
        await shown(service, "d")
        assert impressions(service) == 1
        assert (await service.decision("cars", "d")).value == 1.0
        assert await told(service, "d", 0.0, key="other") == "duplicate"

    run(store_address, scenario)


def test_parked_feedback_is_forgotten_after_a_while(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d", 1.0) == "parked"
        hands.pass_by(121.0)
        await until(lambda: _none_parked(service))
        await shown(service, "d")
        assert impressions(service) == 0
        assert await told(service, "d", 1.0) == "applied"

    run(store_address, scenario)


def test_a_deferred_decision_counts_only_when_activated(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        for each in ("never", "before", "after", "silent"):
            await shown(service, each, deferred=True)
        assert await told(service, "never") == "recorded"
        assert await told(service, "before") == "recorded"
        assert await service.activate("cars", "before")
        assert impressions(service) == 1
        assert await service.activate("cars", "after")
        assert not await service.activate("cars", "after")
        assert not await service.activate("cars", "unheard-of")
        assert await told(service, "after") == "applied"
        assert await service.activate("cars", "silent")
        hands.pass_by(11.0)
        await until(lambda: _has(service, 3))
        outcomes = [(await service.decision("cars", d)).outcome for d in ("never", "silent")]
        assert outcomes == ["discarded", "expired"]

    run(store_address, scenario, reward_wait_seconds=10.0)


@pytest.mark.parametrize(
    ("aggregation", "value"),
    [("sum", 3.5), ("average", 1.75), ("median", 1.75), ("min", 0.5), ("max", 3.0)],
)
def test_aggregations_wait_for_the_deadline(
    store_address: str, aggregation: str, value: float
) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "d")
        assert await told(service, "d", 0.5, key="a") == "recorded"
        assert await told(service, "d", 0.5, key="a") == "recorded"
        assert await told(service, "d", 3.0, key="b") == "recorded"
        hands.pass_by(10.5)
        await until(lambda: _has(service, 1))
        assert (await service.decision("cars", "d")).value == value
        assert await told(service, "d", 1.0, key="c") == "late"
        assert await told(service, "d", 0.5, key="a") == "recorded"

    run(store_address, scenario, reward_wait_seconds=10.0, aggregation=aggregation)


def test_parked_feedback_is_aggregated_too(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d", 0.5, key="a") == "parked"
        assert await told(service, "d", 1.0, key="b") == "parked"
        await shown(service, "d")
        assert impressions(service) == 0
        assert await told(service, "d", 2.0, key="c") == "recorded"
        hands.pass_by(10.5)
        await until(lambda: _has(service, 1))
        assert (await service.decision("cars", "d")).value == 3.5

    run(store_address, scenario, reward_wait_seconds=10.0, aggregation="sum")


def test_parked_feedback_waits_for_the_activation_too(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d") == "parked"
        await shown(service, "d", deferred=True)
        assert impressions(service) == 0
        assert await service.activate("cars", "d")
        assert impressions(service) == 1

    run(store_address, scenario)


def test_a_reward_is_a_click_if_it_is_above_the_threshold(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        for decision, value in (("low", 0.5), ("high", 0.51)):
            await shown(service, decision)
            await told(service, decision, value)
        buckets = (await service.stats("cars")).buckets
        assert sum(each.clicks for each in buckets) == 1
        assert sum(each.impressions for each in buckets) == 2

    run(store_address, scenario, click_threshold=0.5)


def test_modes_that_do_not_learn(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await shown(service, "logged") == "ad-0"
        assert await told(service, "logged") == "ignored"
        await service.change_model("cars", {"mode": "off"})
        answer = await service.decide("cars", DecisionRequest(decision_id="off"))
        assert (answer.item, answer.arm, answer.durable) == ("ad-0", "baseline", False)
        assert impressions(service) == 0
        assert await told(service, "off") == "ignored"
        assert "parked" not in (await service.stats("cars")).feedback
        await service.change_model("cars", {"mode": "apprentice"})
        await shown(service, "off")
        assert await told(service, "off") == "applied"
        assert await shown(service, "apprentice") == "ad-0"
        assert await told(service, "apprentice") == "applied"
        assert impressions(service) == 2

    run(store_address, scenario, mode="logging-only")


async def _has(service: Any, count: int) -> bool:
    return impressions(service) == count


async def _none_parked(service: Any) -> bool:
    return "parked" not in (await stats_now(service)).feedback


def test_what_was_recorded_first_is_the_earliest_after_a_change(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        for decision in ("told", "silent"):
            await shown(service, decision)
            assert await told(service, decision, 1.0, key="click") == "recorded"
        await service.change_model("cars", {"aggregation": "earliest"})
        assert await told(service, "told", 0.0, key="later") == "duplicate"
        assert await told(service, "told", 1.0, key="click") == "recorded"
        assert (await service.decision("cars", "told")).value == 1.0
        hands.pass_by(10.5)
        await until(lambda: _has(service, 2))
        assert (await service.decision("cars", "silent")).value == 1.0

    run(store_address, scenario, reward_wait_seconds=10.0, aggregation="sum")


def test_settings_of_rewards_touch_open_decisions_too(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        await shown(service, "silent")
        await shown(service, "told")
        await service.change_model("cars", {"default_reward": 0.5, "click_threshold": 1.0})
        await told(service, "told", 1.0)
        hands.pass_by(10.5)
        await until(lambda: _has(service, 2))
        assert (await service.decision("cars", "silent")).value == 0.5
        assert sum(each.clicks for each in (await service.stats("cars")).buckets) == 0

    run(store_address, scenario, reward_wait_seconds=10.0)


def test_parked_feedback_is_ignored_where_nothing_learns(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d") == "parked"
        await shown(service, "d")
        assert await told(service, "d") == "ignored"
        assert (await service.decision("cars", "d")).value == 1.0
        assert impressions(service) == 0

    run(store_address, scenario, mode="logging-only")


def test_of_parked_feedback_the_first_counts(store_address: str) -> None:
    async def scenario(service: Any, hands: Hands) -> None:
        assert await told(service, "d", 1.0, key="a") == "parked"
        assert await told(service, "d", 0.0, key="b") == "parked"
        await shown(service, "d")
        assert await told(service, "d", 1.0, key="a") == "applied"
        assert await told(service, "d", 0.0, key="b") == "duplicate"
        assert (await service.decision("cars", "d")).value == 1.0
        assert (await service.stats("cars")).feedback == {"applied": 1, "duplicate": 1}

    run(store_address, scenario)
