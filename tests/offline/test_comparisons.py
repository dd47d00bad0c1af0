"""Intervals of means, differences and ratios."""

from __future__ import annotations

import numpy as np
from scipy import stats

from fabcost.offline.intervals import average, difference, per_cent


def test_intervals_are_students() -> None:
    rng = np.random.default_rng(3)
    ours, theirs = (rng.poisson(rate, (8, 2)).astype(np.float64) for rate in (30.0, 20.0))
    band = average(ours)
    exact = stats.ttest_1samp(ours, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(band[1:], np.array(exact))
    paired = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    band = difference(ours, theirs)
    np.testing.assert_allclose(band[1:], np.array(paired))
    np.testing.assert_allclose(
        per_cent(ours, theirs).mean, 100.0 * (ours.sum(axis=0) / theirs.sum(axis=0) - 1.0)
    )
    # Against a baseline that never varies the ratio is a mean like any other.
    flat = per_cent(ours, np.full((8, 2), 20.0))
    np.testing.assert_allclose(flat.high, 100.0 * (np.array(exact)[1] / 20.0 - 1.0))
    # What is always the same multiple is known exactly, however both vary.
    exactly = per_cent(1.25 * theirs, theirs)
    np.testing.assert_allclose(exactly, np.full((3, 2), 25.0))
    assert np.isnan(per_cent(ours, np.zeros((8, 2)))).all()
    assert np.isnan(average(ours[:1]).low).all()
