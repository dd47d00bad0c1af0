"""Decisions among many items name none of them, and are told as if they did."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fabcost.service.service import Service
from fabcost.service.store.rows import MANY, record
from fabcost.service.transfer import export
from fabcost.wire.messages import DecisionRequest
from tests.service.core.running import cars, serving
from tests.service.faults.ledger import reading

COUNT = 3 * MANY


def adverts(count: int, start: int = 0) -> dict[str, dict[str, Any]]:
    return {f"advert-{k}": {"make": f"m{k % 3}", "age": k % 7} for k in range(start, start + count)}


REQUESTS: dict[str, dict[str, Any]] = {
    "all": {},
    "excluding": {"exclude": ["advert-5", "advert-120"]},
    "filtered": {"filter": {"make": ["m0", "m2"]}},
    "few": {"filter": {"make": "m1", "age": 3}},
    "named": {"items": [f"advert-{k}" for k in range(MANY + 20, 0, -1)]},
}


async def expected(service: Service, case: str) -> tuple[str, list[str], dict[str, float]]:
    """A decision with all that the answer can say, beside the candidates as they are in memory."""
    request = REQUESTS[case]
    catalogue = service._registry.of("cars").catalogue
    if "items" in request:
        names = list(request["items"])
    elif "filter" in request:
        names = list(map(str, catalogue.selected(request["filter"]).items.names))
    else:
        names = list(map(str, catalogue.all().names))
    number = len((await service.decisions("cars", limit=1_000))[0])
    decision = f"{case}-{number}"
    asked = DecisionRequest(decision_id=decision, top_k=len(names), **request)
    answer = await service.decide("cars", asked)
    assert await service.decide("cars", asked) == answer
    shares = dict(zip(answer.ranking, answer.propensities or [], strict=True))
    return decision, names, shares


async def lines(service: Service) -> dict[str, dict[str, Any]]:
    body = b"".join([piece async for piece in export(service, "cars", "jsonl")])
    decoded = [msgspec.json.decode(line) for line in body.splitlines()]
    return {line["decision_id"]: line for line in decoded}


async def check(service: Service, told: list[tuple[str, list[str], dict[str, float]]]) -> None:
    exported = await lines(service)
    views = {each.decision_id: each for each in (await service.decisions("cars", limit=1_000))[0]}
    for decision, names, shares in told:
        assert (await service.decision("cars", decision)).candidates == names
        assert views[decision].candidates == names
        line = exported[decision]
        assert list(line["candidates"]) == names
        by_name = dict(zip(names, line["propensities"], strict=True))
        assert {name: by_name[name] for name in shares} == shares
        assert all(by_name[name] == 0.0 for name in by_name.keys() - shares.keys())


@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_candidates_and_propensities_are_told_as_they_were(
    store_address: str, floor: float
) -> None:
    async def main() -> None:
        told = []
        async with serving(store_address) as service:
            await cars(service, floor=floor, holdback=floor)
            await service.put_items("cars", adverts(COUNT))
            told += [await expected(service, case) for case in REQUESTS]
            await service.put_items("cars", {"advert-7": {"make": "m0", "age": 1}, "new": {}})
            told += [await expected(service, case) for case in ("all", "filtered")]
            await service.delete_items("cars", ["advert-3", "new"])
            told += [await expected(service, case) for case in REQUESTS if case != "named"]
            await service.put_items("cars", adverts(2 * MANY, start=COUNT - MANY))
            await service.put_items("cars", {"advert-3": {"make": "m1"}})
            await service.delete_items("cars", ["advert-3", "advert-299"])
            told += [await expected(service, case) for case in ("all", "filtered")]
            await check(service, told)
        async with serving(store_address) as service:
            told += [await expected(service, "all")]
            await check(service, told)

    asyncio.run(main())


def test_a_record_does_not_grow_with_the_catalogue(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            for k in range(1, 21):
                await service.put_items("cars", adverts(MANY, start=k * MANY))
                if k in (2, 20):
                    await service.decide("cars", DecisionRequest(decision_id=f"at-{k}"))

    asyncio.run(main())
    with reading(store_address) as store:
        found = store.find_decisions([("cars", "at-2"), ("cars", "at-20")])
    few, many = (found["cars", decision].record for decision in ("at-2", "at-20"))
    assert len(record(many).all_propensities or []) > 2_000
    assert len(many) < 2 * len(few)
