"""When to refresh: the iterations at which EP takes over from ADF."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fabcost.inference.ep import MAX_SWEEPS

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
