"""The service without HTTP: models, catalogues, decisions and feedback, durable."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any, TypeVar

import msgspec

from fabcost.inference.fabcost import FabCost
from fabcost.service import looking, moving
from fabcost.service.clock import Clock
from fabcost.service.errors import (
    AlreadyThereError,
    InvalidRequestError,
    StoreAwayError,
    UnknownItemError,
    UnknownModelError,
)
from fabcost.service.ledger import Ledger
from fabcost.service.loading import Loaded, load_all, make
from fabcost.service.messages import (
    DecisionAnswer,
    DecisionRequest,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    FeedbackStatus,
    ItemsAnswer,
    LoggedImpression,
    ModelAnswer,
    PosteriorAnswer,
    Record,
    StatsAnswer,
)
from fabcost.service.metrics import Metrics
from fabcost.service.model import Model
from fabcost.service.model_settings import ModelSettings, changed
from fabcost.service.pending import Finish, PendingDecision
from fabcost.service.records import view
from fabcost.service.requests import Activate, Call, Count, Expire, Feed, Write
from fabcost.service.store.protocol import Store
from fabcost.service.store.rows import ItemRow, KeyRow, StoredDecision
from fabcost.service.writer import Writer

T = TypeVar("T")
_SWEEP_SECONDS = 0.25
_DURABLE_WITHIN_SECONDS = 2.0


class Service:
    """Models that decide and learn; make one with `start`.

    All methods belong to the event loop in which it was started.

    Parameters
    ----------
    writer
        Writes and learns.
    reader
        A second connection, for looking.
    models
        By name.
    clock, metrics
        Time, and what is counted.
    park_seconds
        How long feedback waits for a decision that is not there yet.
    """

    def __init__(
        self,
        writer: Writer,
        reader: Store,
        models: dict[str, Model],
        *,
        clock: Clock,
        metrics: Metrics,
        park_seconds: float,
    ) -> None:
        self.metrics = metrics
        self.clock = clock
        self._writer = writer
        self._reader = reader
        self._reading = ThreadPoolExecutor(1, "reader")
        self._models = models
        self._park_seconds = park_seconds
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._own = secrets.token_hex(6)
        self._numbers = count()
        self._totals: dict[str, looking.Totals] = {}
        self._waiting: deque[PendingDecision] = deque()
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
    ) -> Service:
        """Take over a database and go on where its last server stopped."""
        clock, metrics = clock or Clock(), metrics or Metrics()
        loaded = await asyncio.to_thread(load_all, open_store(), tell, metrics)
        clock.not_before(loaded.latest_time)
        writer = Writer(
            Ledger(loaded.store, loaded.keepers, loaded.recoveries),
            loop=asyncio.get_running_loop(),
            observer=metrics,
            tell=tell,
            backlog=backlog,
        )
        reader = open_store()
        await asyncio.to_thread(reader.open, take_over=False)
        writer.start()
        return cls(
            writer, reader, loaded.models, clock=clock, metrics=metrics, park_seconds=park_seconds
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
        """None if requests are served in full, else why not."""
        if self._stopped:
            return "the server is stopping"
        if self._writer.away is not None:
            return f"the database is away: {self._writer.away}"
        failed = [name for name, each in self._models.items() if each.learning.failure is not None]
        return f"a refresh of {', '.join(map(repr, failed))} has failed" if failed else None

    # Models

    def models(self) -> list[ModelAnswer]:
        """All models, by name."""
        return [looking.model(each) for _, each in sorted(self._models.items())]

    def model(self, name: str) -> ModelAnswer:
        """One model."""
        return looking.model(self._model(name))

    async def create_model(self, name: str, settings: ModelSettings) -> ModelAnswer:
        """A new model, with nothing learnt yet."""
        return await self._create(name, settings, None)

    async def change_model(self, name: str, changes: dict[str, Any]) -> ModelAnswer:
        """Other settings for the decisions to come."""
        model = self._model(name)
        try:
            settings = changed(model.settings, changes)
        except (ValueError, msgspec.ValidationError) as error:
            raise InvalidRequestError(str(error)) from error
        edited = self.clock.now()

        def write(store: Store) -> None:
            store.update_model(name, msgspec.json.encode(settings).decode(), edited)

        def keep(_: None) -> None:
            self._writer.ledger.keepers[name].settings = settings

        await self._call(write, keep)
        model.change(settings, edited)
        return looking.model(model)

    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log, and revoke its API keys."""
        self._model(name)

        await self._call(
            lambda store: store.delete_model(name), lambda _: self._writer.ledger.forget(name)
        )
        self._models.pop(name, None)
        self._totals.pop(name, None)
        for key in await self.keys():
            if key.model == name and key.revoked is None:
                await self.revoke_key(key.key_id)

    # Catalogues

    async def put_items(self, name: str, items: dict[str, Record]) -> int:
        """Add items or replace their features; the new version of the catalogue."""
        model = self._model(name)
        model.check_items(items)
        rows = [ItemRow(item, msgspec.json.encode(each).decode()) for item, each in items.items()]
        version = model.catalogue.next_version()
        await self._call(lambda store: store.put_items(name, version, rows))
        model.catalogue.put(version, items)
        return version

    async def delete_items(self, name: str, ids: Sequence[str]) -> int:
        """Take items out; the new version of the catalogue."""
        model = self._model(name)
        for item in ids:
            if item not in model.catalogue.items:
                raise UnknownItemError(item)
        version = model.catalogue.next_version()
        await self._call(lambda store: store.delete_items(name, version, ids))
        model.catalogue.remove(version, ids)
        return version

    def items(self, name: str, *, limit: int, after: str | None = None) -> ItemsAnswer:
        """A page of the catalogue."""
        return looking.items(self._model(name).catalogue, limit, after)

    def item(self, name: str, item: str) -> Record:
        """The features of one item."""
        found = self._model(name).catalogue.items.get(item)
        if found is None:
            raise UnknownItemError(item)
        return found

    # Decisions and feedback

    async def decide(self, name: str, request: DecisionRequest) -> DecisionAnswer:
        """Choose an item, and answer when that is durable; see `DecisionRequest`."""
        done: asyncio.Future[DecisionAnswer] = self._loop.create_future()
        self.begin_to_decide(name, request, partial(_settle, done))
        return await done

    def begin_to_decide(self, name: str, request: DecisionRequest, finish: Finish) -> None:
        """`decide` without waiting: ``finish`` is told the answer, or an error of the database."""
        model, now = self._model(name), self.clock.now()
        decision = request.decision_id or self._new_id(now)
        made = model.decide(request, decision, now)
        if made.row is None:
            finish(made.answer)
            return
        pending = PendingDecision(name, made, finish, metrics=self.metrics, since=self._loop.time())
        # Those that were answered go now, while their memory is still in the processor's cache.
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        self._waiting.append(pending)
        self._writer.submit(Write(made.row, model.new_steps(), made.entropy, pending))

    async def feedback(
        self, name: str, requests: Sequence[FeedbackRequest]
    ) -> list[FeedbackAnswer]:
        """Learn what became of decisions; each is answered when that is durable."""
        self._model(name)
        now = self.clock.now()
        feeds = []
        for each in requests:
            key = (name, each.decision_id)
            feeds.append(Feed(key, each.value, each.key, now, self._loop.create_future()))
            self._writer.submit(feeds[-1])
        statuses = await asyncio.gather(*(each.done for each in feeds))
        return [
            FeedbackAnswer(each.decision_id, status)
            for each, status in zip(requests, statuses, strict=True)
        ]

    async def activate(self, name: str, decision_id: str) -> bool:
        """Let a deferred decision count; whether it was waiting for that."""
        self._model(name)
        request = Activate((name, decision_id), self.clock.now(), self._loop.create_future())
        self._writer.submit(request)
        return await request.done

    # Looking

    def posterior(self, name: str) -> PosteriorAnswer:
        """The weights with their names, means and sds."""
        return looking.posterior(self._model(name))

    async def stats(self, name: str, *, minutes: int = 60) -> StatsAnswer:
        """What a dashboard shows."""
        model, now = self._model(name), self.clock.now()
        if self._writer.ledger.has_uncounted:
            await self._count()
        since, totals = now - 60.0 * minutes, self._totals.get(name)
        read = await self._read(lambda store: looking.read_stats(store, name, since, totals))
        self._totals[name] = read.totals
        return looking.stats(model, read, now, self._writer)

    async def decision(self, name: str, decision_id: str) -> DecisionView:
        """One decision and what became of it."""
        return view(await self._stored(name, decision_id))

    async def decisions(
        self, name: str, *, limit: int, before: int | None = None
    ) -> tuple[list[DecisionView], int | None]:
        """The latest decisions, and where the next page begins."""
        self._model(name)
        rows = await self._read(lambda store: store.recent(name, limit=limit, before=before))
        more = rows[-1].seq if len(rows) == limit else None
        return [view(row) for row in rows], more

    async def explain(self, name: str, decision_id: str) -> ExplanationAnswer:
        """What speaks for the chosen item, under the posterior of now."""
        model = self._model(name)
        return looking.explain(model, await self._stored(name, decision_id))

    async def export_log(self, name: str, *, after: int, limit: int) -> list[StoredDecision]:
        """A page of the log."""
        self._model(name)
        return await self._read(lambda store: store.history(name, after=after, limit=limit))

    async def import_log(self, name: str, impressions: Sequence[LoggedImpression]) -> int:
        """Keep decisions of the past, and learn those whose outcome is known; how many are new."""
        model, now = self._model(name), self.clock.now()
        ids = [each.decision_id or self._new_id(now) for each in impressions]
        pairs = list(zip(impressions, ids, strict=True))
        rows = [model.logged(each, decision, now) for each, decision in pairs]
        writes: list[asyncio.Future[StoredDecision | bool]] = []
        feeds: list[asyncio.Future[FeedbackStatus]] = []
        for row, (each, decision) in zip(rows, pairs, strict=True):
            writes.append(self._loop.create_future())
            self._writer.submit(Write(row, model.new_steps(), None, writes[-1]))
            if each.value is not None:
                feeds.append(self._loop.create_future())
                self._writer.submit(Feed((name, decision), each.value, "imported", now, feeds[-1]))
        written = await asyncio.gather(*writes)
        await asyncio.gather(*feeds)
        if False in written:
            raise StoreAwayError("the decisions are in memory only")
        return sum(each is True for each in written)

    async def export_model(self, name: str) -> bytes:
        """The file of a `fabcost.Recommender` that goes on as this model would."""
        model = self._model(name)
        while True:
            learner = await self._call(lambda _: self._copied_learner(name))
            if learner is not None:
                return moving.to_file(model, learner)
            if model.learning.failure is not None:
                raise model.learning.failure
            await asyncio.sleep(_SWEEP_SECONDS)

    async def import_model(
        self, name: str, content: bytes, settings: ModelSettings | None = None
    ) -> ModelAnswer:
        """A new model from a file of `fabcost.Recommender.save`."""
        try:
            found, base = await asyncio.to_thread(moving.from_file, content, settings)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        return await self._create(name, found, base)

    # API keys

    async def keys(self) -> list[KeyRow]:
        """All API keys."""
        return await self._read(lambda store: store.keys())

    async def insert_key(self, row: KeyRow) -> None:
        """A new API key."""
        await self._read(lambda store: store.insert_key(row))

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke an API key; whether it was in force."""
        now = self.clock.now()
        return await self._read(lambda store: store.revoke_key(key_id, now))

    # Inside

    def _model(self, name: str) -> Model:
        model = self._models.get(name)
        if model is None:
            raise UnknownModelError(name)
        return model

    def _new_id(self, now: float) -> str:
        """In the order of time, so that the newest lie together in the database."""
        return f"{int(now * 1000):012x}{next(self._numbers):08x}{self._own}"

    def _copied_learner(self, name: str) -> FabCost | None:
        learner = self._writer.ledger.keepers[name].learning.learner
        return None if learner is None else FabCost.restored(*learner.state())

    async def _create(self, name: str, settings: ModelSettings, base: bytes | None) -> ModelAnswer:
        if name in self._models:
            raise AlreadyThereError(name)
        now = self.clock.now()

        def write(store: Store) -> Loaded:
            return make(store, name, settings, base, now, self.metrics)

        def keep(loaded: Loaded) -> None:
            self._writer.ledger.keepers[name] = loaded.keeper
            self._writer.ledger.recoveries[name] = loaded.recovery

        try:
            loaded = await self._call(write, keep)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        self._models[name] = loaded.model
        return looking.model(loaded.model)

    def _stop_waiting(self) -> None:
        """Answer decisions from memory that the database has kept waiting for too long."""
        latest = self._loop.time() - _DURABLE_WITHIN_SECONDS
        while self._waiting and (self._waiting[0].done() or self._waiting[0].since < latest):
            pending = self._waiting.popleft()
            if not pending.done():
                pending.set_result(False)

    async def _stored(self, name: str, decision_id: str) -> StoredDecision:
        self._model(name)
        key = (name, decision_id)
        found = await self._read(lambda store: store.find_decisions([key]))
        return looking.found(found, key)

    async def _count(self) -> None:
        """See to it that the counts have all decisions that were answered, if the database can."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._writer.submit(Count(done))
        with contextlib.suppress(StoreAwayError):
            await done

    async def _call(self, function: Callable[[Store], T], then: Callable[[T], object] = id) -> T:
        """Do it in a transaction; ``then`` may change what the writer knows, as it is durable."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._writer.submit(Call(function, done, then))
        return await done

    async def _read(self, function: Callable[[Store], T]) -> T:
        return await self._loop.run_in_executor(self._reading, self._read_now, function)

    def _read_now(self, function: Callable[[Store], T]) -> T:
        try:
            return function(self._reader)
        except StoreAwayError:
            self._reader.reopen()
            return function(self._reader)

    async def _sweep(self) -> None:
        """Expire what is due, and forget feedback that was parked for too long."""
        expired: asyncio.Future[int] | None = None
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._stop_waiting()
            if self._writer.away is None and (expired is None or expired.done()):
                expired = self._loop.create_future()
                expired.add_done_callback(_forget)
                now = self.clock.now()
                self._writer.submit(Expire(now, now - self._park_seconds, expired))


def _settle(done: asyncio.Future[DecisionAnswer], result: DecisionAnswer | Exception) -> None:
    """Tell whoever still waits."""
    if done.done():
        return
    if isinstance(result, Exception):
        done.set_exception(result)
    else:
        done.set_result(result)


def _forget(done: asyncio.Future[int]) -> None:
    """An error was told by the writer."""
    if not done.cancelled():
        done.exception()
