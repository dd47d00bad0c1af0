"""Catalogues that are put in pieces: others are served in between, and the end is one state."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from fabcost.service.models.registry import ITEMS_AT_ONCE
from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import cars, serving, shown, told
from tests.service.faults.ledger import reading

MANY = 6 * ITEMS_AT_ONCE


def adverts(count: int, age: int) -> dict[str, dict[str, Any]]:
    return {f"bulk-{k}": {"age": age} for k in range(count)}


async def vans(service: Service) -> None:
    await service.create_model("vans", ModelSettings())


def in_memory(service: Service, model: str) -> list[tuple[str, Any]]:
    return list(service._registry.of(model).catalogue.items.items())


def in_database(address: str, model: str) -> list[tuple[str, Any]]:
    with reading(address) as store:
        return [(row.item, json.loads(row.features)) for row in store.items(model)]


def test_other_models_are_served_between_the_pieces(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address, durable_within=60.0) as service:
            await cars(service)
            await vans(service)
            putting = asyncio.create_task(service.put_items("vans", adverts(MANY, 1)))
            await asyncio.sleep(0)
            await shown(service, "d")
            assert await told(service, "d") == "applied"
            assert not putting.done()
            assert in_memory(service, "vans") == []
            version = await putting
            assert len(in_memory(service, "vans")) == MANY
            answer = await service.decide("vans", DecisionRequest())
            assert answer.item.startswith("bulk-")
            assert service.items("vans", limit=1).version == version
        assert in_database(store_address, "vans") == list(adverts(MANY, 1).items())

    asyncio.run(main())


def test_puts_and_deletions_at_once_end_in_what_the_database_has(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await vans(service)
            await service.put_items("vans", adverts(5, 0))
            backwards = dict(reversed(adverts(MANY // 2, 2).items()))
            await asyncio.gather(
                service.put_items("vans", adverts(MANY // 2, 1)),
                service.put_items("vans", backwards),
                service.delete_items("vans", ["bulk-3"]),
                service.put_items("vans", {"bulk-4": {"age": 9}}),
            )
            memory = in_memory(service, "vans")
            assert memory == in_database(store_address, "vans")
            assert dict(memory)["bulk-4"] == {"age": 9}
            assert "bulk-3" not in dict(memory)

    asyncio.run(main())


def test_after_a_refusal_memory_has_what_the_database_has(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await vans(service)
            with pytest.raises(ValueError, match="NUL"):
                await service.put_items("vans", {**adverts(MANY, 1), "with\0": {}})
            assert in_memory(service, "vans") == in_database(store_address, "vans")
            version = await service.put_items("vans", adverts(2, 2))
            assert service.items("vans", limit=1).version == version
            assert in_memory(service, "vans") == in_database(store_address, "vans")

    asyncio.run(main())
