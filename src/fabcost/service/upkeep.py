"""What a service does by itself, now and then: deadlines, deletions, its clock, and alarms."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fabcost.service.models.decisions import Clock, Decider
from fabcost.service.store.store import Store
from fabcost.service.telemetry import Metrics
from fabcost.service.writer.journal import Deleted
from fabcost.service.writer.requests import Expire, Job
from fabcost.service.writer.transaction import EXPIRED_AT_ONCE
from fabcost.service.writer.writer import Writer

_SWEEP_SECONDS, _LOOK_SECONDS = 0.25, 15.0
# A clock that is slewed is behind by very little.
_TOLERATED_SECONDS, _WORTH_TELLING_SECONDS = 1.0, 60.0
_AHEAD = (
    "the system's clock is {:.0f} s behind the latest time that was written: it was wrong then, or "
    "is wrong now; times go on from that one until no decision made since waits for its deadline"
)


class Upkeep:
    """Expires what is due, deletes what is marked, and follows the system's clock.

    Feedback waits ``park_seconds`` for a decision that is not there yet; ``look`` looks for alarms.
    """

    def __init__(
        self,
        decisions: Decider,
        writer: Writer,
        *,
        clock: Clock,
        metrics: Metrics,
        tell: Callable[[str], object],
        look: Callable[[], Awaitable[None]],
        park_seconds: float,
    ) -> None:
        self._decisions = decisions
        self._writer = writer
        self._clock = clock
        self._metrics = metrics
        self._tell = tell
        self._look = look
        self._park_seconds = park_seconds
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
            task = asyncio.create_task(self._writer.count())
            task.add_done_callback(self._looked)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking = False
        if _succeeded(task) and self._look_again:
            self.look()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._decisions.stop_waiting()
            self._measure_stalls()
            if self._may_write and not self._expiring:
                self.expire()
            journal = self._writer.journal
            if self._may_write and not self._deleting and journal.leads and journal.deletions:
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
                    await self._look()
            except Exception as error:  # noqa: BLE001 - the next time may be better
                self._tell(f"alarms could not be looked for: {error!r}")
            pause = max(_LOOK_SECONDS, 50.0 * (self._loop.time() - started))

    @property
    def _may_write(self) -> bool:
        return self._writer.away is None and not self._stopped

    def _measure_stalls(self) -> None:
        if self._stalled != self._decisions.stalled:
            self._stalled = self._decisions.stalled
            self._metrics.store_away(self._stalled or self._writer.away is not None)

    def expire(self) -> None:
        """Resolve decisions whose deadline has come, and forget feedback parked for too long."""
        self._expiring, now = True, self._clock.now()
        done: asyncio.Future[int] = self._loop.create_future()
        done.add_done_callback(self._expired)
        self._writer.submit(Expire(now, now - self._park_seconds, done))

    def _expired(self, done: asyncio.Future[int]) -> None:
        """Go on at once if there is more; an error was told by the writer."""
        self._expiring = False
        if _succeeded(done) and done.result() == EXPIRED_AT_ONCE and self._may_write:
            self.expire()

    def _delete_more(self) -> None:
        self._deleting, journal = True, self._writer.journal
        done: asyncio.Future[Deleted | None] = self._loop.create_future()
        done.add_done_callback(self._deleted)
        self._writer.submit(Job(lambda _: journal.delete_more(), done, journal.deleted))

    def _deleted(self, done: asyncio.Future[Deleted | None]) -> None:
        """Go on at once if there is more: others were served meanwhile."""
        self._deleting = False
        if _succeeded(done) and self._writer.journal.deletions and self._may_write:
            self._delete_more()

    def _mind_the_clock(self) -> None:
        """Warn of a clock that was set back, and follow it when no deadline is moved by that."""
        ahead, before = self._clock.ahead, self._ahead
        self._ahead = ahead
        self._metrics.clock_ahead(ahead)
        if ahead > _WORTH_TELLING_SECONDS >= before:
            self._tell(_AHEAD.format(ahead))
        if ahead > _TOLERATED_SECONDS and self._writer.away is None and not self._returning:
            self._return(self._clock.now() - ahead)

    def _return(self, moment: float) -> None:
        self._returning, journal = True, self._writer.journal

        def is_safe(store: Store) -> bool:
            if journal.has_uncounted or store.waits_after(moment):
                return False
            store.reset_time(moment)
            return True

        done: asyncio.Future[bool] = self._loop.create_future()
        self._writer.submit(Job(is_safe, done))
        done.add_done_callback(partial(self._returned, self._writer.submitted))

    def _returned(self, submitted: int, done: asyncio.Future[bool]) -> None:
        self._returning = False
        # Whatever came meanwhile has a time that is ahead, and may wait for a later one.
        if _succeeded(done) and done.result() and self._writer.submitted == submitted:
            self._clock.come_back()
            self._tell("times are those of the system's clock again")


def _succeeded(done: asyncio.Future[Any]) -> bool:
    return not done.cancelled() and done.exception() is None
