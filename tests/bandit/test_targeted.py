"""TS-UCB, information relaxation and directed sampling, and values, against plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import expit

from fabcost import FabCost, Gaussian, WideFabCost, kernels
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.prospects import Prospects, drawn_and_marginal
from fabcost.bandit.rules import DEFAULT, BayesianUCB, Greedy, Policy, Thompson, rule_of
from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
from fabcost.bandit.values import ValuedRows, worths
from fabcost.features.folding import FoldedRows
from fabcost.impressions import FloatArray
from tests.bandit.policies import EVERY_POLICY, POLICIES, chi_square, independent
from tests.examples import CHOICES
from tests.simulated import cold_start, correlated_prior

ITEMS = tuple(f"ad-{k % 5}" for k in range(6))
VALUES, COSTS = np.array([1.0, 1.0, 2.0, 0.5, 3.0, 0.0]), np.array([0.0, 0.0, 0.3, 0.0, 0.9, -0.1])


def taught() -> FabCost:
    learner = FabCost(correlated_prior(), own_variance=0.5)
    X, y = cold_start(20)
    learner.observe_many(X, y, [ITEMS[k % 6] for k in range(20)])
    return learner


def candidates(count: int = 6) -> FloatArray:
    rows = np.random.default_rng(3).normal(size=(count, 5))
    rows[1] = rows[0]  # a tie
    return rows


@pytest.mark.parametrize(
    "variance", [1e-12, 1e-4, 0.05, 0.56, 0.57, 1.01, 3.0, 9.0, 15.9, 16.1, 50.0, 900.0]
)
@pytest.mark.parametrize("centre", [0.0, -0.4, 2.5, -6.0, -24.0])
def test_moments_of_a_click(centre: float, variance: float) -> None:
    sd = math.sqrt(variance)

    def integral(f: Callable[[float], float]) -> float:
        edges = sorted(
            {
                -12.0,
                -3.0,
                0.0,
                3.0,
                12.0,
                *np.clip(-centre / sd + np.array([-30, -5, 0, 5, 30]) / sd, -12, 12),
            }
        )
        pieces = pairwise(edges)
        return sum(
            integrate.quad(lambda z: f(z) * stats.norm.pdf(z), *ends, epsabs=0, epsrel=1e-12)[0]
            for ends in pieces
        )

    mean = integral(lambda z: expit(centre + sd * z))
    # By the identity σ(a) − σ(b) = σ(a) σ(−b) (1 − e^(b − a)), which does not cancel.
    away = lambda z: expit(centre + sd * z) * expit(-centre) * -math.expm1(-sd * z)  # noqa: E731
    spread = math.sqrt(integral(lambda z: away(z) ** 2) - integral(away) ** 2)
    found = kernels.click_moments(np.array([centre]), np.array([variance]))
    np.testing.assert_allclose(found[0], mean, rtol=7e-4)
    np.testing.assert_allclose(found[1], spread, rtol=7e-4)


@pytest.mark.parametrize("many", [1, 8, 13, 600])
@pytest.mark.parametrize("weights", [1, 5, 8, 15, 19])
def test_draws_and_marginals_at_once(many: int, weights: int) -> None:
    """As `Thompson` draws, and as `Gaussian.marginal`; equal rows have the same bits."""
    rng = np.random.default_rng(many + weights)
    belief = Gaussian.from_root(rng.normal(size=weights), rng.normal(size=(weights, weights)))
    rows, draw = rng.normal(size=(many, weights)), np.random.default_rng
    rows[-1] = rows[0]
    drawn, centre, variance = drawn_and_marginal(belief, rows, draw(1))
    np.testing.assert_allclose(drawn, Thompson().scores(belief, rows, draw(1)), atol=1e-12)
    np.testing.assert_allclose(centre, rows @ belief.mean, atol=1e-12)
    np.testing.assert_allclose(variance, ((rows @ belief.root) ** 2).sum(axis=1), rtol=1e-12)
    for each in (drawn, centre, variance, *kernels.click_moments(centre, variance)):
        assert each[0] == each[-1]


@pytest.mark.parametrize("log_odds", [False, True])
def test_scores_of_an_array_are_those_of_other_rows(log_odds: bool) -> None:
    belief, rows, policy = correlated_prior(), candidates(600), TSUCB(log_odds=log_odds)
    folded = FoldedRows(rows, np.arange(5), np.ones(5))
    found = [policy.scores(belief, each, np.random.default_rng(5)) for each in (rows, folded)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_moments_of_a_click_at_the_ends() -> None:
    """Certain, hopeless and symmetric: never a NaN, never below zero."""
    centre = np.array([0.0, 3.0, -800.0, 800.0, -300.0, 1e6, -1e6, 5.0, -5.0])
    variance = np.array([0.0, 0.0, 1.0, 1.0, 1e4, 1e6, 1e6, 4.0, 4.0])
    mean, radius = kernels.click_moments(centre, variance)
    assert ((mean >= 0.0) & (mean <= 1.0) & (radius >= 0.0) & (radius <= 0.5)).all()
    assert mean[0] == 0.5
    assert (radius[:2] == 0.0).all()
    assert mean[1] == pytest.approx(expit(3.0))
    assert (mean[7], radius[7]) == (pytest.approx(1.0 - mean[8]), radius[8])


def scores_at(target: float, mean: FloatArray, radius: FloatArray) -> FloatArray:
    top = mean.max()
    if target <= top + 1e-12:
        return np.where(mean == top, radius, mean - top)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum((mean - target) / radius, -1e300))


SMALL = st.integers(0, 4).map(lambda k: k / 4.0)


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 60), st.booleans(), st.integers(0, 999))
def test_target_shares(many: int, targets: int, coarse: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, radius, drawn = rng.random(many), rng.random(many), rng.random(targets)
    if coarse:
        mean, radius = np.round(3 * mean) / 3, np.round(3 * radius) / 3
    expected = np.zeros(many)
    for target in drawn:
        scores = scores_at(target, mean, radius)
        np.testing.assert_allclose(kernels.target_scores(target, mean, radius), scores)
        first = scores.argmax()
        equal = (mean == mean[first]) & (radius == radius[first])
        expected[equal] += 1.0 / equal.sum() / targets
    np.testing.assert_allclose(kernels.target_shares(drawn, mean, radius), expected, atol=1e-12)


def test_a_target_below_the_means_leaves_them_to_decide() -> None:
    mean, radius = np.array([0.3, 0.5, 0.5, 0.4]), np.array([0.9, 0.1, 0.2, 0.001])
    # The quotient would take the last, whose mean is the surest to exceed 0.2.
    assert kernels.target_scores(0.2, mean, radius).argmax() == 2
    assert kernels.target_scores(0.5 + 1e-9, mean, radius).argmax() == 2
    assert kernels.target_scores(5.0, mean, radius).argmax() == 0


def test_what_is_certain_is_chosen_when_nothing_promises_more() -> None:
    mean, radius = np.array([0.6, 0.2]), np.array([0.0, 0.1])
    assert kernels.target_scores(0.6, mean, radius).argmax() == 0
    assert kernels.target_scores(0.7, mean, radius).argmax() == 1
    assert np.isfinite(kernels.target_scores(0.7, mean, radius)).all()
    nothing = Gaussian([1.0, -1.0], 1e-30 * np.eye(2))
    for policy in (TSUCB(), TSUCB(log_odds=True), InformationRelaxation(), InformationDirected()):
        rng = np.random.default_rng(0)
        shares = policy.shares(nothing, np.array([[0.0, 1.0], [1.0, 0.0]]), rng, 64)
        assert shares.tolist() == [0.0, 1.0]


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 999))
def test_regrets_gains_and_their_least_ratio(many: int, draws: int, seed: int) -> None:
    worth = np.random.default_rng(seed).random((many, draws))
    leader = worth.argmax(axis=0)
    regrets, gains = kernels.regrets_and_gains(worth, leader)
    mean = worth.mean(axis=1)
    groups = [worth[:, leader == k] for k in range(many) if (leader == k).any()]
    gain = sum(g.shape[1] / draws * (g.mean(axis=1) - mean) ** 2 for g in groups)
    np.testing.assert_allclose(regrets, worth.max(axis=0).mean() - mean, atol=1e-12)
    np.testing.assert_allclose(gains, gain, atol=1e-12)
    first, second, share, least = kernels.least_ratio(regrets, gains)
    if len(groups) == 1:
        assert (first, share) == (leader[0], 0.0)
        return
    q = np.linspace(0.0, 1.0, 401)[:, None, None]
    mixed = (1 - q) * regrets[:, None] + q * regrets, (1 - q) * gains[:, None] + q * gains
    ratios = mixed[0] ** 2 / mixed[1]
    assert least <= ratios.min() * (1 + 1e-9)
    at = [(1 - share) * each[first] + share * each[second] for each in (regrets, gains)]
    assert at[0] ** 2 / at[1] == pytest.approx(least)


@settings(deadline=None)
@given(st.integers(1, 20), st.integers(1, 6), st.integers(1, 90), st.booleans(), st.integers(0, 99))
def test_draws_of_worth(many: int, width: int, rows: int, owned: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centre, spread = rng.normal(size=many), rng.normal(size=(many, width))
    values, costs = rng.random(many), rng.normal(size=many)
    z = rng.normal(size=(rows, width))
    changed = z * np.where(np.arange(width) % 2 == 0, 1.0, -1.0)
    away = np.stack([z, changed, -z, -changed]) @ spread.T
    own: tuple[Any, ...] = kernels.NO_EFFECTS
    if owned:
        noise, places = rng.random(many), rng.integers(0, 3, many)
        normals = rng.normal(size=rows + 3)
        drawn = noise * normals[np.arange(rows)[:, None] + places]
        away += np.stack([drawn, -drawn, -drawn, drawn])
        own = (noise, places, normals)
    law = (centre, spread, z, *own, values, costs)
    expected = values * expit(centre + away) - costs
    best, leader = kernels.drawn_leaders(*law)
    np.testing.assert_allclose(best, expected.max(axis=2), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(leader, expected.argmax(axis=2))
    worth = kernels.drawn_worths(*law)
    np.testing.assert_allclose(worth, expected.reshape(-1, many).T, rtol=1e-12, atol=1e-14)


def test_saturated_draws_are_decided_by_log_odds() -> None:
    """Where σ is 1 in float64, order tells nothing; 400 choices, below 1e-11 for less than 130."""
    belief = Gaussian(np.full(2, 60.0), np.eye(2))
    bandit = Bandit(Known(belief), seed=0)
    chosen = [bandit.choose(np.eye(2), values=[1.0, 1.0], draws=4).index for _ in range(400)]
    assert np.bincount(chosen, minlength=2).min() > 130


def test_one_impression_reveals_what_quadrature_says() -> None:
    """Var E[η | y] over both outcomes, and log-odds that a long horizon leaves alone."""
    z, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()
    for m, s in ((-2.0, 0.5), (0.5, 1.5), (-4.0, 2.0)):
        eta, p = m + s * z, expit(m + s * z)
        clicks = w @ p
        seen = [(w @ (p * eta)) / clicks, (w @ ((1 - p) * eta)) / (1 - clicks)]
        variance = clicks * (seen[0] - m) ** 2 + (1 - clicks) * (seen[1] - m) ** 2
        law = np.array([m]), np.array([s * s])
        mean, radius = kernels.click_moments(*law)
        kappa, factor = kernels.revealed(law[1], mean, radius, 1.0)
        assert (factor[0] / kappa[0]) ** 2 * s * s == pytest.approx(variance, rel=2e-3)
        rest = 1.0 / math.sqrt(1.0 + math.pi / 8.0 * (s * s - variance))
        assert kappa[0] == pytest.approx(rest, rel=2e-3)
        endless = kernels.revealed(law[1], mean, radius, 1e12)
        np.testing.assert_allclose(endless, 1.0, rtol=1e-6)


class Known:
    """A learner with a given belief."""

    def __init__(self, belief: Gaussian) -> None:
        self.posterior = belief

    def observe(self, x: object, y: object) -> None:
        raise NotImplementedError


#: Which compare the same without values as with values of one.
BY_WORTH = [each for each in POLICIES if not getattr(each, "log_odds", False)]
RANDOM = [
    Thompson(),
    TSUCB(),
    TSUCB(draws=4),
    DEFAULT,
    InformationRelaxation(),
    InformationDirected(draws=16),
]


@pytest.mark.parametrize("policy", RANDOM, ids=str)
def test_logged_propensities_are_the_frequencies_of_choices(policy: Policy) -> None:
    """With floor, exclusion, own effects and values; false-alarm rate 1e-4 each."""
    bandit = Bandit(taught(), policy=policy, seed=4)
    rows = FoldedRows(candidates(), np.arange(5), np.ones(5))
    counts, shares = np.zeros(6), np.empty((CHOICES, 6))
    for t in range(CHOICES):
        choice = bandit.choose(
            rows, draws=16, floor=0.1, exclude=[3], items=ITEMS, values=VALUES, costs=COSTS
        )
        assert choice.propensities is not None
        counts[choice.index] += 1
        shares[t] = choice.propensities
    chi2, freedom = chi_square(counts, shares)
    assert freedom == 4
    assert chi2 < stats.chi2(freedom).isf(1e-4)


@pytest.mark.parametrize("policy", RANDOM, ids=str)
def test_shares_of_what_has_values_are_the_frequencies_of_choices(policy: Policy) -> None:
    """Choices without propensities; false-alarm rate 1e-4 each, fixed seed.

    The shares are themselves those of 200,000 draws.
    """
    chooser, rows = Bandit(taught(), policy=policy, seed=6), candidates()
    asked = partial(chooser.choose, rows, exclude=[2], values=VALUES, costs=COSTS)
    shares = chooser.propensities(rows, draws=200_000, exclude=[2], values=VALUES, costs=COSTS)
    chosen = [asked().index for _ in range(CHOICES)]
    counts, possible = np.bincount(chosen, minlength=6), shares > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        expected = CHOICES * shares[possible] / shares[possible].sum()
        noise = 1 + CHOICES / independent(policy, 200_000)  # of the shares
        chi2 = ((counts[possible] - expected) ** 2 / (noise * expected)).sum()
        assert chi2 < stats.chi2(possible.sum() - 1).isf(1e-4)


@EVERY_POLICY
def test_every_rule_decides_over_rows_of_every_kind(policy: Policy) -> None:
    """Arrays, folded rows, items with effects, sparse rows of wide beliefs, and growing weights."""
    learner, rows = taught(), candidates()
    wide = WideFabCost(5, core=2)
    wide.observe_many(*cold_start(60))
    kinds = (
        (learner, rows, None),
        (learner, FoldedRows(rows, np.arange(5), np.ones(5)), None),
        (learner, rows, ITEMS),
        (wide, rows, None),
    )
    for each, known, items in kinds:
        bandit = Bandit(each, policy=policy, seed=1)
        for exclude in ((), (0, 4)):
            for draws in (None, 32):
                choice = bandit.choose(known, top_k=9, exclude=exclude, draws=draws, items=items)
                assert set(choice.ranking.tolist()) == set(range(6)) - set(exclude)
                assert np.isneginf(choice.scores[list(exclude)]).all()
                assert np.isfinite(np.delete(choice.scores, exclude)).all()
    grown = FabCost(Gaussian.isotropic(5))
    bandit = Bandit(grown, policy=policy, seed=1)
    bandit.learn(rows[bandit.choose(rows).index], clicked=True)
    grown.grow(1.0)
    wider = np.hstack([rows, np.ones((6, 1))])
    assert bandit.propensities(wider, floor=0.06).min() >= 0.06 / 6 - 1e-12


@pytest.mark.parametrize(
    "policy", [TSUCB(), TSUCB(3), InformationRelaxation(), InformationDirected(256)], ids=str
)
def test_wide_beliefs_decide_like_dense_ones(policy: Policy) -> None:
    """Shares of 20,000 draws of the same belief differ by less than 0.05: ten of their sds."""
    wide = WideFabCost(5, core=3)
    wide.observe_many(*cold_start(60))
    belief = wide.posterior
    dense = Gaussian(belief.mean, belief.covariance(np.arange(5)))
    shares = [
        policy.shares(each, candidates(), np.random.default_rng(2), 20_000)
        for each in (belief, dense)
    ]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.05)


@pytest.mark.parametrize("policy", BY_WORTH, ids=str)
def test_values_of_one_change_no_order(policy: Policy) -> None:
    """Nor do a factor on all values and costs, and a cost of all."""
    rng = np.random.default_rng
    belief, rows = correlated_prior(), candidates()
    plain = policy.shares(belief, ValuedRows(rows), rng(1), 256)
    scaled = ValuedRows(rows, np.full(6, 4.0), np.full(6, 0.5))
    np.testing.assert_allclose(policy.shares(belief, scaled, rng(1), 256), plain, atol=1e-12)
    if not isinstance(policy, Greedy | type(POLICIES[3])):  # these compare log-odds without values
        np.testing.assert_allclose(policy.shares(belief, rows, rng(1), 256), plain, atol=1e-12)


def test_worth_is_what_the_rules_compare() -> None:
    belief, rows = correlated_prior(), candidates()
    valued = ValuedRows(rows, VALUES, COSTS)
    centre, variance = belief.marginal(rows)
    rng = np.random.default_rng(0)
    expected = VALUES * belief.predict(rows) - COSTS
    np.testing.assert_allclose(Greedy().scores(belief, valued, rng), expected, rtol=1e-8)
    top = centre + stats.norm.ppf(0.9) * np.sqrt(variance)
    found = BayesianUCB(0.9).scores(belief, valued, rng)
    np.testing.assert_allclose(found, VALUES * expit(top) - COSTS, rtol=1e-8)
    np.testing.assert_allclose(worths(centre), expit(centre), rtol=1e-12)
    one = Thompson(scale=0.0).scores(belief, valued, rng)
    np.testing.assert_allclose(one, VALUES * expit(centre) - COSTS, rtol=1e-8)


def test_more_draws_make_ts_ucb_less_random() -> None:
    known = Prospects.of(correlated_prior(), candidates())
    few, many = (
        kernels.moving_means(worths(known.drawn(np.random.default_rng(0), 500).best.ravel()), m)
        for m in (1, 100)
    )
    assert many.mean() == pytest.approx(few.mean())
    assert many.std() == pytest.approx(few.std() / 10.0, rel=0.3)


def test_excluded_candidates_do_not_set_the_target() -> None:
    """The best of all, if it is excluded, changes nothing."""
    belief = correlated_prior()
    rows = np.vstack([candidates(), 50.0 * candidates()[2:3]])
    for policy in (TSUCB(), InformationDirected(32)):
        with_it = Bandit(Known(belief), policy=policy, seed=3)
        without = Bandit(Known(belief), policy=policy, seed=3)
        for draws in (None, 64):
            choice = with_it.choose(rows, exclude=[6], draws=draws)
            alone = without.choose(rows[:6], draws=draws)
            assert choice.index == alone.index
            np.testing.assert_array_equal(choice.scores[:6], alone.scores)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TSUCB(0), "draws is 0 but must be a whole number"),
        (lambda: TSUCB(1.5), "draws is 1.5"),  # type: ignore[arg-type]
        (lambda: InformationDirected(9999), "draws is 9999"),
        (lambda: InformationRelaxation(0.0), "horizon is 0.0"),
        (lambda: rule_of("best"), "the rule is 'best' but must be one of default, thompson"),
        (lambda: rule_of("ts-ucb:none"), "'none' does not suit ts-ucb"),
        (lambda: ValuedRows(np.ones((2, 1)), [1.0]), r"values have shape \(1,\)"),
        (lambda: ValuedRows(np.ones((2, 1)), [1.0, -1.0]), r"values\[1\] is -1.0"),
        (lambda: ValuedRows(np.ones((2, 1)), None, [1.0, math.nan]), r"costs\[1\] is nan"),
        (lambda: TSUCB(scatter=-0.1), "scatter is -0.1 but must lie in"),
        (lambda: TSUCB(scatter=0.1, rare=1.1), "rare is 1.1 but must lie in"),
        (lambda: TSUCB(rare=0.1), "scatter is 0.0 and draws is 1, but it goes with scatter"),
        (lambda: TSUCB(2, scatter=0.1, rare=0.1), "draws is 2, but it goes with"),
    ],
)
def test_bad_settings_are_named(make: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()  # type: ignore[operator]


def test_information_directed_sampling_knows_own_effects() -> None:
    """With very many draws its shares are those of the law, whatever the law is made of."""
    learner, policy = taught(), InformationDirected(4096)
    found = Prospects.of(learner.posterior, Bandit(learner)._with_effects(candidates(), ITEMS))  # type: ignore[arg-type]
    effects = np.zeros((6, 6))
    effects[np.arange(6), found.places] = found.noise
    dense = Prospects(found.centre, np.hstack([found.spread, effects]))
    for seed in range(3):
        shares = [policy._directed(each, np.random.default_rng(seed))[1] for each in (found, dense)]
        np.testing.assert_allclose(shares[0], shares[1], atol=0.15)
