"""Decisions are counted once, whatever comes between writing and counting them."""

from __future__ import annotations

import asyncio

import pytest

from fabcost.service.service import Service
from fabcost.service.store.address import store_at
from fabcost.service.store.rows import DecisionRow
from tests.service.core.running import cars, serving, shown, told


async def decided(service: Service, count: int, prefix: str = "d") -> None:
    for number in range(count):
        await shown(service, f"{prefix}-{number}")


async def counted(service: Service) -> tuple[int, int]:
    stats = await service.stats("cars")
    by_item = sum(item.decisions for item in stats.top_items)
    return sum(bucket.decisions for bucket in stats.buckets), by_item


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
            return await entropy(service), [DecisionRow(*row[:10]) for row in rows]

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
