"""Outcomes of imported decisions that become known later."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fabcost.service import transfer
from fabcost.service.service import Service
from fabcost.wire.messages import FeedbackRequest
from fabcost.wire.settings import LONGEST_WAIT, ModelSettings
from tests.service.core.running import Hands, serving, until

PENDING = {"decision_id": "d", "item": "a", "candidates": {"a": {"age": 3}, "b": {"age": 1}}}
CLICKED = PENDING | {"value": 1.0}


async def load(service: Service, model: str, *lines: dict[str, Any]) -> int:
    body = b"\n".join(map(msgspec.json.encode, lines))
    return await transfer.load(service, model, "jsonl", body)


async def discarded(service: Service) -> bool:
    return (await service.decision("here", "d")).outcome == "discarded"


def test_an_outcome_that_comes_with_a_later_import_is_learnt_once(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            for name in ("here", "at-once"):
                await service.create_model(name, ModelSettings(aggregation="sum"))
            assert await load(service, "here", PENDING) == 1
            assert service.posterior("here").impressions == 0
            assert [await load(service, "here", CLICKED) for _ in range(3)] == [1, 0, 0]
            assert await load(service, "at-once", CLICKED) == 1
            learnt = service.posterior("here")
            assert learnt.impressions == 1
            assert learnt.digest == service.posterior("at-once").digest
        async with serving(store_address) as service:
            assert service.posterior("here").digest == learnt.digest
            assert await load(service, "here", CLICKED) == 0

    asyncio.run(main())


def test_feedback_on_an_imported_decision_is_learnt(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await service.create_model("here", ModelSettings())
            await load(service, "here", PENDING)
            (answer,) = await service.feedback("here", [FeedbackRequest(decision_id="d")])
            assert answer.status == "applied"
            assert service.posterior("here").impressions == 1
            assert await load(service, "here", PENDING | {"value": 0.0}) == 0
            assert (await service.decision("here", "d")).value == 1.0

    asyncio.run(main())


def test_an_outcome_that_never_comes_is_not_taken_for_no_click(store_address: str) -> None:
    async def main() -> None:
        hands = Hands()
        async with serving(store_address, hands) as service:
            await service.create_model("here", ModelSettings())
            await load(service, "here", PENDING)
            hands.pass_by(LONGEST_WAIT - 1.0)
            await asyncio.sleep(0.6)
            assert not await discarded(service)
            hands.pass_by(2.0)
            await until(lambda: discarded(service))
            assert service.posterior("here").impressions == 0
            assert await load(service, "here", CLICKED) == 0

    asyncio.run(main())


def test_nothing_is_learnt_of_an_item_without_its_features(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await service.create_model("here", ModelSettings())
            assert await load(service, "here", CLICKED | {"missing": ["a"]}) == 1
            (answer,) = await service.feedback("here", [FeedbackRequest(decision_id="d")])
            assert answer.status == "ignored"
            assert service.posterior("here").impressions == 0

    asyncio.run(main())
