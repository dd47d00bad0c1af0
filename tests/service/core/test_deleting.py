"""Large models are deleted in pieces, between which others are served."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fabcost.service.http.auth import new_key
from fabcost.service.service import Service
from fabcost.service.store.rows import Deletion, ItemRow
from fabcost.service.store.store import ROWS_AT_ONCE, Store, store_at
from fabcost.wire.errors import UnknownModelError
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import cars, serving, shown, told, until
from tests.service.faults.ledger import reading
from tests.service.store.rows import decision_row, feedback_row

MANY = 3 * ROWS_AT_ONCE


def fill(store: Store) -> None:
    """Much of everything that grows with the use of a model."""
    names = [f"d-{k}" for k in range(MANY)]
    far = 1e12
    store.insert_decisions([decision_row(name, model="vans", deadline=far) for name in names])
    store.mark_counted()
    store.insert_feedback([feedback_row(name, model="vans") for name in names])
    store.put_items("vans", 1, [ItemRow(name, "{}") for name in names])
    store.delete_items("vans", 2, names[: ROWS_AT_ONCE + 100])
    store.put_items("vans", 3, [ItemRow(name, "{}") for name in names])


def left_of(address: str, model: str = "vans") -> dict[str, int]:
    with reading(address) as store:
        return {
            "decisions": store.pending(model),
            "feedback": sum(store.feedback_counts(model).values()),
            "items": len(store.items(model)),
            "past items": len(store.listed_items(model, 1)),
        }


async def filled(service: Service) -> None:
    await cars(service)
    await service.create_model("vans", ModelSettings())
    await service._writer.call(fill)


async def is_gone(service: Service) -> bool:
    return not service._writer.journal.deletions.left


def run(address: str, scenario: Any) -> None:
    async def main() -> None:
        async with serving(address, durable_within=60.0) as service:
            await scenario(service)

    asyncio.run(main())


def test_a_large_model_is_gone_at_once_and_its_rows_in_pieces(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        await filled(service)
        row, _ = new_key("k", ["decide"], "vans", now=1.0)
        await service.insert_key(row)
        await service.delete_model("vans")
        assert sum(left_of(store_address).values()) >= 2 * MANY
        with pytest.raises(UnknownModelError):
            service.model("vans")
        assert [key.revoked is None for key in await service.keys()] == [False]
        await shown(service, "d")
        assert await told(service, "d") == "applied"
        await until(lambda: is_gone(service))
        assert set(left_of(store_address).values()) == {0}
        assert [each.name for each in service.models()] == ["cars"]

    run(store_address, scenario)


def test_a_name_is_free_when_all_rows_are_gone(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        await filled(service)
        await service.delete_model("vans")
        await service.create_model("vans", ModelSettings(seed=7))
        assert set(left_of(store_address).values()) == {0}
        assert service.model("vans").items == 0
        assert service.model("vans").settings.seed == 7

    run(store_address, scenario)
    with reading(store_address) as store:
        assert [row.model for row in store.models()] == ["cars", "vans"]


def test_a_deletion_that_was_broken_off_is_completed_at_the_next_start(store_address: str) -> None:
    run(store_address, filled)
    store = store_at(store_address)
    store.open(take_over=True)
    with store.transaction():
        store.mark_deleted("vans")
        assert store.delete_piece(Deletion("vans")) is not None
    store.close()

    async def scenario(service: Service) -> None:
        assert [each.name for each in service.models()] == ["cars"]
        await until(lambda: is_gone(service))
        assert set(left_of(store_address).values()) == {0}

    run(store_address, scenario)


def test_no_transaction_deletes_more_than_a_piece(store_address: str) -> None:
    run(store_address, filled)
    store = store_at(store_address)
    store.open(take_over=True)
    with store.transaction():
        store.mark_deleted("vans")
    rest: Deletion | None = Deletion("vans")
    before, pieces = sum(left_of(store_address).values()), 0
    while rest is not None:
        with store.transaction():
            rest = store.delete_piece(rest)
        after = sum(left_of(store_address).values())
        assert before - after < 2 * ROWS_AT_ONCE
        before, pieces = after, pieces + 1
    assert (after, store.deleted_models()) == (0, [])
    assert pieces >= 3 * MANY // ROWS_AT_ONCE
    store.close()


def test_decisions_of_a_deleted_model_do_not_hold_up_those_of_others(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        await filled(service)
        await service.change_model("cars", {"reward_wait_seconds": 0.05})

        def overdue(store: Store) -> None:
            rows = [decision_row(f"o-{k}", model="vans", deadline=1.0) for k in range(MANY)]
            store.insert_decisions(rows)
            store.mark_counted()

        await service._writer.call(overdue)
        await service.delete_model("vans")
        await shown(service, "d")
        await until(lambda: is_expired(service))
        await until(lambda: is_gone(service))

    run(store_address, scenario)


async def is_expired(service: Service) -> bool:
    return (await service.decision("cars", "d")).outcome == "expired"
