"""What a service does by itself: deadlines, deletions, its clock, alarms, and old decisions."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

from fabcost.service.learning.recovery import Keeper
from fabcost.service.models.decisions import Clock, Decider
from fabcost.service.store.rows import CountRow
from fabcost.service.store.store import ROWS_AT_ONCE, Store
from fabcost.service.telemetry import Metrics
from fabcost.service.writer.requests import Deleted, Expire, Job
from fabcost.service.writer.transaction import EXPIRED_AT_ONCE
from fabcost.service.writer.writer import Writer

_SWEEP_SECONDS, _LOOK_SECONDS = 0.25, 15.0
# A clock that is slewed is behind by very little.
_TOLERATED_SECONDS, _WORTH_TELLING_SECONDS = 1.0, 60.0
_AHEAD = (
    "the system's clock is {:.0f} s behind the latest time that was written: it was wrong then, or "
    "is wrong now; times go on from that one until no decision made since waits for its deadline"
)


@dataclass(eq=False)
class Upkeep:
    """Expires what is due, deletes what is marked, and follows the system's clock.

    Feedback waits ``park_seconds`` for a decision that is not there yet.
    """

    decisions: Decider
    writer: Writer
    clock: Clock
    metrics: Metrics
    tell: Callable[[str], object]
    look_for_alarms: Callable[[], Awaitable[None]]
    park_seconds: float

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stalled = False
        self._expiring = self._deleting = self._returning = False
        self._ahead = 0.0
        self._stopped = self._looking = self._look_again = False
        self._sweeping = asyncio.create_task(self._sweep())
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Do nothing any longer."""
        self._stopped = True
        for task in (self._sweeping, self._watching):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def look(self) -> None:
        """Another server has written something: see what, unless that is being done."""
        self._look_again = self._looking
        if not self._looking and self._may_write:
            self._looking = True
            task = asyncio.create_task(self.writer.call(id))
            task.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[int]) -> None:
        self._looking = False
        if _succeeded(task) and self._look_again:
            self.look()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.decisions.stop_waiting()
            if self._stalled != self.decisions.stalled:
                self._stalled = self.decisions.stalled
                self.metrics.store_away(self._stalled or self.writer.away is not None)
            if self._may_write and not self._expiring:
                self.expire()
            journal = self.writer.journal
            if self._may_write and not self._deleting and journal.leads and journal.deletions.left:
                self._delete_more()
            self._mind_the_clock()

    async def _watch(self) -> None:
        """Look for alarms now and then, for a fiftieth of the time at most."""
        pause = _LOOK_SECONDS
        while True:
            await asyncio.sleep(pause)
            started = self._loop.time()
            try:
                if self._may_write:
                    await self.look_for_alarms()
            except Exception as error:  # noqa: BLE001 - the next time may be better
                self.tell(f"alarms could not be looked for: {error!r}")
            pause = max(_LOOK_SECONDS, 50.0 * (self._loop.time() - started))

    @property
    def _may_write(self) -> bool:
        return self.writer.away is None and not self._stopped

    def expire(self) -> None:
        """Resolve decisions whose deadline has come, and forget feedback parked for too long."""
        self._expiring, now = True, self.clock.now()
        done: asyncio.Future[int] = self._loop.create_future()
        done.add_done_callback(self._expired)
        self.writer.submit(Expire(now, now - self.park_seconds, done))

    def _expired(self, done: asyncio.Future[int]) -> None:
        """Go on at once if there is more; an error was told by the writer."""
        self._expiring = False
        if _succeeded(done) and done.result() == EXPIRED_AT_ONCE and self._may_write:
            self.expire()

    def _delete_more(self) -> None:
        self._deleting, journal = True, self.writer.journal
        done: asyncio.Future[Deleted | None] = self._loop.create_future()
        done.add_done_callback(self._deleted)
        self.writer.submit(Job(lambda _: journal.deletions.go_on(), done, journal.deleted))

    def _deleted(self, done: asyncio.Future[Deleted | None]) -> None:
        """Go on at once if there is more: others were served meanwhile."""
        self._deleting = False
        if _succeeded(done) and self.writer.journal.deletions.left and self._may_write:
            self._delete_more()

    def _mind_the_clock(self) -> None:
        """Warn of a clock that was set back, and follow it when no deadline is moved by that."""
        ahead, before = self.clock.ahead, self._ahead
        self._ahead = ahead
        self.metrics.clock_ahead(ahead)
        if ahead > _WORTH_TELLING_SECONDS >= before:
            self.tell(_AHEAD.format(ahead))
        if ahead > _TOLERATED_SECONDS and self.writer.away is None and not self._returning:
            self._return(self.clock.now() - ahead)

    def _return(self, moment: float) -> None:
        self._returning, journal = True, self.writer.journal

        def is_safe(store: Store) -> bool:
            if journal.has_uncounted or store.waits_after(moment):
                return False
            store.reset_time(moment)
            return True

        done: asyncio.Future[bool] = self._loop.create_future()
        self.writer.submit(Job(is_safe, done))
        done.add_done_callback(partial(self._returned, self.writer.submitted))

    def _returned(self, submitted: int, done: asyncio.Future[bool]) -> None:
        self._returning = False
        # Whatever came meanwhile has a time that is ahead, and may wait for a later one.
        if _succeeded(done) and done.result() and self.writer.submitted == submitted:
            self.clock.come_back()
            self.tell("times are those of the system's clock again")


def _succeeded(done: asyncio.Future[Any]) -> bool:
    return not done.cancelled() and done.exception() is None


_DAY = 86_400.0


@dataclass(eq=False)
class Retention:
    """Keeps decisions for ``seconds``, and for as long as a start may need them.

    For the thread that writes.  Impressions go only when two snapshots have learnt them, which hold
    all that a learner keeps; counts of minutes become those of days.
    """

    keepers: Mapping[str, Keeper]
    seconds: float
    # The last decision that was looked at, where a round is not at its end.
    _after: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Have snapshots of now, which the next transaction writes."""
        self._after = dict.fromkeys(self.keepers, 0)
        for keeper in self.keepers.values():
            keeper.learning.pack()

    def go_on(self, store: Store, now: float) -> bool:
        """Delete some of one model within a transaction; whether there may be more."""
        for model, after in self._after.items():
            keeper = self.keepers.get(model)
            if keeper is not None and self._delete(store, model, keeper, after, now):
                return True
            if keeper is not None:
                fold_counts(store, model, now - self.seconds)
            del self._after[model]
            return bool(self._after)
        return False

    def _delete(self, store: Store, model: str, keeper: Keeper, after: int, now: float) -> bool:
        rows = store.history(model, after=after, limit=ROWS_AT_ONCE)
        old = list(takewhile(lambda row: row.made < now - self.seconds, rows))
        safe = keeper.learning.saved
        gone = [
            (row.model, row.decision)
            for row in old
            if row.resolved is not None and (row.lsn is None or row.lsn <= safe)
        ]
        store.delete_decisions(gone)
        store.delete_feedback(gone)
        if len(old) < ROWS_AT_ONCE:
            return False
        self._after[model] = old[-1].seq
        return True


def fold_counts(store: Store, model: str, before: float) -> None:
    """Make counts of minutes before a day those of whole days."""
    end = math.floor(before / _DAY) * _DAY
    rows = [row for row in store.counts.minutes(model, since=0.0) if row.start < end]
    if all(row.start % _DAY == 0.0 for row in rows):
        return
    store.counts.forget(model, end)
    days = [row._replace(start=math.floor(row.start / _DAY) * _DAY) for row in rows]
    store.counts.add(minutes=[CountRow(*row) for row in days])
