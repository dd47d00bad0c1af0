"""A writer that is busy for long: what waits in its queue is counted and bounded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fabcost.service.service import Service
from fabcost.service.writer.requests import Job
from fabcost.wire.errors import UnknownDecisionIdError
from tests.service.core.running import cars, serving, shown, told, until

ROOM = 10
MANY = 60


@asynccontextmanager
async def busy(service: Service) -> AsyncIterator[None]:
    """The writer is in a transaction that does not end, and decisions no longer wait for it."""
    released = threading.Event()
    done = asyncio.get_running_loop().create_future()
    service._writer.submit(Job(lambda _: released.wait(60.0), done))
    try:
        await shown(service, "given-up")
        yield
    finally:
        released.set()
        await done


def test_decisions_in_the_queue_are_counted_and_bounded(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address, backlog=ROOM, durable_within=0.0) as service:
            await cars(service)
            async with busy(service):
                assert service.ready == "the database does not answer"
                assert service._writer.unwritten == 1
                for k in range(MANY):
                    await shown(service, f"d-{k}", context={"device": "mobile"})
                assert service._writer.unwritten == ROOM
                shown_now = service.metrics.render().decode()
                assert f"fabcost_backlog {ROOM}.0" in shown_now
                assert f"fabcost_decisions_lost_total {MANY - (ROOM - 1)}.0" in shown_now
            await until(lambda: all_written(service))
            assert "fabcost_backlog 0.0" in service.metrics.render().decode()
            for decision in ("given-up", "d-0", f"d-{ROOM - 2}"):
                assert await told(service, decision) == "applied"
            with pytest.raises(UnknownDecisionIdError):
                await service.decision("cars", f"d-{ROOM - 1}")

    asyncio.run(main())


async def all_written(service: Service) -> bool:
    return service._writer.unwritten == 0
