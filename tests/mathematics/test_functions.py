"""exp, log, half-line integrals and quantiles beside 40 digits, and on lanes beside numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit

from fabcost.kernels import functions
from fabcost.kernels.lanes import hold, load, pointer, store

ULP = 2.0**-52


def relative_error(found: float, expected: mp.mpf) -> float:
    return float(abs(mp.mpf(found) - expected) / abs(expected))


@given(st.floats(-707.9, 709.7))
@example(0.0)
@example(-1e-300)
@example(0.34657359027997264)
def test_exp(x: float) -> None:
    with mp.workdps(40):
        assert relative_error(functions.exp(x), mp.exp(mp.mpf(x))) <= ULP


def test_exp_beyond_its_range() -> None:
    assert functions.exp(-708.1) == 0.0
    assert functions.exp(709.8) == math.inf
    assert functions.exp(-math.inf) == 0.0
    assert functions.exp(math.inf) == math.inf
    assert math.isnan(functions.exp(math.nan))


@given(st.floats(5e-324, 1e308))
@example(1.0)
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
@example(math.sqrt(0.5))
def test_log(x: float) -> None:
    with mp.workdps(40):
        expected = mp.log(mp.mpf(x))
        assert abs(mp.mpf(functions.log(x)) - expected) <= ULP * abs(expected)


@given(st.floats(1e-300, 1e150) | st.floats(-4.0, 4.0).filter(bool))
@example(1e-8)
@example(2.0**-26)
@example(-1e37)
def test_asinh(x: float) -> None:
    with mp.workdps(40):
        assert relative_error(functions.asinh(x), mp.asinh(mp.mpf(x))) <= 2.0 * ULP


def test_bounded_numbers_are_those_one_by_one() -> None:
    values = np.random.default_rng(0).normal(0.0, 1e3, 1_000)
    one_by_one = [3.0 * functions.asinh(value / 3.0) for value in values.tolist()]
    assert functions.bounded(values, 3.0).tobytes() == np.array(one_by_one).tobytes()
    assert functions.asinh(0.0) == 0.0


def test_log_beyond_its_range() -> None:
    assert functions.log(0.0) == -math.inf
    assert functions.log(math.inf) == math.inf
    assert math.isnan(functions.log(-1.0))
    assert math.isnan(functions.log(math.nan))


@given(st.floats(0.0, 1e6))
@example(0.0)
@example(math.nextafter(functions.MILLS_SPLIT, 0.0))
@example(functions.MILLS_SPLIT)
def test_half_line(a: float) -> None:
    with mp.workdps(60):
        at = mp.mpf(a)
        zeroth = mp.sqrt(mp.pi / 2) * mp.exp(at * at / 2) * mp.erfc(at / mp.sqrt(2))
        if a > 1e3:  # the series in 1/a² is exact to 40 digits there
            terms = (mp.fac2(2 * k - 1) * (-1) ** k / at ** (2 * k) for k in range(8))
            zeroth = sum(terms, mp.mpf(0)) / at
        first = 1 - at * zeroth
        second = zeroth - at * first
        for found, expected in zip(functions.half_line(a), (zeroth, first, second), strict=True):
            assert relative_error(found, expected) < 4e-13


@given(st.integers(0, 2**53 - 1))
@example(0)
@example(2**53 - 1)
@example(2**52)
@example(int(0.075 * 2**53))
@example(int(1e-14 * 2**53))
def test_normal_quantile(numerator: int) -> None:
    p = numerator * 2.0**-53
    found = functions.normal_quantile(p)
    with mp.workdps(40):
        exact = mp.mpf(max(p, 2.0**-54))
        expected = mp.sqrt(2) * mp.erfinv(2 * exact - 1)
        assert abs(mp.mpf(found) - expected) <= 8 * ULP * max(abs(expected), 2.0**-30)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 101])
def test_normals_are_quantiles_wherever_they_stand(count: int) -> None:
    uniforms = np.random.default_rng(count).random(count)
    expected = np.array([functions.normal_quantile(u) for u in uniforms])
    functions.make_normal(uniforms)
    np.testing.assert_array_equal(uniforms, expected)


def test_normals_have_the_law_of_normals() -> None:
    """Share below each of nine quantiles: false alarms below 1e-6 (5 sds, nine times)."""
    many = 200_000
    numbers = np.random.default_rng(5).random(many)
    functions.make_normal(numbers)
    for share in np.linspace(0.1, 0.9, 9):
        below = (numbers < float(mp.sqrt(2) * mp.erfinv(2 * share - 1))).mean()
        assert abs(below - share) < 5.0 * math.sqrt(share * (1.0 - share) / many)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def on_lanes(values: Any, results: Any) -> None:
    lanes = functions.exp(load(pointer(values), 0))  # type: ignore[call-arg]
    store(pointer(results), 0, lanes)
    hold(values)
    hold(results)


def test_lanes_have_the_bits_of_numbers() -> None:
    values = np.array([-800.0, -707.0, -1e-3, 0.0, 1.5, 700.0, 900.0, math.nan])
    results = np.empty(8)
    on_lanes(values, results)
    scalar: Callable[[float], float] = functions.exp
    np.testing.assert_array_equal(results, [scalar(value) for value in values])
