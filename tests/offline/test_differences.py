"""Differences to the logging policy, and what they say in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fabcost.impressions import FloatArray
from fabcost.offline.estimators import Estimate
from fabcost.offline.intervals import POWER, verdict_of
from fabcost.offline.terms import (
    RoundTerms,
    direct_terms,
    ips_terms,
    robust_terms,
    shrunk_terms,
    snips_terms,
)
from tests.offline.test_estimators import COMMON, LOGS, RARE, Sample, World, sample, world

Ways = dict[str, Callable[[Sample], RoundTerms]]
WAYS: Ways = {
    "ips": lambda s: ips_terms(s.target / s.propensity),
    "snips": lambda s: snips_terms(s.reward, s.target / s.propensity),
    "dr": lambda s: robust_terms(s.reward, s.target / s.propensity, s.predicted, s.value),
    "sndr": lambda s: robust_terms(
        s.reward, s.target / s.propensity, s.predicted, s.value, normalised=True
    ),
    "shrunk": lambda s: shrunk_terms(s.reward, s.target / s.propensity, s.predicted, s.value),
    "dm": lambda s: direct_terms(s.value),
}


def beyond(name: str, log: Sample) -> Estimate:
    base = ips_terms(np.ones_like(log.reward))
    return WAYS[name](log).beyond(base).estimate(log.reward, 0.95)


def gain(of: World) -> float:
    return of.truth - float((of.logging * of.clicks).sum(axis=1).mean())


@cache
def repeated(name: str, intercept: float) -> list[Estimate]:
    streams = np.random.default_rng(21).spawn(LOGS)
    return [beyond(name, sample(world(intercept), rng)) for rng in streams]


@pytest.mark.parametrize("intercept", [COMMON, RARE])
@pytest.mark.parametrize("name", WAYS)
def test_intervals_of_differences_cover(name: str, intercept: float) -> None:
    """False alarms: 1 in 10,000 for each case, were the coverage 95 % exactly."""
    truth = gain(world(intercept))
    covered = sum(each.low <= truth <= each.high for each in repeated(name, intercept))
    assert covered >= stats.binom.ppf(1e-4, LOGS, 0.95)


def test_normal_intervals_would_not_cover_differences_of_few_clicks() -> None:
    truth = gain(world(RARE))
    found = repeated("ips", RARE)
    normal = sum(abs(each.value - truth) <= 1.96 * each.standard_error for each in found)
    assert normal < stats.binom.ppf(1e-4, LOGS, 0.95)


def bootstrapped(log: Sample, name: str, rng: np.random.Generator, many: int = 1500) -> float:
    """The sd of a difference over logs of rounds that are drawn from this one."""
    columns = np.array([log.reward, log.target / log.propensity, log.predicted, log.value])
    rounds = log.reward.size
    drawn = [formula(name, *columns[:, rng.integers(rounds, size=rounds)]) for _ in range(many)]
    return float(np.std(drawn))


def formula(name: str, r: FloatArray, w: FloatArray, q: FloatArray, v: FloatArray) -> float:
    """An estimate less the mean reward, as the books have it."""
    values = {
        "ips": np.mean(w * r),
        "snips": np.average(r, weights=w),
        "dr": np.mean(v + w * (r - q)),
        "sndr": np.mean(v) + np.average(r - q, weights=w),
    }
    return float(values[name] - np.mean(r))


@pytest.mark.parametrize("name", ["ips", "snips", "dr", "sndr"])
def test_standard_errors_of_differences_are_those_of_a_bootstrap(name: str) -> None:
    """False alarms: below 1 in 10,000; the sd of 1,500 is known to 1.8 %, the band is 8 %."""
    rng = np.random.default_rng(22)
    log = sample(world(COMMON), rng, rounds=3000)
    stated = beyond(name, log).standard_error
    assert stated == pytest.approx(bootstrapped(log, name, rng), rel=0.08)


def test_pairs_are_known_better_than_their_parts() -> None:
    """A policy that is nearly the logging one has nearly its rounds."""
    of = world(COMMON)
    near = of._replace(target=0.9 * of.logging + 0.1 * of.target)
    log = sample(near, np.random.default_rng(23), rounds=3000)
    own = ips_terms(np.ones_like(log.reward)).estimate(log.reward, 0.95).standard_error
    apart = np.hypot(own, WAYS["ips"](log).estimate(log.reward, 0.95).standard_error)
    assert beyond("ips", log).standard_error < 0.2 * apart


@pytest.mark.parametrize("name", sorted(WAYS.keys() - {"shrunk"}))
def test_nothing_differs_from_itself(name: str) -> None:
    log = sample(world(COMMON), np.random.default_rng(27))
    terms = WAYS[name](log)
    found = terms.beyond(terms).estimate(log.reward, 0.95)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_where_there_is_no_difference_few_verdicts_say_so() -> None:
    """False alarms: 1 in 10,000, were the intervals exact."""
    of = world(COMMON)
    flat = of._replace(clicks=np.full_like(of.clicks, 0.3))
    words = []
    for rng in np.random.default_rng(24).spawn(LOGS):
        d = beyond("dr", sample(flat, rng))
        words.append(verdict_of(d.value, d.low, d.high, level=0.95, many=400).word)
    told = sum(word != "cannot tell" for word in words)
    assert told <= stats.binom.ppf(1 - 1e-4, LOGS, 0.05)


def test_the_rounds_that_are_asked_for_tell_as_often_as_they_say() -> None:
    """False alarms: 2 in 10,000, and the rounds are rounded up to two digits."""
    far, many = world(COMMON), 100
    of = far._replace(target=0.5 * far.logging + 0.5 * far.target)
    error = beyond("snips", sample(of, np.random.default_rng(25), 200_000)).standard_error
    reach = 1.96 * error * np.sqrt(200_000 / many)
    d = gain(of)
    verdict = verdict_of(d, d - reach, d + reach, level=0.95, many=many)
    assert verdict.word == "cannot tell"
    assert verdict.more is not None
    told = 0
    for rng in np.random.default_rng(26).spawn(LOGS):
        found = beyond("snips", sample(of, rng, many + verdict.more))
        told += found.low > 0.0
    low, high = (stats.binom.ppf(tail, LOGS, POWER) for tail in (1e-4, 1 - 1e-4))
    assert low <= told <= high


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.2, 0.1, 0.3), "better"),
        ((-0.2, -0.3, -0.1), "worse"),
        ((0.0, 0.0, 0.0), "the same"),
        ((0.0, -0.1, 0.1), "cannot tell (not even with 1,000 times the rounds)"),
        ((-0.1, -0.3, 0.1), "cannot tell (needs about 720 rounds more)"),
        ((0.1, float("nan"), float("nan")), "cannot tell (needs more than one of rounds)"),
    ],
)
def test_verdicts_in_words(numbers: tuple[float, float, float], words: str) -> None:
    assert str(verdict_of(*numbers, level=0.95, many=100)) == words


@given(st.floats(0.01, 1.0), st.floats(1.0, 20.0), st.integers(10, 10**6))
def test_verdicts_are_those_of_the_mirror(value: float, times: float, many: int) -> None:
    reach = times * value
    one = verdict_of(value, value - reach, value + reach, level=0.9, many=many)
    other = verdict_of(-value, -value - reach, -value + reach, level=0.9, many=many)
    assert one == other
    assert one.word == "cannot tell"
    assert one.more is None or one.more > 0
