"""When EP refines a learner, how it does at once, and what a learner is given."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray, Rows
from fabcost.inference.history import Pass
from fabcost.inference.own.directory import Key
from fabcost.inference.passes import Sweeping, Swept
from fabcost.inference.result import warn_that_it_moves
from fabcost.inference.sparse.memory import AT_ONCE

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost


#: Of EP that is to stand still.
MAX_SWEEPS = 100
Kind = Literal["geometric", "at", "never", "always", "when"]
_SWEEPS_OF_A_GROWING_STREAM = 1
_TIMES_BEFORE_LEAVING = 10

#: Begins a refresh of so many visits in a call, after which the schedule is asked at an impression.
Spread = Callable[["FabCost", int, int | None], object]


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


def ask_schedule(learner: FabCost, spread: Spread) -> None:
    """Refresh if it is time, or begin to if that takes long; and say when to ask again.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe_many([[1.0]] * 30, [1, 0, 0] * 10)
    >>> ask_schedule(learner, print)
    >>> learner.next_refresh
    33
    """
    bounded = learner.most_kept if learner.visits_all else None
    if learner._ageing is not None and learner._history.count < learner.seen:
        bounded = learner._history.count
    due = learner.refresh_schedule.next_after(learner.seen, bounded)
    if learner.refresh_schedule.is_due(learner.seen):
        _refresh(learner, due, spread)
    else:
        learner.plan(due)


def _refresh(learner: FabCost, due: int | None, spread: Spread) -> None:
    if learner.inheritance is not None:
        weighed = learner.inheritance.weighed(learner.seen, learner._history, learner.own)
        if weighed.discount != learner.inheritance.discount:
            learner.replace_prior(weighed)
        else:
            learner.inheritance = weighed
    visits = learner._history.count * learner.refresh_schedule.max_sweeps
    in_a_call = visits_in_a_call(learner.most_work, learner.prior.dimension, visits)
    if in_a_call is None:
        warn_of(learner, refined(learner, None))
        learner.plan(due)
    else:
        spread(learner, in_a_call, due)


def refined(learner: FabCost, max_sweeps: int | None) -> Swept:
    """One visit after the other, as a refresh that is spread makes them.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1), refresh=Refresh.at(9))
    >>> learner.observe_many([[1.0]] * 3, [1, 0, 0])
    >>> refined(learner, 50).converged, learner.refreshes
    (True, 1)
    """
    sweeps = sweeps_of(learner, max_sweeps)
    visit(learner, sweeps, sys.maxsize)
    return note(learner, sweeps.outcome)


def sweeps_of(learner: FabCost, max_sweeps: int | None = None) -> Sweeping:
    """EP over all that a learner keeps, before its first visit.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> sweeps_of(FabCost(Gaussian.isotropic(1))).visits
    0
    """
    own, history = learner.own, learner._history
    return Sweeping(
        history.count,
        learner._carried.root.shape[1],
        tolerance=learner.tolerance,
        max_sweeps=learner.refresh_schedule.max_sweeps if max_sweeps is None else max_sweeps,
        items=None if own is None else history.items_between(0, history.count),
        capacity=0 if own is None else len(own.table),
    )


def visit(learner: FabCost, sweeps: Sweeping, most: int) -> int:
    """Go on with sweeps for ``most`` visits, or to their end; how many visits it were.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1), refresh=Refresh.at(9))
    >>> learner.observe_many([[1.0]] * 3, [1, 0, 0])
    >>> visit(learner, sweeps_of(learner), 2)
    2
    """
    before, history = sweeps.visits, learner._history
    while sweeps.swept is None and (left := most - sweeps.visits + before) > 0:
        most_at_once = AT_ONCE if history.rows.written_out else left
        some = sweeps.at, min(sweeps.at + min(left, most_at_once), history.count)
        if history.apart:
            over = Pass(*history.kept(), *some, None, history.counts_between(0, history.count))
        else:
            over = history.over(*some)
        table = None
        if learner.own is not None and over.items is not None:
            table = learner.own.written(over.items[over.start : over.stop]).table
        given = (learner._carried, over)
        sweeps.visit(*given, exact=learner._exact, table=table, lag=learner._lag)
    return sweeps.visits - before


def note(learner: FabCost, swept: Swept) -> Swept:
    """Let a learner know how its refresh went.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> note(learner, Swept(2, False, 1, math.nan)) is learner.last_refresh
    True
    >>> learner.refreshes, learner.skipped, learner.unconverged
    (1, 1, 1)
    """
    learner.last_refresh = swept
    learner.skipped += swept.skipped
    learner.refreshes += 1
    learner.unconverged += _moves(swept)
    learner._posterior = None
    return swept


def warn_of(learner: FabCost, swept: Swept) -> None:
    """Warn of a refresh on schedule that did not come to an end of itself, but was to.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> warn_of(FabCost(Gaussian.isotropic(1)), Swept(9, False, 0, math.nan))
    """
    if _moves(swept) and learner.refresh_schedule.kind != "geometric":
        warn_that_it_moves(learner.seen, swept.sweeps, swept.skipped)


def _moves(swept: Swept) -> bool:
    return not swept.converged and swept.sweeps > 1


def visits_in_a_call(most_work: int | None, weights: int, visits: int) -> int | None:
    """How many visits a refresh of at most ``visits`` makes in one call; None for all.

    Three at least, since one goes to the impression that came with the call, and more visits must
    be made than impressions come: else some leave that were not refined.

    Examples
    --------
    >>> visits_in_a_call(1000, 10, 11), visits_in_a_call(1000, 10, 10)
    (10, None)
    """
    if most_work is None or visits * weights * weights <= most_work:
        return None
    return max(3, most_work // (weights * weights))


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

    def part(self, span: Any) -> Portion:
        """Some of the rows, without their times; or all in another order, if they have no keys."""
        keys = None if self.keys is None else self.keys[span]
        counts = None if self.counts is None else self.counts[span]
        return Portion(self.rows[span], self.labels[span], keys, counts)
