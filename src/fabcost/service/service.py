"""The service without HTTP: models, catalogues, decisions and feedback, durable."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from fabcost.service.apart import apart
from fabcost.service.clock import Clock
from fabcost.service.metrics import Metrics
from fabcost.service.models import views
from fabcost.service.models.decisions import Deciding
from fabcost.service.models.load import load_all
from fabcost.service.models.registry import Managing
from fabcost.service.models.transfers import Exchanging
from fabcost.service.progress import Progress
from fabcost.service.settings import CACHE_BYTES
from fabcost.service.store.protocol import Store
from fabcost.service.viewing import Viewing
from fabcost.service.writer.journal import Deleted, Ledger
from fabcost.service.writer.requests import Call, Expire
from fabcost.service.writer.transaction import EXPIRED_AT_ONCE
from fabcost.service.writer.writer import Writer, tell_quietly

_SWEEP_SECONDS = 0.25
# A clock that is slewed is behind by very little.
_TOLERATED_SECONDS, _WORTH_TELLING_SECONDS = 1.0, 60.0
_AHEAD = (
    "the system's clock is {:.0f} s behind the latest time that was written: it was wrong then, or "
    "is wrong now; times go on from that one until no decision made since waits for its deadline"
)


class Service(Managing, Deciding, Viewing, Exchanging):
    """Models that decide and learn; make one with `start`.

    All methods belong to the event loop in which it was started.

    Parameters
    ----------
    park_seconds
        How long feedback waits for a decision that is not there yet.
    tell
        Told in words of what an operator should know.
    **parts
        Of `fabcost.service.models.decisions.Deciding`.
    """

    def __init__(self, *, park_seconds: float, tell: Callable[[str], object], **parts: Any) -> None:
        super().__init__(**parts)
        self._park_seconds = park_seconds
        self._stopped = False
        self._expiring = False
        self._deleting = False
        self._tell = tell
        self._ahead = 0.0
        self._returning = False
        self._sweeping = asyncio.create_task(self._sweep())

    @classmethod
    async def start(
        cls,
        open_store: Callable[[], Store],
        *,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        tell: Callable[[str], object] = str,
        backlog: int = 100_000,
        park_seconds: float = 120.0,
        durable_within: float = 2.0,
        progress: Progress | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Service:
        """Take over a database and go on where its last server stopped."""
        clock, metrics, progress = clock or Clock(), metrics or Metrics(), progress or Progress()
        try:
            loaded = await apart(load_all, open_store(), tell, metrics, progress)
        except asyncio.CancelledError:
            progress.stop()
            raise
        clock.not_before(loaded.latest_time)
        writer = Writer(
            Ledger(loaded.store, loaded.keepers, loaded.recoveries, loaded.unreadable),
            loop=asyncio.get_running_loop(),
            observer=metrics,
            tell=tell,
            backlog=backlog,
        )
        reader, exporter = open_store(), open_store()
        for store in (reader, exporter):
            await asyncio.to_thread(store.open, take_over=False)
        writer.start()
        return cls(
            writer=writer,
            reader=reader,
            exporter=exporter,
            models=loaded.models,
            clock=clock,
            metrics=metrics,
            park_seconds=park_seconds,
            tell=partial(tell_quietly, tell),
            durable_within=durable_within,
            cache_bytes=cache_bytes,
        )

    async def stop(self) -> None:
        """Write what is waiting, snapshot, and let go of the database."""
        if self._stopped:
            return
        self._stopped = True
        self._sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sweeping
        self._writer.hand_over()
        await asyncio.to_thread(self._writer.stop)
        self._reading.close()
        self._exporting.close()
        self._writer.ledger.store.close()

    @property
    def ready(self) -> str | None:
        """None if requests are served, else why not; but see `degraded`."""
        if self._stopped:
            return "the server is stopping"
        if self._writer.away is not None:
            return f"the database is away: {self._writer.away}"
        if self._stalled:
            return "the database does not answer"
        return None

    @property
    def degraded(self) -> dict[str, str]:
        """Models that are not served in full, and why."""
        unreadable = dict.fromkeys(self._writer.ledger.unreadable, "cannot be read")
        reasons = {name: views.degraded(each) for name, each in self._models.items()}
        return unreadable | {name: why for name, why in reasons.items() if why is not None}

    def measure(self) -> None:
        """Bring the gauges up to date that change without a request."""
        self.metrics.degraded(self.degraded)
        for name, each in self._models.items():
            self.metrics.lagged(name, each.learning.lag)

    def _forget(self, name: str) -> None:
        super()._forget(name)
        self._totals.pop(name, None)

    async def _sweep(self) -> None:
        """Expire what is due, and forget feedback that was parked for too long."""
        stalled = False
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._stop_waiting()
            if stalled != self._stalled:
                stalled = self._stalled
                self.metrics.store_away(stalled or self._writer.away is not None)
            if self._writer.away is None and not self._expiring:
                self._expire()
            if self._writer.away is None and not self._deleting and self._writer.ledger.deletions:
                self._delete_more()
            self._mind_the_clock()

    def _mind_the_clock(self) -> None:
        """Warn of a clock that was set back, and follow it when no deadline is moved by that."""
        ahead, before = self.clock.ahead, self._ahead
        self._ahead = ahead
        self.metrics.clock_ahead(ahead)
        if ahead > _WORTH_TELLING_SECONDS >= before:
            self._tell(_AHEAD.format(ahead))
        if ahead > _TOLERATED_SECONDS and self._writer.away is None and not self._returning:
            self._return(self.clock.now() - ahead)

    def _return(self, moment: float) -> None:
        self._returning, ledger = True, self._writer.ledger

        def is_safe(store: Store) -> bool:
            if ledger.has_uncounted or store.waits_after(moment):
                return False
            store.reset_time(moment)
            return True

        done: asyncio.Future[bool] = self._loop.create_future()
        self._writer.submit(Call(is_safe, done))
        done.add_done_callback(partial(self._returned, self._writer.submitted))

    def _returned(self, submitted: int, done: asyncio.Future[bool]) -> None:
        self._returning = False
        if done.cancelled() or done.exception() is not None or not done.result():
            return
        # Whatever came meanwhile has a time that is ahead, and may wait for a later one.
        if self._writer.submitted == submitted:
            self.clock.come_back()
            self._tell("times are those of the system's clock again")

    def _delete_more(self) -> None:
        self._deleting, ledger = True, self._writer.ledger
        done: asyncio.Future[Deleted | None] = self._loop.create_future()
        done.add_done_callback(self._deleted)
        self._writer.submit(Call(lambda _: ledger.delete_more(), done, ledger.deleted))

    def _deleted(self, done: asyncio.Future[Deleted | None]) -> None:
        """Go on at once if there is more: others were served meanwhile."""
        self._deleting = False
        if done.cancelled() or done.exception() is not None or self._stopped:
            return
        if self._writer.ledger.deletions and self._writer.away is None:
            self._delete_more()

    def _expire(self) -> None:
        self._expiring, now = True, self.clock.now()
        done: asyncio.Future[int] = self._loop.create_future()
        done.add_done_callback(self._expired)
        self._writer.submit(Expire(now, now - self._park_seconds, done))

    def _expired(self, done: asyncio.Future[int]) -> None:
        """Go on at once if there is more; an error was told by the writer."""
        self._expiring = False
        if done.cancelled() or done.exception() is not None or self._stopped:
            return
        if done.result() == EXPIRED_AT_ONCE and self._writer.away is None:
            self._expire()
