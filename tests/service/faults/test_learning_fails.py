from __future__ import annotations

import asyncio

import pytest

from fabcost import FabCost
from fabcost.service.service import Service
from fabcost.wire.errors import LearningFailedError
from tests.service.core.running import cars, serving, shown, told


async def learnt(service: Service, first: int, last: int) -> None:
    for k in range(first, last):
        await shown(service, f"d{k}")
        assert await told(service, f"d{k}", float(k % 2)) == "applied"


def _no_room(*_: object, **__: object) -> None:
    raise MemoryError


async def scenario(store_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    async with serving(store_address, tell=complaints.append) as service:
        await cars(service)
        await learnt(service, 0, 3)
        before = service.posterior("cars").posterior_version
        with monkeypatch.context() as patch:
            patch.setattr(FabCost, "observe_many", _no_room)
            await learnt(service, 3, 5)
        await learnt(service, 5, 8)
        assert service.posterior("cars").posterior_version == before
        assert service.ready is None
        assert service.degraded == {"cars": "stopped learning"}
        assert service.model("cars").degraded == "stopped learning"
        assert complaints == [
            "model 'cars' stopped learning, a restart goes on: MemoryError()",
        ]
        with pytest.raises(LearningFailedError, match="a restart learns from its log"):
            await service.export_model("cars")
    async with serving(store_address) as service:
        assert service.degraded == {}
        assert service.posterior("cars").posterior_version.startswith("8.")


def test_log_goes_on_and_a_restart_learns_from_it(
    store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(scenario(store_address, monkeypatch))
