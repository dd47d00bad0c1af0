"""The study of rules: its worlds do what they say, and games are played once."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from studies.rules import games, kept
from studies.rules.arms import MADE, labelled
from studies.rules.games import RULES, THOMPSON, Game, play, played, read
from studies.rules.plan import AGAIN, CHOOSING, CONFIRMING, SEEDS_LATE, TRIAL
from studies.rules.report import REGRET, Report, Side
from studies.rules.worlds import CANDIDATES, CLICKS, DRIFT, WORLDS, Drifting, Logged, Sampled

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import choose
from fabcost.bandit.rules import Thompson


def test_what_a_log_has_shown_does_not_come_again() -> None:
    rows = np.arange(60.0)[:, None]
    visitors = Logged(rows, np.zeros(60)).rounds(np.random.default_rng(0))
    seen: list[float] = []
    visitor = visitors.send(None)
    for _ in range(30):
        assert len(set(visitor.rows[:, 0])) == CANDIDATES
        assert not set(visitor.rows[:, 0]) & set(seen)
        seen.append(float(visitor.rows[3, 0]))
        visitor = visitors.send(3)


def test_weights_that_change_keep_their_spread() -> None:
    """Of 14 weights after 2,000 steps, over 40 seeds, sd 0.5 ± 0.06: beyond 4 of its own sds."""
    last = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        theta = np.append(-4.0, rng.normal(scale=0.5, size=14))
        for visitor in islice(Drifting(theta).rounds(rng), 1_500, 1_501):
            logits = np.log(visitor.probability / (1.0 - visitor.probability))
            last.append(np.linalg.lstsq(visitor.rows, logits, rcond=None)[0])
    found = np.array(last)
    np.testing.assert_allclose(found[:, 0], -4.0)
    assert found[:, 1:].std() == pytest.approx(0.5, abs=0.06)


def test_fixed_rows_stay_and_fresh_ones_do_not() -> None:
    rows, p = np.arange(50.0)[:, None], np.linspace(0.0, 1.0, 50)
    fixed = Sampled(rows, p, np.array([4, 7])).rounds(np.random.default_rng(0))
    assert all((each.rows[:, 0] == [4, 7]).all() for each in islice(fixed, 5))
    first, second = islice(Sampled(rows, p).rounds(np.random.default_rng(0)), 2)
    assert (first.rows != second.rows).any()
    np.testing.assert_array_equal(first.probability, p[first.rows[:, 0].astype(int)])


def test_arms_apart_are_one_model_of_blocks() -> None:
    """The law of the arms' log-odds: by blocks of one belief, and as independent numbers."""
    X, _ = labelled(MADE)
    rng = np.random.default_rng(1)
    arms = [FabCost(Gaussian.isotropic(21)) for _ in range(3)]
    for arm in arms:
        arm.observe_many(X[:30], rng.random(30) < 0.4)
    laws = [arm.posterior.marginal(X[40]) for arm in arms]
    covariance = np.zeros((63, 63))
    rows = np.zeros((3, 63))
    for k, arm in enumerate(arms):
        block = slice(21 * k, 21 * k + 21)
        covariance[block, block] = arm.posterior.covariance
        rows[k, block] = X[40]
    whole = Gaussian(np.concatenate([arm.posterior.mean for arm in arms]), covariance)
    apart = Gaussian([law.mean for law in laws], np.diag([float(law.variance) for law in laws]))
    shares = [
        choose(belief, Thompson(), given, rng=np.random.default_rng(0), draws=40_000).propensities
        for belief, given in ((whole, rows), (apart, np.eye(3)))
    ]
    # Shares of 40,000 draws, of which a quarter is independent: 0.02 is four of their sds.
    np.testing.assert_allclose(shares[0], shares[1], atol=0.02)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_plays_and_is_paired(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "ROUNDS", 12)
    monkeypatch.setattr(games, "CHECKPOINTS", (4, 12))
    for world in (*CLICKS, DRIFT):
        first, last, regret = play(Game(world, rule, 3))
        assert 0.0 <= first <= last
        assert regret >= 0.0
        best = last + regret
        other = play(Game(world, THOMPSON, 3))
        assert other[1] + other[2] == pytest.approx(best)


def test_games_are_played_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "ROUNDS", 5)
    monkeypatch.setattr(games, "CHECKPOINTS", (5,))
    path, game = tmp_path / "games.jsonl", Game(DRIFT, THOMPSON, 1)
    assert list(played([game], path)) == [game]
    with path.open("a") as file:
        file.write('["cut off')
    assert read(path) == {game: play(game)}


def test_ratios_are_of_seeds_that_both_have_played() -> None:
    results = {
        Game("w", "a", 0): [1.0, 1.0, 1.0, 2.0],
        Game("w", "a", 1): [1.0, 1.0, 1.0, 4.0],
        Game("w", "a", 2): [1.0, 1.0, 1.0, 9.0],
        Game("w", "b", 0): [1.0, 1.0, 1.0, 4.0],
        Game("w", "b", 1): [1.0, 1.0, 1.0, 8.0],
    }
    ratio = Report(results).ratio(["w"], Side("a"), Side("b"), REGRET, range(3))
    assert (ratio.mean, ratio.seeds) == (0.5, 2)
    assert ratio.half == pytest.approx(0.0)


def test_a_ratio_of_games_that_are_not_at_hand_is_the_one_that_stood_on_the_page() -> None:
    page = """# Rules

## To choose on: seeds

| world | a | b |
| --- | --- | --- |
| w | 0.74 ± 0.05 | **1.37 ± 0.33** |

| world | visitors before an outcome | a |
| --- | --- | --- |
| w | 100 | 0.91 ± 0.01 |

## To confirm on

| world | a |
| --- | --- |
| w | 0.10 ± 0.10 |
"""
    found = kept.ratios(page)
    assert found[kept.Cell("w", "", "b")] == (1.37, 0.33)
    results = {Game("w", rule, 0): [1.0, 1.0, 1.0, 3.0] for rule in ("a", "b", THOMPSON)}
    report = Report(results, found)
    theirs = Side(THOMPSON)
    assert report.ratio(["w"], Side("a"), theirs, REGRET, CHOOSING)[:2] == (0.74, 0.05)
    assert report.ratio(["w"], Side("a"), theirs, REGRET, range(1)).mean == 1.0
    assert report.ratio(["w"], Side("c"), theirs, REGRET, CHOOSING).seeds == 0
    ours, theirs = Side("a", delay=100), Side(THOMPSON, delay=100)
    assert report.ratio(["w"], ours, theirs, REGRET, SEEDS_LATE).mean == 0.91
    assert kept.part(page, kept.CONFIRMED).endswith("| w | 0.10 ± 0.10 |")
    assert kept.part(page, kept.GRID) == ""


def test_no_seed_is_in_both_halves() -> None:
    assert not {*CHOOSING, *SEEDS_LATE, *AGAIN} & {*CONFIRMING, *TRIAL.many}
    assert set(WORLDS) >= set(CLICKS)
