"""Off-policy estimators against logs whose truth is a finite sum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import Greedy, Thompson
from fabcost.impressions import FloatArray
from fabcost.offline.estimators import (
    Estimate,
    LoggedRound,
    cross_fit,
    direct,
    doubly_robust,
    ips,
    learning_replay,
    rejection,
    shrunk,
    snips,
)
from fabcost.offline.terms import robust_terms

CONTEXTS = np.linspace(-1.5, 1.5, 7)
ACTIONS = np.arange(5)
LOGS = 400
ROUNDS = 400
COMMON, RARE = -1.0, -4.8


class World(NamedTuple):
    """Probabilities for each context and action; every context is equally likely."""

    clicks: FloatArray
    logging: FloatArray
    target: FloatArray

    @property
    def truth(self) -> float:
        return float((self.target * self.clicks).sum(axis=1).mean())


class Sample(NamedTuple):
    reward: FloatArray
    propensity: FloatArray
    target: FloatArray
    predicted: FloatArray
    value: FloatArray

    @property
    def logged(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.reward, self.propensity, self.target


def softmax(scores: FloatArray) -> FloatArray:
    shares = np.exp(scores)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def world(intercept: float) -> World:
    centred = (ACTIONS - 2) / 2
    clicks = expit(intercept + 0.5 * np.outer(CONTEXTS, centred) + 0.2 * ACTIONS)
    logging = 0.1 + 0.5 * softmax(np.outer(CONTEXTS, 0.3 * (ACTIONS - 1)))
    return World(clicks, logging, softmax(1.5 * np.outer(CONTEXTS, centred)))


def sample(
    of: World, rng: np.random.Generator, rounds: int = ROUNDS, items: int = ACTIONS.size
) -> Sample:
    context = rng.integers(CONTEXTS.size, size=rounds)
    below = of.logging.cumsum(axis=1)[context] < rng.random(rounds)[:, None]
    action = np.minimum(below.sum(axis=1), items - 1)
    at = (context, action)
    reward = (rng.random(rounds) < of.clicks[at]).astype(np.float64)
    value = (of.target * of.clicks).sum(axis=1)[context]
    return Sample(reward, of.logging[at], of.target[at], of.clicks[at], value)


Lists = tuple[list[float], list[float], list[float]]
Estimator = Callable[[Sample, np.random.Generator], Estimate]
ESTIMATORS: dict[str, Estimator] = {
    "rejection": lambda s, rng: rejection(*s.logged, rng=rng),
    "ips": lambda s, _: ips(*s.logged),
    "snips": lambda s, _: snips(*s.logged),
    "direct": lambda s, _: direct(s.value),
    "doubly robust": lambda s, _: doubly_robust(*s.logged, s.predicted, s.value),
    "doubly robust, normalised": lambda s, _: doubly_robust(
        *s.logged, s.predicted, s.value, normalised=True
    ),
    "shrunk": lambda s, _: shrunk(*s.logged, s.predicted, s.value),
    "doubly robust, wrong model": lambda s, _: doubly_robust(
        *s.logged, 0.5 * s.predicted + 0.1, 0.5 * s.value + 0.1
    ),
}
# What the test of bias must be able to catch.
WRONG: dict[str, Estimator] = {
    "no weights": lambda s, _: ips(s.reward, s.target, s.target),
    "wrong propensities": lambda s, _: ips(s.reward, np.full(ROUNDS, 0.2), s.target),
    "direct, wrong model": lambda s, _: direct(0.5 * s.value + 0.1),
}


@cache
def repeated(name: str, intercept: float) -> list[Estimate]:
    estimator = (ESTIMATORS | WRONG)[name]
    streams = np.random.default_rng(20).spawn(LOGS)
    return [estimator(sample(world(intercept), rng), rng) for rng in streams]


def surprise(name: str, intercept: float) -> float:
    """Distance of the mean estimate from the truth, in standard errors."""
    values = np.array([estimate.value for estimate in repeated(name, intercept)])
    return float(abs(values.mean() - world(intercept).truth) / (values.std(ddof=1) / np.sqrt(LOGS)))


def covered(name: str, intercept: float) -> int:
    truth = world(intercept).truth
    return sum(each.low <= truth <= each.high for each in repeated(name, intercept))


@pytest.mark.parametrize("intercept", [COMMON, RARE])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_unbiased(name: str, intercept: float) -> None:
    """False alarms: 6 in 100,000 for each case (4 standard errors)."""
    assert surprise(name, intercept) < 4.0


@pytest.mark.parametrize("name", WRONG)
def test_bias_would_be_noticed(name: str) -> None:
    assert surprise(name, COMMON) > 6.0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover_when_clicks_are_common(name: str) -> None:
    """False alarms: 2 in 10,000 for each case, were the coverage 95 % exactly.

    Clopper and Pearson's interval may cover more, so rejection has no upper limit.
    """
    low, high = (stats.binom.ppf(tail, LOGS, 0.95) for tail in (1e-4, 1 - 1e-4))
    assert low <= covered(name, COMMON) <= (LOGS if name == "rejection" else high)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover_when_clicks_are_few(name: str) -> None:
    """About seven clicks a log.  False alarms: 1 in 10,000 for each case at 95 % coverage."""
    assert covered(name, RARE) >= stats.binom.ppf(1e-4, LOGS, 0.95)


def test_normal_intervals_would_not_cover_few_clicks() -> None:
    truth = world(RARE).truth
    normal = [
        abs(each.value - truth) <= 1.96 * each.standard_error for each in repeated("ips", RARE)
    ]
    assert sum(normal) < stats.binom.ppf(1e-4, LOGS, 0.95)


def test_a_good_model_makes_doubly_robust_less_variable() -> None:
    by_model = np.var([each.value for each in repeated("doubly robust", COMMON)])
    assert by_model < 0.8 * np.var([each.value for each in repeated("ips", COMMON)])


def test_standard_errors_are_those_seen() -> None:
    """False alarms: below 1 in 1,000; the sd of 400 values is known to 3.5 %, the band is 15 %."""
    for name in ESTIMATORS:
        found = repeated(name, COMMON)
        stated = np.mean([each.standard_error for each in found])
        assert stated == pytest.approx(np.std([each.value for each in found]), rel=0.15), name


rounds = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n),
        st.lists(st.floats(0.05, 1.0), min_size=n, max_size=n),
        st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n),
    )
)


@given(rounds)
def test_ips_of_the_logging_policy_is_its_mean(log: Lists) -> None:
    reward, propensity, _ = log
    found = ips(reward, propensity, propensity)
    assert found.value == pytest.approx(np.mean(reward))
    assert found.effective_size == pytest.approx(len(reward))
    assert found.used == len(reward)


@given(rounds, st.floats(-5.0, 5.0))
def test_snips_moves_with_the_rewards(log: Lists, shift: float) -> None:
    reward, propensity, target = (np.array(each) for each in log)
    plain = snips(2.0 * reward, propensity, target)
    moved = snips(2.0 * reward + shift, propensity, target)
    assert moved.value == pytest.approx(plain.value + shift, abs=1e-9)
    assert moved.standard_error == pytest.approx(plain.standard_error, abs=1e-9)


@given(rounds)
def test_snips_stays_within_the_rewards_and_the_ends_around_the_value(log: Lists) -> None:
    found = snips(*log)
    assert -1e-12 <= found.value <= 1.0 + 1e-12
    assert found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12
    assert found.effective_size <= found.used * (1 + 1e-12)


@given(rounds, st.floats(0.0, 1.0))
@example(([0.0] * 30, [0.05] * 30, [1.0] * 30), 0.5)
@example(([1.0] * 30, [0.05] * 30, [1.0] * 30), 0.5)
def test_intervals_of_click_rates_are_click_rates(log: Lists, q: float) -> None:
    model = np.full(len(log[0]), q), np.linspace(0.0, 1.0, len(log[0]))
    rng = np.random.default_rng(0)
    for found in (
        ips(*log),
        snips(*log),
        doubly_robust(*log, *model),
        doubly_robust(*log, *model, normalised=True),
        shrunk(*log, *model),
        rejection(*log, rng=rng),
    ):
        assert 0.0 <= found.low <= found.high <= 1.0
        assert found.low <= min(max(found.value, 0.0), 1.0) + 1e-12
        assert found.high >= min(max(found.value, 0.0), 1.0) - 1e-12


def test_ends_were_outside_of_the_click_rates() -> None:
    """Without a limit, which the interval of a difference has not."""
    reward = (np.arange(40) < 2).astype(np.float64)
    found = doubly_robust(reward, np.full(40, 0.5), np.full(40, 0.5), *np.full((2, 40), 0.2))
    free = robust_terms(reward, np.ones(40), *np.full((2, 40), 0.2)).estimate(reward, 0.95)
    assert found.low == max(free.low, 0.0)
    assert replace(found, low=free.low, high=free.high) == free


@given(rounds)
@example(([1.0] * 39 + [0.0], [0.5] * 40, [0.5] * 39 + [0.4]))
def test_misses_are_counted_as_clicks_are(log: Lists) -> None:
    reward, *others = (np.array(each) for each in log)
    found, mirrored = snips(reward, *others), snips(1.0 - reward, *others)
    assert (found.low, found.high) == pytest.approx((1.0 - mirrored.high, 1.0 - mirrored.low))


def test_a_rate_of_one_is_not_known_exactly() -> None:
    every = np.full(200, 0.5)
    low, high = ips(np.ones(200), every, every).low, ips(np.zeros(200), every, every).high
    assert low == pytest.approx(1.0 - high)
    assert low < 0.99


@given(rounds, st.booleans())
@example(([0.0] * 10 + [1.0], [1.0] * 11, [1.0] * 10 + [0.5]), True)  # few clicks
def test_doubly_robust_without_a_model_is_ips_or_snips(log: Lists, normalised: bool) -> None:
    nothing = np.zeros(len(log[0]))
    found = doubly_robust(*log, nothing, nothing, normalised=normalised)
    plain = (snips if normalised else ips)(*log)
    for name in ("value", "standard_error", "low", "high", "effective_size"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), abs=1e-9)


@given(rounds, st.booleans())
def test_doubly_robust_of_a_model_that_errs_nowhere_is_direct(log: Lists, normalised: bool) -> None:
    value = np.linspace(0.0, 1.0, len(log[0]))
    found = doubly_robust(*log, log[0], value, normalised=normalised)
    assert found.value == pytest.approx(direct(value).value)


@given(rounds, st.floats(0.1, 50.0))
def test_clipping_only_lowers_ips_of_clicks(log: Lists, clip: float) -> None:
    assert ips(*log, clip=clip).value <= ips(*log).value + 1e-12


@pytest.mark.parametrize("clicks", [0, 1, 7])
def test_interval_of_equal_weights_is_the_exact_poisson_interval(clicks: int) -> None:
    reward = np.arange(1000) < clicks
    found = ips(reward, np.full(1000, 0.5), np.full(1000, 0.5))
    low = stats.gamma.ppf(0.025, clicks) if clicks else 0.0
    assert found.low == pytest.approx(low / 1000)
    assert found.high == pytest.approx(stats.gamma.ppf(0.975, clicks + 1) / 1000)


@pytest.mark.parametrize("clicks", [0, 3, 50])
def test_interval_of_rejection_is_the_exact_binomial_interval(clicks: int) -> None:
    even = np.full(50, 0.5)
    found = rejection(np.arange(50) < clicks, even, even, rng=np.random.default_rng(0))
    exact = stats.binomtest(clicks, 50).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_rejection_under_uniform_logging_keeps_the_rounds_of_agreement() -> None:
    rng = np.random.default_rng(3)
    reward, agree = rng.random(200), rng.random(200) < 0.25
    found = rejection(reward, np.full(200, 0.25), agree.astype(float), rng=rng)
    assert found.used == agree.sum()
    assert found.value == pytest.approx(reward[agree].mean())


class Dealt:
    """Random numbers that were chosen."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = np.array(numbers)

    def random(self, size: int) -> Any:
        assert size == self._numbers.size
        return self._numbers


