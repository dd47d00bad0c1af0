"""`fabcost replay` and `fabcost evaluate` say what is wrong with a log."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.offline.logs.rounds import encoded_records

pytestmark = pytest.mark.filterwarnings("ignore:.*one value.*")


def told(arguments: list[str], out: Path, file: str) -> tuple[str, set[tuple[str, str]]]:
    """What is printed, in one line, and the alarms of the JSON file."""
    result = CliRunner().invoke(application, [*arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads((out / file).read_text(encoding="utf-8"))
    alarms = {(each["kind"], each["subject"]) for each in found["alarms"]}
    printed = " ".join(result.output.split())
    assert all(each["text"] in printed for each in found["alarms"])
    return printed, alarms


def written(path: Path, **columns: list[Any]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return str(path)


def healthy(rows: int = 200) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    return {
        "age": rng.normal(size=rows).tolist(),
        "make": rng.choice(["kia", "ford"], rows).tolist(),
        "seen": [f"2026-01-{1 + k % 28:02d}" for k in range(rows)],
        "click": rng.integers(2, size=rows).tolist(),
    }


REPLAY = ["--reward", "click", "--policy", "uniform", "--seeds", "2", "--jobs", "1"]
CASES: list[tuple[dict[str, list[Any]], set[tuple[str, str]]]] = [
    ({}, set()),
    ({"wheels": [4] * 200}, {("constant number", "wheels")}),
    ({"visitor": [f"v{k}" for k in range(200)]}, {("exploding category", "visitor")}),
    ({"click": [1] * 200}, {("feedback of one kind", "")}),
]


@pytest.mark.parametrize(("more", "alarms"), CASES)
def test_replay(tmp_path: Path, more: dict[str, list[Any]], alarms: set[tuple[str, str]]) -> None:
    log = written(tmp_path / "log.csv", **{**healthy(), **more})
    printed, found = told(["replay", log, *REPLAY], tmp_path / "out", "replay.json")
    assert found == alarms
    assert printed.count("Alarm, ") == len(alarms)


@pytest.mark.parametrize(("more", "alarms"), CASES)
def test_evaluate(tmp_path: Path, more: dict[str, list[Any]], alarms: set[tuple[str, str]]) -> None:
    rng = np.random.default_rng(1)
    columns = {"ad": rng.choice(["a", "b"], 200).tolist(), "p": [0.5] * 200, **healthy(), **more}
    log = written(tmp_path / "log.csv", **columns)
    context = [f for n in columns if n not in ("ad", "p", "click") for f in ("--context", n)]
    options = ["--reward", "click", "--propensity", "p", "--action", "ad", "--policy", "uniform"]
    command = ["evaluate", log, *options, *context]
    printed, found = told(command, tmp_path / "out", "evaluation.json")
    assert found == alarms
    assert printed.count("Alarm, ") == len(alarms)


def test_records_of_a_service_tell_of_dates_and_of_ids() -> None:
    records = [{"seen": f"2026-01-{1 + k % 28:02d}", "visitor": f"v{k}"} for k in range(1200)]
    _, alarms = encoded_records(records, "log.parquet", most=5_000, rounds=1200)
    assert {(each.kind, each.subject) for each in alarms} == {
        ("dates as categories", "seen"),
        ("exploding category", "visitor"),
    }
