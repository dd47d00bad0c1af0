"""Replays and evaluations in which items have effects of their own."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fabcost import FabCost, Gaussian
from fabcost.bandit.rules import Greedy, Thompson
from fabcost.cli import application
from fabcost.impressions import FloatArray
from fabcost.inference import ep
from fabcost.offline.folds import cross_fits
from fabcost.offline.methods import LEARNERS, OWNING
from fabcost.offline.replay.protocol import replay

RATES = {"a": 0.05, "b": 0.1, "c": 0.15, "d": 0.7}


def told_apart(rows: int = 300, seed: int = 0) -> tuple[FloatArray, FloatArray, Any]:
    """A constant and a number that says nothing; the item decides."""
    rng = np.random.default_rng(seed)
    items = rng.integers(len(RATES), size=rows)
    X = np.column_stack([np.ones(rows), rng.normal(size=rows)])
    return X, (rng.random(rows) < np.array([*RATES.values()])[items]).astype(float), items


def written(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def run(*arguments: str | Path) -> None:
    result = CliRunner().invoke(application, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output


def found(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_a_replay_shows_what_is_best_with_the_effect_of_its_item() -> None:
    """Beside all that are left, each scored by its own marginal, in the order of the ties."""
    X, y, items = told_apart(150)
    learner = FabCost(Gaussian.isotropic(2, variance=1.0), own_variance=0.5)
    shown = replay(X, y, learner, policy=Greedy(), rng=np.random.default_rng(5), items=items)
    other = FabCost(Gaussian.isotropic(2, variance=1.0), own_variance=0.5)
    left = np.random.default_rng(5).spawn(2)[0].permutation(len(X)).tolist()
    for index in shown.order.tolist():
        assert other.own is not None
        keys = [int(items[each]) for each in left]
        scores = other.own.marginal(other.posterior, X[left], keys).mean
        assert scores[left.index(index)] >= scores.max() - 1e-12
        other.observe(X[index], y[index], int(items[index]))
        left.remove(index)
    assert left == []


def test_effects_find_the_items_that_features_do_not() -> None:
    """After a third of the rounds; without effects one row is as good as another."""
    X, y, items = told_apart(600)
    clicks = {}
    for variance in (0.0, 0.3):
        learner = FabCost(Gaussian.isotropic(2, variance=1.0), own_variance=variance)
        rng = np.random.default_rng(1)
        shown = replay(X, y, learner, policy=Thompson(), rng=rng, rounds=200, items=items)
        clicks[variance] = int(shown.clicks[-1])
    assert clicks[0.3] > 1.5 * clicks[0.0]


def test_items_are_one_for_each_impression() -> None:
    X, y, items = told_apart(30)
    learner, rng = FabCost(Gaussian.isotropic(2), own_variance=0.3), np.random.default_rng(0)
    with pytest.raises(ValueError, match="there are 29 items but 30 impressions"):
        replay(X, y, learner, policy=Greedy(), rng=rng, items=items[1:])


def test_without_items_an_impression_is_of_none() -> None:
    X, y, _ = told_apart(30)
    learner = FabCost(Gaussian.isotropic(2), own_variance=0.3)
    replay(X, y, learner, policy=Greedy(), rng=np.random.default_rng(0))
    assert learner.own is not None
    assert len(learner.own) == 0


def test_learners_that_may_have_effects_are_otherwise_the_same() -> None:
    for name in OWNING:
        plain, owning = (LEARNERS[name](Gaussian.isotropic(2), own_variance=v) for v in (0.0, 0.3))
        assert isinstance(plain, FabCost)
        assert isinstance(owning, FabCost)
        assert plain.own is None
        assert owning.own is not None
        assert (owning.refresh_schedule, owning.tolerance) == (
            plain.refresh_schedule,
            plain.tolerance,
        )


def test_the_replay_command_knows_items_unless_told_not_to(tmp_path: Path) -> None:
    X, y, items = told_apart(300)
    ids = [*RATES]
    rows = [[x[1], ids[i], int(click)] for x, i, click in zip(X, items, y, strict=True)]
    log = written(tmp_path / "log.csv", ["noise", "ad", "click"], rows)
    options = ("--reward", "click", "--seeds", "2", "--rounds", "100", "--jobs", "1")
    given = {
        "owned": ("--item", "ad"),
        "plain": ("--item", "ad", "--no-own-effects"),
        "dropped": ("--drop", "ad"),
    }
    results = {}
    for name, more in given.items():
        run("replay", log, *options, *more, "--out", tmp_path / name)
        results[name] = found(tmp_path / name / "replay.json")
    assert [results[name]["own_effects"] for name in given] == [True, False, False]
    assert results["owned"]["columns"] == results["dropped"]["columns"] == ["bias", "noise"]
    assert results["plain"]["policies"] == results["dropped"]["policies"]
    ours, theirs = (results[name]["policies"]["fabcost"]["clicks"] for name in ("owned", "plain"))
    assert np.sum(ours) > np.sum(theirs)
    for name in ("laplace", "uniform"):
        assert (
            results["owned"]["policies"][name]["clicks"]
            == results["plain"]["policies"][name]["clicks"]
        )


def test_a_missing_id_is_a_bad_row(tmp_path: Path) -> None:
    log = written(tmp_path / "log.csv", ["x", "ad", "click"], [[1, "a", 0], [2, "", 1]])
    result = CliRunner().invoke(
        application, ["replay", str(log), "--reward", "click", "--item", "ad"]
    )
    assert result.exit_code == 2
    assert "row 2: ad is" in result.output


def test_selected_features_keep_their_items(tmp_path: Path) -> None:
    X, y, items = told_apart(400)
    rows = [[x[1], -(x[1] ** 2), int(i), int(c)] for x, i, c in zip(X, items, y, strict=True)]
    log = written(tmp_path / "log.csv", ["a", "b", "ad", "click"], rows)
    options = ("--reward", "click", "--item", "ad", "--seeds", "1", "--rounds", "50")
    run("replay", log, *options, "--select", "1", "--jobs", "1", "--out", tmp_path / "out")
    assert found(tmp_path / "out" / "replay.json")["own_effects"]


def test_a_fold_has_effects_that_did_not_see_it() -> None:
    X, y, items = told_apart(80)
    prior, names = Gaussian.isotropic(2), [f"ad-{each}" for each in items]
    rng = np.random.default_rng(3)
    for held_out, fitted in cross_fits(
        prior, X, y, folds=4, rng=rng, items=names, own_variance=0.3
    ):
        others = np.delete(np.arange(80), held_out)
        alone = ep.fit(
            prior,
            X[others],
            y[others],
            items=[names[each] for each in others],
            own_variance=0.3,
            tolerance=1e-6,
        )
        assert fitted.own is not None
        assert alone.own is not None
        np.testing.assert_array_equal(fitted.posterior.mean, alone.posterior.mean)
        np.testing.assert_array_equal(fitted.own.rows, alone.own.rows)


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Path, Path]:
    """Uniform choices among items whose feature says nothing, and the table of these."""
    rng, ids = np.random.default_rng(0), [*RATES]
    rows = [[ids[i], int(rng.random() < RATES[ids[i]]), 0.25] for i in rng.integers(4, size=800)]
    log = written(tmp_path / "log.csv", ["ad", "click", "p"], rows)
    return log, written(tmp_path / "items.csv", ["ad", "wheels"], [[each, "four"] for each in ids])


def evaluated(logged: tuple[Path, Path], out: Path, *more: str) -> dict[str, Any]:
    log, items = logged
    columns = ("--reward", "click", "--propensity", "p", "--action", "ad", "--items", str(items))
    policies = ("always:a", "always:d", "greedy", "learning-thompson")
    flags = [flag for policy in policies for flag in ("--policy", policy)]
    run("evaluate", log, *columns, *flags, *more, "--out", out)
    return found(out / "evaluation.json")


def value(summary: dict[str, Any], policy: str, estimator: str) -> float:
    values = {(e["policy"], e["estimator"]): e["value"] for e in summary["estimates"]}
    return float(values[policy, estimator])


def test_an_evaluation_knows_items_unless_told_not_to(
    logged: tuple[Path, Path], tmp_path: Path
) -> None:
    owned = evaluated(logged, tmp_path / "owned")
    plain = evaluated(logged, tmp_path / "plain", "--no-own-effects")
    assert (owned["own_effects"], plain["own_effects"]) == (True, False)
    assert value(plain, "always:a", "dm") == pytest.approx(value(plain, "always:d", "dm"))
    assert value(owned, "always:d", "dm") > 0.5
    assert value(owned, "always:a", "dm") < 0.2
    assert value(owned, "greedy", "snips") == pytest.approx(value(owned, "always:d", "snips"))
    assert value(owned, "learning-thompson", "replay") > value(plain, "learning-thompson", "replay")
    for estimator in ("ips", "snips"):
        ours, theirs = (value(each, "always:d", estimator) for each in (owned, plain))
        assert ours == theirs
    assert [each["kind"] for each in plain["alarms"]] == ["items look alike"]
    assert owned["alarms"] == []


def test_ids_that_are_features_need_no_effects(logged: tuple[Path, Path], tmp_path: Path) -> None:
    columns = ("--reward", "click", "--propensity", "p", "--action", "ad")
    for name, more in (("with", ()), ("without", ("--no-own-effects",))):
        run("evaluate", logged[0], *columns, *more, "--out", tmp_path / name)
    one, other = (found(tmp_path / name / "evaluation.json") for name in ("with", "without"))
    assert one["estimates"] == other["estimates"]
    assert not one["own_effects"]
