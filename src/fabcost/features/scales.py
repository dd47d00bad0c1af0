"""Numbers that scale themselves.

Anchors, from when a number is first met, fix what enters a row and never change; constants follow
what is read, and say what the prior expects of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabcost.features.feature import LARGEST_NUMBER, Role
from fabcost.features.kinds import Numeric, is_number

#: Scales from the centre up to which a number enters as it is, and beyond by its logarithm.
BOUND = 3.0
#: Values of a number after which its constants stay.
ENOUGH = 10_000
#: Sds by which the mean, and share by which the sd, must have moved for another revision.
MOVED_MEAN, MOVED_SD = 0.1, 0.1

_QUARTILES = 1.349  # the interquartile range of a Gaussian, in sds
_KEY = "constants of"


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


class Constants(NamedTuple):
    """Mean and scale of a number as it enters the rows; the prior expects it to be like that.

    Examples
    --------
    >>> Constants()
    Constants(mean=0.0, scale=1.0)
    """

    mean: float = 0.0
    scale: float = 1.0

    def moved_to(self, other: Constants) -> bool:
        """Whether the other is so far away that a revision is worth its while."""
        away = abs(other.mean - self.mean) > MOVED_MEAN * other.scale
        return away or abs(other.scale - self.scale) > MOVED_SD * self.scale


@dataclass
class _Seen:
    """Count, mean and sum of squares about it (Welford), and the count of the next look."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    due: int = 2

    def take(self, values: Iterable[float]) -> None:
        """In their order, until there are enough."""
        for value in values:
            if self.count >= ENOUGH:
                return
            self.count += 1
            away = value - self.mean
            self.mean += away / self.count
            self.squares += away * (value - self.mean)

    def constants(self, *, centred: bool) -> Constants:
        """Mean and sd, or zero and the root of the mean square; few values cannot make it small."""
        count, least = self.count, 1.0 / (self.count * self.count)
        if not centred:
            mean_square = self.squares / count + self.mean * self.mean
            return Constants(0.0, max(math.sqrt(mean_square), least))
        return Constants(self.mean, max(math.sqrt(self.squares / (count - 1)), least))


class Scales:
    """The numbers of a schema that scale themselves.

    Parameters
    ----------
    centred
        Whether there is a constant column, without which a number cannot be centred.

    Examples
    --------
    >>> scales = Scales(centred=True)
    >>> scales.know("age")
    >>> scales.take("age", [1.0, 3.0])
    >>> scales.revisions()
    [{'constants of': 'age', 'mean': 2.0, 'scale': 1.4142135623730951, 'count': 2}]
    """

    def __init__(self, *, centred: bool) -> None:
        self.centred = centred
        self.constants: dict[str, Constants] = {}
        self._seen: dict[str, _Seen] = {}
        self._due: set[str] = set()

    def know(self, name: str) -> None:
        """Follow a number from here on."""
        self.constants[name] = Constants()
        self._seen[name] = _Seen()

    def follows(self, name: str) -> bool:
        """Whether more values of the number would count."""
        seen = self._seen.get(name)
        return seen is not None and seen.count < ENOUGH

    def take(self, name: str, values: Iterable[float]) -> None:
        """Count the values of a number that were read, as they enter the rows."""
        seen = self._seen[name]
        seen.take(values)
        if seen.count >= seen.due:
            self._due.add(name)

    def revisions(self) -> list[dict[str, Any]]:
        """Steps for the constants that have moved, of numbers whose count has doubled."""
        steps = []
        for name in sorted(self._due):
            seen = self._seen[name]
            seen.due = 2 * seen.count
            found = seen.constants(centred=self.centred)
            if seen.squares > 0.0 and self.constants[name].moved_to(found):
                steps.append({_KEY: name, **found._asdict(), "count": seen.count})
        self._due.clear()
        return steps

    def revise(self, step: Mapping[str, Any]) -> None:
        """Take the constants of a step; what was seen by then is as the step says."""
        name, constants, count = _checked(step)
        if name not in self.constants:
            raise ValueError(f"there are constants of {name!r}, which does not scale itself")
        self.constants[name] = constants
        if self._seen[name].count < count:
            squares = constants.scale * constants.scale * (count - 1)
            self._seen[name] = _Seen(count, constants.mean, squares, 2 * count)

    def state(self) -> dict[str, list[float]]:
        """What was seen, in plain JSON, for `restore`."""
        return {
            name: [seen.count, seen.mean, seen.squares, seen.due]
            for name, seen in self._seen.items()
            if seen.count
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """What `state` tells; a ValueError if it tells of other numbers."""
        for name, given in state.items():
            if name not in self._seen or not _is_state(given):
                raise ValueError(f"what was seen of {name!r} is {given!r:.80} but cannot be")
            count, mean, squares, due = given
            self._seen[name] = _Seen(count, float(mean), float(squares), due)


def is_revision(step: object) -> bool:
    """Whether a step of a schema's growth is one of constants.

    Examples
    --------
    >>> is_revision({"constants of": "age", "mean": 2.0, "scale": 1.5, "count": 4})
    True
    """
    return isinstance(step, Mapping) and isinstance(step.get(_KEY), str)


def _checked(step: Mapping[str, Any]) -> tuple[str, Constants, int]:
    mean, scale, count = (step.get(each, 0) for each in ("mean", "scale", "count"))
    sound = _is_real(mean) and _is_real(scale) and _is_whole(count)
    if not sound or count < 2 or scale < 1.0 / LARGEST_NUMBER:
        raise ValueError(f"a step of what has grown is {dict(step)!r:.200} but cannot be one")
    return step[_KEY], Constants(float(mean), float(scale)), count


def _is_state(given: Any) -> bool:
    if not isinstance(given, list | tuple) or len(given) != 4:
        return False
    count, mean, squares, due = given
    whole = _is_whole(count) and _is_whole(due) and min(count, due) >= 1
    return whole and _is_real(mean) and _is_real(squares) and squares >= 0


def _is_real(given: Any) -> bool:
    a_number = isinstance(given, int | float) and not isinstance(given, bool)
    return a_number and abs(given) <= LARGEST_NUMBER


def _is_whole(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
