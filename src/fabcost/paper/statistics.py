"""Numbers with their intervals: medians over rounds, slopes and ratios over streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from fabcost.impressions import FloatArray
from fabcost.offline.intervals import average


class Interval(NamedTuple):
    """A number and the ends of its 95 % interval.

    Examples
    --------
    >>> f"{Interval(75.0, 70.04, 2481.2)} or {Interval(-1, -1.5, -0.5):.1f}"
    '75.0 [70.0, 2,481] or -1.0 [-1.5, -0.5]'
    >>> f"{Interval(0.001, -0.001, 0.07)} or {Interval(0.0123, 0.005, 2481.2):g}"
    '0.00 [0.00, 0.07] or 0.012 [0.005, 2,500]'
    """

    value: float
    low: float
    high: float

    def __format__(self, form: str) -> str:
        value, low, high = (_written(each, form) for each in self)
        return f"{value} [{low}, {high}]"


def _written(number: float, form: str) -> str:
    """By ``form``: "g" is two digits, without an exponent if it is large; "" goes by the size."""
    if form == "g":
        text = f"{number:.2g}"
        return f"{float(text):,.0f}" if "e+" in text else text
    if form:
        return format(number, form)
    decimals = 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
    return f"{round(number, decimals) + 0.0:,.{decimals}f}"  # + 0.0 takes the sign off a zero


def rms(values: npt.ArrayLike) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def median_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """The median with order statistics as ends, which hold for any continuous distribution.

    The k-th smallest and k-th largest of n enclose the median with probability
    1 − 2 P(Bin(n, ½) < k); k is the largest that keeps ``level``, or 1 where none does (n < 6).

    Examples
    --------
    >>> median_interval([5, 1, 9, 2, 8, 3, 7, 4, 6])
    Interval(value=5.0, low=2.0, high=8.0)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size == 0:
        raise ValueError("there are no values but an interval needs one")
    outside = max(1, int(stats.binom.ppf(0.5 * (1.0 - level), ordered.size, 0.5)))
    return Interval(
        float(np.median(ordered)), float(ordered[outside - 1]), float(ordered[-outside])
    )


def rate(
    sizes: Sequence[int], errors: FloatArray, noise: FloatArray, *, fitted_from: int
) -> Interval | None:
    """Slope of log error on log size, the mean over streams (rows) with Student's interval.

    Sizes below ``fitted_from``, where the data decide too little for an asymptotic rate, and
    errors of less than twice their ``noise`` are left out; then a stream needs three points, and
    two streams are needed for an interval.  None if there are not so many.

    Examples
    --------
    >>> sizes, noise = (100, 1000, 10_000), np.zeros((2, 3))
    >>> errors = np.array([[1.0, 0.1, 0.01], [3.0, 0.3, 0.03]])
    >>> f"{rate(sizes, errors, noise, fitted_from=100)}"
    '-1.00 [-1.00, -1.00]'
    """
    if errors.shape != noise.shape or errors.shape[1:] != (len(sizes),):
        raise ValueError(
            f"errors have shape {errors.shape} and noise {noise.shape} but both must be "
            f"streams by {len(sizes)} sizes"
        )
    abscissa = np.log(np.asarray(sizes, dtype=np.float64))
    chosen = (errors > 2.0 * noise) & (np.asarray(sizes) >= fitted_from)
    enough = chosen.sum(axis=1) >= 3
    if enough.sum() < 2:
        return None
    slopes = [
        np.polyfit(abscissa[fitted], np.log(row[fitted]), 1)[0]
        for row, fitted in zip(errors[enough], chosen[enough], strict=True)
    ]
    return _student(np.array(slopes))


def ratio(ours: FloatArray, theirs: FloatArray | float) -> Interval:
    """Geometric mean of ours over theirs, stream by stream, with Student's interval of its log.

    Examples
    --------
    >>> f"{ratio(np.array([1.0, 4.0]), np.array([2.0, 8.0])):g}"
    '0.5 [0.5, 0.5]'
    """
    return Interval(*(float(np.exp(each)) for each in _student(np.log(ours / theirs))))


def _student(values: FloatArray) -> Interval:
    return Interval(*(float(each[0]) for each in average(values[:, None])))
