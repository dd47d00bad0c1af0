"""Normals by the thousand: beside NumPy's SFC64 and a plain transformation, and their law."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numba import njit
from scipy import stats

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.kernels.lanes import hold, load, pointer, store
from fabcost.kernels.normals import HALF_PI, ROUNDS, logarithm, sine_and_cosine

LANES = 8


def twin(seeds: FloatArray, many: int) -> FloatArray:
    """Eight generators of NumPy's, and Box and Muller's transformation as it is written."""
    words = []
    for counter in np.arange(1.0, 1.0 + LANES):
        generator = np.random.SFC64()
        state = np.array([*seeds, counter]).view(np.uint64)
        generator.state = {**generator.state, "state": {"state": state}}
        words.append(generator.random_raw(ROUNDS + 2 * many)[ROUNDS:])
    uniforms = (np.array(words).T >> np.uint64(12)) * 2.0**-52
    radius, turn = np.sqrt(-2.0 * np.log(1.0 - uniforms[::2])), 2.0 * np.pi * (uniforms[1::2] - 0.5)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1).ravel()[:many]


@pytest.mark.parametrize("many", [1, 16, 17, 1000])
def test_normals_and_their_twin(many: int) -> None:
    seeds = np.random.default_rng(many).random(kernels.SEEDS)
    found = kernels.fresh_normals(seeds, many)
    assert len(found) >= many
    np.testing.assert_allclose(found[:many], twin(seeds, many), rtol=0, atol=2e-14)


def test_normals_have_the_law_of_normals() -> None:
    """Of one stream after another, as decisions have them; false alarms: 1e-6 for each of three."""
    rng = np.random.default_rng(5)
    z = np.array([kernels.fresh_normals(rng.random(3), 64) for _ in range(20_000)])
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-6
    # Sums over a stream are normal with variance 64, those of squares χ² with 64.
    assert stats.kstest(z.sum(axis=1) / 8.0, "norm").pvalue > 1e-6
    assert stats.kstest((z * z).sum(axis=1), stats.chi2(64).cdf).pvalue > 1e-6


@njit  # type: ignore[untyped-decorator, unused-ignore]
def on_lanes(x: Any, logs: Any, sines: Any, cosines: Any) -> None:
    """Log x, and sine and cosine of 2π(x − ½)."""
    for i in range(0, x.size, 8):
        lanes: Any = load(pointer(x), i)  # type: ignore[call-arg]
        sine, cosine = sine_and_cosine(HALF_PI * (lanes - 0.5))
        store(pointer(logs), i, logarithm(lanes))
        store(pointer(sines), i, sine)
        store(pointer(cosines), i, cosine)
    hold(x)  # type: ignore[call-arg]
    hold(logs)
    hold(sines)
    hold(cosines)


def test_functions_on_lanes() -> None:
    inner = np.random.default_rng(0).random(1000)
    edges = [2.0**-52, 2.0**-26, 0.5, np.sqrt(0.5), np.nextafter(np.sqrt(0.5), 1), 0.75, 0.99, 1.0]
    given = np.array([*inner, *edges])
    logs, sines, cosines = found = np.empty((3, given.size))
    on_lanes(given, *found)
    with mp.workdps(40):
        for x, log, sine, cosine in zip(given, logs, sines, cosines, strict=True):
            true, turn = mp.log(x), 2 * mp.pi * (mp.mpf(x) - mp.mpf(0.5))
            assert abs(log - true) <= 3e-16 * (1 + abs(true))
            assert abs(sine - mp.sin(turn)) <= 3e-15
            assert abs(cosine - mp.cos(turn)) <= 3e-15
