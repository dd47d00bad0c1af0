"""Logs through a real service: what was learnt there is learnt here."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.service import transfer
from fabcost.service.errors import InvalidRequestError, UnknownModelError
from fabcost.service.messages import DecisionRequest, FeedbackRequest
from fabcost.service.model_settings import ModelSettings, UniformSettings
from fabcost.service.service import Service
from fabcost.service.store.address import store_at
from fabcost.service.transfer import dsjson_reader
from fabcost.service.transfer.formats import Format, read_impressions
from fabcost.service.transfer.pages import PAGE

FORMATS: tuple[Format, ...] = ("jsonl", "parquet", "dsjson")
CANDIDATES: dict[str, dict[str, Any]] = {
    "ad-1": {"make": "kia", "age": 3},
    "ad-2": {"make": "ford", "age": 1.5},
    "ad-3": {"make": "Škoda", "new": True},
}


def served(path: Path, work: Callable[[Service], Awaitable[None]]) -> None:
    """Do something with a service on a new database."""

    async def run() -> None:
        service = await Service.start(lambda: store_at(str(path / "service.db")))
        try:
            await work(service)
        finally:
            await service.stop()

    asyncio.run(run())


async def exported(service: Service, model: str, form: Format) -> bytes:
    return b"".join([piece async for piece in transfer.export(service, model, form)])


async def play(service: Service, model: str, rounds: int, **request: Any) -> None:
    rng = np.random.default_rng(5)
    for i in range(rounds):
        asked = DecisionRequest(
            decision_id=f"d-{i}",
            context={"device": ("tv", "phone")[rng.integers(2)], "hour": int(rng.integers(24))},
            **({"candidates": CANDIDATES} | request),
        )
        answer = await service.decide(model, asked)
        value = float(rng.random() < 0.3)
        feedback = FeedbackRequest(decision_id=answer.decision_id, value=value)
        await service.feedback(model, [feedback])


@pytest.mark.parametrize("form", FORMATS)
def test_a_log_that_was_moved_teaches_the_same(form: Format, tmp_path: Path) -> None:
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
def test_the_same_log_again_changes_nothing(form: Format, tmp_path: Path) -> None:
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


def test_features_of_the_catalogue_are_exported(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        for name in ("here", "there"):
            await service.create_model(name, ModelSettings(policy=UniformSettings()))
        await service.put_items("here", CANDIDATES)
        await play(service, "here", 30, candidates=None)
        body = await exported(service, "here", "jsonl")
        lines = [json.loads(line) for line in body.splitlines()]
        assert all(line["candidates"] == CANDIDATES for line in lines)
        assert not any(line["changed"] or line["missing"] for line in lines)
        await service.delete_items("here", ["ad-2"])
        later = [json.loads(line) for line in (await exported(service, "here", "jsonl")).split()]
        assert all(line["changed"] and line["missing"] == ["ad-2"] for line in later)
        chosen = sum(line["item"] != "ad-2" for line in later)
        assert 0 < chosen < 30
        gone = await exported(service, "here", "dsjson")
        assert await transfer.load(service, "there", "dsjson", gone) == 30
        assert service.posterior("there").impressions == chosen

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


def test_a_refused_line_is_named_and_those_before_it_are_learnt(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        schema = {"features": {"age": {"kind": "numeric"}}}
        await service.create_model("here", ModelSettings(schema=schema))
        good = b'{"item":"a","candidates":{"a":{"age":%d}},"value":1}\n'
        bad = b'{"item":"a","candidates":{"a":{"age":"old"}},"value":1}\n'
        with pytest.raises(InvalidRequestError, match=r"line 4: item 'a': item feature 'age' is"):
            await transfer.load(service, "here", "jsonl", good % 1 + good % 2 + b"\n" + bad)
        assert service.posterior("here").impressions == 2
        with pytest.raises(InvalidRequestError, match="line 2: Input data was truncated"):
            await transfer.load(service, "here", "jsonl", good % 3 + b"{")
        assert service.posterior("here").impressions == 2

    served(tmp_path, work)


def test_an_unknown_model_is_said_to_be(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        with pytest.raises(UnknownModelError):
            await exported(service, "nowhere", "jsonl")
        with pytest.raises(UnknownModelError):
            await transfer.load(service, "nowhere", "jsonl", b"")

    served(tmp_path, work)


def test_vowpal_wabbit_reads_every_line(tmp_path: Path) -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the extra bench is not installed")
    body = b""

    async def work(service: Service) -> None:
        nonlocal body
        await service.create_model("here", ModelSettings(floor=0.2))
        await play(service, "here", 40)
        body = await exported(service, "here", "dsjson")

    served(tmp_path, work)
    workspace = vowpalwabbit.Workspace("--dsjson --cb_explore_adf -q ci --quiet")
    for (_, line), text in zip(dsjson_reader.read(body), body.splitlines(), strict=True):
        shared, *actions = workspace.parse(text.decode())
        place = list(line.candidates).index(line.item)
        assert [each.get_tag() for each in actions] == list(line.candidates)
        assert [each.get_cbandits_num_costs() for each in actions].index(1) == place
        assert line.value is not None
        assert line.propensities is not None
        assert actions[place].get_cbandits_cost(0) == -line.value
        share = actions[place].get_cbandits_probability(0)
        assert share == pytest.approx(line.propensities[place], rel=1e-6)
        workspace.learn([shared, *actions])
        workspace.finish_example([shared, *actions])
    assert workspace.get_weighted_examples() == 40
    assert np.isfinite(workspace.get_sum_loss())
    workspace.finish()


def test_evaluate_reads_the_parquet(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings(floor=0.5))
        await play(service, "here", 120)
        log.write_bytes(await exported(service, "here", "parquet"))

    served(tmp_path, work)
    columns = ["--reward", "reward", "--propensity", "propensity", "--action", "action"]
    out = ["--out", str(tmp_path / "evaluation"), "--policy", "uniform", "--estimator", "snips"]
    done = CliRunner().invoke(application, ["evaluate", str(log), *columns, *out])
    assert done.exit_code == 0, done.output
    table = pq.read_table(io.BytesIO(log.read_bytes()))
    assert table.num_rows == 120
    clicks = sum(row["reward"] for row in table.to_pylist())
    assert clicks == sum(row["label"] > 0 for row in table.to_pylist())
    shares = [row["propensity"] for row in table.to_pylist()]
    assert min(shares) >= 0.5 / 3
