"""Decisions and their feedback: what waits, what was answered, what has expired."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray, Tally, as_keys, as_label, as_row
from fabcost.inference.own.directory import Key, check_keys
from fabcost.inference.saved.checks import entry, numbers, real, whole
from fabcost.sparse import SparseRows

Array = npt.NDArray[Any]
#: Columns of a row's numbers that are not zero, and these.
Numbers = tuple[npt.NDArray[np.intp], FloatArray]
#: What became of a decision, as learners take it, and how much of a click that was.
Outcome = tuple[float | Tally, float]
_EXPIRED_REMEMBERED = 100_000


class Feedback(Enum):
    """What became of feedback: it was learnt, or its decision had been answered before.

    Examples
    --------
    >>> Feedback("duplicate")
    <Feedback.DUPLICATE: 'duplicate'>
    """

    APPLIED = "applied"
    DUPLICATE = "duplicate"


class UnknownDecisionError(ValueError):
    """Feedback for a decision that was never made.

    Examples
    --------
    >>> issubclass(UnknownDecisionError, ValueError)
    True
    """


class ExpiredDecisionError(ValueError):
    """Feedback for a decision that had waited too long and was learnt as no click.

    Examples
    --------
    >>> issubclass(ExpiredDecisionError, ValueError)
    True
    """


@dataclass(frozen=True, eq=False)
class Decision:
    """What was recommended, and how.

    Attributes
    ----------
    id
        To be given back with the feedback; decisions are numbered from 1.
    item
        The id of the chosen candidate.
    ranking
        The ids of the best ``top_k`` candidates, the chosen one first.
    scores
        One for each candidate, in their order; minus infinity if it was excluded.
    propensities
        The probability of each candidate to be chosen, if it was asked for.
    time
        When it was made, if that was said.
    """

    id: int
    item: Any
    ranking: tuple[Any, ...]
    scores: FloatArray
    propensities: FloatArray | None = None
    time: float | None = None


class Pending(NamedTuple):
    """A decision without feedback: the features of the chosen row that are not zero, its item."""

    columns: npt.NDArray[np.intp]
    numbers: FloatArray
    time: float | None
    item: Key | None = None

    def row(self, width: int, *, sparse: bool) -> FloatArray | SparseRows:
        """The row of so many columns, written out unless it is to be sparse."""
        if sparse:
            return SparseRows([0, self.columns.size], self.columns, self.numbers, width)
        row = np.zeros(width)
        row[self.columns] = self.numbers
        return row


class Ledger:
    """The decisions so far: they are pending, then answered or expired.

    Of those that are no longer pending only the last 100,000 that expired are remembered: any
    other counts as answered.

    Examples
    --------
    >>> ledger = Ledger(wait=10.0)
    >>> ledger.issue((np.array([1]), np.array([2.0])), now=100.0)
    1
    >>> ledger.is_open(1), [decision for decision, _ in ledger.due(110.0)]
    (True, [1])
    """

    def __init__(self, wait: float | None) -> None:
        if wait is not None and not wait >= 0:
            raise ValueError(f"wait is {wait} but must be at least 0, or None for ever")
        self.wait = None if wait is None else float(wait)
        self.issued = 0
        self.pending: dict[int, Pending] = {}
        self._by_time: list[tuple[float, int]] = []
        self._expired: dict[int, None] = {}

    def issue(self, row: Numbers, now: float | None, item: Key | None = None) -> int:
        """Number a new decision, whose feedback will be about ``row`` and its ``item``."""
        self.issued += 1
        self._wait_for(self.issued, Pending(*row, now, item))
        return self.issued

    def is_open(self, decision: int) -> bool:
        """Whether feedback for it would count; an error if it has expired."""
        if decision in self._expired:
            raise ExpiredDecisionError(
                f"decision {decision} has expired: after a wait of {self.wait} it was learnt as "
                "no click"
            )
        return decision in self.pending

    def check_issued(self, decision: Any) -> None:
        """An error if there is no such decision."""
        known = isinstance(decision, int | np.integer) and not isinstance(decision, bool)
        if not known or not 1 <= decision <= self.issued:
            raise UnknownDecisionError(
                f"decision {decision!r} is unknown: {self.issued} decisions were made so far"
            )

    def due(self, now: float) -> Iterator[tuple[int, Pending]]:
        """Take out those that have waited long enough, the oldest first."""
        while self.wait is not None and self._by_time and self._by_time[0][0] + self.wait <= now:
            _, decision = heapq.heappop(self._by_time)
            if decision in self.pending:
                self._expired[decision] = None
                yield decision, self.pending.pop(decision)
        while len(self._expired) > _EXPIRED_REMEMBERED:
            del self._expired[next(iter(self._expired))]

    def _wait_for(self, decision: int, pending: Pending) -> None:
        self.pending[decision] = pending
        if pending.time is not None:
            heapq.heappush(self._by_time, (pending.time, decision))

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on."""
        settings: dict[str, Any] = {
            "wait": self.wait,
            "issued": self.issued,
            "expired": list(self._expired),
            "pending": [[decision, each.time] for decision, each in self.pending.items()],
        }
        items = [each.item for each in self.pending.values()]
        if items != [None] * len(items):
            settings["items"] = items
        waiting = [*self.pending.values(), _NOTHING]
        arrays = {
            "pending_sizes": np.array([each.columns.size for each in waiting]),
            "pending_columns": np.concatenate([each.columns for each in waiting]),
            "pending_numbers": np.concatenate([each.numbers for each in waiting]),
        }
        return settings, arrays

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, Array]) -> Ledger:
        """The ledger whose `state` this is."""
        ledger = cls(settings["wait"])
        ledger.issued = settings["issued"]
        ledger._expired = dict.fromkeys(settings["expired"])
        ends = np.cumsum(arrays["pending_sizes"])
        columns = np.split(arrays["pending_columns"], ends)
        numbers = np.split(arrays["pending_numbers"], ends)
        items = settings.get("items", [None] * len(settings["pending"]))
        for i, (decision, time) in enumerate(settings["pending"]):
            ledger._wait_for(decision, Pending(columns[i], numbers[i], time, items[i]))
        return ledger


