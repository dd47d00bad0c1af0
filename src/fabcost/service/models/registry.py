"""The models of a service by name, and their catalogues: made, changed and deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from fabcost.service.models.candidates import check_amounts
from fabcost.service.models.catalogue import Memory
from fabcost.service.models.decisions import Clock, Models
from fabcost.service.models.load import LoadedModel, make, regrow, rewritten
from fabcost.service.models.model import Model
from fabcost.service.store.rows import ItemRow
from fabcost.service.store.store import Store
from fabcost.service.writer import following
from fabcost.service.writer.requests import Deleted, Write
from fabcost.service.writer.writer import Writer
from fabcost.wire.errors import (
    AlreadyThereError,
    InvalidRequestError,
    StoreAwayError,
    UnknownItemError,
    UnknownModelError,
    in_words,
)
from fabcost.wire.messages import ItemsAnswer, ModelAnswer, Record
from fabcost.wire.settings import ModelSettings, changed

T = TypeVar("T")
_LOOK_AGAIN_SECONDS = 0.05
#: Items that one transaction writes.
ITEMS_AT_ONCE = 1000


class Registry:
    """Makes, changes and deletes models and their catalogues, which share a ``memory``."""

    def __init__(self, models: Models, writer: Writer, *, clock: Clock, memory: Memory) -> None:
        self.of = models.of
        self._models = models.served
        self._writer, self._metrics = writer, writer.metrics
        self._journal = writer.journal
        self._clock = clock
        self._memory = memory
        for model in self._models.values():
            model.catalogue.memory = memory
        writer.hear = self._hear

    def models(self) -> list[ModelAnswer]:
        """All models, by name."""
        return [each.shown() for _, each in sorted(self._models.items())]

    def model(self, name: str) -> ModelAnswer:
        """One model."""
        return self.of(name).shown()

    @property
    def degraded(self) -> dict[str, str]:
        """Models that are not served in full, and why."""
        unreadable = dict.fromkeys(self._journal.unreadable, "cannot be read")
        reasons = {name: each.degraded for name, each in self._models.items()}
        return unreadable | {name: why for name, why in reasons.items() if why is not None}

    def measure(self) -> None:
        """Bring the gauges up to date that change without a request."""
        self._metrics.degraded(self.degraded)
        self._metrics.stale(self._writer.stale if self._journal.store.session.shared else 0.0)
        self._metrics.leads(self._journal.leads)
        for name, each in self._models.items():
            self._metrics.lagged(name, each.learning.lag)

    async def create_model(
        self, name: str, settings: ModelSettings, base: bytes | None = None
    ) -> ModelAnswer:
        """A new model, with nothing learnt yet but by the learner ``base``, if it is imported."""
        if name in self._models:
            raise AlreadyThereError(name)
        await self._rows_gone(name)
        now = self._clock.now()

        def write(store: Store) -> LoadedModel:
            return make(store, name, settings, base, now, self._metrics)

        def keep(loaded: LoadedModel) -> None:
            self._journal.keepers[name] = loaded.keeper

        try:
            loaded = await self._writer.call(write, keep, self._show, settles=name)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error
        return loaded.model.shown()

    async def _rows_gone(self, name: str) -> None:
        """Wait for the rows of a deleted model of that name: they must not become the new one's."""
        while name in self._journal.deletions.left:
            if self._writer.away is not None:
                raise StoreAwayError(self._writer.away)
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    async def change_model(self, name: str, changes: dict[str, Any]) -> ModelAnswer:
        """Other settings for the decisions to come; those of rewards also for open ones."""
        model, edited = self.of(name), self._clock.now()
        valued = {"value_feature", "cost_feature"} & changes.keys()
        items = dict(model.catalogue.items) if valued else {}

        def write(store: Store) -> ModelSettings:
            # What another request changed a moment ago must stay changed.
            before = self._journal.keepers[name].settings
            try:
                settings = changed(before, changes)
                check_amounts(items, settings)
            except ValueError as error:
                raise InvalidRequestError(in_words(error)) from error
            store.update_model(name, msgspec.json.encode(settings).decode(), edited)
            return settings

        def keep(settings: ModelSettings) -> None:
            self._journal.keepers[name].settings = settings

        def show(settings: ModelSettings) -> None:
            model.change(settings, edited)

        await self._writer.call(write, keep, show, about=name, settles=name)
        return model.shown()

    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log, and revoke its API keys.

        If that is much, it is gone for callers at once, and its rows one piece after another.
        """
        if name not in self._journal.unreadable:
            self.of(name)
        now = self._clock.now()

        def write(store: Store) -> Deleted:
            store.keys.revoke_of(name, now)
            return self._journal.deletions.begin(name)

        # Also where the writer knows it no more: it was deleted, but nobody heard of that.
        await self._writer.call(
            write, self._journal.deleted, lambda _: self._hide(name), settles=name
        )

    async def put_items(self, name: str, items: dict[str, Record]) -> int:
        """Add items or replace their features; the new version of the catalogue."""
        model = self.of(name)
        model.check_items(items)
        rows = [ItemRow(item, msgspec.json.encode(each).decode()) for item, each in items.items()]
        first = max(len(rows) - 1, 0) // ITEMS_AT_ONCE * ITEMS_AT_ONCE

        async def put() -> int:
            version = model.catalogue.next_version()
            try:
                # Others are served between the pieces; the loop sees all of them at the end.
                for start in range(0, first, ITEMS_AT_ONCE):
                    piece = rows[start : start + ITEMS_AT_ONCE]
                    await self._writer.call(_putting(name, version, piece), about=name)
                return await self._change_items(
                    name,
                    _putting(name, version, rows[first:]),
                    lambda found: model.catalogue.put(found, items),
                )
            except ValueError:
                await self._look_again(name, version)
                raise

        return await self._in_turn(model, put, in_pieces=first > 0)

    async def delete_items(self, name: str, ids: Sequence[str]) -> int:
        """Take items out; the new version of the catalogue."""
        model = self.of(name)
        for item in ids:
            if item not in model.catalogue.items:
                raise UnknownItemError(item)

        async def delete() -> int:
            planned = model.catalogue.next_version()

            def remove(store: Store) -> int:
                version = _version(store, name, planned)
                store.delete_items(name, version, ids)
                return version

            return await self._change_items(
                name, remove, lambda version: model.catalogue.remove(version, ids)
            )

        return await self._in_turn(model, delete, in_pieces=False)

    async def _change_items(
        self, name: str, function: Callable[[Store], int], show: Callable[[int], object]
    ) -> int:
        """Change a catalogue to the version that the function returns."""

        def keep(version: int) -> None:
            self._journal.keepers[name].catalogue = version

        return await self._writer.call(function, keep, show, about=name)

    async def _look_again(self, name: str, version: int) -> None:
        """Show the items that the database has: it took some pieces and refused another."""
        found: list[ItemRow] = []

        def look(store: Store) -> int:
            at = _putting(name, version, [])(store)
            found[:] = store.items(name)
            return at

        await self._change_items(
            name, look, lambda at: self._relist(following.Relisted(name, at, found))
        )

    async def _in_turn(
        self, model: Model, change: Callable[[], Awaitable[int]], *, in_pieces: bool
    ) -> int:
        """Change a catalogue, not between the pieces of another change.

        Once begun it is done, also if whoever asked waits no longer.
        """
        turn = model.catalogue.turn
        if not in_pieces and not turn.locked():
            return await change()
        await turn.acquire()

        async def changing() -> int:
            try:
                return await change()
            finally:
                turn.release()

        task = asyncio.create_task(changing())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    def _show(self, loaded: LoadedModel) -> None:
        loaded.model.catalogue.memory = self._memory
        self._models[loaded.model.name] = loaded.model

    def _hide(self, name: str) -> None:
        model = self._models.pop(name, None)
        if model is not None:
            self._memory.forget(model.catalogue.owner)

    def _hear(self, news: following.News) -> None:
        """The database is not as this server thought."""
        if isinstance(news, following.Relisted):
            self._relist(news)
        elif isinstance(news, following.Appeared):
            self._show(news.loaded)
        elif isinstance(news, following.Disappeared):
            self._hide(news.model)
        elif isinstance(news, following.Outgrown):
            for write in news.writes:
                self._write_again(write)
        elif (model := self._models.get(news.model)) is not None:
            if isinstance(news, following.Resettled):
                model.change(news.settings, news.edited)
            elif isinstance(news, following.Regrown):
                regrow(model, news.steps)

    def _write_again(self, write: Write) -> None:
        """Write a decision in the columns that the database has."""
        model = self._models.get(write.row.model)
        if model is not None:
            row, steps = rewritten(model, write.row), model.new_steps()
            again = (write.entropy, write.done, model.steps_told, model.lineage)
            self._writer.put_again(Write(row, steps, *again))
        elif not write.done.done():
            write.done.set_exception(UnknownModelError(write.row.model))

    def _relist(self, found: following.Relisted) -> None:
        """The catalogue of a model is not what this server thought."""
        model = self._models.get(found.model)
        if model is not None:
            items = {each.item: json.loads(each.features) for each in found.items}
            model.catalogue.replace(found.version, items)

    def items(self, name: str, *, limit: int, after: str | None = None) -> ItemsAnswer:
        """A page of the catalogue."""
        return self.of(name).catalogue.page(limit, after)

    def catalogue_version(self, name: str) -> int:
        """Of the catalogue as it is now."""
        return self.of(name).catalogue.version

    def item(self, name: str, item: str) -> Record:
        """The features of one item."""
        found = self.of(name).catalogue.items.get(item)
        if found is None:
            raise UnknownItemError(item)
        return found


def _putting(model: str, planned: int, rows: Sequence[ItemRow]) -> Callable[[Store], int]:
    def put(store: Store) -> int:
        version = _version(store, model, planned)
        store.put_items(model, version, rows)
        return version

    return put


def _version(store: Store, model: str, planned: int) -> int:
    """A version of a catalogue that other servers see to be new."""
    return max(planned, store.catalogue_version(model) + 1) if store.session.shared else planned
