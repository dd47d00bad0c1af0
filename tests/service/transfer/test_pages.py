"""Logs through a real service: what was learnt there is learnt here."""

from __future__ import annotations

import asyncio
import json
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost.features.reader import Reader
from fabcost.service import transfer
from fabcost.service.models import transfers
from fabcost.service.models.transfers import check_all, logged_row
from fabcost.service.service import Service
from fabcost.service.transfer import PAGE
from fabcost.wire.errors import InvalidRequestError, UnknownModelError
from fabcost.wire.formats import read_impressions
from fabcost.wire.line import LoggedImpression, LogLine
from fabcost.wire.messages import DecisionRequest, LogFormat, Record
from fabcost.wire.settings import ModelSettings
from tests.service.transfer.playing import CANDIDATES, exported, play, served
from tests.wire.logs import FORMATS, written


@pytest.mark.parametrize("form", FORMATS)
def test_a_log_that_was_moved_teaches_the_same(form: LogFormat, tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        settings = ModelSettings(propensities="fast", floor=0.1)
        for name in ("here", "there"):
            await service.create_model(name, settings)
        await play(service, "here", 2 * PAGE + 30)
        body = await exported(service, "here", form)
        assert await transfer.load(service, "there", form, body) == 2 * PAGE + 30
        here, there = service.posterior("here"), service.posterior("there")
        assert here.impressions == there.impressions == 2 * PAGE + 30
        # An open schema may grow in another order: the weights are compared by their names.
        found = {each.name: (each.mean, each.sd) for each in there.weights}
        assert found.keys() == {each.name for each in here.weights}
        for each in here.weights:
            np.testing.assert_allclose(found[each.name], (each.mean, each.sd), rtol=1e-9, atol=1e-9)

    served(tmp_path, work)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_log_again_changes_nothing(form: LogFormat, tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("here", "there"):
            await service.create_model(name, ModelSettings())
        await play(service, "here", 20)
        body = await exported(service, "here", form)
        assert await transfer.load(service, "there", form, body) == 20
        before = service.posterior("there")
        assert await transfer.load(service, "there", form, body) == 0
        assert service.posterior("there") == before

    served(tmp_path, work)


def test_an_exported_log_is_the_same_after_a_move(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("here", "there"):
            await service.create_model(name, ModelSettings())
        await play(service, "here", 30)
        body = await exported(service, "here", "jsonl")
        await transfer.load(service, "there", "jsonl", body)
        again = await exported(service, "there", "jsonl")
        assert list(read_impressions(again, "jsonl")) == list(read_impressions(body, "jsonl"))

    served(tmp_path, work)


def test_what_has_no_outcome_is_not_learnt(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("here", "there"):
            await service.create_model(name, ModelSettings())
        waiting = DecisionRequest(decision_id="waiting", candidates=CANDIDATES)
        deferred = DecisionRequest(decision_id="deferred", candidates=CANDIDATES, deferred=True)
        for request in (waiting, deferred):
            await service.decide("here", request)
        for form in FORMATS:
            body = await exported(service, "here", form)
            assert [each.value for _, each in read_impressions(body, form)] == [None, None]
        lines = [json.loads(line) for line in (await exported(service, "here", "dsjson")).split()]
        assert ["_skipLearn" in line for line in lines] == [False, True]
        assert not any("_label_cost" in line for line in lines)
        await transfer.load(service, "there", "jsonl", await exported(service, "here", "jsonl"))
        assert service.posterior("there").impressions == 0

    served(tmp_path, work)


def test_a_refused_line_is_named_and_nothing_is_learnt(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        schema = {"features": {"age": {"kind": "numeric"}}}
        await service.create_model("here", ModelSettings(schema=schema))
        good = b'{"item":"a","candidates":{"a":{"age":%d}},"value":1}\n'
        bad = b'{"item":"a","candidates":{"a":{"age":"old"}},"value":1}\n'
        with pytest.raises(InvalidRequestError, match=r"line 4: item 'a': item feature 'age' is"):
            await transfer.load(service, "here", "jsonl", good % 1 + good % 2 + b"\n" + bad)
        assert await exported(service, "here", "jsonl") == b""
        with pytest.raises(InvalidRequestError, match="line 2: Input data was truncated"):
            await transfer.load(service, "here", "jsonl", good % 3 + b"{")
        assert await exported(service, "here", "jsonl") == b""

    served(tmp_path, work)


def test_a_line_that_an_earlier_one_makes_wrong_is_found_first(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        good = b'{"item":"a","candidates":{"a":{"age":1}},"value":1}\n'
        bad = b'{"item":"a","candidates":{"a":{"age":"old"}},"value":1}\n'
        with pytest.raises(InvalidRequestError, match="line 601: item 'a': item feature 'age' is"):
            await transfer.load(service, "here", "jsonl", 600 * good + bad)
        assert await exported(service, "here", "jsonl") == b""
        assert service.model("here").weights == 1
        assert await transfer.load(service, "here", "jsonl", bad) == 1

    served(tmp_path, work)


def test_a_decision_that_grows_the_schema_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        request = DecisionRequest(decision_id="d", context={"age": 1}, candidates={"b": {}})
        loop = asyncio.get_running_loop()

        def checked(
            reader: Reader, numbered: list[tuple[int, LoggedImpression]], of: ModelSettings
        ) -> None:
            check_all(reader, numbered, of)
            asyncio.run_coroutine_threadsafe(service.decide("here", request), loop).result()

        monkeypatch.setattr(transfers, "check_all", checked)
        line = b'{"item":"a","candidates":{"a":{"age":1}},"value":1}'
        with pytest.raises(InvalidRequestError, match="line 1: .* it belongs to the context"):
            await transfer.load(service, "here", "jsonl", line)
        assert service.posterior("here").impressions == 0

    served(tmp_path, work)


def test_an_unknown_model_is_said_to_be(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        with pytest.raises(UnknownModelError):
            await exported(service, "nowhere", "jsonl")
        with pytest.raises(UnknownModelError):
            await transfer.load(service, "nowhere", "jsonl", b"")

    served(tmp_path, work)


def test_a_log_is_learnt_in_little_more_memory_than_it_has(tmp_path: Path) -> None:
    """Its lines are many times as large when they are decoded: a few are at a time."""
    candidates: dict[str, Record] = {f"a{k}": {"x": 1} for k in range(1_000)}
    line = LogLine(candidates=candidates, item="a0", value=1.0)
    body = written([40 * [line]], "jsonl")

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        tracemalloc.start()
        try:
            assert await transfer.load(service, "here", "jsonl", body) == 40
            assert tracemalloc.get_traced_memory()[1] < 6_000_000
        finally:
            tracemalloc.stop()

    served(tmp_path, work)


def test_others_are_served_while_a_log_is_read_and_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, at, threads = 0, [], []

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def read(*given: Any, **options: Any) -> Any:
        for each in read_impressions(*given, **options):
            threads.append(threading.current_thread())
            yield each

    def check(*given: Any) -> None:
        threads.append(threading.current_thread())
        check_all(*given)

    def row(*given: Any) -> Any:
        at.append(turns)
        return logged_row(*given)

    monkeypatch.setattr(transfer, "read_impressions", read)
    monkeypatch.setattr(transfers, "check_all", check)
    monkeypatch.setattr(transfers, "logged_row", row)
    monkeypatch.setattr(transfers, "_TURN_SECONDS", 0.0)

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings())
        other = asyncio.ensure_future(turn())
        line = b'{"item":"a","candidates":{"a":{"age":1}},"value":1}\n'
        assert await transfer.load(service, "here", "jsonl", 20 * line) == 20
        other.cancel()

    served(tmp_path, work)
    assert len(threads) == 1 + 2 * 20
    assert threading.main_thread() not in threads
    assert len(set(at)) == 20
