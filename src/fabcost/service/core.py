"""What all parts of the service stand on: models, a writer, a reader and a clock."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TypeVar

from fabcost.service.clock import Clock
from fabcost.service.metrics import Metrics
from fabcost.service.models import views
from fabcost.service.models.listing import in_full
from fabcost.service.models.load import Loaded, make
from fabcost.service.models.memory import Memory
from fabcost.service.models.model import Model
from fabcost.service.settings import CACHE_BYTES
from fabcost.service.store.protocol import Store
from fabcost.service.store.rows import StoredDecision
from fabcost.service.threads import Reading
from fabcost.service.writer.requests import Call, Count
from fabcost.service.writer.writer import Writer
from fabcost.wire.errors import (
    AlreadyThereError,
    InvalidRequestError,
    StoreAwayError,
    UnknownModelError,
    UnreadableModelError,
)
from fabcost.wire.messages import ModelAnswer
from fabcost.wire.settings import ModelSettings

T = TypeVar("T")
_LOOK_AGAIN_SECONDS = 0.05


class Core:
    """Models in memory, and ways to the database.

    Parameters
    ----------
    writer
        Writes and learns.
    reader, exporter
        More connections, for looking and for whole logs, which keep nobody else waiting.
    models
        By name.
    clock, metrics
        Time, and what is counted.
    cache_bytes
        Of candidates and scenes that are remembered, over all models.
    """

    def __init__(
        self,
        writer: Writer,
        reader: Store,
        exporter: Store,
        models: dict[str, Model],
        *,
        clock: Clock,
        metrics: Metrics,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.memory = Memory(cache_bytes)
        for model in models.values():
            model.remember_in(self.memory)
        self.metrics = metrics
        self.clock = clock
        self._writer = writer
        self._reading = Reading(reader, "reader")
        self._exporting = Reading(exporter, "exporter")
        self._models = models
        self._loop = asyncio.get_running_loop()
        self._own = secrets.token_hex(6)
        self._numbers = count()

    def _model(self, name: str) -> Model:
        model = self._models.get(name)
        if model is None:
            unreadable = name in self._writer.ledger.unreadable
            raise UnreadableModelError(name) if unreadable else UnknownModelError(name)
        return model

    def _new_id(self, now: float) -> str:
        """In the order of time, so that the newest lie together in the database."""
        return f"{int(now * 1000):012x}{next(self._numbers):08x}{self._own}"

    async def _create(self, name: str, settings: ModelSettings, base: bytes | None) -> ModelAnswer:
        if name in self._models:
            raise AlreadyThereError(name)
        await self._rows_gone(name)
        now = self.clock.now()

        def write(store: Store) -> Loaded:
            return make(store, name, settings, base, now, self.metrics)

        def keep(loaded: Loaded) -> None:
            self._writer.ledger.keepers[name] = loaded.keeper
            self._writer.ledger.recoveries[name] = loaded.recovery

        def show(loaded: Loaded) -> None:
            loaded.model.remember_in(self.memory)
            self._models[name] = loaded.model

        try:
            loaded = await self._call(write, keep, show)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        return views.model(loaded.model)

    async def _rows_gone(self, name: str) -> None:
        """Wait for the rows of a deleted model of that name: they must not become the new one's."""
        while name in self._writer.ledger.deletions:
            if self._writer.away is not None:
                raise StoreAwayError(self._writer.away)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def _stored(self, name: str, decision_id: str, read: Callable[[StoredDecision], T]) -> T:
        """What ``read``, which may take long, makes of a decision."""
        self._model(name)
        key = (name, decision_id)

        def find(store: Store) -> T:
            return read(in_full(store, [views.found(store.find_decisions([key]), key)])[0])

        return await self._read(find)

    async def _count(self) -> None:
        """See to it that the counts have all decisions that were answered, if the database can."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._writer.submit(Count(done))
        with contextlib.suppress(StoreAwayError):
            await done

    async def _call(
        self,
        function: Callable[[Store], T],
        then: Callable[[T], object] = id,
        show: Callable[[T], object] = id,
    ) -> T:
        """Do it in a transaction.

        As it is durable, ``then`` may change what the writer knows, and ``show`` what the loop
        knows: in the order of the transactions, and also if whoever asked waits no longer.
        """
        done: asyncio.Future[T] = self._loop.create_future()
        done.add_done_callback(partial(_show, show))
        self._writer.submit(Call(function, done, then))
        return await asyncio.shield(done)

    async def _call_about(
        self,
        name: str,
        function: Callable[[Store], T],
        then: Callable[[T], object] = id,
        show: Callable[[T], object] = id,
    ) -> T:
        """`_call` for a model, which may have been deleted when its turn comes."""

        def if_there(store: Store) -> T:
            if name not in self._writer.ledger.keepers:
                raise UnknownModelError(name)
            return function(store)

        return await self._call(if_there, then, show)

    async def _read(self, function: Callable[[Store], T]) -> T:
        return await self._reading.ask(function)


def _show(show: Callable[[T], object], done: asyncio.Future[T]) -> None:
    if not done.cancelled() and done.exception() is None:
        show(done.result())
