"""Decisions are counted once, whatever comes between writing and counting them."""

from __future__ import annotations

import asyncio

import pytest

from fabcost.service.service import Service
from fabcost.service.store.rows import DecisionRow
from fabcost.service.store.store import store_at
from fabcost.wire.line import LoggedImpression
from fabcost.wire.statistics import StatsBucket
from tests.service.core.running import (
    ITEMS,
    Hands,
    cars,
    serving,
    shown,
    stats_now,
    told,
    until,
)

WAIT = 600.0


async def decided(service: Service, count: int, prefix: str = "d") -> None:
    for number in range(count):
        await shown(service, f"{prefix}-{number}")


async def counted(service: Service) -> tuple[int, int]:
    stats = await service.stats("cars")
    by_item = sum(item.decisions for item in stats.top_items)
    return sum(bucket.decisions for bucket in stats.buckets), by_item


async def minutes(service: Service) -> dict[float, StatsBucket]:
    """The counts by minute, of a model with one arm."""
    found = (await service.stats("cars")).buckets
    assert len({bucket.start for bucket in found}) == len(found)
    return {bucket.start: bucket for bucket in found}


async def nothing_open(service: Service) -> None:
    async def none() -> bool:
        return (await stats_now(service)).pending == 0

    await until(none)


async def entropy(service: Service) -> float:
    return sum(each.entropy for each in (await service.stats("cars")).buckets)


def test_at_once_and_with_feedback(store_address: str) -> None:
    async def scenario() -> None:
        async with serving(store_address) as service:
            await cars(service)
            await decided(service, 20)
            assert await counted(service) == (20, 20)
            await told(service, "d-3")
            await decided(service, 5, "e")
            assert await counted(service) == (25, 25)

    asyncio.run(scenario())


def test_with_repeats_in_between(store_address: str) -> None:
    async def scenario() -> None:
        async with serving(store_address) as service:
            await cars(service)
            await decided(service, 3)
            await asyncio.gather(decided(service, 5), decided(service, 5))
            assert await counted(service) == (5, 5)

    asyncio.run(scenario())


def test_after_a_server_that_had_no_time_to(store_address: str) -> None:
    async def first() -> tuple[float, list[DecisionRow]]:
        async with serving(store_address) as service:
            await cars(service, propensities="fast")
            await decided(service, 7)
            rows = await service.export_log("cars", after=0, limit=100)
            return await entropy(service), [DecisionRow(*row[:12]) for row in rows]

    async def second() -> None:
        async with serving(store_address) as service:
            assert await counted(service) == (14, 14)
            assert await entropy(service) == pytest.approx(2.0 * before, rel=1e-12)

    before, rows = asyncio.run(first())
    store = store_at(store_address)
    store.open(take_over=True)
    assert store.append_decisions([row._replace(decision=f"late-{row.decision}") for row in rows])
    store.close()
    asyncio.run(second())


def test_without_a_model_that_was_deleted(store_address: str) -> None:
    async def scenario() -> None:
        async with serving(store_address) as service:
            await cars(service)
            await decided(service, 4)
            await service.delete_model("cars")
            await cars(service)
            await decided(service, 2)
            assert await counted(service) == (2, 2)

    asyncio.run(scenario())


def test_outcomes_belong_to_the_minute_of_their_decision(store_address: str) -> None:
    async def scenario() -> None:
        hands = Hands(now=1_000_020.0)
        async with serving(store_address, hands) as service:
            await cars(service, reward_wait_seconds=WAIT)
            await decided(service, 5, "early")
            hands.pass_by(60.0)
            await decided(service, 3, "later")
            hands.pass_by(240.0)
            await told(service, "early-1")
            await told(service, "later-2")
            found = await minutes(service)
            assert [(each.impressions, each.clicks) for each in found.values()] == [(1, 1), (1, 1)]
            hands.pass_by(WAIT)
            await nothing_open(service)
            found = await minutes(service)
            assert list(found) == [1_000_020.0, 1_000_080.0]
            assert [each.decisions for each in found.values()] == [5, 3]
            assert [each.impressions for each in found.values()] == [5, 3]
            assert [each.clicks for each in found.values()] == [1, 1]
            assert all(each.log_loss > 0.0 for each in found.values())

    asyncio.run(scenario())


def test_a_decision_that_was_never_shown_counts_no_longer(store_address: str) -> None:
    async def scenario() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service, propensities="fast", reward_wait_seconds=WAIT)
            await decided(service, 3)
            before = await entropy(service)
            for number in range(4):
                await shown(service, f"deferred-{number}", deferred=True)
            assert await counted(service) == (7, 7)
            hands.pass_by(WAIT + 1.0)
            await nothing_open(service)
            assert await counted(service) == (3, 3)
            assert await entropy(service) == pytest.approx(before, rel=1e-12)
            assert sum(each.impressions for each in (await minutes(service)).values()) == 3

    asyncio.run(scenario())


def test_outcomes_of_decisions_that_were_counted_after_a_crash(store_address: str) -> None:
    hands = Hands()

    async def first() -> list[DecisionRow]:
        async with serving(store_address, hands) as service:
            await cars(service, reward_wait_seconds=WAIT)
            await decided(service, 4)
            rows = await service.export_log("cars", after=0, limit=100)
            return [DecisionRow(*row[:12]) for row in rows]

    async def second() -> None:
        async with serving(store_address, hands) as service:
            await told(service, "lost-d-0")
            hands.pass_by(WAIT + 1.0)
            await nothing_open(service)
            (bucket,) = (await minutes(service)).values()
            assert (bucket.decisions, bucket.impressions, bucket.clicks) == (8, 8, 1)

    rows = asyncio.run(first())
    store = store_at(store_address)
    store.open(take_over=True)
    rows = [row._replace(decision=f"lost-{row.decision}", active=True) for row in rows]
    assert store.append_decisions(rows)
    store.close()
    asyncio.run(second())


def test_a_log_of_long_ago_is_outside_the_period(store_address: str) -> None:
    async def scenario() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await cars(service, reward_wait_seconds=WAIT)
            await decided(service, 2)
            old = [
                LoggedImpression(
                    decision_id=f"old-{value}",
                    time=12.5,
                    candidates=ITEMS,
                    item="ad-1",
                    value=value,
                )
                for value in (0.0, 1.0, None)
            ]
            assert await service.import_log("cars", old) == 3
            hands.pass_by(61.0)
            stats = await service.stats("cars")
            assert [each.arm for each in stats.buckets] == ["bandit"]
            assert (stats.decisions, stats.impressions) == (5, 2)
            assert sum(each.impressions for each in stats.buckets) == 0

    asyncio.run(scenario())
