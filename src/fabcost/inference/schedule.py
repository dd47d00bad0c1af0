"""What a learner is given: a schedule of refreshes, limits, impressions in parts, new weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Rows
from fabcost.inference.own.directory import Key

#: Of EP that is to stand still.
MAX_SWEEPS = 100
Kind = Literal["geometric", "at", "never", "always", "when"]
_SWEEPS_OF_A_GROWING_STREAM = 1
_TIMES_BEFORE_LEAVING = 10


@dataclass(frozen=True)
class Refresh:
    """A schedule of EP refreshes; make one with the class methods.

    Attributes
    ----------
    kind
        Which schedule.
    points
        The iterations of `at`.
    growth
        The factor of `geometric`.
    predicate
        The user's function of `when`.
    max_sweeps
        How many passes one refresh may take.

    Examples
    --------
    >>> Refresh.geometric(1.5).next_after(10), Refresh.at(100, 10_000).next_after(100)
    (15, 10000)
    """

    kind: Kind
    points: tuple[int, ...] = ()
    growth: float = math.inf
    predicate: Callable[[int], bool] | None = None
    max_sweeps: int = MAX_SWEEPS

    @classmethod
    def geometric(
        cls, growth: float = 1.1, *, max_sweeps: int = _SWEEPS_OF_A_GROWING_STREAM
    ) -> Refresh:
        """Whenever the data have grown by ``growth``: a constant number of passes in all.

        Σ n / growthᵏ = n · growth/(growth − 1) visits for each sweep, whatever the length n.
        Each refresh starts from the sites of the one before: with one sweep the belief stays
        as close to converged EP as the impressions since then, filtered only, allow.
        """
        if not growth > 1:
            raise ValueError(f"growth is {growth} but must be above 1")
        return cls("geometric", growth=growth, max_sweeps=_checked(max_sweeps))

    @classmethod
    def at(cls, *points: int, max_sweeps: int = MAX_SWEEPS) -> Refresh:
        """At these iterations only; the paper uses 100 and 10,000."""
        if not points or any(point < 1 for point in points):
            raise ValueError(f"points are {points} but must be iterations, counted from 1")
        return cls("at", points=tuple(sorted(set(points))), max_sweeps=_checked(max_sweeps))

    @classmethod
    def never(cls) -> Refresh:
        """Pure ADF; nothing of the stream is kept."""
        return cls("never")

    @classmethod
    def always(cls, *, max_sweeps: int = MAX_SWEEPS) -> Refresh:
        """Pure EP: to convergence after every impression."""
        return cls("always", max_sweeps=_checked(max_sweeps))

    @classmethod
    def when(cls, predicate: Callable[[int], bool], *, max_sweeps: int = MAX_SWEEPS) -> Refresh:
        """Whenever ``predicate(seen)`` is true, asked after every impression."""
        if not callable(predicate):
            raise ValueError(f"predicate is {predicate!r} but must be a function of a count")
        return cls("when", predicate=predicate, max_sweeps=_checked(max_sweeps))

    def next_after(self, seen: int, kept: int | None = None) -> int | None:
        """The iteration to look at next, after ``seen`` impressions; None if there is none.

        Where no more than ``kept`` impressions are, `geometric` comes ten times before one leaves.
        """
        if self.kind == "never":
            return None
        if self.kind == "at":
            return next((point for point in self.points if point > seen), None)
        if self.kind == "geometric":
            due = max(seen + 1, math.ceil(seen * self.growth))
            return due if kept is None else min(due, seen + max(1, kept // _TIMES_BEFORE_LEAVING))
        return seen + 1

    def is_due(self, seen: int) -> bool:
        """Whether to refresh now, at an iteration that `next_after` named."""
        return self.predicate is None or bool(self.predicate(seen))


def as_refresh(schedule: Refresh | Callable[[int], bool]) -> Refresh:
    """A `Refresh` as it is, or a bare function of the count as `Refresh.when`.

    Examples
    --------
    >>> as_refresh(lambda seen: seen % 500 == 0).kind
    'when'
    """
    return schedule if isinstance(schedule, Refresh) else Refresh.when(schedule)


def _checked(max_sweeps: int) -> int:
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps} but must be at least 1")
    return max_sweeps


class Portion(NamedTuple):
    """Rows, labels, keys of items, clicks and misses, and times; None where there are none.

    Examples
    --------
    >>> batch = Portion(np.eye(2), np.ones(2), counts=np.array([[0.0, 0.0], [1.0, 2.0]]))
    >>> batch.told().rows, batch.part(slice(0, 1)).size
    (array([[0., 1.]]), 1)
    """

    rows: Rows
    labels: FloatArray
    keys: list[Key | None] | None = None
    counts: FloatArray | None = None
    at: npt.NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """How many rows."""
        return self.labels.size

    def told(self) -> Portion:
        """Without rows that stand for no impression."""
        if self.counts is None:
            return self
        told = np.flatnonzero(self.counts.any(axis=1))
        if told.size == self.size:
            return self
        keys = None if self.keys is None else [self.keys[row] for row in told]
        at = self.at if self.at is None or self.at.ndim == 0 else self.at[told]
        return Portion(self.rows[told], self.labels[told], keys, self.counts[told], at)

    def between(self, start: int, stop: int) -> Portion:
        """Some of the rows, with their times."""
        at = self.at if self.at is None or self.at.ndim == 0 else self.at[start:stop]
        return self.part(slice(start, stop))._replace(at=at)

    def copied(self) -> Portion:
        """The same in memory of its own."""
        counts = None if self.counts is None else self.counts.copy()
        at = None if self.at is None else self.at.copy()
        return Portion(self.rows.copy(), self.labels.copy(), self.keys, counts, at)

    def part(self, span: slice) -> Portion:
        """Some of the rows, without their times."""
        keys = None if self.keys is None else self.keys[span]
        counts = None if self.counts is None else self.counts[span]
        return Portion(self.rows[span], self.labels[span], keys, counts)


def limit_of(most_kept: int | None, window: int | None) -> int | None:
    """How many impressions are kept, by the new name or the old.

    Examples
    --------
    >>> limit_of(100, None)
    100
    """
    if window is not None:
        told = "window is now most_kept, with which EP visits all rows before they leave"
        warnings.warn(told, DeprecationWarning, stacklevel=3)
    limit = most_kept if window is None else window
    if limit is not None and limit < 1:
        raise ValueError(f"most_kept is {limit} but must be at least 1, or None for all")
    return limit


def work_of(most: int | None) -> int | None:
    """How much work a refresh may take in one call.

    Examples
    --------
    >>> work_of(0)
    Traceback (most recent call last):
    ValueError: most_work is 0 but must be at least 1, or None for all at once
    """
    if most is not None and most < 1:
        raise ValueError(f"most_work is {most} but must be at least 1, or None for all at once")
    return most


def independent(variance: float | Gaussian, count: int) -> Gaussian:
    """Weights of mean zero and this variance, at least one; or those that are given.

    Examples
    --------
    >>> independent(4.0, 2).sd
    array([2., 2.])
    """
    if count < 0:
        raise ValueError(f"count is {count} but must be at least 0")
    if isinstance(variance, Gaussian):
        return variance
    return Gaussian.isotropic(max(count, 1), variance=variance)
