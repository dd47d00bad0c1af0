"""Values of clicks and costs of showing, in evaluations and replays."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fabcost import FabCost, Gaussian, Greedy, Thompson, Uniform
from fabcost.cli import application
from fabcost.offline.evaluate.evaluation import Evaluation, evaluated
from fabcost.offline.evaluate.outlook import ESTIMATORS, EvaluationSettings, Target
from fabcost.offline.logs.decisions import Columns, read_items, read_log
from fabcost.offline.replay.protocol import replay
from fabcost.offline.replay.runs import ReplaySettings, measure
from tests.offline.test_evaluation import OPTIONS, Rows, write

SHARES = {"cars": 0.5, "boats": 0.2, "bikes": 0.3}
RATES = {"cars": 0.3, "boats": 0.15, "bikes": 0.4}
VALUES = {"cars": 2.0, "boats": 8.0, "bikes": 1.0}
COSTS = {"cars": 0.1, "boats": 0.3, "bikes": 0.0}
WORTH = {name: VALUES[name] * RATES[name] - COSTS[name] for name in SHARES}


def log_of(rng: np.random.Generator, rounds: int = 400, rate: float = 1.0) -> Rows:
    shown = [str(each) for each in rng.choice(list(SHARES), size=rounds, p=list(SHARES.values()))]
    return [
        {
            "item": item,
            "click": int(rng.random() < rate * RATES[item]),
            "p": SHARES[item],
            "price": VALUES[item],
            "fee": COSTS[item],
        }
        for item in shown
    ]


def judged(path: Path, rows: Rows, *policies: str, **more: Any) -> Evaluation:
    columns = Columns("click", "p", "item", value="price", cost="fee")
    log = read_log(write(path / "log.csv", rows), columns)
    settings = EvaluationSettings(**{"estimators": ESTIMATORS, **more})
    return evaluated(log, [Target.parse(policy) for policy in policies], settings)


def test_income_is_that_of_the_truth(tmp_path: Path) -> None:
    """False alarms: 6 in 100,000 for each of 14 estimates (4 standard errors over 60 logs)."""
    truths = {"uniform": sum(WORTH.values()) / 3, "always:boats": WORTH["boats"]}
    errors: dict[tuple[str, str], list[float]] = {}
    for rng in np.random.default_rng(40).spawn(60):
        for each in judged(tmp_path, log_of(rng), *truths).incomes:
            error = each.estimate.value - truths[each.policy]
            errors.setdefault((each.policy, each.estimator), []).append(error)
    assert len(errors) == 2 * len(ESTIMATORS)
    for name, found in errors.items():
        if name[1] not in ("dm", "shrunk"):  # which are as good as the model
            spread = np.std(found, ddof=1) / np.sqrt(len(found))
            assert abs(np.mean(found)) < 4.0 * spread, name


@pytest.mark.parametrize("rate", [1.0, 0.05])
def test_intervals_of_income_cover(tmp_path: Path, rate: float) -> None:
    """100 logs; were coverage 95 %, fewer than 86 are covered once in 10,000 times, for each."""
    truth = VALUES["boats"] * rate * RATES["boats"] - COSTS["boats"]
    log_income = sum(
        share * (VALUES[name] * rate * RATES[name] - COSTS[name]) for name, share in SHARES.items()
    )
    covered = np.zeros(2)
    for rng in np.random.default_rng(41).spawn(100):
        result = judged(tmp_path, log_of(rng, 300, rate), "always:boats", estimators=("snips",))
        e, d = result.incomes[0].estimate, result.incomes[0].difference
        covered += e.low <= truth <= e.high, d.low <= truth - log_income <= d.high
    assert (covered >= 86).all()


def test_clicks_of_value_one_are_clicks(tmp_path: Path) -> None:
    rows = [{**row, "price": 1.0, "fee": 0.0} for row in log_of(np.random.default_rng(42))]
    result = judged(tmp_path, rows, "uniform", "always:bikes", "learning-greedy")
    for clicks, income in zip(result.findings, result.incomes, strict=True):
        assert (clicks.policy, clicks.estimator) == (income.policy, income.estimator)
        assert income.estimate.value == pytest.approx(clicks.estimate.value)
        assert income.difference.value == pytest.approx(clicks.difference.value)
        assert income.difference.standard_error == pytest.approx(clicks.difference.standard_error)


def test_rules_go_by_what_clicks_are_worth(tmp_path: Path) -> None:
    rows = log_of(np.random.default_rng(43), 1500)
    by_worth = judged(tmp_path, rows, "greedy", "always:boats", "learning-thompson")
    values = {(e.policy, e.estimator): e.estimate.value for e in by_worth.incomes}
    assert values["greedy", "ips"] == pytest.approx(values["always:boats", "ips"])
    plain = evaluated(
        read_log(tmp_path / "log.csv", Columns("click", "p", "item")),
        [Target.parse("greedy"), Target.parse("always:bikes")],
        EvaluationSettings(estimators=("ips",)),
    )
    assert plain.findings[0].estimate == plain.findings[1].estimate
    assert plain.incomes == []
    assert plain.income() is None
    learnt = values["learning-thompson", "replay"]
    assert abs(learnt - WORTH["boats"]) < abs(learnt - WORTH["bikes"])


def test_amounts_may_be_those_of_the_items(tmp_path: Path) -> None:
    rows = log_of(np.random.default_rng(44))
    table = [{"item": k, "price": VALUES[k], "fee": COSTS[k], "size": len(k)} for k in VALUES]
    items = write(tmp_path / "items.csv", table)
    of_log = judged(tmp_path, rows, "always:boats", estimators=("ips", "snips"))
    few = [{name: row[name] for name in ("item", "click", "p")} for row in rows]
    bare = write(tmp_path / "bare.csv", few)
    log = read_log(
        bare,
        Columns("click", "p", "item", value="price", cost="fee"),
        items=read_items(items, "item", ("price", "fee")),
    )
    settings = EvaluationSettings(estimators=("ips", "snips"))
    of_items = evaluated(log, [Target.parse("always:boats")], settings)
    assert of_items.incomes == of_log.incomes


def test_the_command_reports_income(tmp_path: Path) -> None:
    log, out = write(tmp_path / "log.csv", log_of(np.random.default_rng(45))), tmp_path / "out"
    worth = ("--value", "price", "--cost", "fee")
    done = command("evaluate", log, *OPTIONS, *worth, "--policy", "always:boats", "--out", out)
    assert done.exit_code == 0, done.output
    assert "Mean income beyond that of the log" in done.output
    summary = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader(log.read_text(encoding="utf-8").splitlines()))
    earned = [float(r["click"]) * float(r["price"]) - float(r["fee"]) for r in rows]
    assert summary["income"]["value"] == pytest.approx(np.mean(earned))
    assert {each["estimator"] for each in summary["incomes"]} >= {"snips", "dr"}
    boats = [e for e, r in zip(earned, rows, strict=True) if r["item"] == "boats"]
    (snips,) = [each for each in summary["incomes"] if each["estimator"] == "snips"]
    assert snips["value"] == pytest.approx(np.mean(boats))
    assert summary["log"]["value"] == "price"


@pytest.mark.parametrize("name", ["evaluate", "replay"])
@pytest.mark.parametrize(
    ("column", "cell", "complaint"),
    [
        ("price", "-1", "price is '-1' but must be at least 0"),
        ("price", "dear", "price is 'dear' but must be a number"),
        ("fee", "", "fee is missing but must be a number"),
        ("fee", "inf", "fee is 'inf' but must be a number"),
    ],
)
def test_a_bad_amount_is_named(
    tmp_path: Path, name: str, column: str, cell: str, complaint: str
) -> None:
    rows = log_of(np.random.default_rng(46), 30)
    rows[6][column] = cell
    log = write(tmp_path / "log.csv", rows)
    options = OPTIONS if name == "evaluate" else ("--reward", "click", "--drop", "item")
    done = command(name, log, *options, "--value", "price", "--cost", "fee")
    assert done.exit_code == 2
    assert f"row 7: {complaint}" in done.output


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, [str(each) for each in arguments])


def impressions(rows: int = 300) -> tuple[np.ndarray[Any, Any], ...]:
    rng = np.random.default_rng(47)
    X = np.column_stack([np.ones(rows), rng.normal(size=(rows, 2))])
    y = (rng.random(rows) < 0.3).astype(float)
    return X, y, rng.choice([1.0, 5.0], rows), rng.choice([0.0, 0.1], rows)


def test_income_of_a_replay_is_that_of_its_order() -> None:
    X, y, value, cost = impressions()
    settings = ReplaySettings(("fabcost", "uniform"), seeds=2)
    found = measure(X, y, settings, amounts=(value, cost))
    assert found.income is not None
    total = float((value * y - cost).sum())
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        learner = FabCost(Gaussian.isotropic(3))
        shown = replay(X, y, learner, policy=Uniform(), rng=rng, values=value, costs=cost)
        expected = [(value * y - cost)[shown.order[:k]].sum() for k in (1, 100, 300)]
        got = found.income.clicks["uniform"][seed, [0, 99, 299]]
        np.testing.assert_allclose(got, expected, atol=1e-9)
        np.testing.assert_array_equal(found.clicks["uniform"][seed], shown.clicks)
    # All that is shown has come in, whatever the order.
    assert (found.income.clicks["fabcost"][:, -1] == found.income.clicks["uniform"][:, -1]).all()
    assert found.income.clicks["uniform"][0, -1] == pytest.approx(total)
    assert measure(X, y, settings).income is None


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("policy", [Greedy(), Thompson(scale=0.0)])
def test_a_replay_takes_what_is_worth_most(policy: Greedy | Thompson, owned: bool) -> None:
    """A learner that knows the weights and never learns shows impressions by their worth."""
    X, y, value, cost = impressions(60)

    class Known:
        posterior = Gaussian([-1.0, 0.5, 0.3], 1e-8 * np.eye(3))

        def observe(self, x: Any, y: Any) -> None:
            pass

    rng = np.random.default_rng(1)
    learner = FabCost(Known.posterior, own_variance=1e-8) if owned else Known()
    items = np.arange(60) if owned else None
    shown = replay(X, y, learner, policy=policy, rng=rng, values=value, costs=cost, items=items)
    worth = value / (1.0 + np.exp(-X @ Known.posterior.mean)) - cost
    ranks = np.argsort(np.argsort(-worth))[shown.order]
    assert (np.abs(ranks - np.arange(60)) <= 1).all()


def test_the_replay_command_reports_income(tmp_path: Path) -> None:
    X, y, value, cost = impressions(120)
    rows = [
        {"a": x[1], "b": x[2], "click": int(c), "price": v, "fee": f}
        for x, c, v, f in zip(X, y, value, cost, strict=True)
    ]
    log, out = write(tmp_path / "log.csv", rows), tmp_path / "out"
    worth = ("--value", "price", "--cost", "fee")
    few = ("--policy", "greedy", "--policy", "uniform", "--seeds", "2", "--jobs", "1")
    done = command("replay", log, "--reward", "click", *worth, *few, "--out", out)
    assert done.exit_code == 0, done.output
    summary = json.loads((out / "replay.json").read_text(encoding="utf-8"))
    total = float((value * y - cost).sum())
    for name in ("greedy", "uniform"):
        assert np.array(summary["income"][name]["income"])[:, -1] == pytest.approx(total)
    assert summary["income"]["greedy"]["verdicts"][-1] == "the same"
    with (out / "income.csv").open(encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["income"]) == pytest.approx(total, rel=1e-5)
