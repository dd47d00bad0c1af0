"""A difference with its interval, in words: better, worse, or how much more it takes to tell."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from scipy.special import ndtri

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
