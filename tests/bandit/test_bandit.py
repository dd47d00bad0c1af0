from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fabcost import FabCost, Gaussian, Refresh
from fabcost.bandit.bandit import Bandit, Learner, choose
from fabcost.bandit.baselines import (
    BatchLaplace,
    LaplaceAsPublished,
    LinearGaussian,
    OnlineLaplace,
)
from fabcost.bandit.rules import (
    DEFAULT,
    BayesianUCB,
    EpsilonGreedy,
    Greedy,
    Policy,
    Thompson,
)
from fabcost.bandit.targeted import TSUCB
from fabcost.inference import laplace
from tests.bandit.policies import EVERY_POLICY, independent
from tests.examples import CHOICES, examples
from tests.simulated import cold_start, correlated_prior


def some_bandit(policy: Policy, seed: int = 0) -> Bandit:
    learner = FabCost(correlated_prior())
    learner.observe_many(*cold_start(20))
    return Bandit(learner, policy=policy, seed=seed)


def candidates(count: int = 6) -> np.ndarray:
    rows = np.random.default_rng(3).normal(size=(count, 5))
    rows[1] = rows[0]  # a tie
    return rows


@EVERY_POLICY
def test_propensities_are_the_frequencies_of_choices(policy: Policy) -> None:
    """Chi-square of choices; false-alarm rate 1e-4 for each policy, fixed seed.

    The shares of a Thompson policy are themselves win frequencies of 200,000 draws.
    """
    rows = candidates()
    shares = some_bandit(policy, 1).propensities(rows, draws=200_000)
    chooser = some_bandit(policy, 2)
    counts = np.bincount([chooser.choose(rows).index for _ in range(CHOICES)], minlength=6)
    possible = shares > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        expected = shares[possible] / shares[possible].sum() * CHOICES
        noise = 1 + CHOICES / independent(policy, 200_000)  # the shares have theirs
        chi2 = ((counts[possible] - expected) ** 2 / (noise * expected)).sum()
        assert chi2 < stats.chi2(possible.sum() - 1).isf(1e-4)


@EVERY_POLICY
def test_propensities_sum_to_one_and_keep_the_floor(policy: Policy) -> None:
    shares = some_bandit(policy).propensities(candidates(), draws=64, floor=0.12, exclude=[4])
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert shares[4] == 0.0
    assert (np.delete(shares, 4) >= 0.12 / 5 - 1e-12).all()


@EVERY_POLICY
def test_choice_from_propensities_carries_them(policy: Policy) -> None:
    choice = some_bandit(policy).choose(candidates(), draws=32, floor=0.1, top_k=3)
    assert choice.propensities is not None
    assert choice.propensities[choice.index] > 0
    assert choice.ranking[0] == choice.index
    assert len(set(choice.ranking.tolist())) == 3


@EVERY_POLICY
def test_a_floor_holds_without_draws(policy: Policy) -> None:
    """All of the choice is uniform: chi-square of 2,000, false-alarm rate 1e-4, fixed seed."""
    bandit, counts = some_bandit(policy), np.zeros(6)
    for _ in range(2_000):
        choice = bandit.choose(candidates(), floor=1.0, exclude=[4], top_k=3)
        counts[choice.index] += 1
        assert choice.ranking[0] == choice.index
        assert len(set(choice.ranking.tolist())) == 3
    assert counts[4] == 0
    assert ((np.delete(counts, 4) - 400) ** 2 / 400).sum() < stats.chi2(4).isf(1e-4)
    assert {bandit.choose(candidates(), floor=1.0).index for _ in range(100)} == set(range(6))


@EVERY_POLICY
def test_same_seed_same_choices(policy: Policy) -> None:
    first, second = (some_bandit(policy, 5) for _ in range(2))
    for _ in range(20):
        assert first.choose(candidates()).index == second.choose(candidates()).index


