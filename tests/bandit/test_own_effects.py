"""Decisions among items with effects of their own: beside the same model with one-hot ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fabcost import FabCost, Gaussian, kernels
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rows import WIDE, OwnRows, own_rows
from fabcost.bandit.rules import BayesianUCB, Greedy, Policy, Thompson
from fabcost.bandit.targeted import TSUCB
from fabcost.features.folding import FoldedRows
from fabcost.gaussian import standard_normal
from fabcost.impressions import FloatArray
from fabcost.inference.own.effects import OwnEffects
from tests.bandit.policies import EVERY_POLICY, drawn_wins, independent
from tests.examples import CHOICES
from tests.simulated import cold_start, correlated_prior

ITEMS = ("a", "b", "c", "d", "new", "newer")
KNOWN = 4


def taught() -> FabCost:
    learner = FabCost(correlated_prior(), own_variance=1.5)
    X, y = cold_start(80, intercept=-0.5)
    learner.observe_many(X, y, [ITEMS[k % KNOWN] for k in range(80)])
    return learner


def dense(learner: FabCost) -> Gaussian:
    """The joint belief over weights and the effects of `ITEMS`, from the arrowhead's precision."""
    own, weights = learner.own, learner.prior.dimension
    assert own is not None
    size = weights + len(ITEMS)
    precision, shift = np.zeros((size, size)), np.zeros(size)
    d, h, c = np.full(len(ITEMS), 1.0 / own.variance), np.zeros(len(ITEMS)), own.rows[:, 2:]
    d[:KNOWN], h[:KNOWN] = own.rows[:, 0], own.rows[:, 1]
    marginal = learner.posterior
    precision[:weights, :weights] = marginal.precision + (c.T / d[:KNOWN]) @ c
    shift[:weights] = marginal.precision @ marginal.mean + c.T @ (h / d)[:KNOWN]
    precision[weights : weights + KNOWN, :weights] = c
    precision[:weights, weights : weights + KNOWN] = c.T
    precision[range(weights, size), range(weights, size)] = d
    shift[weights:] = h
    covariance = np.linalg.inv(precision)
    return Gaussian(covariance @ shift, 0.5 * (covariance + covariance.T))


class Known:
    def __init__(self, belief: Gaussian) -> None:
        self.posterior = belief

    def observe(self, x: object, y: object) -> None:
        raise NotImplementedError


def rows(count: int = len(ITEMS)) -> FloatArray:
    found = np.random.default_rng(3).normal(size=(count, 5))
    found[1] = found[0]  # no tie: the items differ
    return found


def one_hot(given: FloatArray) -> FloatArray:
    return np.hstack([given, np.eye(len(ITEMS))[: len(given)]])


def folded(given: FloatArray) -> FoldedRows:
    return FoldedRows(np.ascontiguousarray(given), np.arange(5), np.ones(5))


@pytest.mark.parametrize("kind", [np.asarray, folded], ids=["array", "folded"])
@EVERY_POLICY
def test_frequencies_and_shares_are_those_of_one_hot_ids(policy: Policy, kind: object) -> None:
    """Chi-square of choices; false-alarm rate 1e-4 for each case, fixed seed.

    The expected shares are win frequencies of 200,000 draws of the dense model.
    """
    learner, given = taught(), rows()
    candidates = kind(given)  # type: ignore[operator]
    truth = Bandit(Known(dense(learner)), policy=policy, seed=1)
    shares = truth.propensities(one_hot(given), draws=200_000)
    chooser = Bandit(learner, policy=policy, seed=2)
    chosen = [chooser.choose(candidates, items=ITEMS).index for _ in range(CHOICES)]
    counts = np.bincount(chosen, minlength=len(ITEMS))
    own_shares = chooser.propensities(candidates, items=ITEMS, draws=200_000)
    possible = shares > 0
    assert counts[~possible].sum() == 0
    assert own_shares[~possible].sum() == 0
    if possible.sum() > 1:
        expected = shares[possible] / shares[possible].sum()
        limit = stats.chi2(possible.sum() - 1).isf(1e-4)
        drawn = independent(policy, 200_000)
        for found, many in ((counts / CHOICES, CHOICES), (own_shares, drawn)):
            noise = 1 + many / drawn  # the shares have sampling error of their own
            chi2 = many * ((found[possible] - expected) ** 2 / (noise * expected)).sum()
            assert chi2 < limit


