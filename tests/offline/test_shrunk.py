"""Shrunken weights: known limits, an independent reference, and what they are good for."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from fabcost.offline.estimators import Estimate, direct, doubly_robust, ips, shrunk
from tests.offline.test_estimators import Lists, Sample, World, rounds, sample, softmax

CONTEXTS = np.linspace(-1.5, 1.5, 7)
ITEMS = np.linspace(-1.0, 1.0, 50)
LOGS = 300


@given(rounds)
def test_limits_are_the_model_and_the_weights(log: Lists) -> None:
    q, v = np.linspace(0.1, 0.6, len(log[0])), np.linspace(0.3, 0.4, len(log[0]))
    assert shrunk(*log, q, v, shrinkage=0.0).value == pytest.approx(direct(v).value)
    whole = shrunk(*log, q, v, shrinkage=math.inf)
    robust = doubly_robust(*log, q, v)
    assert (whole.value, whole.low, whole.high) == (robust.value, robust.low, robust.high)
    nothing = np.zeros(len(log[0]))
    assert shrunk(*log, nothing, nothing, shrinkage=math.inf).value == pytest.approx(
        ips(*log).value
    )


@given(rounds, st.floats(0.01, 100.0))
def test_value_is_that_of_the_formula(log: Lists, shrinkage: float) -> None:
    """One round after another, in plain arithmetic."""
    total = 0.0
    for i, (reward, propensity, target) in enumerate(zip(*log, strict=True)):
        weight = target / propensity
        less = weight * shrinkage / (weight * weight + shrinkage)
        total += 0.3 + less * (reward - 0.1 * (i % 3))
    n = len(log[0])
    found = shrunk(*log, [0.1 * (i % 3) for i in range(n)], [0.3] * n, shrinkage=shrinkage)
    assert found.value == pytest.approx(total / n)


@given(rounds)
def test_more_shrinkage_is_nearer_to_the_weights(log: Lists) -> None:
    q, v = np.full(len(log[0]), 0.5), np.full(len(log[0]), 0.5)
    robust = doubly_robust(*log, q, v).value
    values = [shrunk(*log, q, v, shrinkage=10.0**power).value for power in (6, 9, 12)]
    off = [abs(value - robust) for value in values]
    assert off[0] + 1e-12 >= off[1] >= off[2] - 1e-12


def test_a_shrinkage_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="shrinkage is -1.0 but must be at least 0"):
        shrunk([1.0], [0.5], [0.5], [0.5], [0.5], shrinkage=-1.0)


def heavy(intercept: float) -> World:
    """Where the target goes the log seldom went."""
    clicks = expit(intercept + np.outer(CONTEXTS, ITEMS) + 0.5 * np.sin(7 * ITEMS))
    slope = np.outer(CONTEXTS, ITEMS)
    return World(clicks, softmax(-slope), softmax(slope))


def modelled(of: World, log: Sample) -> Sample:
    """With a model that is wrong: it knows the order of contexts and items by halves."""
    model = 0.5 * of.clicks + 0.5 * of.clicks.mean()
    context = np.abs((of.target * of.clicks).sum(axis=1)[None] - log.value[:, None]).argmin(axis=1)
    predicted = 0.5 * log.predicted + 0.5 * of.clicks.mean()
    return log._replace(predicted=predicted, value=(of.target * model).sum(axis=1)[context])


@cache
def repeated(intercept: float) -> tuple[list[Estimate], list[Estimate]]:
    of, found = heavy(intercept), []
    for rng in np.random.default_rng(30).spawn(LOGS):
        log = modelled(of, sample(of, rng, 1000, items=ITEMS.size))
        given = (*log.logged, log.predicted, log.value)
        found.append((doubly_robust(*given), shrunk(*given)))
    return [one for one, _ in found], [other for _, other in found]


@pytest.mark.parametrize("intercept", [-1.0, -4.0])
def test_heavy_weights_are_better_shrunken(intercept: float) -> None:
    """With the same logs; were both alike, the mean of 300 squares would not differ by a tenth."""
    robust, less = (
        np.mean([(each.value - heavy(intercept).truth) ** 2 for each in some])
        for some in repeated(intercept)
    )
    assert less < 0.9 * robust


@pytest.mark.parametrize("intercept", [-1.0, -4.0])
def test_intervals_cover_though_weights_were_cut(intercept: float) -> None:
    """False alarms: 1 in 10,000 at 95 % coverage."""
    truth = heavy(intercept).truth
    found = repeated(intercept)[1]
    assert sum(e.low <= truth <= e.high for e in found) >= stats.binom.ppf(1e-4, LOGS, 0.95)


def test_light_weights_stay() -> None:
    rng = np.random.default_rng(31)
    reward, even = rng.random(4000) < 0.3, np.full(4000, 0.5)
    q = np.full(4000, 0.2)
    robust, less = doubly_robust(reward, even, even, q, q), shrunk(reward, even, even, q, q)
    assert less.value == pytest.approx(robust.value, abs=0.1 * robust.standard_error)
