"""Sites with two exponents, against quadrature with thirty digits and against those with one."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from fabcost.kernels.counts import counts_site
from fabcost.kernels.functions import expm1, log_of_lanes
from fabcost.kernels.lanes import hold, load, pointer, spread, store
from fabcost.tilted import check_moments, tilted, tilted_counts
from tests.inference import twins
from tests.reference import tilted_counts_by_quadrature

#: n, from a thousandth of an impression to a million, and shares of clicks at and near the ends.
WEIGHTS = [1e-3, 0.3, 1.0, 7.0, 300.0, 1e6]
SHARES = [0.0, 1e-6, 0.04, 0.5]


def assert_within(clicks: float, misses: float, mean: float, sd: float) -> None:
    """1e-8 of tilted sds and variance; the mean no finer than the slope, a number, can say it."""
    slope, kept, log_z = tilted_counts_by_quadrature(clicks, misses, mean, sd)
    found = tilted_counts(mean, mp.mpf(sd) ** 2, clicks, misses)
    spread = sd / mp.sqrt(kept)
    finest = 4 * np.finfo(float).eps * abs(slope) * spread
    assert abs(mp.mpf(float(found.slope)) - slope) * spread < 1e-8 + finest
    assert abs(mp.mpf(float(found.kept)) / kept - 1) < 1e-8
    assert abs(mp.mpf(float(found.log_z)) - log_z) < 1e-9 * (1 + abs(log_z))


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("share", SHARES)
def test_moments_match_quadrature(weight: float, share: float) -> None:
    clicks = share * weight
    for mean, sd in [(-60.0, 1e-6), (1.5, 0.08), (-4.0, 0.9), (30.0, 1.1), (-0.3, 40.0)]:
        assert_within(clicks, weight - clicks, mean, sd)


@pytest.mark.parametrize("tilt", [-3.0, -0.5, 0.5, 1.0])
@pytest.mark.parametrize(("clicks", "misses"), [(1e6, 0.0), (0.02, 0.0), (3.0, 2000.0)])
def test_moments_in_the_tails_match_quadrature(tilt: float, clicks: float, misses: float) -> None:
    for sd in (5.0, 1e3):
        assert_within(clicks, misses, tilt * sd * sd, sd)


@settings(max_examples=40)
@given(st.floats(-3, 6), st.floats(0, 1), st.booleans(), st.floats(-60, 60), st.floats(-6, 3))
def test_moments_match_quadrature_anywhere(
    log_weight: float, share: float, mirrored: bool, mean: float, log_sd: float
) -> None:
    weight = 10.0**log_weight
    some = weight * share**4
    clicks, misses = (weight - some, some) if mirrored else (some, weight - some)
    assert_within(clicks, misses, mean, 10.0**log_sd)


@given(st.floats(-1e6, 1e6), st.floats(-6, 4), st.floats(-9, 9), st.floats(0, 1))
def test_moments_keep_their_bounds(
    mean: float, log_sd: float, log_weight: float, share: float
) -> None:
    variance, weight = 10.0 ** (2 * log_sd), 10.0**log_weight
    clicks = weight * share
    site = tilted_counts(mean, variance, clicks, weight - clicks)
    rounding = 1.0 + 1e-9
    assert site.log_z <= 1e-9
    few = 1e-9 * (weight + variance**-0.5)  # of the tilted mean, in sds
    assert clicks - weight - few <= site.slope <= clicks + few
    assert 4.0 / (4.0 + weight * variance) <= site.kept * rounding <= rounding
    assert 0.0 <= site.curvature <= weight / (4.0 + weight * variance) * rounding


@given(st.floats(-40, 40), st.floats(0.01, 30), st.booleans())
def test_one_impression_has_the_bits_of_before(mean: float, sd: float, clicked: bool) -> None:
    label = 1.0 if clicked else -1.0
    before, now = tilted(mean, sd * sd, label), tilted_counts(mean, sd * sd, clicked, not clicked)
    for old, new in zip(before, now, strict=True):
        assert old == new


@pytest.mark.parametrize("sd", [1e-3, 0.3, 2.0, 30.0])
def test_nearly_one_impression_is_nearly_the_same(sd: float) -> None:
    """The two ways to a site are different programs; a hair beside one impression they agree."""
    for mean in (-30.0, -2.0, 0.0, 5.0):
        one, nearly = tilted(mean, sd * sd), tilted_counts(mean, sd * sd, 1.0 - 1e-12, 0.0)
        np.testing.assert_allclose(nearly.log_z, one.log_z, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(nearly.slope, one.slope, rtol=1e-8)
        np.testing.assert_allclose(nearly.kept, one.kept, rtol=3e-9)


def test_moments_match_the_plain_twin() -> None:
    for a, b in [(0.2, 0.0), (3.0, 37.0), (40.0, 0.0), (500.0, 500.0), (2.0, 9e4)]:
        for mean, sd in [(-9.0, 0.2), (0.3, 1.0), (4.0, 6.0)]:
            log_scale, z, slope, curvature, kept = counts_site(a, b, mean, sd * sd)
            expected = twins.counts_site(a, b, mean, sd * sd)
            np.testing.assert_allclose(log_scale + np.log(z), expected[0], rtol=1e-9)
            np.testing.assert_allclose(slope, expected[1], rtol=1e-7, atol=1e-8)
            np.testing.assert_allclose(1.0 - kept, sd * sd * expected[2], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(curvature, expected[2], rtol=1e-6, atol=1e-9)


def test_no_impressions_say_nothing() -> None:
    site = tilted_counts(1.0, 4.0, 0.0, 0.0)
    assert [float(each) for each in site] == [0.0, 0.0, 0.0, 1.0]


@njit
def on_lanes(x: Any, w: Any, exponential: Any, logarithm: Any) -> None:
    for i in range(0, x.size, 8):
        store(pointer(exponential), i, expm1(load(pointer(x), i)))  # type: ignore[call-arg]
        store(pointer(logarithm), i, log_of_lanes(load(pointer(w), i), spread(0.0)))
    hold(x)  # type: ignore[call-arg]
    hold(w)
    hold(exponential)
    hold(logarithm)


def test_lane_functions_match_forty_digits() -> None:
    x = np.concatenate([-np.logspace(-18, 2.8, 400), np.logspace(-18, 2.8, 400)])
    w = np.logspace(-300, 300, 800)
    exponential, logarithm = np.empty(800), np.empty(800)
    on_lanes(x, w, exponential, logarithm)
    with mp.workdps(40):
        for given_x, found in zip(x, exponential, strict=True):
            assert abs(mp.mpf(found) / mp.expm1(mp.mpf(given_x)) - 1) < 5e-16
        for given_w, found in zip(w, logarithm, strict=True):
            assert abs(mp.mpf(found) - mp.log(mp.mpf(given_w))) < 3e-16 * (abs(found) + 1e-3)


@pytest.mark.parametrize(
    ("clicks", "misses", "variance", "complaint"),
    [(-1.0, 2.0, 1.0, "clicks"), (np.inf, 0.0, 1.0, "clicks"), (1.0, 1.0, 0.0, "variance")],
)
def test_bad_input_is_named(clicks: float, misses: float, variance: float, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        tilted_counts(0.0, variance, clicks, misses)


def test_the_papers_moments_have_no_counts() -> None:
    assert not check_moments("mackay", None)
    with pytest.raises(ValueError, match="need 'exact'"):
        check_moments("mackay", np.ones((1, 2)))