@pytest.mark.parametrize("policy", [Greedy(), BayesianUCB(0.9)], ids=str)
def test_scores_are_those_of_one_hot_ids(policy: Policy) -> None:
    learner, given = taught(), rows()
    expected = Bandit(Known(dense(learner)), policy=policy).choose(one_hot(given)).scores
    for candidates in (given, folded(given)):
        found = Bandit(learner, policy=policy).choose(candidates, items=ITEMS).scores
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(("scatter", "rare"), [(0.0, 0.0), (0.3, 0.0), (0.3, 1.0)])
@pytest.mark.parametrize("log_odds", [False, True])
def test_targets_of_folded_rows_are_those_of_a_matrix(
    log_odds: bool, scatter: float, rare: float
) -> None:
    """A kernel does at once what takes several calls for rows that are written out."""
    learner, given = taught(), rows()
    policy = TSUCB(log_odds=log_odds, scatter=scatter, rare=rare)
    found, expected = (
        Bandit(learner, policy=policy, seed=5).choose(each, items=ITEMS).scores
        for each in (folded(given), given)
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


@settings(deadline=None)
@given(st.integers(1, 70), st.integers(1, 9), st.integers(1, 600), st.integers(0, 99))
def test_drawn_shares_with_noise(many: int, width: int, draws: int, seed: int) -> None:
    """Beside scores that are written out; equal rows tie only if they are one item."""
    rng = np.random.default_rng(seed)
    centre, spread = rng.normal(size=many), rng.normal(size=(many, width))
    noise, places = rng.uniform(0.0, 2.0, many), np.arange(many)
    alike = [0, many // 3, many - 1]
    centre[alike], spread[alike], noise[alike] = centre[0], spread[0], noise[0]
    places[[0, many - 1]] = 0
    normals = rng.normal(size=((draws + 3) // 4, width))
    own = rng.normal(size=many + len(normals) - 1)
    away = normals @ spread.T
    changed = normals * np.where(np.arange(width) % 2 == 0, 1.0, -1.0) @ spread.T
    its = noise * own[np.arange(len(normals))[:, None] + places]
    four = np.stack([away + its, changed - its, -away - its, its - changed], axis=1)
    scores = centre + four.reshape(-1, many)[:draws]
    scores[:, many - 1] = scores[:, 0]
    found = drawn_wins(centre, spread, normals, draws, noise, places, own)
    np.testing.assert_allclose(found, kernels.count_wins(scores), rtol=1e-12)


def test_all_normals_of_a_draw_are_independent() -> None:
    """Every draw is of z and of one normal for each candidate, each used once and unscaled."""
    many, width, groups = 7, 3, 5
    own = np.arange(1.0, many + groups)
    for group in range(groups):
        used = own[group + np.arange(many)]
        assert len(set(used)) == many
    # One candidate beats all by its noise alone where its normal is the largest in size.
    normals = np.zeros((groups, width))
    wins = drawn_wins(
        np.zeros(many),
        np.zeros((many, width)),
        normals,
        4 * groups,
        np.ones(many),
        np.arange(many),
        own,
    )
    # Signs +, −, −, +: the last place wins where they are positive, the first where not.
    assert wins.tolist() == [2.0 * groups, 0, 0, 0, 0, 0, 2.0 * groups]


def test_candidates_of_one_item_share_its_effect() -> None:
    """The same row twice under one id ties in every draw; under two ids it never does."""
    learner = taught()
    twice = np.ones((2, 5))
    bandit = Bandit(learner, seed=0)
    assert bandit.propensities(twice, items=["new", "new"], draws=9).tolist() == [0.5, 0.5]
    scores = bandit.choose(twice, items=["new", "new"]).scores
    assert scores[0] == scores[1]
    scores = bandit.choose(twice, items=["new", "newer"]).scores
    assert scores[0] != scores[1]
    both = bandit.choose(twice, items=["new", "new"], draws=64).scores
    assert both[0] == both[1]


@EVERY_POLICY
def test_exclusions_floor_and_ranking(policy: Policy) -> None:
    bandit = Bandit(taught(), policy=policy, seed=4)
    shares = bandit.propensities(rows(), items=ITEMS, draws=64, floor=0.12, exclude=[4])
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares[4] == 0.0
    assert (np.delete(shares, 4) >= 0.12 / 5 - 1e-12).all()
    for draws in (None, 16):
        choice = bandit.choose(rows(), items=ITEMS, exclude=[0, 2, 5], top_k=6, draws=draws)
        assert sorted(choice.ranking.tolist()) == [1, 3, 4]
        assert np.isneginf(choice.scores[[0, 2, 5]]).all()


def test_rows_without_items_are_chosen_as_before() -> None:
    """No item, or none that has an effect: the same bits as a learner without effects."""
    X, y = cold_start(40)
    plain, owned = FabCost(correlated_prior()), FabCost(correlated_prior(), own_variance=1.0)
    for learner in (plain, owned):
        learner.observe_many(X, y)
    first, second = Bandit(plain, seed=3), Bandit(owned, seed=3)
    for draws in (None, 32):
        a, b = first.choose(rows(), items=ITEMS, draws=draws), second.choose(rows(), draws=draws)
        assert a.scores.tobytes() == b.scores.tobytes()


def test_learning_reaches_the_item() -> None:
    learner = FabCost(Gaussian.isotropic(1, variance=1e-6), own_variance=1.0)
    bandit = Bandit(learner, policy=Greedy(), seed=0)
    for _ in range(9):
        bandit.learn([1.0], 0, "bad")
        bandit.learn([1.0], 1, item="good")
    choice = bandit.choose(np.ones((3, 1)), items=["bad", "good", "new"], top_k=3)
    assert choice.ranking.tolist() == [1, 2, 0]


def test_what_does_not_fit_is_named() -> None:
    learner = taught()
    bandit = Bandit(learner)
    with pytest.raises(ValueError, match="there are 2 items but 6 candidates"):
        bandit.choose(rows(), items=["a", "b"])
    with pytest.raises(ValueError, match="an item is 1.5 but must be a string or an integer"):
        bandit.choose(rows()[:1], items=[1.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="candidates are empty"):
        bandit.choose(np.empty((0, 5)), items=())
    assert learner.own is not None
    with pytest.raises(ValueError, match="are no array"):
        np.asarray(own_rows(rows(), learner.own, ITEMS, 5))


def test_drawn_scores_are_centre_plus_what_was_drawn() -> None:
    """One draw written out: θ, then each effect given θ."""
    learner, given = taught(), rows()
    own, belief = learner.own, learner.posterior
    assert own is not None
    law = own.law(ITEMS)
    found = Thompson(0.7).scores(belief, OwnRows(given, own, ITEMS), np.random.default_rng(8))
    rng = np.random.default_rng(8)
    theta = belief.mean + 0.7 * belief.root @ standard_normal(rng, (5,))
    z = kernels.fresh_normals(rng.random(kernels.SEEDS), len(ITEMS))[: len(ITEMS)]
    effects = law.offset - law.tilt @ theta + 0.7 * law.noise * z
    np.testing.assert_allclose(found, given @ theta + effects, atol=1e-12)


@pytest.mark.parametrize(("draws", "scale"), [(3, 1.0), (256, 1.0), (300, 0.4)])
def test_wide_folded_rows_are_chosen_as_those_written_out(draws: int, scale: float) -> None:
    """Through draws of the weights and through the law of scores, with the same normals."""
    rng, weights, parts = np.random.default_rng(draws), WIDE + 2, 9
    learner = FabCost(Gaussian.isotropic(weights, variance=0.3), own_variance=0.5)
    X = rng.standard_normal((60, weights)) * (rng.random((60, weights)) < 0.2)
    learner.observe_many(X, rng.random(60) < 0.3, [f"ad-{k % 40}" for k in range(60)])
    many = rng.standard_normal((weights + 30, parts)) * (rng.random((weights + 30, parts)) < 0.5)
    many[:4], many[-4:] = many[0], many[1]
    first, last = (None, None, "ad-1", "ad-1"), ("ad-2", "ad-2", "new", "new")
    items = (*first, *(f"ad-{k}" for k in range(weights + 22)), *last)
    folded = FoldedRows(many, rng.integers(parts, size=weights), rng.standard_normal(weights))
    found = []
    for candidates, wide in ((folded, True), (folded.dense(), False)):
        rows = own_rows(candidates, own_of(learner), items, weights)
        assert rows.are_wide == wide
        seeded = np.random.default_rng(5)
        found.append(Thompson(scale).scored_shares(learner.posterior, rows, seeded, draws))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-15)
    shares = found[0][1]
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] == shares[1]
    assert shares[2] == shares[3]
    assert shares[-2] == shares[-1]


def own_of(learner: FabCost) -> OwnEffects:
    assert learner.own is not None
    return learner.own
