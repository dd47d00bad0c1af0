"""The connection to PostgreSQL breaks inside a transaction, or just as it commits.

Whoever asked is told that the database is away, and may ask again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from fabcost.service.models.registry import ITEMS_AT_ONCE
from fabcost.service.service import Service
from fabcost.wire.errors import StoreAwayError, UnknownModelError
from fabcost.wire.messages import Record
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import ITEMS, cars, serving, shown, told, until
from tests.service.faults.ledger import reading, rebuilt_digest
from tests.service.faults.lossy import Moment, Wire, wire
from tests.service.postgres import PostgresServer

Scenario = Callable[[Service, Wire], Awaitable[None]]
AT_EACH_MOMENT = pytest.mark.parametrize("moment", ["writing", "committing"])


def run(postgres: PostgresServer, database: str, scenario: Scenario) -> None:
    """A scenario over a wire; in the end the posterior is that of the log."""

    async def main() -> tuple[int, str] | None:
        with wire(postgres.port) as between:
            address = database.replace(f":{postgres.port}/", f":{between.port}/")
            async with serving(address) as service:
                await cars(service)
                await scenario(service, between)
                assert between.whole
                if not service.models():
                    return None
                posterior = service.posterior("cars")
                return posterior.impressions, posterior.digest

    served = asyncio.run(main())
    if served is not None:
        assert served == rebuilt_digest(database)


async def is_back(service: Service) -> None:
    async def ready() -> bool:
        return service.ready is None

    await until(ready)


async def all_written(service: Service) -> None:
    """Whoever asks for counts waits until all is counted: nothing more is written by itself."""
    await service.stats("cars")


@AT_EACH_MOMENT
def test_feedback(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        for decision in ("a", "b"):
            await shown(service, decision)
        assert await told(service, "a", 0.0) == "applied"
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await told(service, "b", 1.0)
        await is_back(service)
        assert service.model("cars").impressions == (2 if moment == "committing" else 1)
        assert await told(service, "b", 1.0) == "applied"
        assert service.model("cars").impressions == 2

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_decision(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        item = await shown(service, "a", context={"device": "new"})
        await is_back(service)
        view = await service.decision("cars", "a")
        assert view.item == item
        assert await shown(service, "a", context={"device": "new"}) == item
        assert await told(service, "a") == "applied"
        stats = await service.stats("cars")
        assert (stats.decisions, stats.impressions) == (1, 1)

    run(postgres, postgres_address, scenario)
    with reading(postgres_address) as store:
        assert any("new" in step for step in store.steps("cars"))


@AT_EACH_MOMENT
def test_repeated_decision(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        item = await shown(service, "a")
        assert (await service.stats("cars")).decisions == 1
        between.break_when(moment)
        assert await shown(service, "a") == item
        await is_back(service)
        assert await told(service, "a") == "applied"
        stats = await service.stats("cars")
        assert (stats.decisions, stats.impressions) == (1, 1)

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_early_feedback(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await told(service, "a")
        await is_back(service)
        if moment == "writing":
            assert await told(service, "a") == "parked"
        await shown(service, "a")
        assert service.model("cars").impressions == 1

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_new_model(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await service.create_model("new", ModelSettings(seed=1))
        await is_back(service)
        with pytest.raises(UnknownModelError):
            service.model("new")
        made = await service.create_model("new", ModelSettings(seed=2))
        assert made.settings.seed == 2
        await service.put_items("new", ITEMS)

    run(postgres, postgres_address, scenario)


def test_deleted_model_that_is_still_there(postgres: PostgresServer, postgres_address: str) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        await shown(service, "a")
        await all_written(service)
        between.break_when("writing")
        with pytest.raises(StoreAwayError):
            await service.delete_model("cars")
        await is_back(service)
        assert await told(service, "a") == "applied"

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_deleted_model(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        await shown(service, "a")
        await all_written(service)
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await service.delete_model("cars")
        await is_back(service)
        await service.delete_model("cars")
        with pytest.raises(UnknownModelError):
            await shown(service, "b")
        await cars(service)
        await shown(service, "a")
        assert await told(service, "a") == "applied"

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_changed_model(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await service.change_model("cars", {"click_threshold": 2.0})
        await is_back(service)
        assert service.model("cars").settings.click_threshold == 0.0
        with reading(postgres_address) as store:
            (row,) = (each for each in store.models() if each.model == "cars")
        assert json.loads(row.settings)["click_threshold"] == 0.0
        changed = await service.change_model("cars", {"click_threshold": 3.0})
        assert changed.settings.click_threshold == 3.0

    run(postgres, postgres_address, scenario)


def items_of(service: Service) -> list[str]:
    return list(service._registry.of("cars").catalogue.items)


async def has_items_of(service: Service, database: str) -> bool:
    """Whether the catalogue in memory is that of the database."""
    with reading(database) as store:
        rows = store.items("cars")
    return items_of(service) == [row.item for row in rows]


@AT_EACH_MOMENT
def test_deleted_item(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await service.delete_items("cars", ["ad-3"])
        await is_back(service)
        await until(lambda: has_items_of(service, postgres_address))
        assert ("ad-3" in items_of(service)) == (moment == "writing")

    run(postgres, postgres_address, scenario)


@AT_EACH_MOMENT
def test_bulk_of_items(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    many: dict[str, Record] = {f"bulk-{k}": {"age": k % 5} for k in range(8 * ITEMS_AT_ONCE)}

    async def scenario(service: Service, between: Wire) -> None:
        version = service.items("cars", limit=1).version
        putting = asyncio.create_task(service.put_items("cars", many))
        await until(lambda: has_version_after(version, postgres_address))
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await putting
        await is_back(service)
        await until(lambda: has_items_of(service, postgres_address))
        await service.put_items("cars", many)
        assert len(service._registry.of("cars").catalogue) == len(ITEMS) + len(many)

    run(postgres, postgres_address, scenario)


async def has_version_after(version: int, database: str) -> bool:
    with reading(database) as store:
        return any(row.catalogue_version > version for row in store.models())


@AT_EACH_MOMENT
def test_items(postgres: PostgresServer, postgres_address: str, moment: Moment) -> None:
    async def scenario(service: Service, between: Wire) -> None:
        between.break_when(moment)
        with pytest.raises(StoreAwayError):
            await service.put_items("cars", {"ad-new": {"make": "vw", "age": 1}})
        await is_back(service)
        await until(lambda: has_items_of(service, postgres_address))
        assert ("ad-new" in items_of(service)) == (moment == "committing")
        await service.put_items("cars", {"ad-new": {"make": "vw", "age": 1}})
        assert await shown(service, "a", items=["ad-new"]) == "ad-new"

    run(postgres, postgres_address, scenario)
    with reading(postgres_address) as store:
        assert [row.item for row in store.items("cars")][-1] == "ad-new"
