"""Rates of convergence: slopes of errors on doubly logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.comparisons import average

_CLEAR_OF_NOISE = 2.0
_FEWEST_POINTS = 3


class Rate(NamedTuple):
    """A slope, the mean over the streams, with Student's 95 % interval.

    ``points`` is how many errors were fitted in all, ``streams`` how many streams had enough.
    """

    slope: float
    low: float
    high: float
    points: int
    streams: int

    def __str__(self) -> str:
        return f"{self.slope:.2f} [{self.low:.2f}, {self.high:.2f}]"


def fit_rate(
    sizes: Sequence[int], errors: FloatArray, noise: FloatArray, *, fitted_from: int
) -> Rate | None:
    """Least squares of log error on log size for each stream (a row of ``errors``).

    Sizes below ``fitted_from``, where the data decide too little for an asymptotic rate, and
    errors of less than twice their ``noise`` are left out; then a stream needs three points, and
    two streams are needed for an interval.  None if there are not so many.

    Examples
    --------
    >>> sizes, noise = (100, 1000, 10_000), np.zeros((2, 3))
    >>> errors = np.array([[1.0, 0.1, 0.01], [3.0, 0.3, 0.03]])
    >>> print(fit_rate(sizes, errors, noise, fitted_from=100))
    -1.00 [-1.00, -1.00]
    """
    if errors.shape != noise.shape or errors.shape[1:] != (len(sizes),):
        raise ValueError(
            f"errors have shape {errors.shape} and noise {noise.shape} but both must be "
            f"streams by {len(sizes)} sizes"
        )
    abscissa = np.log(np.asarray(sizes, dtype=np.float64))
    chosen = (errors > _CLEAR_OF_NOISE * noise) & (np.asarray(sizes) >= fitted_from)
    enough = chosen.sum(axis=1) >= _FEWEST_POINTS
    if enough.sum() < 2:
        return None
    slopes = [
        np.polyfit(abscissa[fitted], np.log(row[fitted]), 1)[0]
        for row, fitted in zip(errors[enough], chosen[enough], strict=True)
    ]
    mean, low, high = (float(each[0]) for each in average(np.array(slopes)[:, None]))
    return Rate(mean, low, high, int(chosen[enough].sum()), int(enough.sum()))


class Ratio(NamedTuple):
    """Geometric mean of a ratio over the streams, with Student's 95 % interval of its logarithm."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_two_digits(self.mean)} [{_two_digits(self.low)}, {_two_digits(self.high)}]"


def _two_digits(value: float) -> str:
    """Without an exponent where the number is large."""
    text = f"{value:.2g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def compare_errors(ours: FloatArray, theirs: FloatArray | float) -> Ratio:
    """Ours over theirs, stream by stream.

    Examples
    --------
    >>> print(compare_errors(np.array([1.0, 4.0]), np.array([2.0, 8.0])))
    0.5 [0.5, 0.5]
    """
    logs = average(np.log(ours / theirs)[:, None])
    return Ratio(*(float(np.exp(each[0])) for each in logs))
