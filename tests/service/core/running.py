"""Services for tests: on any store, with a clock that tests turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from fabcost.service.models.decisions import Clock
from fabcost.service.models.views import Looked
from fabcost.service.service import Promises, Service
from fabcost.service.store.store import store_at
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import ModelSettings
from fabcost.wire.statistics import StatsAnswer

ITEMS: dict[str, dict[str, Any]] = {
    f"ad-{k}": {"make": ("kia", "ford", "audi")[k % 3], "age": k % 7} for k in range(9)
}


class Hands:
    """The hands of a clock."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.wall = now
        self.steady = 0.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def clock(self) -> Clock:
        return Clock(wall=lambda: self.wall, steady=lambda: self.steady)


@asynccontextmanager
async def serving(
    address: str,
    hands: Hands | None = None,
    tell: Callable[[str], object] = str,
    **promises: Any,
) -> AsyncIterator[Service]:
    clock, agreed = None if hands is None else hands.clock(), Promises(**promises)
    service = await Service.start(lambda: store_at(address), agreed, clock=clock, tell=tell)
    try:
        yield service
    finally:
        await service.stop()


async def cars(service: Service, **settings: Any) -> None:
    """A model "cars" with a few adverts."""
    await service.create_model("cars", ModelSettings(**settings))
    await service.put_items("cars", ITEMS)


async def shown(service: Service, decision: str, **request: Any) -> str:
    """Decide under this id, for one of two devices; what was chosen."""
    device = "mobile" if hash_of(decision) % 2 else "desktop"
    request = {"context": {"device": device}, **request}
    answer = await service.decide("cars", DecisionRequest(decision_id=decision, **request))
    return answer.item


def hash_of(text: str) -> int:
    return sum(map(ord, text))


async def told(service: Service, decision: str, value: float = 1.0, key: str = "") -> str:
    request = FeedbackRequest(decision_id=decision, value=value, key=key)
    return (await service.feedback("cars", [request]))[0].status


async def stats_now(service: Service) -> StatsAnswer:
    """The statistics with no count from memory, where it stays the longer the slower it was."""
    with patch.object(Looked, "is_fresh", return_value=False):
        return await service.stats("cars")


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
