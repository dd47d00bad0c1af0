"""The service without HTTP: models, catalogues, decisions and feedback, durable."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from structlog.typing import FilteringBoundLogger

from fabcost.service.learning.recovery import Progress
from fabcost.service.models.catalogue import Memory
from fabcost.service.models.decisions import Clock, Decider, Models
from fabcost.service.models.load import LoadedModel, load_all, load_or_tell
from fabcost.service.models.model import Model
from fabcost.service.models.registry import Registry
from fabcost.service.models.transfers import Transfers
from fabcost.service.models.views import Views
from fabcost.service.settings import CACHE_BYTES, Settings
from fabcost.service.store.connection import file_at, is_open_to_others
from fabcost.service.store.rows import KeyRow, ModelRow
from fabcost.service.store.store import Store, StoreThread, store_at
from fabcost.service.telemetry import Metrics
from fabcost.service.upkeep import Retention, Upkeep
from fabcost.service.writer.journal import Journal
from fabcost.service.writer.writer import Writer, settle
from fabcost.wire.errors import StoreAwayError

T = TypeVar("T")
_RETIRE_SECONDS = 3600.0


@dataclass(frozen=True)
class Promises:
    """What a service promises, and how long it waits.

    Feedback waits ``park_seconds`` for a decision that is not there yet; one that the database does
    not keep in the seconds ``durable_within`` is answered from memory, where there is room for a
    ``backlog``; or, if the database is shared, all are at once, by what was known of it at most
    ``most_stale`` seconds ago.  Decisions are deleted after ``keep_seconds``, unless these are 0.
    """

    backlog: int = 100_000
    park_seconds: float = 120.0
    durable_within: float = 2.0
    cache_bytes: int = CACHE_BYTES
    share: bool = False
    most_stale: float | None = None
    keep_seconds: float = 0.0

    @classmethod
    def of(cls, settings: Settings) -> Promises:
        """Those of a server."""
        return cls(
            settings.backlog,
            settings.park_seconds,
            # Well before whoever asks is told that it took too long.
            min(2.0, settings.request_seconds / 4),
            settings.cache_bytes,
            share=file_at(settings.database) is None,
            most_stale=settings.most_stale_seconds if settings.follow else None,
            keep_seconds=86_400.0 * settings.keep_days,
        )


class Service:
    """Models that decide and learn; make one with `start`.

    Its parts do the work; what they offer to callers is offered here by the same names, as the
    constructor lists it.  Everything belongs to the event loop in which it was started.  Looking
    and whole logs have connections of their own, ``reader`` and ``exporter``, and keep nobody else
    waiting.
    """

    def __init__(
        self,
        models: dict[str, Model],
        writer: Writer,
        reader: StoreThread,
        exporter: StoreThread,
        *,
        clock: Clock,
        tell: Callable[[str], object],
        promises: Promises,
    ) -> None:
        self.clock, self.metrics = clock, (metrics := writer.metrics)
        self.memory = Memory(promises.cache_bytes)
        self.loop = asyncio.get_running_loop()
        self._writer, self._reader, self._exporter = writer, reader, exporter
        self._stopped = False
        self._listening: asyncio.Task[None] | None = None
        self._untold_keys: set[str] = set()

        known = Models(models, writer.journal.unreadable)
        #: Whether other servers may make models, too; and those that are known here.
        self.shared, self.served = writer.journal.store.session.shared, models
        self._registry = registry = Registry(known, writer, clock=clock, memory=self.memory)
        self.models = registry.models
        self.model = registry.model
        self.create_model = registry.create_model
        self.change_model = registry.change_model
        self.delete_model = registry.delete_model
        self.items = registry.items
        self.item = registry.item
        self.put_items = registry.put_items
        self.delete_items = registry.delete_items
        self.catalogue_version = registry.catalogue_version
        self.measure = registry.measure

        decisions = Decider(
            known, writer, clock, metrics, promises.durable_within, promises.most_stale
        )
        self._decisions = decisions
        self.decide = decisions.decide
        self.begin_to_decide = decisions.begin_to_decide
        self.feedback = decisions.feedback
        self.activate = decisions.activate

        views = Views(known, writer, reader, clock=clock)
        self.posterior = views.posterior
        self.contrasts = views.contrasts
        self.stats = views.stats
        self.alarms = views.alarms
        self.decision = views.decision
        self.decisions = views.decisions
        self.explain = views.explain

        transfers = Transfers(registry, writer, exporter, clock=clock, new_id=decisions.new_id)
        self.exporting = transfers.exporting
        self.export_log = transfers.export_log
        self.check_log = transfers.check_log
        self.import_log = transfers.import_log
        self.export_model = transfers.export_model
        self.import_model = transfers.import_model
        self.start_model = transfers.start_model

        self._measure_alarms = views.measure_alarms
        keeps, keepers = promises.keep_seconds, writer.journal.keepers
        self._retention = Retention(keepers, keeps) if keeps > 0.0 else None
        self._retire_at = 0.0
        self._upkeep = Upkeep(
            decisions, writer, clock, metrics, tell, self._look, promises.park_seconds
        )

    @classmethod
    async def start(
        cls,
        open_store: Callable[[], Store],
        promises: Promises = Promises(),  # noqa: B008 - a frozen value
        *,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        tell: Callable[[str], object] = str,
        progress: Progress | None = None,
    ) -> Service:
        """Take over a database, or share it, and go on where its last server stopped.

        ``tell`` is told in words of what an operator should know.
        """
        clock, metrics, progress = clock or Clock(), metrics or Metrics(), progress or Progress()
        tell = partial(_tell_quietly, tell)
        try:
            store, load_shared = open_store(), partial(load_all, share=promises.share)
            store.session.may_lead = promises.most_stale is None
            store.trims = promises.keep_seconds > 0.0
            loaded = await run_apart(load_shared, store, tell, metrics, progress)
        except asyncio.CancelledError:
            progress.stop()
            raise
        clock.not_before(loaded.latest_time)

        def load_new(row: ModelRow) -> LoadedModel | None:
            """One that another server made."""
            return load_or_tell(loaded.store, row, tell, metrics, None, loaded.unreadable)

        journal = Journal(loaded.store, loaded.keepers, loaded.unreadable, load_new)
        writer = Writer(journal, metrics=metrics, tell=tell, backlog=promises.backlog)
        reader = await StoreThread.start(open_store(), "reader")
        exporter = await StoreThread.start(open_store(), "exporter")
        writer.start()
        return cls(
            loaded.models, writer, reader, exporter, clock=clock, tell=tell, promises=promises
        )

    async def stop(self) -> None:
        """Write what is waiting, snapshot, and let go of the database."""
        if self._stopped:
            return
        self._stopped = True
        if self._listening is not None:
            self._listening.cancel()
        await self._upkeep.stop()
        await self._writer.stop()
        self._reader.close()
        self._exporter.close()
        self._writer.journal.store.close()

    async def find(self, name: str) -> None:
        """See whether another server has made a model that is not known here."""
        if self.shared and name not in self.served:
            with contextlib.suppress(StoreAwayError):
                await self._writer.call(id)

    async def _look(self) -> None:
        """Look for alarms, and delete what is old every hour."""
        await self._measure_alarms(self.metrics)
        if self.loop.time() > self._retire_at and self._writer.journal.leads:
            self._retire_at = self.loop.time() + _RETIRE_SECONDS
            await self.retire()

    async def retire(self) -> None:
        """Delete decisions that are older than they are kept, if they are not kept for ever."""
        retention, clock = self._retention, self.clock
        if retention is None:
            return
        await self._writer.call(lambda _: retention.begin())
        await self._writer.count()
        while await self._writer.call(lambda store: retention.go_on(store, clock.now())):
            pass

    def listen(self, database: str) -> None:
        """Follow other servers on a PostgreSQL as soon as it tells of them, besides looking."""
        from fabcost.service.store.postgres import listen  # noqa: PLC0415 - its driver loads slowly

        number = self._writer.journal.store.session.number
        self._listening = asyncio.create_task(listen(database, number, self._upkeep.look))

    async def keys(self) -> list[KeyRow]:
        """All API keys, once those that nobody was told are revoked."""
        for key_id in list(self._untold_keys):
            await self.revoke_key(key_id)
            self._untold_keys.discard(key_id)
        return await self._reader.ask(lambda store: store.keys.all())

    async def insert_key(self, row: KeyRow) -> None:
        """A new API key; the transactions of keys are their own."""
        await self._reader.ask(lambda store: store.keys.insert(row))

    def take_back_key(self, key_id: str) -> None:
        """Revoke a key when the database can: whoever asked for it was not told its text."""
        self._untold_keys.add(key_id)

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke an API key; whether it was in force."""
        now = self.clock.now()
        return await self._reader.ask(lambda store: store.keys.revoke(key_id, now))

    @property
    def ready(self) -> str | None:
        """None if requests are served, else why not; but see `degraded`."""
        if self._stopped:
            return "the server is stopping"
        if self._writer.away is not None:
            return f"the database is away: {self._writer.away}"
        if self._decisions.stalled:
            return "the database does not answer"
        return self._decisions.too_stale

    @property
    def stale(self) -> float | None:
        """Seconds since all that others wrote was known; None if no others can write."""
        return self._writer.stale if self.shared else None

    @property
    def degraded(self) -> dict[str, str]:
        """Models that are not served in full, and why."""
        return self._registry.degraded


async def start_service(
    settings: Settings,
    log: FilteringBoundLogger,
    progress: Progress | None = None,
    metrics: Metrics | None = None,
) -> Service:
    """Take over the database, as the settings say."""
    if is_open_to_others(settings.database):
        log.warning("every user of this machine can read the database: chmod its files to 600")
    promises = Promises.of(settings)
    service = await Service.start(
        lambda: store_at(settings.database),
        promises,
        tell=lambda message: log.warning("database", message=message),
        progress=progress,
        metrics=metrics,
    )
    if promises.share:
        service.listen(settings.database)
    return service


async def run_apart(function: Callable[..., T], *arguments: Any) -> T:
    """What a function returns, called in a thread of its own.

    Whoever is cancelled waits no longer.  Unlike the threads of an executor this one is left
    behind when the process ends.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        result: T | BaseException
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            result = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, done, result)

    threading.Thread(target=run, name="apart", daemon=True).start()
    return await done


def _tell_quietly(tell: Callable[[str], object], message: str) -> None:
    """Telling may fail, as on a disk that is full; the service goes on."""
    with contextlib.suppress(Exception):
        tell(message)
