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
from fabcost.inference.history import Carried
from fabcost.inference.passes import Lag, Swept
from fabcost.inference.schedule import Portion, note, refined, sweeps_of, visit, warn_of

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

#: Multiplications that a refresh may take in one call; some ms.
MOST_WORK = 12_000_000

Step = Portion | Callable[["FabCost"], object]


class Refreshing:
    """A refresh under way: the learner as it was when that began, and what has come since.

    What is learnt meanwhile waits for it, in order; so its outcome is that of a refresh at once.
    It is due at an impression that depends on the number of visits alone: with c of them in a
    call, the visits of all sweeps and one for each impression since are done after visits / (c − 1)
    calls; (visits + 32 c) / (c − 1) if 32 calls before copy a large belief.  The next one begins
    after three times as many or later: most calls have no part in one.  But a geometric
    schedule rests no longer than until impressions would leave that it has not refined.

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
        self._sweeps = sweeps_of(behind)
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
            left -= visit(self.behind, self._sweeps, left)
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
        due, rest, of = self.due, 3 * calls, self.behind
        if of.most_kept is not None and of.visits_all and of.refresh_schedule.kind == "geometric":
            rest = max(calls + 1, min(rest, of.most_kept))
        if due is not None:
            due = max(due, self.begun + rest)
        warn_of(self.behind, note(self.behind, self._sweeps.outcome))
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
        return note(learner, swept)
    return refined(learner, max_sweeps)


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
    learner._past = None
    learner.plan(None)
    return behind


def begin(learner: FabCost, visits: int, due: int | None) -> None:
    """Begin a refresh that makes so many visits in a call.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> learner.observe_many([[1.0]] * 3, [1, 0, 0])
    >>> begin(learner, 2, None)
    >>> learner.refreshing
    True
    """
    kept = learner._history.count
    learner._refreshing = begun = Refreshing(set_aside(learner), visits, due)
    if learner._lag is not None:
        calls = 0 if kept <= visits else kernels.LAG
        begun.copy(learner._carried, learner._lag, calls=calls)
    if kept <= visits:
        begun.sweep(calls=1)
        if begun.ends == learner.seen:
            learner.finish()
