"""Seconds of alternatives taken in turn, and what their medians are known to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from fabcost.impressions import FloatArray

Action = Callable[[], object]

_SHORTEST = 0.01  # seconds of work below which one reading of the clock is too coarse


class Interval(NamedTuple):
    """A median and the ends of its interval.

    Examples
    --------
    >>> str(Interval(75.0, 70.04, 2481.2))
    '75.0 [70.0, 2,481]'
    >>> str(Interval(0.001, -0.001, 0.07))
    '0.00 [0.00, 0.07]'
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_text(self.median)} [{_text(self.low)}, {_text(self.high)}]"


def in_turn(actions: Sequence[Action], *, repeats: int) -> FloatArray:
    """Processor seconds of each action (columns) in each round (rows), after a trial of each.

    The actions alternate, so that a slow spell of the machine falls on all of them.

    Examples
    --------
    >>> in_turn([lambda: sum(range(100_000)), dict], repeats=3).shape
    (3, 2)
    """
    calls = [max(1, round(_SHORTEST / max(_seconds(action, 1), 1e-6))) for action in actions]
    pairs = list(zip(actions, calls, strict=True))
    return np.array([[_seconds(action, many) for action, many in pairs] for _ in range(repeats)])


def median_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """The median with order statistics as ends, which hold for any continuous distribution.

    The k-th smallest and k-th largest of n enclose the median with probability
    1 − 2 P(Bin(n, ½) < k); k is the largest that keeps ``level``, or 1 where none does (n < 6).

    Examples
    --------
    >>> median_interval([5, 1, 9, 2, 8, 3, 7, 4, 6])
    Interval(median=5.0, low=2.0, high=8.0)
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if ordered.size == 0:
        raise ValueError("there are no values but an interval needs one")
    outside = max(1, int(stats.binom.ppf(0.5 * (1.0 - level), ordered.size, 0.5)))
    return Interval(
        float(np.median(ordered)), float(ordered[outside - 1]), float(ordered[-outside])
    )


def slope_interval(sizes: Sequence[float], rounds: FloatArray) -> Interval:
    """The exponent p of seconds ∝ sizeᵖ: least squares on the logarithms of each round.

    Examples
    --------
    >>> str(slope_interval([1.0, 10.0, 100.0], np.array([[2.0, 20.0, 200.0]] * 6)))
    '1.00 [1.00, 1.00]'
    """
    slopes = np.polyfit(np.log(sizes), np.log(rounds).T, 1)[0]
    return median_interval(slopes)


def _text(value: float) -> str:
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0 takes the sign off a zero


def _seconds(action: Action, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        action()
    return (time.process_time() - start) / calls