def expected_rejection(bound: float | None) -> float:
    """The mean of `rejection` over all logs of three rounds, and over all that it may keep."""
    logging, target, clicks = (0.5, 0.3, 0.2), (0.1, 0.3, 0.6), (0.9, 0.2, 0.4)
    kinds = list(itertools.product(range(3), (0, 1)))
    chance = {(a, r): logging[a] * (clicks[a] if r else 1.0 - clicks[a]) for a, r in kinds}
    mass = total = 0.0
    for log in itertools.product(kinds, repeat=3):
        actions, rewards = [a for a, _ in log], [r for _, r in log]
        propensity, wanted = [logging[a] for a in actions], [target[a] for a in actions]
        weights = np.divide(wanted, propensity)
        shares = weights / (weights.max() if bound is None else bound)
        for keep in itertools.product((True, False), repeat=3):
            probability = math.prod(chance[each] for each in log) * np.prod(
                np.where(keep, shares, 1.0 - shares)
            )
            if not any(keep) or probability == 0.0:
                continue
            dealt: Any = Dealt(*np.where(keep, 0.0, 1.0 - 1e-12))
            found = rejection(rewards, propensity, wanted, rng=dealt, largest_weight=bound)
            mass += probability
            total += probability * found.value
    return total / mass


def test_rejection_is_unbiased_if_the_largest_weight_is_known() -> None:
    """By enumeration: the logs' value, the target's, and what the logs' own bound makes of it."""
    value = 0.1 * 0.9 + 0.3 * 0.2 + 0.6 * 0.4
    assert expected_rejection(3.0) == pytest.approx(value, rel=1e-12)
    assert expected_rejection(5.0) == pytest.approx(value, rel=1e-12)
    assert abs(expected_rejection(None) - value) > 0.01


