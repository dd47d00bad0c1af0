"""Ranking, scores, propensities and the choice of one decision belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, WideFabCost
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import Policy
from tests.bandit.policies import EVERY_POLICY

EVERY_KIND = pytest.mark.parametrize("kind", ["plain", "own", "wide"])

WEIGHTS, MANY = 5, 7
ITEMS = [f"ad-{k}" for k in range(MANY - 1)] + ["ad-0"]


def learners() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, WEIGHTS)), rng.random(40) < 0.4
    prior = Gaussian.isotropic(WEIGHTS, variance=2.0)
    plain, own = FabCost(prior), FabCost(prior, own_variance=0.7)
    plain.observe_many(X, y)
    own.observe_many(X, y, [f"ad-{k % 4}" for k in range(40)])
    wide = WideFabCost(WEIGHTS, core=3)
    for x, clicked in zip(X, y, strict=True):
        wide.observe(x, clicked)
    return {"plain": plain, "own": own, "wide": wide}


def rows() -> Any:
    found = np.random.default_rng(2).standard_normal((MANY, WEIGHTS))
    found[1] = found[0]  # equal rows
    return found


def choices(policy: Policy, kind: str, many: int, **options: Any) -> Any:
    learner = learners()[kind]
    bandit = Bandit(learner, policy=policy, seed=3)
    if kind == "own":
        options["items"] = ITEMS
    return [bandit.choose(rows(), draws=16, **options) for _ in range(many)]


@EVERY_KIND
@EVERY_POLICY
def test_the_choice_is_the_best_of_the_ranking_by_the_scores(policy: Policy, kind: str) -> None:
    for exclude in ((), (0, 3)):
        for choice in choices(policy, kind, 40, top_k=MANY, exclude=exclude):
            assert choice.ranking[0] == choice.index
            assert choice.ranking.size == MANY - len(exclude)
            assert (np.diff(choice.scores[choice.ranking]) <= 0.0).all()
            assert not choice.by_chance
            assert choice.propensities[choice.index] > 0.0
            assert choice.propensities[list(exclude)].sum() == 0.0


@EVERY_KIND
@EVERY_POLICY
def test_propensities_are_right_given_the_draws(policy: Policy, kind: str) -> None:
    """1,500 choices: two sums of what was chosen minus its probability, in their own sds.

    Weights may depend on the probabilities, so that also their errors would show.  Beyond 4.5 sds
    with probability 7e-6 each; fixed seeds.
    """
    amounts = np.random.default_rng(0).standard_normal(MANY)
    sums, squares = np.zeros(2), np.zeros(2)
    for choice in choices(policy, kind, 1_500, floor=0.1):
        shares = choice.propensities
        for k, weights in enumerate((shares, amounts)):
            mean = weights @ shares
            sums[k] += weights[choice.index] - mean
            squares[k] += (weights - mean) ** 2 @ shares
    assert (np.abs(sums) <= 4.5 * np.sqrt(squares) + 1e-9).all()


@EVERY_POLICY
def test_what_a_floor_shows_is_by_chance(policy: Policy) -> None:
    """Of 300 choices that are all the floor's two or fewer of seven are the best by their scores.

    More than 150 with probability below 1e-11.
    """
    found = choices(policy, "plain", 300, floor=1.0, top_k=3)
    assert all(choice.ranking[0] == choice.index for choice in found)
    assert sum(not choice.by_chance for choice in found) < 150


@EVERY_POLICY
def test_values_have_the_same_story(policy: Policy) -> None:
    values = np.linspace(0.5, 3.0, MANY)
    for choice in choices(policy, "own", 20, top_k=MANY, values=values):
        assert (np.diff(choice.scores[choice.ranking]) <= 0.0).all()
