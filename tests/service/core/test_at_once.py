"""Changes that come at once, or whose callers go away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fabcost.service.http.auth import new_key
from fabcost.service.service import Service
from fabcost.wire.errors import AlreadyThereError, UnknownModelError
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import ITEMS, cars, serving, until


def run(address: str, scenario: Callable[[Service], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving(address) as service:
            await cars(service)
            await scenario(service)

    asyncio.run(main())


def settings_after_a_restart(address: str) -> ModelSettings:
    async def main() -> ModelSettings:
        async with serving(address) as service:
            return service.model("cars").settings

    return asyncio.run(main())


def test_changes_at_once_are_all_kept(store_address: str) -> None:
    changes: list[dict[str, Any]] = [{"floor": 0.1}, {"holdback": 0.2}, {"mode": "off"}]

    async def scenario(service: Service) -> None:
        await asyncio.gather(*(service.change_model("cars", each) for each in changes))
        assert expected(service.model("cars").settings)

    def expected(settings: ModelSettings) -> bool:
        return (settings.floor, settings.holdback, settings.mode) == (0.1, 0.2, "off")

    run(store_address, scenario)
    assert expected(settings_after_a_restart(store_address))


def test_what_is_written_is_known_although_nobody_waits_for_it(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        asked = [
            asyncio.create_task(service.put_items("cars", {"late": ITEMS["ad-0"]})),
            asyncio.create_task(service.change_model("cars", {"floor": 0.3})),
            asyncio.create_task(service.create_model("vans", ModelSettings())),
        ]
        await asyncio.sleep(0)
        for each in asked:
            each.cancel()
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)
        await until(lambda: is_there(service, "vans"))
        assert service.item("cars", "late") == ITEMS["ad-0"]
        assert service.model("cars").settings.floor == 0.3

    run(store_address, scenario)


async def is_there(service: Service, name: str) -> bool:
    return name in {each.name for each in service.models()}


@pytest.mark.parametrize("method", ["put_items", "delete_items", "change_model", "export_model"])
def test_a_model_that_is_deleted_meanwhile_is_unknown(store_address: str, method: str) -> None:
    given: dict[str, tuple[Any, ...]] = {
        "put_items": (ITEMS,),
        "delete_items": (["ad-1"],),
        "change_model": ({"floor": 0.1},),
        "export_model": (),
    }

    async def scenario(service: Service) -> None:
        deleting = asyncio.create_task(service.delete_model("cars"))
        await asyncio.sleep(0)
        with pytest.raises(UnknownModelError):
            await getattr(service, method)("cars", *given[method])
        await deleting

    run(store_address, scenario)


def test_of_two_models_of_one_name_the_second_is_refused(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        made = (service.create_model("vans", ModelSettings(seed=k)) for k in range(2))
        _, refused = await asyncio.gather(*made, return_exceptions=True)
        assert isinstance(refused, AlreadyThereError)
        assert service.model("vans").settings.seed == 0

    run(store_address, scenario)


def test_a_deleted_model_takes_its_keys_with_it(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        for model in ("cars", "vans"):
            row, _ = new_key("k", ["decide"], model, now=1.0)
            await service.insert_key(row)
        await service.delete_model("cars")
        in_force = [each.model for each in await service.keys() if each.revoked is None]
        assert in_force == ["vans"]

    run(store_address, scenario)
