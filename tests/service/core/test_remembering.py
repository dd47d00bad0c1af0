"""What is remembered of scenes is bounded by bytes, and is what would be read again."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from fabcost import Schema
from fabcost.service.models.candidates import Scenes
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.service import Promises, Service
from fabcost.service.store.store import store_at
from fabcost.wire.errors import UnknownItemError
from fabcost.wire.messages import Between, DecisionRequest, Filter, Record
from fabcost.wire.settings import ModelSettings

ITEMS: dict[str, Record] = {
    f"ad-{k}": {"age": k, **{f"f{j}": 1 for j in range(20)}} for k in range(500)
}
MOST = 1_000_000


def asked(k: int) -> DecisionRequest:
    """Nearly all items, in one of some contexts."""
    return DecisionRequest(filter={"age": Between(min=float(k % 100))}, context={"hour": k % 24})


def test_filters_and_contexts_take_so_many_bytes(tmp_path: Path) -> None:
    async def work() -> None:
        address = str(tmp_path / "bandit.db")
        service = await Service.start(lambda: store_at(address), Promises(cache_bytes=MOST))
        for name in ("a", "b"):
            await service.create_model(name, ModelSettings(propensities="none"))
            await service.put_items(name, ITEMS)
            await service.decide(name, asked(0))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for k in range(120):
            await service.decide("ab"[k % 2], asked(k))
        taken = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert MOST / 2 < service.memory.held <= MOST
        assert taken < 3 * MOST
        await service.delete_model("a")
        await service.delete_model("b")
        assert service.memory.held == 0
        await service.stop()

    asyncio.run(work())


@pytest.mark.parametrize("most", [0, 3_000, 30_000, 10**9])
def test_scenes_are_the_same_however_little_is_remembered(most: int) -> None:
    schema = Schema.open()
    catalogue = Catalogue(schema, 0, {f"ad-{k}": {"age": k} for k in range(30)})
    catalogue.memory.most = most
    found = Scenes(schema, catalogue)
    rng = np.random.default_rng(7)
    for version in range(1, 200):
        if version % 40 == 0:
            catalogue.put(version, {f"ad-{version}": {"age": version}})
        lowest, hour = int(rng.integers(10)), int(rng.integers(5))
        given: Filter | None = {"age": Between(min=float(lowest))} if rng.random() < 0.7 else None
        scene, _ = found.of(DecisionRequest(filter=given, context={"hour": hour}))
        kept = {
            item: record
            for item, record in catalogue.items.items()
            if given is None or record["age"] >= lowest  # type: ignore[operator]
        }
        assert scene.names == tuple(kept)
        expected = schema.rows({"hour": hour}, schema.encode_items(kept))
        np.testing.assert_array_equal(scene.rows.dense(), expected)
        place = int(rng.integers(len(kept)))
        assert scene.at(place) == scene._written(place)
        assert catalogue.memory.held <= most


def test_what_was_asked_for_last_is_remembered() -> None:
    schema = Schema.open()
    catalogue = Catalogue(schema, 0, {f"ad-{k}": {"age": k} for k in range(30)})
    found = Scenes(schema, catalogue)
    first, _ = found.of(asked(3))
    assert found.of(asked(3))[0] is first
    catalogue.memory.most = 2 * catalogue.memory.held
    for k in range(4, 8):
        found.of(asked(k))
    assert found.of(asked(7))[0] is found.of(asked(7))[0]
    assert found.of(asked(3))[0] is not first
    catalogue.put(1, {"ad-99": {"age": 99}})
    assert catalogue.memory.held == 0


def lines_run(catalogue: Catalogue, after: str | None) -> int:
    """How many lines of Python a page takes."""
    many = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal many
        many += event == "line"
        return count

    sys.settrace(count)
    try:
        catalogue.page(10, after)
    finally:
        sys.settrace(None)
    return many


def test_a_page_of_a_catalogue_costs_the_same_wherever_it_is() -> None:
    before = sys.gettrace()
    catalogue = Catalogue(Schema.open(), 0, ITEMS)
    catalogue.page(10, None)
    assert lines_run(catalogue, "ad-480") == lines_run(catalogue, "ad-10") < 50
    sys.settrace(before)


def test_pages_of_a_catalogue_that_changes_have_all_of_it() -> None:
    catalogue = Catalogue(Schema.open(), 0, {f"ad-{k}": {"age": k} for k in range(10)})
    first = catalogue.page(4, None)
    assert (list(first.items), first.next) == ([f"ad-{k}" for k in range(4)], "ad-3")
    catalogue.remove(1, ["ad-4"])
    catalogue.put(2, {"ad-99": {"age": 99}, "ad-5": {"age": 50}})
    second = catalogue.page(4, first.next)
    assert (list(second.items), second.next) == (["ad-5", "ad-6", "ad-7", "ad-8"], "ad-8")
    third = catalogue.page(4, second.next)
    assert (list(third.items), third.next) == (["ad-9", "ad-99"], None)
    assert second.items["ad-5"] == {"age": 50}
    with pytest.raises(UnknownItemError):
        catalogue.page(4, "ad-4")