def test_a_higher_level_is_wider() -> None:
    log = sample(world(COMMON), np.random.default_rng(1)).logged
    assert ips(*log, level=0.99).high > ips(*log).high > ips(*log, level=0.5).high


class Unmoved:
    """A learner whose belief stays."""

    posterior = Gaussian([0.4, -0.2, 0.1], np.diag([1.0, 0.5, 2.0]))

    def observe(self, x: Any, y: Any) -> None:
        pass


def test_replay_is_unbiased_under_uneven_logging() -> None:
    """False alarms: 6 in 100,000 (4 standard errors of some 2,500 kept rounds)."""
    rows, logging, clicks = np.eye(3), np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.5, 0.9])
    rng = np.random.default_rng(5)
    actions = rng.choice(3, size=12_000, p=logging)
    log = [LoggedRound(rows, int(a), float(rng.random() < clicks[a]), logging[a]) for a in actions]
    shares = Thompson().shares(Unmoved.posterior, rows, np.random.default_rng(6), 400_000)
    found = learning_replay(Bandit(Unmoved(), seed=7), log, least_propensity=0.2, rng=rng)
    assert abs(found.value - shares @ clicks) < 4.0 * found.standard_error
    assert abs(np.mean([each.reward for each in log]) - shares @ clicks) > 0.02


