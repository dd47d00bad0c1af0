"""Data alarms: what in the data makes learning fail, said in words while it happens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.features.kinds import Numeric, Text
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.inference.saved import numbers, real, whole

Kind = Literal[
    "constant number",
    "number out of scale",
    "exploding category",
    "dates as categories",
    "items look alike",
    "no feedback",
    "feedback of one kind",
    "feedback too late",
    "click rate off",
    "extreme scores",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: A standardised number is seldom beyond a few sds; one this far out decides alone.
FAR_OUT = 100.0
#: Log-odds of 30 are odds of ten million millions.
EXTREME = 30.0
#: Sds by which clicks may miss what was predicted: exceeded once in two million looks by chance.
SURPRISE = 5.0
_LEAST_VARIANCE = 1e-300
_FEW, _SOME, _MANY = 20, 100, 1000
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?")


class Alarm(NamedTuple):
    """One thing that is wrong with the data.

    Attributes
    ----------
    kind
        Which of `KINDS`.
    subject
        The feature, or "" where it is about all.
    text
        What was seen, and what to do.

    Examples
    --------
    >>> Alarm("constant number", "age", "age is always 3: it says nothing").subject
    'age'
    """

    kind: Kind
    subject: str
    text: str


class Watch:
    r"""Counts what is decided and learnt, and tells alarms from it.

    Clicks are compared with the sum of the probabilities that were predicted just before each
    outcome was learnt, a martingale under a calibrated model, whose variance is
    :math:`\sum p_t (1 - p_t)`.

    Examples
    --------
    >>> schema = Schema.open()
    >>> design = schema.design([{"price": 20_000, "year": 2019}, {"price": 9_000, "year": 2019}])
    >>> watch = Watch()
    >>> for k in range(100):
    ...     watch.learnt(design[k % 2], clicked=False, centre=-3.0, variance=1.0)
    >>> [alarm.subject for alarm in watch.alarms(schema) if alarm.kind == "constant number"]
    ['year']
    """

    def __init__(self) -> None:
        self.decisions = 0
        self.alike = 0
        self.answers = 0
        self.clicks = 0
        self.expired = 0
        self.late = 0
        self.predicted = 0.0
        self.variance = 0.0
        self.furthest = 0.0
        self._smallest: FloatArray = np.empty(0)
        self._largest: FloatArray = np.empty(0)

    def decided(self, *, alike: bool) -> None:
        """A decision, and whether its candidates are all the same to the model."""
        self.decisions += 1
        self.alike += alike

    def learnt(
        self,
        row: FloatArray,
        *,
        clicked: bool,
        centre: float,
        variance: float,
        expired: bool = False,
    ) -> None:
        """An outcome: its row, and mean and variance of the log-odds that were predicted."""
        probability = _probability(centre, variance)
        self.expired += expired
        self.answers += not expired
        self.clicks += clicked
        self.predicted += probability
        self.variance += probability * (1.0 - probability)
        self.furthest = max(self.furthest, abs(centre))
        self._reach(row)

    def came_late(self) -> None:
        """Feedback for a decision that had expired."""
        self.late += 1

    def alarms(self, schema: Schema) -> tuple[Alarm, ...]:
        """What is wrong so far, in the order of `KINDS`."""
        found = [*self._of_numbers(schema), *_of_categories(schema), *self._of_outcomes()]
        return tuple(sorted(found, key=lambda alarm: KINDS.index(alarm.kind)))

    def state(self) -> dict[str, Any]:
        """Plain JSON from which `restored` goes on."""
        names = ("decisions", "alike", "answers", "clicks", "expired", "late")
        sums = ("predicted", "variance", "furthest")
        bounds = {"smallest": self._smallest.tolist(), "largest": self._largest.tolist()}
        return {name: getattr(self, name) for name in (*names, *sums)} | bounds

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Watch:
        """The watch whose `state` this is."""
        watch = cls()
        for name in ("decisions", "alike", "answers", "clicks", "expired", "late"):
            setattr(watch, name, whole(state, name))
        for name in ("predicted", "variance", "furthest"):
            setattr(watch, name, real(state, name))
        bounds = {name: np.array(state[name], dtype=np.float64) for name in ("smallest", "largest")}
        width = bounds["smallest"].size
        watch._smallest = numbers(bounds, "smallest", width)
        watch._largest = numbers(bounds, "largest", width)
        return watch

    def _reach(self, row: FloatArray) -> None:
        if row.size > self._smallest.size:
            # Rows before had no such column: zero for each of them, or none at all.
            before = 0.0 if self.answers + self.expired > 1 else math.nan
            more = np.full(row.size - self._smallest.size, before)
            self._smallest = np.concatenate([self._smallest, more])
            self._largest = np.concatenate([self._largest, more])
        np.fmin(self._smallest[: row.size], row, out=self._smallest[: row.size])
        np.fmax(self._largest[: row.size], row, out=self._largest[: row.size])

    def _of_numbers(self, schema: Schema) -> Iterator[Alarm]:
        for place, name in _numbers(schema, self._smallest.size):
            low, high = self._smallest[place], self._largest[place]
            if low == high and self.answers + self.expired >= _SOME:
                yield Alarm(
                    "constant number",
                    name,
                    f"{name!r} was the same in all {self.answers + self.expired} outcomes: it "
                    "cannot tell items apart",
                )
            if max(abs(low), abs(high)) > FAR_OUT:
                yield Alarm(
                    "number out of scale",
                    name,
                    f"{name!r} reaches {max(abs(low), abs(high)):,.0f} in the units of its weight: "
                    "declare its mean and scale, or leave the number to an open schema",
                )

    def _of_outcomes(self) -> Iterator[Alarm]:
        resolved = self.answers + self.expired
        if self.alike >= _FEW and 2 * self.alike > self.decisions:
            yield Alarm(
                "items look alike",
                "",
                f"in {self.alike} of {self.decisions} decisions all candidates had the same "
                "features: give them features or effects of their own",
            )
        if self.decisions >= _SOME and not resolved:
            yield Alarm(
                "no feedback",
                "",
                f"{self.decisions} decisions were made and none has an outcome: send feedback, or "
                "let decisions expire",
            )
        yield from self._of_kinds(resolved)
        if self.late >= _FEW and 20 * self.late > self.answers + self.late:
            yield Alarm(
                "feedback too late",
                "",
                f"{self.late} of {self.answers + self.late} feedbacks came after their decision "
                "had expired: wait longer",
            )
        if self.furthest > EXTREME:
            yield Alarm(
                "extreme scores",
                "",
                f"a log-odds of {self.furthest:,.0f} was predicted: look for a number that is out "
                "of scale",
            )
        yield from self._of_rate(resolved)

    def _of_kinds(self, resolved: int) -> Iterator[Alarm]:
        if resolved >= _MANY and not self.clicks:
            text = f"none of {resolved} outcomes is a click: is feedback sent for clicks?"
            yield Alarm("feedback of one kind", "", text)
        elif self.answers >= _SOME and self.clicks == resolved:
            text = (
                f"all {resolved} outcomes are clicks: send what was not clicked too, or let "
                "decisions expire"
            )
            yield Alarm("feedback of one kind", "", text)

    def _of_rate(self, resolved: int) -> Iterator[Alarm]:
        away = abs(self.clicks - self.predicted)
        far = away > SURPRISE * math.sqrt(self.variance) and away > 0.2 * self.predicted
        if resolved >= _SOME and far:
            yield Alarm(
                "click rate off",
                "",
                f"{self.clicks} clicks came of {resolved} outcomes where {self.predicted:,.1f} "
                "were predicted: what decides them is not among the features, or it changes",
            )


def _probability(centre: float, variance: float) -> float:
    """The chance of a click, the uncertainty integrated out."""
    spread = np.array([max(variance, _LEAST_VARIANCE)])
    return min(1.0, float(kernels.predictions(np.array([centre]), spread, True)[0]))


def _numbers(schema: Schema, width: int) -> Iterator[tuple[int, str]]:
    """Columns of numbers below ``width``, crosses left out."""
    features = schema.features
    for place, column in enumerate(schema.columns[:width]):
        if isinstance(features.get(column), Numeric):
            yield place, column


def _of_categories(schema: Schema) -> Iterator[Alarm]:
    labels = _labels(schema)
    for name, feature in schema.features.items():
        if not isinstance(feature, Text):
            continue
        known = labels.get(name, [])
        if len(known) >= max(feature.limit, _FEW):
            yield Alarm(
                "exploding category",
                name,
                f"{name!r} has had {len(known)} different values, and later ones share "
                f"{feature.buckets} weights: leave out what is different each time, such as ids",
            )
        if len(known) >= _FEW and all(map(_DATE.fullmatch, known)):
            yield Alarm(
                "dates as categories",
                name,
                f"{name!r} has dates that are taken for names, such as {known[0]!r}: give the "
                "hour, the weekday or an age in days",
            )


def _labels(schema: Schema) -> dict[str, Sequence[str]]:
    """The strings that have a weight of their own, by feature."""
    found: dict[str, list[str]] = {}
    for column in schema.columns:
        name, equals, value = column.partition("=")
        if equals and " × " not in column:
            found.setdefault(name, []).append(value)
    return dict(found)


def are_alike(parts: npt.NDArray[Any]) -> bool:
    """Whether there are several rows and all are the same.

    Examples
    --------
    >>> are_alike(np.array([[1.0, 2.0], [1.0, 2.0]])), are_alike(np.array([[1.0]]))
    (True, False)
    """
    return len(parts) > 1 and bool((parts == parts[0]).all())
