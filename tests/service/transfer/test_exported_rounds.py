"""Which rounds of an exported log count, and with which candidates and features."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.offline.logs.exports import read_export
from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import ModelSettings
from tests.service.transfer.adverts_log import ITEMS, MAKES, ROUNDS, evaluate, rewrite
from tests.service.transfer.playing import exported, served


def change(log: Path, *changes: tuple[int, str, Any]) -> None:
    def work(rows: list[dict[str, Any]]) -> None:
        for place, column, value in changes:
            rows[place][column] = value

    rewrite(log, work)


def test_bad_rows_are_named_or_skipped(log: Path) -> None:
    change(
        log,
        (6, "action", "z"),
        (7, "candidates", "[]"),
        (8, "propensities", [0.5] * 5),
        (9, "propensities", [1.0]),
        (10, "reward", 2),
        (11, "context", '{"tags": [1]}'),
    )
    with pytest.raises(ValueError, match="row 7: action is z but must be a candidate"):
        read_export(log)
    found = read_export(log, skip_bad_rows=True)
    assert found.reward.size == ROUNDS - 6
    assert found.skipped.total() == 6
    assert found.skipped["propensities must add up to 1"] == 1


def test_open_rounds_do_not_count(log: Path) -> None:
    """Since the first round that waits clicks are known and their absence is not."""
    waits = [(500, column, None) for column in ("reward", "label", "value", "outcome")]
    change(
        log,
        *waits,
        (3, "active", False),
        (3, "outcome", "discarded"),
        (3, "reward", None),
        (4, "propensities", None),
    )
    found = read_export(log)
    assert found.reward.size == 498
    assert found.notes == (
        "100 rounds are left out: made since the first of 1 that still wait",
        "1 rounds are left out: not activated, or without an outcome",
        "1 rounds are left out: without propensities: nothing was drawn, or none were asked for",
    )
    change(log, *((i, "arm", "imported") for i in range(500, 600)))
    assert read_export(log).reward.size == 498
    change(log, *((i, "arm", "imported") for i in range(500)))
    change(log, *((0, column, None) for column in ("reward", "outcome")))
    with pytest.raises(ValueError, match="600 rounds are left out: made since the first of 2"):
        read_export(log)


def test_features_do_not_tell_what_was_chosen(tmp_path: Path) -> None:
    """The chosen item's features are those of its decision, the others' those of the export."""
    log = tmp_path / "log.parquet"

    async def work(service: Service) -> None:
        await service.create_model("here", ModelSettings(floor=0.5))
        await service.put_items("here", {"a": {"age": 1}, "b": {"age": 2}, "c": {"age": 3}})
        for i in range(60):
            answer = await service.decide("here", DecisionRequest(decision_id=f"d-{i}"))
            feedback = FeedbackRequest(decision_id=answer.decision_id, value=float(i % 2))
            await service.feedback("here", [feedback])
        await service.put_items("here", {"a": {"age": 7}})
        await service.delete_items("here", ["c"])
        log.write_bytes(await exported(service, "here", "parquet"))

    served(tmp_path, work)
    found = read_export(log)
    assert sorted(found.items.ids) == ["a", "b", "c"]
    assert np.bincount(found.action).min() > 0
    assert "in 60 rounds the catalogue was another one" in found.notes[0]
    assert "1 candidates have left the catalogue" in found.notes[1]


def test_items_and_context_can_be_chosen(log: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.csv"
    lines = [f"{name},{i}" for i, name in enumerate(ITEMS)]
    items.write_text("\n".join(["id,size", *lines]))
    few = ("--policy", "uniform", "--estimator", "ips", "--item-id", "id", "--context", "hour")
    assert evaluate(log, *few, "--items", str(items))[0]["features"] == 3
    assert evaluate(log, *few)[0]["features"] == 2 + len(MAKES)
    with pytest.raises(ValueError, match="no context feature 'device'; it has hour"):
        read_export(log, context=["device"])
    items.write_text("\n".join(["id,size", *lines[1:]]))
    refused = ["evaluate", str(log), "--items", str(items), "--item-id", "id"]
    done = CliRunner().invoke(application, refused)
    assert done.exit_code == 2
    assert "the candidate 'a0', which is no known item" in " ".join(done.output.split())


def test_items_without_features_are_told_apart_by_id(log: Path) -> None:

    def forget(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["candidates"] = json.dumps({name: {} for name in json.loads(row["candidates"])})

    rewrite(log, forget)
    found = read_export(log)
    assert found.notes == (
        "no candidate has features: policies that learn tell items apart by their ids",
    )
    np.testing.assert_array_equal(found.items.features, np.eye(30))
