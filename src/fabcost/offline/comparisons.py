"""Means over seeds and paired differences, with Student's intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from fabcost.impressions import FloatArray

LEVEL = 0.95


class Band(NamedTuple):
    """Means with their intervals, one for each column; what is not defined is NaN."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def around(cls, mean: FloatArray, half: FloatArray) -> Band:
        """The interval of ``half`` a width on either side."""
        return cls(mean, mean - half, mean + half)

    @property
    def half(self) -> FloatArray:
        """Half the width of the interval."""
        return np.asarray((self.high - self.low) / 2.0)


def average(values: FloatArray) -> Band:
    """Mean over the seeds (rows) of each column, with its 95 % interval.

    Examples
    --------
    >>> average(np.array([[1.0], [3.0]]))
    Band(mean=array([2.]), low=array([-10.70620474]), high=array([14.70620474]))
    """
    return Band.around(values.mean(axis=0), _half(values))


def difference(ours: FloatArray, theirs: FloatArray) -> Band:
    """Mean of the differences, seed by seed.

    Examples
    --------
    >>> difference(np.array([[5.0], [8.0]]), np.array([[3.0], [6.0]]))
    Band(mean=array([2.]), low=array([2.]), high=array([2.]))
    """
    return average(ours - theirs)


def per_cent(ours: FloatArray, theirs: FloatArray) -> Band:
    r"""Difference in per cent of their mean: :math:`r = \bar x / \bar y - 1`.

    The interval is that of the paired residuals :math:`x_s - (1 + r) y_s`, over :math:`\bar y`
    (the delta method for a ratio of means).  A ratio of means is defined early on, when some
    seeds have no click yet.

    Examples
    --------
    >>> per_cent(np.array([[5.0], [10.0]]), np.array([[4.0], [8.0]]))
    Band(mean=array([25.]), low=array([25.]), high=array([25.]))
    """
    base = theirs.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(base > 0, ours.mean(axis=0) / base, np.nan)
        half = _half(ours - ratio * theirs) / base
    return Band.around(100.0 * (ratio - 1.0), 100.0 * half)


def _half(values: FloatArray) -> FloatArray:
    seeds = values.shape[0]
    if seeds < 2:
        return np.full(values.shape[1], np.nan)
    t = stats.t.ppf(0.5 + LEVEL / 2.0, seeds - 1)
    return np.asarray(t * values.std(axis=0, ddof=1) / np.sqrt(seeds))
