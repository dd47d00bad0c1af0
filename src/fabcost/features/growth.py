"""How a schema grows: features declared and met, labels, and the constants of numbers.

Anchors, from when a number is first met, fix what enters a row and never change; constants follow
what is read, and say what the prior expects of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabcost.features import document
from fabcost.features.items import Placed
from fabcost.features.kinds import LARGEST_NUMBER, Feature, Numeric, Term
from fabcost.features.layout import Layout, Step
from fabcost.features.reader import Openness

#: Values of a number after which its constants stay.
ENOUGH = 10_000
#: Sds by which the mean, and share by which the sd, must have moved for another revision.
MOVED_MEAN, MOVED_SD = 0.1, 0.1


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
                steps.append({document.REVISED: name, **found._asdict(), "count": seen.count})
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


class ColumnGrowth:
    """The columns of a schema and what they came from, step by step.

    Examples
    --------
    >>> growth = ColumnGrowth(None, bias=True)
    >>> growth.declare(Numeric("age"), None)
    >>> growth.layout.columns
    ['bias', 'age']
    """

    def __init__(self, openness: Openness | None, *, bias: bool) -> None:
        self.layout = Layout(bias=bias)
        self.layout.fair = openness is not None and openness.scaled
        self.scales = Scales(centred=bias)
        self.declared: list[Feature] = []
        self.crosses: list[tuple[str, str]] = []
        self._crosses_all = openness is not None and openness.crosses

    def declare(self, feature: Feature, most: int | None) -> None:
        """A feature that is there from the start, if there is room for it."""
        if not isinstance(feature, Feature):
            raise ValueError(f"a feature is {feature!r} but must be one of the feature kinds")
        self.layout.check_new(feature)
        self.layout.require(self.layout.size_of(feature, crossed=False), most)
        self.layout.add(feature)
        self.declared.append(feature)

    def cross(self, pair: Sequence[str], most: int | None) -> None:
        """A declared cross, if there is room for it."""
        names = tuple(pair)
        blocks = self.layout.blocks
        if len(names) != 2 or names[0] == names[1] or not blocks.keys() >= set(names):
            known = ", ".join(map(repr, blocks)) or "none"
            raise ValueError(f"a cross is {pair!r} but must be two different names among {known}")
        first, second = blocks[names[0]], blocks[names[1]]
        self.layout.require(first.size.crossed(second.size), most)
        self.layout.cross(first, second)
        self.crosses.append((names[0], names[1]))

    def meet(self, feature: Feature) -> None:
        """A feature that came by itself: without columns, if there is no room for them."""
        columns = self.layout.has_room(feature, crossed=self._crosses_all)
        self.replay(document.as_step(feature, columns=columns), None)

    def replay(self, step: Step, most: int | None) -> None:
        """Grow by a step, be it new or an earlier schema's."""
        if document.is_revision(step):
            self.scales.revise(step)  # type: ignore[arg-type]
        elif isinstance(step, dict):
            self._add_met(*document.of_step(step), most)
        else:
            self.layout.regrow(step[0], step[1], most)
        self.layout.grown.append(step)

    def see(self, placed: Mapping[str, Placed]) -> None:
        """Count the numbers of records that have been placed, and revise what has moved."""
        for name, (slots, numbers) in placed.items():
            if self.scales.follows(name):
                self.scales.take(name, numbers[slots >= 0].tolist())
        self._revise()

    def see_context(self, terms: Sequence[Term]) -> None:
        """`see` for one record of the context."""
        for block, term in zip(self.layout.by_role["context"], terms, strict=True):
            if term.label and self.scales.follows(block.feature.name):
                self.scales.take(block.feature.name, (term.number,))
        self._revise()

    def _revise(self) -> None:
        for step in self.scales.revisions():
            self.replay(step, None)

    def _add_met(self, feature: Feature, columns: bool, most: int | None) -> None:
        """A feature that came by itself, with its crosses if it has columns."""
        self.layout.check_new(feature)
        if not columns:
            self.layout.know(feature)
            return
        self.layout.require(self.layout.size_of(feature, crossed=self._crosses_all), most)
        self.layout.meet(feature, crossed=self._crosses_all)
        if isinstance(feature, Numeric) and feature.bound is not None:
            self.scales.know(feature.name)

    def written(self, openness: Openness | None) -> dict[str, Any]:
        """The document of the schema."""
        grown, seen = self.layout.grown, self.scales.state()
        bias = self.layout.bias
        return document.write(self.declared, self.crosses, bias, openness, grown, seen)


def _checked(step: Mapping[str, Any]) -> tuple[str, Constants, int]:
    mean, scale, count = (step.get(each, 0) for each in ("mean", "scale", "count"))
    sound = _is_real(mean) and _is_real(scale) and _is_whole(count)
    if not sound or count < 2 or scale < 1.0 / LARGEST_NUMBER:
        raise ValueError(f"a step of what has grown is {dict(step)!r:.200} but cannot be one")
    return step[document.REVISED], Constants(float(mean), float(scale)), count


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
