"""Centre and scale of a number when it is first met: they shape its rows, and never change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fabcost.features.feature import LARGEST_NUMBER, Role
from fabcost.features.kinds import Numeric, is_number

#: Scales from the centre up to which a number enters as it is, and beyond by its logarithm.
BOUND = 3.0
#: The interquartile range of a Gaussian, in sds.
_QUARTILES = 1.349


def anchored(name: str, role: Role, values: Iterable[Any]) -> Numeric:
    """The feature of a number that came by itself, anchored by the values that came with it.

    Examples
    --------
    >>> price = anchored("price", "item", [9_000, 12_000, 10_000, 11_000, None])
    >>> price.mean, round(price.scale)
    (10500.0, 1112)
    """
    found = [float(value) for value in values if _counts(value)]
    mean, scale = anchors(found)
    return Numeric(name, role, "zero", mean=mean, scale=scale, bound=BOUND)


def anchors(values: Sequence[float]) -> tuple[float, float]:
    """A robust centre and a scale that errs to the large: a small one bends what is ordinary.

    The scale is the interquartile range, in units of the sd, or the sd if that is zero; of n
    values at least |median|/n², since few say little; of equal ones their size.

    Examples
    --------
    >>> anchors([2015.0]), anchors([0.0, 0.0]), anchors([10_000.0, 10_001.0])
    ((2015.0, 2015.0), (0.0, 1.0), (10000.5, 2500.125))
    """
    ordered = sorted(values)
    if not ordered:
        return 0.0, 1.0
    centre = _quantile(ordered, 0.5)
    spread = (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / _QUARTILES
    largest = max(abs(ordered[0]), abs(ordered[-1]))
    if spread <= 1e-12 * largest:
        spread = _deviation(ordered)
    if spread <= 1e-12 * largest:
        spread = abs(centre) or 1.0
    scale = max(spread, abs(centre) / len(ordered) ** 2)
    return centre, min(max(scale, 1.0 / LARGEST_NUMBER), LARGEST_NUMBER)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _deviation(values: Sequence[float]) -> float:
    # fsum: the sum of Python 3.12 has other bits than that of 3.11.
    mean = math.fsum(values) / len(values)
    squares = [(value - mean) * (value - mean) for value in values]
    return math.sqrt(math.fsum(squares) / len(values))


def _counts(value: Any) -> bool:
    return is_number(value) and bool(abs(value) <= LARGEST_NUMBER)
