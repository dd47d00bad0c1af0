"""Replays of logs side by side."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fabcost import Gaussian
from fabcost.bandit.baselines import LinearGaussian
from fabcost.bandit.rules import Thompson
from fabcost.offline.intervals import difference
from fabcost.offline.logs.impressions import chosen, read_log
from fabcost.offline.methods import THOMPSON, contender, contenders
from fabcost.offline.replay.protocol import replay
from fabcost.offline.replay.runs import ReplaySettings, checkpoints, marks, measure
from fabcost.prior import Prior
from tests.offline.replay_logs import simulated, written

DATA = os.environ.get("FABCOST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="FABCOST_DATA names no data directory")


def test_every_learner_has_a_name() -> None:
    assert set(THOMPSON) >= {
        "fabcost",
        "fabcost-paper",
        "adf",
        "ep",
        "laplace",
        "laplace-online",
        "laplace-diagonal",
        "laplace-published",
        "linear",
    }
    name, player = contender("FabCost-Paper@0.25")
    assert (name, player.learner) == ("fabcost-paper@0.25", "FAB-COST, paper")
    assert player.policy == Thompson(0.25)
    X, y = simulated(60)
    rules = ("fabcost@ts-ucb", "laplace@ts-ucb:3", "fabcost@information-directed:16")
    every = ReplaySettings((*THOMPSON, *rules, "greedy", "uniform"), seeds=1)
    for clicks in measure(X, y, every).clicks.values():
        assert clicks[0, -1] == y.sum()


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("magic", "policy is 'magic' but must be one of fabcost, fabcost-paper, adf"),
        ("fabcost@", "scale must be a number of at least 0"),
        ("fabcost@wide", "scale must be a number of at least 0"),
        ("fabcost@-1", "scale must be a number of at least 0"),
        ("fabcost@inf", "scale must be a number of at least 0"),
        ("uniform@2", "uniform has no scale"),
        ("fabcost@ts-ucb:0", "'0' does not suit ts-ucb"),
    ],
)
def test_unknown_policy_is_named(spec: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        contender(spec)


def test_baseline() -> None:
    assert ReplaySettings(("fabcost", "laplace", "uniform")).baseline == "laplace"
    assert ReplaySettings(("fabcost", "uniform")).baseline == "uniform"
    assert ReplaySettings(("fabcost", "adf@0.5"), against="ADF@0.50").baseline == "adf@0.5"
    with pytest.raises(ValueError, match="against is 'ep' but the policies are fabcost, uniform"):
        ReplaySettings(("fabcost", "uniform"), against="ep")


def test_result_does_not_depend_on_the_processes() -> None:
    X, y = simulated()
    settings = ReplaySettings(("fabcost", "laplace-online", "uniform"), seeds=2, rounds=150)
    told = {1: 0, 2: 0}
    results = {}
    for jobs in told:

        def advance(many: int, jobs: int = jobs) -> None:
            told[jobs] += many

        results[jobs] = measure(X, y, settings, jobs=jobs, advance=advance)
    assert told == {1: 2 * 3 * 150, 2: 2 * 3 * 150}
    for name, clicks in results[1].clicks.items():
        np.testing.assert_array_equal(clicks, results[2].clicks[name])


def test_clicks_are_those_of_the_replay_by_itself() -> None:
    """1,500 rounds are thinned; what is kept is the count after just those rounds."""
    X, y = simulated(1600)
    settings = ReplaySettings(
        ("linear",), seeds=1, first_seed=3, rounds=1500, prior=Prior.same(4.0)
    )
    found = measure(X, y, settings, at=[777])
    learner = LinearGaussian(Gaussian.isotropic(4, variance=4.0))
    alone = replay(X, y, learner, policy=Thompson(), rng=np.random.default_rng(3), rounds=1500)
    assert 777 in found.marks
    assert found.marks.size < 1500
    np.testing.assert_array_equal(found.clicks["linear"][0], alone.clicks[found.marks - 1])
    assert found.at([777]).clicks["linear"].item() == y[alone.order[:777]].sum()


def test_failure_of_a_process_is_raised() -> None:
    X, y = simulated(50)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="nan"):
        measure(X, y, ReplaySettings(("adf", "uniform"), seeds=2), jobs=2)


def test_seed_decides_and_policies_do_not_disturb_each_other() -> None:
    X, y = simulated()
    alone = measure(X, y, ReplaySettings(("fabcost",), seeds=2, first_seed=5, rounds=100))
    both = measure(X, y, ReplaySettings(("adf", "fabcost"), seeds=3, first_seed=4, rounds=100))
    np.testing.assert_array_equal(alone.clicks["fabcost"], both.clicks["fabcost"][1:])
    assert (both.clicks["fabcost"][0] != both.clicks["fabcost"][1]).any()


def test_same_seed_is_the_same_luck_for_every_policy() -> None:
    """Without evidence that tells them apart, learners of equal belief choose alike."""
    X, y = simulated()
    settings = ReplaySettings(("fabcost", "adf"), seeds=4, rounds=2)
    clicks = measure(X, y, settings).clicks
    np.testing.assert_array_equal(clicks["fabcost"][:, 0], clicks["adf"][:, 0])
    wide = measure(X, y, ReplaySettings(("fabcost", "fabcost@0"), seeds=4, rounds=20)).clicks
    assert (wide["fabcost"] != wide["fabcost@0"]).any()


def test_uniform_has_the_mean_of_a_hypergeometric_count() -> None:
    """False alarms: at most 3 in 1,000 (three counts beyond 3.3 sds of a mean of 200)."""
    X, y = simulated()
    seeds = 200
    result = measure(X, y, ReplaySettings(("uniform",), seeds=seeds, first_seed=1))
    for rounds in (20, 100, 300):
        count = stats.hypergeom(y.size, int(y.sum()), rounds)
        mean = result.at([rounds]).clicks["uniform"].mean()
        assert abs(mean - count.mean()) < 3.3 * count.std() / np.sqrt(seeds)


@pytest.mark.parametrize("order", ["clicks first", "clicks last"])
@pytest.mark.parametrize("policy", ["fabcost", "greedy", "laplace"])
def test_order_of_the_log_tells_nothing(policy: str, order: str) -> None:
    """Features without news and many ties: a sorted log must give no policy more than chance.

    False alarms: 1 in 1,000 for each case (3.3 standard errors over 60 seeds); a policy that
    took the first of equal rows would have 40 or 0 clicks instead of 8.
    """
    y = np.repeat([1.0, 0.0], [40, 160])
    X = np.column_stack([np.ones(200), np.tile([0.0, 1.0], 100)])
    if order == "clicks last":
        X, y = X[::-1].copy(), y[::-1].copy()
    clicks = measure(X, y, ReplaySettings((policy,), seeds=60, rounds=40)).clicks[policy][:, -1]
    assert abs(clicks.mean() - 8.0) < 3.3 * clicks.std(ddof=1) / np.sqrt(60)


def test_learning_beats_chance() -> None:
    """False alarms: none that matter; the gain is some ten standard errors."""
    X, y = simulated(1000)
    result = measure(X, y, ReplaySettings(("fabcost", "uniform"), seeds=5, rounds=200))
    assert difference(result.clicks["fabcost"], result.clicks["uniform"]).low[-1] > 10.0


@pytest.mark.parametrize("rounds", [1, 9, 10, 999, 1001, 678_446])
def test_marks_hold_every_checkpoint(rounds: int) -> None:
    chosen_marks = marks(rounds)
    assert chosen_marks.size <= 1000
    assert set(checkpoints(rounds)) <= set(chosen_marks.tolist())
    assert (chosen_marks[0], chosen_marks[-1]) == (1, rounds)


def test_rows_of_the_choice_are_not_replayed(tmp_path: Path) -> None:
    log = read_log(written(tmp_path / "log.csv", *simulated()), "click")
    selection, left = chosen(log, 1, seed=0)
    assert selection is not None
    assert selection.columns.tolist() == [0, 1]
    assert (selection.rows.size, left.X.shape, left.columns) == (40, (360, 2), log.columns[:2])
    everything = np.concatenate([left.X[:, 1], log.X[selection.rows, 1]])
    np.testing.assert_array_equal(np.sort(everything), np.sort(log.X[:, 1]))
    assert left.y.sum() + log.y[selection.rows].sum() == log.y.sum()


@needs_data
@pytest.mark.parametrize(
    ("path", "reward", "drop", "rows", "positives"),
    [
        ("bank_marketing/bank-additional-full.csv.gz", "y", "duration", 41_188, 4_640),
        (
            "online_shoppers/online_shoppers_intention.csv.gz",
            "Revenue",
            "PageValues",
            12_330,
            1_908,
        ),
    ],
)
def test_real_logs_are_read(path: str, reward: str, drop: str, rows: int, positives: int) -> None:
    log = read_log(Path(str(DATA)) / path, reward, drop=[drop])
    assert (log.y.size, log.y.sum(), log.skipped.total()) == (rows, positives, 0)
    assert not any(column.startswith(drop) for column in log.columns)
    np.testing.assert_allclose(log.X[:, 1].mean(), 0.0, atol=1e-9)


def test_names_are_each_once() -> None:
    assert list(contenders(["fabcost@1.0", "fabcost", "fabcost@.5"])) == ["fabcost", "fabcost@0.5"]
