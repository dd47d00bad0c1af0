"""A refresh that is spread over the calls that follow it."""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from fabcost import kernels
from fabcost.gaussian import at_a_line
from fabcost.inference.ep import sweep
from fabcost.inference.history import Carried, Pass
from fabcost.inference.passes import Lag, Sweeping, Swept
from fabcost.inference.result import warn_that_it_moves
from fabcost.inference.schedule import Portion
from fabcost.inference.sparse.memory import AT_ONCE

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

#: Multiplications that a refresh may take in one call; some 10 ms.
MOST_WORK = 24_000_000

Step = Portion | Callable[["FabCost"], object]


class Refreshing:
    """A refresh under way: the learner as it was when that began, and what has come since.

    What is learnt meanwhile waits for it, in order; so its outcome is that of a refresh at once.
    It is due at an impression that depends on the number of visits alone: with c of them in a
    call, the visits of all sweeps and one for each impression since are done after visits / (c − 1)
    calls; (visits + 32 c) / (c − 1) if 32 calls before copy a large belief.  The next one begins
    after three times as many or later: most calls have no part in one.

    Attributes
    ----------
    behind : FabCost
        The learner that is refreshed; its schedule rests.
    begun : int
        Impressions that it had seen then.
    ends : int | None
        And those after which it is up to date; None until all visits are made.
    visits : int
        How many are made in a call.
    due : int | None
        When the schedule is asked next, or later.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1), most_work=3)
    >>> learner.observe_many([[1.0]] * 5, [1, 0, 0, 1, 0])
    >>> learner.seen, learner.refreshes, learner.refreshing
    (5, 3, True)
    """

    def __init__(
        self,
        behind: FabCost,
        visits: int,
        due: int | None,
        *,
        begun: int | None = None,
        ends: int | None = None,
    ) -> None:
        self.behind = behind
        self.begun = behind.seen if begun is None else begun
        self.ends = ends
        self.visits, self.due = visits, due
        self._sweeps = _sweeps_of(behind)
        self._source: tuple[Carried, Lag] | None = None
        self._idle = self._left_idle = 0
        self._waiting: deque[Step] = deque()

    def learn(self, learner: FabCost, batch: Portion) -> int:
        """Let a learner filter while its refresh goes on, or end with that; how many it learnt."""
        left, size = self.sweep(calls=batch.size), batch.size
        if self.ends is not None and self.ends - learner.seen <= size:
            size = self.ends - learner.seen
            self.wait(batch.between(0, size))
            learner.finish()
        else:
            learner.learn_up_to_refresh(batch)
            self.wait(batch.copied())
            self.take(left)
        return size

    def copy(self, belief: Carried, lag: Lag, *, calls: int) -> None:
        """Let the first calls do nothing but copy the belief, whose rows change in them."""
        self._source = (belief, lag)
        self._idle = self._left_idle = calls

    def wait(self, step: Step) -> None:
        """Let impressions, or another change of the learner, come to it in their turn."""
        self._waiting.append(step)

    def sweep(self, calls: int) -> int:
        """Make the visits of so many calls; how many are left for impressions that wait."""
        waited = min(calls, self._left_idle)
        self._left_idle -= waited
        left = (calls - waited) * self.visits
        if self.ends is None and left > 0:
            self._complete()
            left -= _visit(self.behind, self._sweeps, left)
            if self._sweeps.swept is not None:
                self.ends = self._end()
        return left

    def _complete(self) -> None:
        """See that the copy of the belief is whole."""
        if self._source is not None:
            belief, lag = self._source
            kernels.put_rest_aside(*belief, lag)
            self._source = None

    def _end(self) -> int:
        visits = self._sweeps.visits + self.visits * self._idle
        calls = 0 if visits <= self.visits else -(-visits // (self.visits - 1))
        due = self.due
        if due is not None:
            due = max(due, self.begun + 3 * calls)
        _warn_of(self.behind, _note(self.behind, self._sweeps.outcome))
        self.behind.plan(due)
        return self.begun + calls

    def take(self, most: int) -> None:
        """Let the learner have so many of the impressions that wait, if its sweeps are done."""
        while most > 0 and self._waiting and self.ends is not None:
            most -= self._take_some(most)

    def caught_up(self) -> FabCost:
        """The refreshed learner with all that has come since; what is left is done at once."""
        while self.ends is None:
            self.sweep(calls=1)
        self.take(sys.maxsize)
        return self.behind

    def hand_over(self, learner: FabCost) -> None:
        """Let a learner be the refreshed one; its old root is room for the next copy."""
        room = learner._carried.root
        learner.__dict__.update(self.caught_up().__dict__)
        if learner._lag is not None:
            learner._lag = learner._lag._replace(root_aside=room)

    def _take_some(self, most: int) -> int:
        """Let the learner have what waits longest, of impressions so many; how many they were."""
        step = self._waiting.popleft()
        if not isinstance(step, Portion):
            step(self.behind)
            return 0
        if step.size > most:
            self._waiting.appendleft(step.between(most, step.size))
        some = step.between(0, most)
        self.behind.learn(some)
        return some.size


def check(learner: FabCost, batch: Portion) -> None:
    """A ValueError if an item or a time is wrong of a batch that may be learnt in parts.

    Examples
    --------
    >>> import numpy as np
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1), half_life=9.0)
    >>> check(learner, Portion(np.ones((1, 1)), np.ones(1)))
    """
    if learner.own is not None and batch.keys is not None:
        learner.own.find(batch.keys)
    if learner._ageing is not None:
        learner._ageing.clock(learner.seen, batch.size, batch.at)


def ask_schedule(learner: FabCost) -> None:
    """Refresh if it is time, or begin to; and say when to ask again.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe_many([[1.0]] * 30, [1, 0, 0] * 10)
    >>> ask_schedule(learner)
    >>> learner.next_refresh
    33
    """
    bounded = learner.most_kept if learner.visits_all else None
    if learner._ageing is not None and learner._history.count < learner.seen:
        bounded = learner._history.count
    due = learner.refresh_schedule.next_after(learner.seen, bounded)
    if learner.refresh_schedule.is_due(learner.seen):
        _refresh(learner, due)
    else:
        learner.plan(due)


def _refresh(learner: FabCost, due: int | None) -> None:
    if learner.inheritance is not None:
        weighed = learner.inheritance.weighed(learner.seen, learner._history, learner.own)
        if weighed.discount != learner.inheritance.discount:
            learner.replace_prior(weighed)
        else:
            learner.inheritance = weighed
    kept = learner._history.count
    visits = kept * learner.refresh_schedule.max_sweeps
    in_a_call = visits_in_a_call(learner.most_work, learner.prior.dimension, visits)
    if in_a_call is None:
        _warn_of(learner, _refined(learner, None))
        learner.plan(due)
        return
    learner._refreshing = begun = Refreshing(set_aside(learner), in_a_call, due)
    at_once = kept <= in_a_call
    if learner._lag is not None:
        begun.copy(learner._carried, learner._lag, calls=0 if at_once else kernels.LAG)
    if at_once:
        begun.sweep(calls=1)
        if begun.ends == learner.seen:
            learner.finish()


def refine(learner: FabCost, max_sweeps: int | None) -> Swept:
    """All sweeps over what a learner keeps, at once.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe_many([[1.0]] * 3, [1, 0, 0])
    >>> refine(learner, max_sweeps=2).sweeps
    2
    """
    history = learner._history
    if history.apart:
        swept = sweep(
            learner._belief,
            *history.kept(),
            exact=learner._exact,
            tolerance=learner.tolerance,
            max_sweeps=learner.refresh_schedule.max_sweeps if max_sweeps is None else max_sweeps,
            counts=history.counts_between(0, history.count),
        )
        return _note(learner, swept)
    return _refined(learner, max_sweeps)


def _refined(learner: FabCost, max_sweeps: int | None) -> Swept:
    """One visit after the other, as a refresh that is spread makes them."""
    sweeps = _sweeps_of(learner, max_sweeps)
    _visit(learner, sweeps, sys.maxsize)
    return _note(learner, sweeps.outcome)


def _sweeps_of(learner: FabCost, max_sweeps: int | None = None) -> Sweeping:
    """EP over all that a learner keeps, before its first visit."""
    own, history = learner.own, learner._history
    return Sweeping(
        history.count,
        learner._carried.root.shape[1],
        tolerance=learner.tolerance,
        max_sweeps=learner.refresh_schedule.max_sweeps if max_sweeps is None else max_sweeps,
        items=None if own is None else history.items_between(0, history.count),
        capacity=0 if own is None else len(own.table),
    )


def _visit(learner: FabCost, sweeps: Sweeping, most: int) -> int:
    """Go on with sweeps for ``most`` visits, or to their end; how many visits it were."""
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


def _note(learner: FabCost, swept: Swept) -> Swept:
    """Let a learner know how its refresh went."""
    learner.last_refresh = swept
    learner.skipped += swept.skipped
    learner.refreshes += 1
    learner.unconverged += _moves(swept)
    learner._posterior = None
    return swept


def _warn_of(learner: FabCost, swept: Swept) -> None:
    """Warn of a refresh on schedule that did not come to an end of itself, but was to."""
    if _moves(swept) and learner.refresh_schedule.kind != "geometric":
        warn_that_it_moves(learner.seen, swept.sweeps, swept.skipped)


def _moves(swept: Swept) -> bool:
    return not swept.converged and swept.sweeps > 1


def set_aside(learner: FabCost) -> FabCost:
    """The learner to be refreshed, with all that ``learner`` had; that one only filters on.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe([1.0], 1)
    >>> set_aside(learner).kept, learner.kept, learner.seen
    (1, 0, 1)
    """
    behind = copy.copy(learner)
    if learner._lag is None:
        root = at_a_line(*behind._carried.root.shape)
        root[:] = behind._carried.root
        learner._belief = Carried(behind._carried.mean.copy(), root)
    else:
        behind._carried, behind._lag, learner._lag = learner._lag.copied(learner._carried)
    learner._ageing = copy.copy(behind._ageing)
    learner.own = None if behind.own is None else behind.own.copy()
    learner.plan(None)
    return behind


def visits_in_a_call(most_work: int | None, weights: int, visits: int) -> int | None:
    """How many visits a refresh of at most ``visits`` makes in one call; None for all.

    Two at least, since one goes to the impression that came with the call.

    Examples
    --------
    >>> visits_in_a_call(1000, 10, 11), visits_in_a_call(1000, 10, 10)
    (10, None)
    """
    if most_work is None or visits * weights * weights <= most_work:
        return None
    return max(2, most_work // (weights * weights))