@EVERY_POLICY
def test_excluded_candidates_are_never_ranked(policy: Policy) -> None:
    bandit = some_bandit(policy)
    for _ in range(20):
        choice = bandit.choose(candidates(), exclude=[0, 2, 5], top_k=6)
        assert sorted(choice.ranking.tolist()) == [1, 3, 4]
        assert np.isneginf(choice.scores[[0, 2, 5]]).all()


def test_ranking_is_by_score() -> None:
    choice = some_bandit(Thompson()).choose(candidates(), top_k=6)
    ranked = choice.scores[choice.ranking]
    assert (np.diff(ranked) <= 0).all()


def test_ties_are_broken_at_random() -> None:
    """Two equal rows, 400 choices: fewer than 130 for one has probability below 1e-11."""
    bandit = some_bandit(Greedy())
    rows = np.ones((2, 5))
    counts = np.bincount([bandit.choose(rows).index for _ in range(400)], minlength=2)
    assert counts.min() > 130


def test_thompson_scale_zero_is_greedy() -> None:
    belief = correlated_prior()
    rows = candidates()
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(
        Thompson(scale=0.0).scores(belief, rows, rng), Greedy().scores(belief, rows, rng)
    )


@pytest.mark.parametrize(
    "learner",
    [
        FabCost(correlated_prior()),
        BatchLaplace(correlated_prior()),
        OnlineLaplace(correlated_prior()),
        LaplaceAsPublished(correlated_prior()),
        LinearGaussian(correlated_prior()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_learner_can_be_asked_and_told(learner: Learner) -> None:
    bandit = Bandit(learner, seed=1)
    X, y = cold_start(30)
    for label in y:
        choice = bandit.choose(X)
        bandit.learn(X[choice.index], label)
    assert learner.posterior.dimension == 5
    before = learner.posterior.mean.copy()
    with pytest.raises(ValueError, match="x has shape"):
        bandit.learn([1.0], 1)
    np.testing.assert_array_equal(learner.posterior.mean, before)


def test_batch_laplace_refits_on_its_schedule() -> None:
    X, y = cold_start(20)
    learner = BatchLaplace(correlated_prior(), refit=Refresh.at(10, 20))
    for k in range(19):
        learner.observe(X[k], y[k])
    for many in (10, 20):
        fitted = laplace.fit(correlated_prior(), X[:many], y[:many]).posterior
        np.testing.assert_allclose(learner.posterior.mean, fitted.mean, atol=1e-8)
        np.testing.assert_allclose(learner.posterior.covariance, fitted.covariance, atol=1e-8)
        learner.observe(X[19], y[19])


def test_online_learners_equal_the_functions() -> None:
    X, y = cold_start(15)
    online, published = OnlineLaplace(correlated_prior()), LaplaceAsPublished(correlated_prior())
    for row, label in zip(X, y, strict=True):
        online.observe(row, label)
        published.observe(row, label)
    assert online.posterior == laplace.fit_online(correlated_prior(), X, y).posterior
    assert published.posterior == laplace.fit_as_published(correlated_prior(), X, y).posterior


def test_linear_learner_is_the_normal_equations() -> None:
    X, y = cold_start(40)
    prior = correlated_prior()
    learner = LinearGaussian(prior, noise=0.5)
    for row, label in zip(X, y, strict=True):
        learner.observe(row, label)
    precision = np.linalg.inv(prior.covariance) + X.T @ X / 0.5
    shift = np.linalg.solve(prior.covariance, prior.mean) + X.T @ ((y + 1) / 2) / 0.5
    np.testing.assert_allclose(learner.posterior.mean, np.linalg.solve(precision, shift))
    np.testing.assert_allclose(learner.posterior.covariance, np.linalg.inv(precision), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"candidates": np.empty((0, 5))}, "candidates are empty"),
        ({"candidates": np.ones((2, 4))}, "X has 4 columns but the prior has 5 weights"),
        ({"candidates": np.full((2, 5), np.nan)}, r"X\[0, 0\] is nan"),
        ({"candidates": np.ones((2, 5)), "top_k": 0}, "top_k is 0"),
        ({"candidates": np.ones((2, 5)), "exclude": [2]}, "exclude names 2 but there are 2"),
        ({"candidates": np.ones((2, 5)), "exclude": [0, 1]}, "all 2 candidates are excluded"),
        ({"candidates": np.ones((2, 5)), "draws": 0}, "draws is 0"),
        ({"candidates": np.ones((2, 5)), "draws": 9, "floor": 2.0}, "floor is 2.0"),
        ({"candidates": np.ones((2, 5)), "floor": 2.0}, "floor is 2.0"),
    ],
)
def test_bad_questions_are_named_and_draw_nothing(
    arguments: dict[str, object], complaint: str
) -> None:
    for policy in (Thompson(), DEFAULT):
        bandit = some_bandit(policy)
        bandit.rng.integers(9, dtype=np.uint32)  # half a number is left over
        before = bandit.rng.bit_generator.state
        with pytest.raises(ValueError, match=complaint):
            bandit.choose(**arguments)  # type: ignore[arg-type]
        assert bandit.rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Thompson(scale=-1.0), "scale is -1.0"),
        (lambda: EpsilonGreedy(1.5), "epsilon is 1.5"),
        (lambda: BayesianUCB(1.0), "quantile is 1.0"),
        (lambda: LinearGaussian(Gaussian.isotropic(1), noise=0.0), "noise is 0.0"),
    ],
)
def test_bad_settings_are_named(make: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()  # type: ignore[operator]


@settings(deadline=None, max_examples=examples(60))
@given(
    st.sampled_from([Thompson(), DEFAULT, TSUCB(log_odds=True, scatter=1.0), TSUCB(), Greedy()]),
    st.sampled_from([1, 7, 8, 9, 40, 333]),
    st.sampled_from([1, 3, 8, 15]),
    st.floats(-8.0, 3.0),
    st.booleans(),
    st.integers(0, 10_000),
)
def test_pick_is_what_choose_chooses(
    policy: Policy, many: int, weights: int, bias: float, alike: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-3.0, 3.0, weights)
    learner = FabCost(Gaussian(np.r_[bias, np.zeros(weights - 1)], np.diag(10.0 / scales**2)))
    for _ in range(int(rng.integers(0, 40))):
        learner.observe(np.r_[1.0, rng.normal(size=weights - 1)] * scales, rng.random() < 0.2)
    rows = rng.normal(size=(many, weights)) * scales
    if alike:
        rows[many // 2 :] = rows[many // 3]
    one, other = (Bandit(learner, policy=policy, seed=seed) for _ in range(2))
    again = np.random.default_rng(seed)
    for _ in range(5):
        choice = other.choose(rows)
        assert one.pick(rows) == choice.index
        assert choice.index == choose(learner.posterior, policy, rows, rng=again).index
        for rng in (one.rng, again):
            assert rng.bit_generator.state == other.rng.bit_generator.state


@pytest.mark.parametrize("many", [1, 8, 13, 40])
@pytest.mark.parametrize("policy", [Thompson(), DEFAULT, TSUCB(2)])
def test_scores_are_those_of_when_it_was_chosen(policy: Policy, many: int) -> None:
    rows, learner = np.random.default_rng(1).normal(size=(many, 3)), FabCost(Gaussian.isotropic(3))
    learner.observe(np.ones(3), True)
    then = choose(learner.posterior, policy, rows, rng=np.random.default_rng(2)).scores
    chosen = Bandit(learner, policy=policy, seed=2).choose(rows)
    learner.observe(-np.ones(3), True)
    rows[:] = 7.0
    assert chosen.scores.tobytes() == then.tobytes()
    assert chosen.scores is chosen.scores
    assert not chosen.by_chance


def test_pick_refuses_what_choose_refuses() -> None:
    bandit = Bandit(FabCost(Gaussian.isotropic(2)))
    for wrong in (np.nan, np.inf, 1e76):
        with pytest.raises(ValueError, match="every feature must be"):
            bandit.pick(np.array([[1.0, 2.0], [1.0, wrong]]))
    assert bandit.pick(np.array([[1.0, -1e75], [1.0, 1e75]])) in {0, 1}
