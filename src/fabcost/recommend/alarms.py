"""Data alarms: what in the data makes learning fail, said in words while it happens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fabcost import kernels
from fabcost.features.kinds import Categorical, Numeric, Text
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.inference.saved.checks import numbers, real, whole
from fabcost.recommend.surprise import FIRST, Surprise

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
    "drift",
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
_COUNTS = ("decisions", "alike", "answers", "clicks", "expired", "late")
_SUMS = ("predicted", "variance", "furthest")
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
        self.clicks: float = 0
        self.expired = 0
        self.late = 0
        self.predicted = 0.0
        self.variance = 0.0
        self.furthest = 0.0
        self.late_losses = Surprise()
        #: Whether what was not clicked has had the time to expire.
        self.settled = True
        # Rows that were seen, and outcomes and clicks that were foretold.
        self._rows = self._foretold = 0
        self._came: float = 0
        self._smallest: FloatArray = np.empty(0)
        self._largest: FloatArray = np.empty(0)

    def decided(self, *, alike: bool) -> None:
        """A decision, and whether its candidates are all the same to the model."""
        self.decisions += 1
        self.alike += alike

    def learnt(
        self,
        row: FloatArray | None,
        clicked: float,
        centre: float,
        variance: float,
        *,
        expired: bool = False,
    ) -> None:
        """An outcome: its row if columns have names, mean and variance of the log-odds foretold."""
        clicks = int(clicked) if clicked in (0, 1) else clicked
        self.counted(1, clicks, expired=int(expired))
        given = np.array([centre]), np.array([max(variance, _LEAST_VARIANCE)])
        p = min(kernels.predictions(*given, True).item(), 1.0)
        self.predicted += p
        self.variance += p * (1.0 - p)
        self.furthest = max(self.furthest, abs(centre))
        self._foretold += 1
        self._came += clicks
        if self._foretold > FIRST:
            self.late_losses.outcome(p, clicked)
        if row is not None:
            self.saw(row, row, 1)

    def saw(self, smallest: FloatArray, largest: FloatArray, rows: int) -> None:
        """The least and the largest number of each column in so many rows.

        Examples
        --------
        >>> watch = Watch()
        >>> watch.saw(np.array([1.0, 3.0]), np.array([1.0, 3.0]), 100)
        >>> watch.of_columns(Schema([Numeric("age")]))[0].kind
        'constant number'
        """
        width = smallest.size
        if width > self._smallest.size:
            # Rows before had no such column: zero for each of them, or none at all.
            more = np.full(width - self._smallest.size, 0.0 if self._rows else math.nan)
            self._smallest = np.concatenate([self._smallest, more])
            self._largest = np.concatenate([self._largest, more])
        self._rows += rows
        np.fmin(self._smallest[:width], smallest, out=self._smallest[:width])
        np.fmax(self._largest[:width], largest, out=self._largest[:width])

    def counted(self, outcomes: int, clicks: float, *, expired: int = 0) -> None:
        """So many outcomes, of which some are clicks, and some were taken for want of feedback."""
        self.answers += outcomes - expired
        self.expired += expired
        self.clicks += clicks

    def foretold(self, centres: FloatArray, variances: FloatArray, clicks: float) -> FloatArray:
        """Of some of the outcomes mean and variance of the predicted log-odds, and their clicks.

        Returns the predicted probabilities.

        Examples
        --------
        >>> watch = Watch()
        >>> watch.counted(400, clicks=100)
        >>> _ = watch.foretold(np.full(400, -2.2), np.zeros(400), clicks=100)
        >>> [alarm.kind for alarm in watch.of_outcomes()]
        ['click rate off']
        """
        p: FloatArray = kernels.predictions(centres, np.maximum(variances, _LEAST_VARIANCE), True)
        p = np.minimum(p, 1.0)
        self.predicted += float(p.sum())
        self.variance += float((p * (1.0 - p)).sum())
        self.furthest = max(self.furthest, float(np.abs(centres).max(initial=0.0)))
        self._foretold += p.size
        self._came += clicks
        return p

    def alarms(self, schema: Schema) -> tuple[Alarm, ...]:
        """What is wrong so far, in the order of `KINDS`."""
        return in_order([*self.of_columns(schema), *self.of_outcomes()])

    def of_columns(self, schema: Schema) -> tuple[Alarm, ...]:
        """What is wrong with features."""
        return (*self._of_numbers(schema), *self._of_categories(schema))

    def state(self) -> dict[str, Any]:
        """Plain JSON from which `restored` goes on."""
        bounds = {"smallest": self._smallest.tolist(), "largest": self._largest.tolist()}
        state = {name: getattr(self, name) for name in (*_COUNTS, *_SUMS)} | bounds
        return state | ({"surprise": self.late_losses.state()} if self.late_losses.jump else {})

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Watch:
        """The watch whose `state` this is."""
        watch = cls()
        for name in _COUNTS:
            count = real if type(state.get(name)) is float else whole  # clicks may be fractions
            setattr(watch, name, count(state, name))
        for name in _SUMS:
            setattr(watch, name, real(state, name))
        bounds = {name: np.array(state[name], dtype=np.float64) for name in ("smallest", "largest")}
        width = bounds["smallest"].size
        watch._rows = watch._foretold = watch.answers + watch.expired
        watch._came = watch.clicks
        watch.late_losses = Surprise.restored(state.get("surprise", {}))
        watch._smallest = numbers(bounds, "smallest", width)
        watch._largest = numbers(bounds, "largest", width)
        return watch

    def _of_numbers(self, schema: Schema) -> Iterator[Alarm]:
        for place, name in _numbers(schema, self._smallest.size):
            low, high = self._smallest[place], self._largest[place]
            if low == high and self._rows >= _SOME:
                yield Alarm(
                    "constant number",
                    name,
                    f"{name!r} was the same in all of {self._rows} rows: it cannot tell items "
                    "apart",
                )
            if max(abs(low), abs(high)) > FAR_OUT:
                yield Alarm(
                    "number out of scale",
                    name,
                    f"{name!r} reaches {max(abs(low), abs(high)):,.0f} in the units of its weight: "
                    "declare its mean and scale, or leave the number to an open schema",
                )

    def of_outcomes(self) -> Iterator[Alarm]:
        """What is wrong with decisions and their feedback."""
        resolved = self.answers + self.expired
        if self.alike >= _FEW and 2 * self.alike > self.decisions:
            yield Alarm(
                "items look alike",
                "",
                f"in {self.alike} of {self.decisions} decisions all candidates had the same "
                "features: give them features or effects of their own",
            )
        if self.decisions >= _SOME and not resolved and self.settled:
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
        yield from self._of_rate()

    def _of_categories(self, schema: Schema) -> Iterator[Alarm]:
        labels = _labels(schema)
        for name, feature in schema.features.items():
            known = labels.get(name, {})
            if not isinstance(feature, Text | Categorical) or len(known) < _FEW:
                continue
            if told := self._explodes(feature, known):
                advice = "leave out what is different each time, such as ids"
                yield Alarm("exploding category", name, f"{name!r} {told}: {advice}")
            if all(map(_DATE.fullmatch, known)):
                yield Alarm(
                    "dates as categories",
                    name,
                    f"{name!r} has dates that are taken for names, such as {next(iter(known))!r}: "
                    "give the hour, the weekday or an age in days",
                )

    def _explodes(self, feature: Text | Categorical, known: dict[str, int]) -> str | None:
        if isinstance(feature, Text):
            told = f"has had {len(known)} different values, and later ones share "
            return told + f"{feature.buckets} weights" if len(known) >= feature.limit else None
        places = [place for place in known.values() if place < self._largest.size]
        seen = int((self._largest[places] > 0.0).sum())
        rows = max(self._rows, self.answers + self.expired)
        often = rows >= _SOME and seen >= _FEW and 2 * seen > rows
        return f"has had {seen} different values in {rows} rows" if often else None

    def _of_kinds(self, resolved: int) -> Iterator[Alarm]:
        if resolved >= _MANY and not self.clicks:
            text = f"none of {resolved} outcomes is a click: is feedback sent for clicks?"
            yield Alarm("feedback of one kind", "", text)
        elif resolved >= _SOME and self.clicks == resolved and self.settled:
            text = (
                f"all {resolved} outcomes are clicks: send what was not clicked too, or let "
                "decisions expire"
            )
            yield Alarm("feedback of one kind", "", text)

    def _of_rate(self) -> Iterator[Alarm]:
        away = abs(self._came - self.predicted)
        far = away > SURPRISE * math.sqrt(self.variance) and away > 0.2 * self.predicted
        if self._foretold >= _SOME and far:
            yield Alarm(
                "click rate off",
                "",
                f"{self._came:,.10g} clicks came of {self._foretold} outcomes where "
                f"{self.predicted:,.1f} were predicted: what decides them is not among the "
                "features, or it changes",
            )
        elif self.late_losses.is_improbable:
            yield Alarm("drift", "", str(self.late_losses))


def _numbers(schema: Schema, width: int) -> Iterator[tuple[int, str]]:
    """Columns of numbers below ``width``, crosses left out."""
    features = schema.features
    for place, owner in enumerate(schema._layout.owners()[:width]):
        for name, label in owner if len(owner) == 1 else ():
            if name == label and isinstance(features[name], Numeric):
                yield place, name


def _labels(schema: Schema) -> dict[str, dict[str, int]]:
    """The strings that have a weight of their own, and its column, by feature."""
    found: dict[str, dict[str, int]] = {}
    for place, owner in enumerate(schema._layout.owners()):
        for name, label in owner if len(owner) == 1 else ():
            if label.startswith(f"{name}="):
                found.setdefault(name, {})[label.removeprefix(f"{name}=")] = place
    return found


def in_order(alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
    """In the order of `KINDS`, each once.

    Examples
    --------
    >>> late, same = Alarm("feedback too late", "", "wait"), Alarm("constant number", "age", "drop")
    >>> [alarm.subject for alarm in in_order([late, same, late])]
    ['age', '']
    """
    return tuple(sorted(dict.fromkeys(alarms), key=lambda alarm: KINDS.index(alarm.kind)))
