"""A model never has more weights than it may have, whatever strangers send."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from fabcost.wire.messages import DecisionRequest
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import serving, told

MOST = 30


async def new_model(service: Service) -> None:
    await service.create_model("cars", ModelSettings(most_weights=MOST))


async def asked(service: Service, k: int) -> list[str]:
    """A decision about numbers, booleans and strings, some of which only it has; its columns."""
    context: Any = {"hour": k, f"c{k}": k + 0.5, "device": f"device-{k}"}
    item: Any = {"age": k, f"i{k}": k % 2 == 0, f"m{k}": k + 0.5, "make": f"make-{k}"}
    await service.decide(
        "cars",
        DecisionRequest(decision_id=f"d{k}", context=context, candidates={"a": item, "b": {}}),
    )
    await told(service, f"d{k}", float(k % 2))
    assert service.model("cars").weights <= MOST
    return [weight.name for weight in service.posterior("cars").weights]


def test_a_server_that_starts_again_has_the_same_weights(
    store_address: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "unbroken.db")) as unbroken:
            await new_model(unbroken)
            async with serving(store_address) as service:
                await new_model(service)
                for k in range(8):
                    assert await asked(service, k) == await asked(unbroken, k)
            async with serving(store_address) as service:
                assert service.posterior("cars").weights == unbroken.posterior("cars").weights
                for k in range(4, 12):
                    assert await asked(service, k) == await asked(unbroken, k)
                assert service.posterior("cars").weights == unbroken.posterior("cars").weights

    asyncio.run(main())


def test_a_model_that_grew_past_its_limit_is_loaded_as_it_is(tmp_path: Path) -> None:
    address = str(tmp_path / "bandit.db")
    numbers = {"kind": "numeric", "missing": "zero", "mean": 0.0, "scale": 1.0}
    steps = [
        json.dumps({"name": f"{role}{i}", "role": role, **numbers})
        for role in ("context", "item")
        for i in range(9)
    ]

    async def main() -> None:
        async with serving(address) as service:
            await new_model(service)
        store = store_at(address)
        store.open(take_over=True)
        with store.transaction():
            store.insert_steps("cars", 0, steps)
        store.close()
        async with serving(address) as service:
            assert service.model("cars").weights == 100
            before = service.posterior("cars").weights
            known: Any = {f"context{i}": 1 for i in range(9)}
            request = DecisionRequest(context=known | {"new": 1}, candidates={"a": {"item0": 1}})
            await service.decide("cars", request)
            assert service.posterior("cars").weights == before

    asyncio.run(main())


@pytest.mark.parametrize("most", [1, 20, 121])
def test_numbers_alone(tmp_path: Path, most: int) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await service.create_model("cars", ModelSettings(most_weights=most))
            context: Any = {f"c{i}": i for i in range(10)}
            item: Any = {f"i{i}": i for i in range(10)}
            await service.decide("cars", DecisionRequest(context=context, candidates={"a": item}))
            assert service.model("cars").weights == {1: 1, 20: 11, 121: 121}[most]

    asyncio.run(main())
