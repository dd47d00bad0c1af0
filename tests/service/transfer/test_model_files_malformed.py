"""A model's file that is not sound is refused, and one model never stops the others."""

from __future__ import annotations

import asyncio
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost import archive
from fabcost.gaussian import Gaussian
from fabcost.inference.saved import file as learner_file
from fabcost.recommend.document import FORMAT
from fabcost.service.learning.follower import Published
from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from fabcost.wire.errors import InvalidRequestError, LearningFailedError
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import ModelSettings
from tests.service.core.running import cars, serving
from tests.service.transfer.playing import CANDIDATES, play, served
from tests.storage.mutations import altered, mutations


async def exported(service: Service) -> tuple[dict[str, Any], dict[str, archive.Array]]:
    await service.create_model("here", ModelSettings())
    await play(service, "here", 6)
    return archive.unpack(FORMAT, await service.export_model("here"))


async def decided(service: Service, model: str, decision: str) -> None:
    request = DecisionRequest(decision_id=decision, context={"hour": 3}, candidates=CANDIDATES)
    await service.decide(model, request)


async def fed(service: Service, model: str, decision: str) -> str:
    return (await service.feedback(model, [FeedbackRequest(decision_id=decision)]))[0].status


async def learns(service: Service, model: str, decision: str) -> str:
    await decided(service, model, decision)
    return await fed(service, model, decision)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_whatever_a_file_says_it_is_refused_or_learns(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        document, arrays = await exported(service)
        chosen = list(mutations(document, arrays))[::7]
        refused = 0
        for what, settings, others in chosen:
            try:
                content = archive.pack(FORMAT, settings, others)
                await service.import_model("there", content)
            except InvalidRequestError:
                refused += 1
                continue
            # A wait of zero is sound.
            assert await learns(service, "there", "d") in ("applied", "late"), what
            assert service.degraded == {}, what
            await service.delete_model("there")
        assert len(chosen) > refused > len(chosen) / 3
        assert await learns(service, "here", "after all") == "applied"

    served(tmp_path, work)


def test_whatever_bytes_a_file_has_it_is_refused_or_learns(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        document, arrays = await exported(service)
        content, refused = archive.pack(FORMAT, document, arrays), 0
        for other in islice(altered(content, np.random.default_rng(7)), 600):
            try:
                await service.import_model("there", other)
            except InvalidRequestError:
                refused += 1
                continue
            assert await learns(service, "there", "d") == "applied"
            await service.delete_model("there")
        assert refused > 400

    served(tmp_path, work)


def test_settings_that_would_fill_the_memory_are_not_read(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        document, arrays = await exported(service)
        content = archive.pack(FORMAT, {**document, "more": 3_000_000 * [[]]}, arrays)
        complaint = "its settings have 12,...,... bytes but may have 8,388,608"
        tracemalloc.start()
        with pytest.raises(InvalidRequestError, match=complaint):
            await service.import_model("there", content)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
        tracemalloc.stop()

    served(tmp_path, work)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"next": -1}, "the file is of no recommender that can be: next is -1"),
        ({"tolerance": "x"}, "tolerance is 'x' but must be a finite number"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        document, arrays = await exported(service)
        document["learner"] |= change
        with pytest.raises(InvalidRequestError, match=complaint):
            await service.import_model("there", archive.pack(FORMAT, document, arrays))

    served(tmp_path, work)


def test_a_refresh_without_end_is_refused(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        document, arrays = await exported(service)
        document["learner"]["refresh"]["max_sweeps"] = 10**9
        with pytest.raises(InvalidRequestError, match="max_sweeps is 1000000000 but must be at"):
            await service.import_model("there", archive.pack(FORMAT, document, arrays))

    served(tmp_path, work)


@pytest.mark.parametrize(
    "belief", [Gaussian.from_kernel(np.full(1, np.nan), np.ones((1, 1))), None], ids=["nan", "none"]
)
def test_outcomes_count_also_if_nothing_can_be_predicted(belief: Any, tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("sound", "spoilt"):
            await service.create_model(name, ModelSettings())
            await decided(service, name, "d")
        service._registry.of("spoilt").learning._publisher.latest = Published(0, 0, belief)
        answers = await asyncio.gather(*(fed(service, name, "d") for name in ("sound", "spoilt")))
        assert answers == ["applied", "applied"]
        for name in ("sound", "spoilt"):
            assert service.posterior(name).impressions == 1

    served(tmp_path, work)


def spoil_base(address: str, model: str) -> None:
    """The learner that an earlier version let in."""
    store = store_at(address)
    store.open(take_over=True)
    base = store.model_base(model)
    assert base is not None
    settings, arrays = archive.unpack(learner_file.LEARNER, base)
    spoilt = archive.pack(learner_file.LEARNER, settings | {"next": -1}, arrays)
    row = next(row for row in store.models() if row.model == model)
    with store.transaction():
        store.delete_model(model)
        store.insert_model(row, spoilt)
    store.close()


def test_a_model_that_cannot_be_loaded_does_not_stop_the_others(store_address: str) -> None:
    complaints: list[str] = []

    async def before() -> None:
        async with serving(store_address) as service:
            await cars(service)
            content = await service.export_model("cars")
            await service.import_model("bad", content)

    async def after() -> None:
        async with serving(store_address, tell=complaints.append) as service:
            assert service.degraded == {"bad": "stopped learning"}
            for model in ("cars", "bad"):
                assert await learns(service, model, "d") == "applied"
            with pytest.raises(LearningFailedError):
                await service.export_model("bad")

    asyncio.run(before())
    spoil_base(store_address, "bad")
    asyncio.run(after())
    assert complaints[0].startswith("model 'bad' cannot be loaded and goes on from its prior")
    assert "next is -1" in complaints[0]
    store = store_at(store_address)
    store.open(take_over=False)
    heads = {row.model: row.head_lsn for row in store.models()}
    assert (heads, store.snapshot_numbers("bad")) == ({"cars": 1, "bad": 1}, [])
    store.close()
