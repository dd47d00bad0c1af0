"""The service without HTTP: models, catalogues, decisions and feedback, durable."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from fabcost.service import looking
from fabcost.service.apart import apart
from fabcost.service.clock import Clock
from fabcost.service.deciding import Deciding
from fabcost.service.exchanging import Exchanging
from fabcost.service.ledger import Ledger
from fabcost.service.loading import load_all
from fabcost.service.managing import Managing
from fabcost.service.metrics import Metrics
from fabcost.service.progress import Progress
from fabcost.service.requests import Expire
from fabcost.service.resolution import EXPIRED_AT_ONCE
from fabcost.service.store.protocol import Store
from fabcost.service.viewing import Viewing
from fabcost.service.writer import Writer

_SWEEP_SECONDS = 0.25


class Service(Managing, Deciding, Viewing, Exchanging):
    """Models that decide and learn; make one with `start`.

    All methods belong to the event loop in which it was started.

    Parameters
    ----------
    park_seconds
        How long feedback waits for a decision that is not there yet.
    **parts
        Of `fabcost.service.deciding.Deciding`.
    """

    def __init__(self, *, park_seconds: float, **parts: Any) -> None:
        super().__init__(**parts)
        self._park_seconds = park_seconds
        self._stopped = False
        self._expiring = False
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
        reader = open_store()
        await asyncio.to_thread(reader.open, take_over=False)
        writer.start()
        return cls(
            writer=writer,
            reader=reader,
            models=loaded.models,
            clock=clock,
            metrics=metrics,
            park_seconds=park_seconds,
            durable_within=durable_within,
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
        self._reading.shutdown()
        self._writer.ledger.store.close()
        self._reader.close()

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
        reasons = {name: looking.degraded(each) for name, each in self._models.items()}
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