_NOTHING = Pending(np.empty(0, dtype=np.intp), np.empty(0), None)


def checked_time(now: float | None) -> float | None:
    """A time as a float, if it is finite, or None.

    Examples
    --------
    >>> checked_time(float("nan"))
    Traceback (most recent call last):
    ValueError: now is nan but must be finite
    """
    if now is None:
        return None
    if not math.isfinite(now):
        raise ValueError(f"now is {now} but must be finite")
    return float(now)


def check_ledger(settings: Any, arrays: Mapping[str, Array], width: int) -> None:
    """A ValueError if this is not the state of a `Ledger`: a file may come from anywhere.

    Examples
    --------
    >>> check_ledger({"wait": None, "issued": -1}, {}, width=2)
    Traceback (most recent call last):
    ValueError: issued is -1 but must be a whole number of at least 0
    """
    if entry(settings, "wait") is not None and settings["wait"] != float("inf"):
        real(settings, "wait")
    issued = whole(settings, "issued")
    pending = _listed(settings, "pending")
    for each in pending:
        if not isinstance(each, list) or len(each) != 2:
            raise ValueError(f"pending has {each!r:.80} but must have pairs of a number and a time")
        if each[1] is not None:
            real({"the time of a decision": each[1]}, "the time of a decision")
    waiting = [decision for decision, _ in pending]
    for decision in [*waiting, *_listed(settings, "expired")]:
        if whole({"a decision": decision}, "a decision", least=1) > issued:
            raise ValueError(f"decision {decision} is there but only {issued} were made")
    if len(set(waiting)) != len(waiting):
        raise ValueError("pending has a decision twice")
    if "items" in settings:
        as_keys(_listed(settings, "items"), len(waiting))
        check_keys(settings["items"])
    _check_rows(arrays, len(waiting), width)


def _check_rows(arrays: Mapping[str, Array], waiting: int, width: int) -> None:
    # The last is an empty row, so that there is always one.
    sizes = numbers(arrays, "pending_sizes", waiting + 1, kind="i")
    if sizes.min() < 0 or sizes.max() > width:
        raise ValueError(f"pending_sizes has {sizes.tolist()!r:.80} but there are {width} columns")
    columns = numbers(arrays, "pending_columns", int(sizes.sum()), kind="i")
    if ((columns < 0) | (columns >= width)).any():
        raise ValueError(f"pending_columns has {columns.max()} but there are {width} columns")
    as_row(numbers(arrays, "pending_numbers", columns.size), columns.size)


def _listed(settings: Mapping[str, Any], name: str) -> list[Any]:
    found = entry(settings, name)
    if not isinstance(found, list):
        raise ValueError(f"{name} is {found!r:.80} but must be a list")
    return found


def as_outcome(clicked: Any) -> Outcome:
    """Whether there was a click, or how much of one; a ValueError if it is neither.

    Examples
    --------
    >>> as_outcome(True), as_outcome(0.3)
    ((1.0, 1.0), (Tally(clicks=0.3, impressions=1), 0.3))
    """
    if isinstance(clicked, float | np.floating) and 0.0 < clicked < 1.0:
        return Tally(float(clicked), 1), float(clicked)
    label = as_label(clicked)
    return label, float(label > 0.0)
