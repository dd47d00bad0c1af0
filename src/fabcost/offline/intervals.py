"""Estimates with their intervals, of rounds or over seeds; and differences in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import betaincinv, chdtri, ndtri, stdtrit

from fabcost.impressions import FloatArray
from fabcost.inference.summary import sds_of

LEVEL = 0.95
#: Below this many effective clicks, and at most this share of them, clicks are counted as Poisson.
FEW_CLICKS = 100.0
RARE_CLICKS = 0.1


@dataclass(frozen=True)
class Estimate:
    r"""A policy's estimated mean reward.

    Attributes
    ----------
    value, standard_error
        The estimate, and the sd that its sampling alone gives it.
    low, high
        Ends of the interval of confidence ``level``.
    effective_size
        :math:`(\sum w)^2 / \sum w^2`: the rounds of the target's own that the log is worth.
    used
        Rounds of nonzero weight, or accepted ones.
    """

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    effective_size: float
    used: int

    def within(self, least: float, most: float) -> Estimate:
        """With no end outside the range of what is estimated; the value is as it was.

        Examples
        --------
        >>> Estimate(0.01, 0.02, -0.03, 0.05, 0.95, 60.0, 60).within(0.0, 1.0).low
        0.0
        """
        low, high = (min(max(end, least), most) for end in (self.low, self.high))
        return replace(self, low=low, high=high)


def are_clicks(r: FloatArray) -> bool:
    """Whether all rewards are 0 or 1.

    Examples
    --------
    >>> are_clicks(np.array([0.0, 1.0])), are_clicks(np.array([0.0, 0.5]))
    (True, False)
    """
    return bool(((r == 0) | (r == 1)).all())


def mean(terms: FloatArray, w: FloatArray, level: float) -> Estimate:
    """The mean of ``terms`` with the interval of the central limit theorem.

    Examples
    --------
    >>> mean(np.array([0.0, 1.0]), np.array([1.0, 3.0]), 0.95).effective_size
    1.6
    """
    value, error = float(terms.mean()), _standard_error(terms)
    reach = sds_of(level) * error
    size = float(w.sum() ** 2 / (w * w).sum())
    used = int(np.count_nonzero(w))
    return Estimate(value, error, value - reach, value + reach, level, size, used)


def widened(estimate: Estimate, rest: FloatArray, r: FloatArray, share: FloatArray) -> Estimate:
    """The estimate with its interval for few clicks: Σ share·r counted, mean of ``rest`` normal.

    Shares may be negative, as those of differences: clicks that count for and against are two
    counts, of which each has its interval.  Where most rounds have a click, those without are
    counted.

    Examples
    --------
    >>> none = np.zeros(50)
    >>> estimate = mean(none, np.ones(50), 0.95)
    >>> round(widened(estimate, none, none, np.full(50, 0.02)).high, 4)
    0.0738
    """
    size = np.abs(share)
    if 2.0 * (size * r).sum() > size.sum():
        r, share, rest = 1.0 - r, -share, rest + share.size * share
    clicks = size[(r == 1) & (size > 0)]
    effective = clicks.sum() ** 2 / (clicks * clicks).sum() if clicks.size else 0.0
    if not are_clicks(r) or effective >= FEW_CLICKS or (size * r).sum() > RARE_CLICKS * size.sum():
        return estimate
    gain, loss = (_counted(sign * share, r, estimate.level) for sign in (1.0, -1.0))
    beside = sds_of(estimate.level) * _standard_error(rest)
    return replace(
        estimate,
        low=estimate.value - math.hypot(gain.below, loss.above, beside),
        high=estimate.value + math.hypot(gain.above, loss.below, beside),
    )


class _Margin(NamedTuple):
    """How far an interval goes from what was counted."""

    below: float
    above: float


def _counted(share: FloatArray, r: FloatArray, level: float) -> _Margin:
    """Of the clicks whose shares are positive."""
    largest = max(float(share.max()), 0.0)
    if largest == 0.0:
        return _Margin(0.0, 0.0)
    clicks = share[(r == 1) & (share > 0)]
    low, high = _gamma_interval(clicks, largest, level)
    return _Margin(float(clicks.sum()) - low, high - float(clicks.sum()))


def sample_mean(kept: FloatArray, level: float) -> Estimate:
    """The mean of the target's own rounds; Clopper & Pearson's interval for rewards 0 or 1.

    Examples
    --------
    >>> round(sample_mean(np.zeros(50), 0.95).high, 4)
    0.0711
    """
    if kept.size == 0:
        raise ValueError("no round of the log was accepted but a mean needs at least one")
    estimate = mean(kept, np.ones_like(kept), level)
    if not are_clicks(kept):
        return estimate
    tail = 0.5 * (1.0 - level)
    clicks, others = float(kept.sum()), float(kept.size - kept.sum())
    low = betaincinv(clicks, others + 1.0, tail) if clicks else 0.0
    high = betaincinv(clicks + 1.0, others, 1.0 - tail) if others else 1.0
    return replace(estimate, low=float(low), high=float(high))


def _gamma_interval(clicks: FloatArray, largest: float, level: float) -> tuple[float, float]:
    """Fay & Feuer's interval for the mean of Σ clicks, given the weight of each click.

    χ² quantiles of 2y²/v degrees of freedom, scaled by v/2y, with y and v the sums of the weights
    and of their squares; the upper end counts one more click, of the largest weight.
    """
    tail = 0.5 * (1.0 - level)
    y, v = float(clicks.sum()), float((clicks * clicks).sum())
    low = v / (2.0 * y) * chdtri(2.0 * y * y / v, 1.0 - tail) if y > 0 else 0.0
    y, v = y + largest, v + largest * largest
    return float(low), float(v / (2.0 * y) * chdtri(2.0 * y * y / v, tail))


def _standard_error(terms: FloatArray) -> float:
    """Of the mean of ``terms``; infinite for a single one."""
    return float(terms.std(ddof=1)) / math.sqrt(terms.size) if terms.size > 1 else math.inf


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
    t = stdtrit(seeds - 1, 0.5 + LEVEL / 2.0)
    return np.asarray(t * values.std(axis=0, ddof=1) / np.sqrt(seeds))


Word = Literal["better", "worse", "the same", "cannot tell"]

#: How often a difference that is as large as it seems is told after the rounds that are asked for.
POWER = 0.8
#: More than so many times what there was is not worth asking for.
_MOST_TIMES = 1000


class Verdict(NamedTuple):
    """What a difference says.

    Examples
    --------
    >>> str(Verdict("cannot tell", 12000, "rounds"))
    'cannot tell (needs about 12,000 rounds more)'
    """

    word: Word
    more: int | None = None  # of what there was, to tell
    unit: str = "rounds"
    reason: str = ""  # why nothing can be told, where more would not help

    @property
    def need(self) -> str:
        """What it would take to tell, or why nothing would do."""
        if self.word != "cannot tell" or self.reason:
            return self.reason
        if self.more is None:
            return f"not even with {_MOST_TIMES:,} times the {self.unit}"
        return f"needs about {self.more:,} {self.unit} more"

    def __str__(self) -> str:
        return f"{self.word} ({self.need})" if self.need else self.word


def verdict_of(
    value: float, low: float, high: float, *, level: float, many: int, unit: str = "rounds"
) -> Verdict:
    r"""The verdict on a difference ``value`` whose interval of confidence ``level`` is given.

    Where it holds zero, the interval of :math:`N` times as many rounds is shorter by
    :math:`\sqrt N`, and a difference that is what it seems is told with probability `POWER`
    if :math:`\sqrt N = (1 + z_{0.8} / z)\,h / |d|`, with h the reach of the interval towards zero.

    Examples
    --------
    >>> verdict_of(0.02, 0.01, 0.03, level=0.95, many=1000).word
    'better'
    >>> str(verdict_of(0.02, -0.02, 0.06, level=0.95, many=1000))
    'cannot tell (needs about 7,200 rounds more)'
    """
    if math.isnan(low):
        return Verdict("cannot tell", unit=unit, reason=f"needs more than one of {unit}")
    if low > 0.0 or high < 0.0:
        return Verdict("better" if low > 0.0 else "worse", unit=unit)
    if value == low == high == 0.0:
        return Verdict("the same", unit=unit)
    return Verdict("cannot tell", _more(value, low, high, level, many), unit)


def _more(value: float, low: float, high: float, level: float, many: int) -> int | None:
    reach = value - low if value > 0.0 else high - value
    if not math.isfinite(reach) or value == 0.0:
        return None
    times = ((1.0 + ndtri(POWER) / ndtri(0.5 + 0.5 * level)) * reach / value) ** 2
    return _rounded(many * (times - 1.0)) if times <= _MOST_TIMES else None


def _rounded(many: float) -> int:
    """Up, to two digits."""
    unit = 10.0 ** max(math.floor(math.log10(max(many, 1.0))) - 1, 0)
    return math.ceil(many / unit) * int(unit)
