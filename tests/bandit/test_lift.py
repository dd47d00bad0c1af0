"""Lift: an interval of the ratio of two rates that holds at every moment."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import binom
from scipy.stats.contingency import relative_risk

from fabcost.bandit.lift import Arm, Lift, imbalance, lift

TILTS = np.concatenate([-(2.0 ** np.arange(-11, 4)), 2.0 ** np.arange(-11, 4)])


def evidence(clicks: float, impressions: float, rate: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The log of the martingale's mean over the tilts, written out."""
    spread = np.asarray(rate)[..., None]
    of_each = TILTS * clicks - impressions * np.log(1 - spread + spread * np.exp(TILTS))
    return np.asarray(logsumexp(of_each, axis=-1) - math.log(len(TILTS)))


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8))
def test_evidence_against_the_truth_is_at_most_one_in_the_mean(chances: list[float]) -> None:
    of_counts = np.ones(1)
    for p in chances:
        of_counts = np.convolve(of_counts, [1.0 - p, p])
    found = [evidence(k, len(chances), np.mean(chances)) for k in range(len(chances) + 1)]
    assert of_counts @ np.exp(found) <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((40, 400), (5, 100)), ((3, 50), (9, 60)), ((0, 80), (9, 90)), ((90, 100), (40, 100))],
)
def test_the_ends_are_where_all_pairs_of_rates_are_outside(
    ours: tuple[int, int], theirs: tuple[int, int]
) -> None:
    found = lift(Arm(*ours), Arm(*theirs), level=0.9)
    rates = 1.0 / (1.0 + np.exp(-np.linspace(-12.0, 12.0, 2401)))

    def is_inside(ratio: float) -> bool:
        q = rates[ratio * rates < 1.0]
        both = evidence(*ours, ratio * q) + evidence(*theirs, q)
        return bool((both <= math.log(10.0)).any())

    if found.low > -1.0:
        assert is_inside(1.002 * (1.0 + found.low))
        assert not is_inside(0.998 * (1.0 + found.low))
    assert is_inside(0.998 * (1.0 + found.high))
    assert not is_inside(1.002 * (1.0 + found.high))


def test_no_interval_of_a_stream_misses_more_often_than_it_says() -> None:
    """A bandit that learns from 0.05 to 0.15 beside a holdback of a fifth, looked at 60 times.

    Of the looks that at which the true rates are least likely: an interval that misses at any
    other misses there.  100 streams of level 0.5: 50 may miss, 71 with a probability below 2e-5.
    """
    rng, visits, streams = np.random.default_rng(0), 3000, 100
    looks = np.unique(np.geomspace(20, visits, 60).astype(int)) - 1
    held = rng.random((streams, visits)) < 0.2
    chances = np.where(held, 0.05, 0.15 - 0.1 * np.exp(-np.arange(visits) / 400))
    clicked = rng.random((streams, visits)) < chances
    sums = np.array(
        [
            [np.cumsum(arm * each, axis=1)[:, looks] for each in (clicked, arm, chances)]
            for arm in (~held, held)
        ]
    )
    k, n, p = sums.transpose(1, 0, 2, 3)
    at_truth = np.vectorize(evidence)(k, n, p / np.maximum(n, 1.0)).sum(axis=0)
    missed = 0
    for stream, look in enumerate(at_truth.argmax(axis=1)):
        ours, theirs = sums[:, :, stream, look]
        found = lift(Arm(*ours[:2]), Arm(*theirs[:2]), level=0.5)
        missed += not found.low <= (ours[2] / ours[1]) / (theirs[2] / theirs[1]) - 1.0 <= found.high
    assert 0 < missed < 71


@pytest.mark.parametrize("impressions", [1000, 100_000, 10_000_000])
def test_the_interval_is_about_twice_as_wide_as_one_for_a_single_look(impressions: int) -> None:
    ours, theirs = (impressions // 10, impressions), (impressions // 20, impressions)
    single = relative_risk(*ours, *theirs).confidence_interval(0.95)
    found = lift(Arm(*ours), Arm(*theirs))
    ratio = math.log((1 + found.high) / (1 + found.low)) / math.log(single.high / single.low)
    assert 1.5 < ratio < 2.4
    assert found.value == pytest.approx(1.0)
    assert found.verdict == "better"


def test_what_is_not_known_has_no_value_and_no_end() -> None:
    nothing = lift(Arm(0, 0), Arm(0, 0))
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (-1.0, math.inf)
    no_click_beside = lift(Arm(900, 1000), Arm(0, 200))
    assert no_click_beside.high == math.inf
    assert no_click_beside.verdict == "better"
    assert lift(Arm(0, 200), Arm(900, 1000)).verdict == "worse"


def test_clicks_gained() -> None:
    value, low, high = Lift(value=0.5, low=-0.5, high=math.inf, level=0.95).gained(30)
    assert (value, low, high) == pytest.approx((10.0, -30.0, 30.0))
    assert Lift(value=-1.0, low=-1.0, high=0.1, level=0.95).gained(0) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("both", "share"), [(20, 0.1), (60, 0.5)])
def test_imbalance_is_a_p_value(both: int, share: float) -> None:
    counts = range(both + 1)
    p = np.array([imbalance(each, both, share) for each in counts])
    chances = np.asarray(binom.pmf(counts, both, share))
    for level in (0.001, 0.01, 0.05):
        assert chances[p <= level].sum() <= level
    assert imbalance(both, both, share) < 0.001
    assert imbalance(round(both * share), both, share) == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Arm(3, 2), "3 clicks of 2 impressions"),
        (lambda: Arm(math.nan, 2), "nan clicks"),
        (lambda: lift(Arm(1, 2), Arm(1, 2), level=1.0), "level is 1.0"),
        (lambda: imbalance(3, 2, 0.1), "3 of 2"),
        (lambda: imbalance(1, 2, 0.0), "share is 0.0"),
    ],
)
def test_what_cannot_be_is_refused(call: object, words: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=words):
        call()
