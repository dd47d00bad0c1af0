"""Decisions that wait in memory for a database which is held up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fabcost.service.service import Service
from fabcost.wire.errors import StoreAwayError, UnknownDecisionIdError
from fabcost.wire.messages import DecisionRequest
from tests.service.core.running import cars, serving, shown, told, until
from tests.service.faults.ledger import rebuilt_digest
from tests.service.faults.locks import held_up
from tests.service.faults.visitors import MODEL

DEVICES = [f"new-{k}" for k in range(5)]


async def names(service: Service, decision: str) -> list[str]:
    """The columns of the item that was chosen."""
    explained = await service.explain(MODEL, decision)
    return [each.name for each in explained.contributions]


async def decide_while_held_up(service: Service, database: str) -> None:
    """One decision for each new device, all at once, then more than the backlog takes."""
    with held_up(database):
        new = (shown(service, f"new-{k}", context={"device": d}) for k, d in enumerate(DEVICES))
        await asyncio.gather(*new)
        for k in range(3):
            await shown(service, f"lost-{k}", context={"device": DEVICES[0]})
        with pytest.raises(StoreAwayError):
            await told(service, "new-0")
        await until(lambda: has_lost(service, 3))
    await until(lambda: is_ready(service))


async def has_lost(service: Service, count: int) -> bool:
    return f"fabcost_decisions_lost_total {count}.0" in service.metrics.render().decode()


async def is_ready(service: Service) -> bool:
    return service.ready is None


def test_a_full_backlog_loses_decisions_but_no_columns(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address, backlog=2) as service:
            await cars(service)
            await decide_while_held_up(service, store_address)
            with pytest.raises(UnknownDecisionIdError):
                await service.decision(MODEL, "lost-2")
            for k in range(len(DEVICES)):
                assert await told(service, f"new-{k}") == "applied"
            await shown(service, "after", context={"device": DEVICES[-1], "hour": 7})
            assert await told(service, "after") == "applied"
            before = await names(service, "after")
            digest = service.posterior(MODEL).digest
        async with serving(store_address) as service:
            assert await names(service, "after") == before
            assert service.posterior(MODEL).digest == digest
        assert rebuilt_digest(store_address) == (6, digest)

    asyncio.run(main())


def test_decisions_do_not_wait_for_the_database_longer_than_they_may(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address, durable_within=0.0) as service:
            await cars(service)
            with held_up(store_address):
                request = DecisionRequest(decision_id="d", context={"device": "mobile"})
                answer = await service.decide(MODEL, request)
                assert not answer.durable
                assert service.ready is not None
            await until(lambda: is_ready(service))
            assert await told(service, "d") == "applied"

    asyncio.run(main())


def test_a_log_that_cannot_be_written_stops_nothing(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address, tell=_full, durable_within=0.0) as service:
            await cars(service)
            with held_up(store_address):
                await shown(service, "d")
                await until(lambda: is_away(service))
            await until(lambda: is_ready(service))
            assert await told(service, "d") == "applied"

    asyncio.run(main())


def _full(_: str) -> None:
    raise OSError("no space left on device")


async def is_away(service: Service) -> bool:
    return service._writer.away is not None


def test_a_folder_that_is_gone_for_a_while(tmp_path: Path) -> None:
    """As when a disk is taken out: the database cannot even be opened, until it can."""
    folder, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    folder.mkdir()
    database = f"sqlite:///{folder}/bandit.db"

    async def main() -> None:
        async with serving(database) as service:
            await cars(service)
            with held_up(database):
                await shown(service, "d")
                await until(lambda: says(service, "locked"))
                folder.rename(elsewhere)
            await until(lambda: says(service, "cannot be opened"))
            elsewhere.rename(folder)
            await until(lambda: is_ready(service))
            assert await told(service, "d") == "applied"

    asyncio.run(main())


async def says(service: Service, reason: str) -> bool:
    return reason in (service.ready or "")
