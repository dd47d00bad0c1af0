"""Which estimator is read of a policy, what is warned of, and what the terminal shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fabcost import Prior
from fabcost.cli import application
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.evaluation import Evaluation, evaluated
from fabcost.offline.evaluate.outlook import ESTIMATORS, EvaluationSettings, Target
from fabcost.offline.evaluate.support import Reach, advised
from fabcost.offline.logs.decisions import Columns, read_log
from tests.offline.test_evaluation import OPTIONS, Rows, found, simulated, write


def reach(effective: float, used: int, weight: float = 1.0) -> Reach:
    return Reach(Estimate(weight, 0.05, 0.9, 1.1, 0.95, effective, used))


@pytest.mark.parametrize(
    ("asked", "given", "estimator"),
    [
        (ESTIMATORS, reach(500.0, 1000), "dr"),
        (("ips", "snips", "dm"), reach(500.0, 1000), "snips"),
        (("ips", "dm"), reach(500.0, 1000), "ips"),
        (("dm",), reach(500.0, 1000), None),
        (ESTIMATORS, Reach(Estimate(1.0, 0.0, 1.0, 1.0, 0.95, 500.0, 500)), "ips"),
        (ESTIMATORS, reach(99.0, 200), "shrunk"),
        (ESTIMATORS, reach(900.0, 10_000), "shrunk"),
        (("ips", "snips", "sndr"), reach(99.0, 200), "sndr"),
        (ESTIMATORS, reach(500.0, 1000, weight=0.5), None),
        (("replay",), None, "replay"),
    ],
)
def test_weights_decide_what_is_read(
    asked: tuple[str, ...], given: Reach | None, estimator: str | None
) -> None:
    assert advised(asked, given).estimator == estimator
    assert advised(asked, given).why


def log_of(path: Path, shares: dict[str, float], rounds: int) -> Rows:
    """Items that are shown with these probabilities, of which every third is clicked."""
    rng = np.random.default_rng(4)
    shown = rng.choice(list(shares), size=rounds, p=list(shares.values()))
    return [
        {"item": item, "click": int(i % 3 == 0), "p": shares[str(item)]}
        for i, item in enumerate(shown)
    ]


def judged(path: Path, rows: Rows, policy: str, **more: Any) -> Evaluation:
    log = read_log(write(path / "log.csv", rows), Columns("click", "p", "item"))
    return evaluated(log, [Target.parse(policy)], EvaluationSettings(**more))


@pytest.mark.parametrize(("policy", "is_warned"), [("always:rare", True), ("uniform", False)])
def test_a_small_effective_sample_is_warned_of(
    tmp_path: Path, policy: str, is_warned: bool
) -> None:
    shares = {"rare": 0.02, "common": 0.98} if is_warned else {"rare": 0.4, "common": 0.6}
    result = judged(tmp_path, log_of(tmp_path, shares, 2000), policy)
    words = " ".join(result.warnings())
    assert ("worth only" in words) is is_warned
    assert result.advice[policy].estimator == ("shrunk" if is_warned else "dr")
    if is_warned:
        size = result.reaches[policy].weight.effective_size
        assert f"worth only {size:,.0f} rounds of {policy}'s own" in words
        assert size < 100


def test_a_learner_that_seldom_agrees_is_warned_of(tmp_path: Path) -> None:
    rows = log_of(tmp_path, {"a": 0.5, "b": 0.5}, 60)
    assert "agreed with this log in only" in " ".join(
        judged(tmp_path, rows, "learning-thompson").warnings()
    )


def test_weights_that_do_not_fit_leave_nothing_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    rows = [{**row, "p": 0.5} for row in simulated(300)]
    log, out = write(tmp_path / "log.csv", rows), tmp_path / "out"
    arguments = ["evaluate", str(log), *OPTIONS, "--policy", "uniform", "--out", str(out)]
    said = CliRunner().invoke(application, arguments).output
    assert "cannot tell (its weights do not fit this log)" in said
    assert found(out)["read"]["uniform"]["estimator"] is None
    assert not any(each["read"] for each in found(out)["estimates"])


def test_names_are_printed_as_they_are(tmp_path: Path) -> None:
    rows = [{**row, "item": f"[red]{row['item']}"} for row in simulated(100)]
    log, out = write(tmp_path / "log.csv", rows), tmp_path / "out"
    arguments = ["evaluate", str(log), *OPTIONS, "--policy", "always:[red]d", "--out", str(out)]
    said = CliRunner().invoke(application, arguments).output
    assert said.count("always:[red]d") >= 8


def test_a_policy_that_is_the_logging_one_is_the_same(tmp_path: Path) -> None:
    rows = [{**row, "p": 0.25} for row in simulated(200)]
    result = judged(tmp_path, rows, "uniform")
    ((finding, verdict),) = result.read(result.findings)
    assert (finding.difference.value, verdict.word) == (0.0, "the same")


def test_no_click_rate_is_shown_below_zero(tmp_path: Path) -> None:
    """Where an item had no click, and the model expects some, doubly robust goes below."""
    rng = np.random.default_rng(5)
    shown = rng.choice(["a", "b"], size=300, p=[0.1, 0.9])
    rows = [
        {
            "item": item,
            "click": int(item == "b" and rng.random() < 0.4),
            "p": 0.1 + 0.8 * (item == "b"),
        }
        for item in shown
    ]
    result = judged(tmp_path, rows, "always:a", prior=Prior.same(0.05))
    values = {each.estimator: each.estimate.value for each in result.findings}
    (dr,) = (each for each in result.findings if each.estimator == "dr")
    assert dr.difference.value + result.click_rate().value < 0.0
    assert values["dr"] == 0.0


def test_differences_are_those_to_the_mean_reward(tmp_path: Path) -> None:
    rows = [{**row, "p": 0.25} for row in simulated(300)]
    result = judged(tmp_path, rows, "always:d", estimators=ESTIMATORS)
    for each in result.findings:
        expected = each.estimate.value - result.click_rate().value
        assert each.difference.value == pytest.approx(expected), each.estimator
        assert each.difference.low < each.difference.value < each.difference.high


LONG = "information-directed:64"


def test_tables_fit_in_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{**row, "value": 2.5, "cost": 0.1} for row in simulated(200)]
    log = str(write(tmp_path / "log.csv", rows))
    policies = [flag for each in ("uniform", LONG, "always:d") for flag in ("--policy", each)]
    worth = ["--value", "value", "--cost", "cost", "--out", str(tmp_path / "out")]
    evaluate = ["evaluate", log, *OPTIONS, *policies, *worth]
    replay = ["replay", log, "--reward", "click", "--policy", f"fabcost@{LONG}", "--seeds", "2"]
    replay += ["--policy", "uniform", "--rounds", "40", "--drop", "p", "--drop", "value"]
    for arguments in (evaluate, [*replay, *worth, "--drop", "cost", "--jobs", "1"]):
        done = CliRunner().invoke(application, arguments)
        assert done.exit_code == 0, done.output
        tables = done.output.partition("━ ")[2].partition("Written")[0]
        assert max(map(len, tables.splitlines())) <= 80
        assert "…" not in tables
        assert "cannot tell" in tables or "better" in tables
        assert "directed:64" in "".join(tables.split())


def test_the_summary_has_what_was_said(tmp_path: Path) -> None:
    log, out = write(tmp_path / "log.csv", simulated(200)), tmp_path / "out"
    arguments = ["evaluate", str(log), *OPTIONS, "--policy", "always:d", "--out", str(out)]
    assert CliRunner().invoke(application, arguments).exit_code == 0
    summary = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    (read,) = [each for each in summary["estimates"] if each["read"]]
    assert read["estimator"] == summary["read"]["always:d"]["estimator"] == "shrunk"
    assert read["verdict"] in ("better", "worse", "cannot tell")
    assert read["difference"]["low"] <= read["difference"]["value"] <= read["difference"]["high"]
    assert any("worth only" in each for each in summary["warnings"])