def test_replay_learns_from_kept_rounds_alone() -> None:
    rows = np.eye(2)
    log = [LoggedRound(rows, i % 2, float(i % 2), 0.5) for i in range(200)]
    learner = FabCost(Gaussian.isotropic(2, variance=4.0))
    bandit = Bandit(learner, policy=Greedy(), seed=0)
    found = learning_replay(bandit, log, least_propensity=0.5, rng=np.random.default_rng(0))
    assert learner.seen == found.used < 200
    assert found.value > 0.9


def test_cross_fit_predicts_a_fold_without_having_seen_it() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(60, 2)), rng.random(60) < 0.3
    prior = Gaussian.isotropic(2)
    for chosen in range(4):
        fits = list(cross_fit(prior, X, y, folds=4, rng=np.random.default_rng(9)))
        held_out, belief = fits[chosen]
        altered = y.copy()
        altered[held_out] ^= True
        again = list(cross_fit(prior, X, altered, folds=4, rng=np.random.default_rng(9)))
        assert again[chosen][1] == belief
        assert again[chosen - 1][1] != fits[chosen - 1][1]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: ips([1.0], [0.0], [0.5]), r"propensity\[0\] is 0.0 but must lie in \(0, 1\]"),
        (lambda: ips([1.0, 1.0], [0.5, 1.5], [0.5, 0.5]), r"propensity\[1\] is 1.5"),
        (lambda: ips([1.0], [0.5], [-0.1]), r"target\[0\] is -0.1"),
        (lambda: ips([np.nan], [0.5], [0.5]), r"reward\[0\] is nan but must be finite"),
        (lambda: ips([1.0, 0.0], [0.5], [0.5]), "propensity has shape .* of length 2"),
        (lambda: ips([], [], []), "reward has shape .* at least one"),
        (lambda: ips([1.0], [0.5], [0.5], clip=0.0), "clip is 0.0"),
        (lambda: ips([1.0], [0.5], [0.5], level=1.0), "level is 1.0"),
        (lambda: snips([1.0], [0.5], [0.0]), "takes none of the logged actions"),
        (
            lambda: rejection(
                [1.0, 1.0], [0.5, 0.2], [1.0, 1.0], rng=np.random.default_rng(0), largest_weight=4.0
            ),
            r"weight\[1\] is 5.0 but largest_weight is 4.0, which no weight may exceed",
        ),
        (
            lambda: rejection(
                [1.0], [0.5], [1.0], rng=np.random.default_rng(0), largest_weight=math.inf
            ),
            "largest_weight is inf but must be above zero and finite",
        ),
        (lambda: direct([np.inf]), r"predicted_value\[0\] is inf"),
        (
            lambda: list(
                cross_fit(
                    Gaussian.isotropic(1), [[1.0]], [1], folds=2, rng=np.random.default_rng(0)
                )
            ),
            "folds is 2",
        ),
        (
            lambda: learning_replay(
                Bandit(Unmoved()),
                [LoggedRound(np.eye(3), 0, 1.0, 0.1)],
                least_propensity=0.2,
                rng=np.random.default_rng(0),
            ),
            "least_propensity is 0.2",
        ),
        (
            lambda: learning_replay(
                Bandit(Unmoved()), [], least_propensity=0.2, rng=np.random.default_rng(0)
            ),
            "no round of the log was accepted",
        ),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        call()
