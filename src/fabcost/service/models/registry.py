"""Models, their catalogues and their API keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from fabcost.service.core import Core
from fabcost.service.models import views
from fabcost.service.models.model import Model
from fabcost.service.store.protocol import Store
from fabcost.service.store.rows import ItemRow, KeyRow
from fabcost.service.writer.journal import Deleted, Relisted
from fabcost.wire.errors import InvalidRequestError, UnknownItemError
from fabcost.wire.messages import ItemsAnswer, ModelAnswer, Record
from fabcost.wire.settings import ModelSettings, changed

#: Items that one transaction writes.
ITEMS_AT_ONCE = 1000


class Keyring(Core):
    """API keys."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._untold: set[str] = set()

    async def keys(self) -> list[KeyRow]:
        """All API keys, once those that nobody was told are revoked."""
        for key_id in list(self._untold):
            await self.revoke_key(key_id)
            self._untold.discard(key_id)
        return await self._read(lambda store: store.keys())

    async def insert_key(self, row: KeyRow) -> None:
        """A new API key."""
        await self._read(lambda store: store.insert_key(row))

    def take_back_key(self, key_id: str) -> None:
        """Revoke a key when the database can: whoever asked for it was not told its text."""
        self._untold.add(key_id)

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke an API key; whether it was in force."""
        now = self.clock.now()
        return await self._read(lambda store: store.revoke_key(key_id, now))


class Managing(Keyring):
    """Models and catalogues: made, changed and deleted."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._writer.relist = self._relist

    def models(self) -> list[ModelAnswer]:
        """All models, by name."""
        return [views.model(each) for _, each in sorted(self._models.items())]

    def model(self, name: str) -> ModelAnswer:
        """One model."""
        return views.model(self._model(name))

    async def create_model(self, name: str, settings: ModelSettings) -> ModelAnswer:
        """A new model, with nothing learnt yet."""
        return await self._create(name, settings, None)

    async def change_model(self, name: str, changes: dict[str, Any]) -> ModelAnswer:
        """Other settings for the decisions to come; those of rewards also for open ones."""
        model, edited = self._model(name), self.clock.now()

        def write(store: Store) -> ModelSettings:
            # What another request changed a moment ago must stay changed.
            settings = _changed(self._writer.ledger.keepers[name].settings, changes)
            store.update_model(name, msgspec.json.encode(settings).decode(), edited)
            return settings

        def keep(settings: ModelSettings) -> None:
            self._writer.ledger.keepers[name].settings = settings

        await self._call_about(name, write, keep, lambda settings: model.change(settings, edited))
        return views.model(model)

    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log, and revoke its API keys.

        If that is much, it is gone for callers at once, and its rows one piece after another.
        """
        if name not in self._writer.ledger.unreadable:
            self._model(name)
        now = self.clock.now()

        ledger = self._writer.ledger

        def write(store: Store) -> Deleted:
            store.revoke_keys_of(name, now)
            return ledger.delete(name)

        # Also where the writer knows it no more: it was deleted, but nobody heard of that.
        await self._call(write, ledger.deleted, lambda _: self._forget(name))

    async def put_items(self, name: str, items: dict[str, Record]) -> int:
        """Add items or replace their features; the new version of the catalogue."""
        model = self._model(name)
        model.check_items(items)
        rows = [ItemRow(item, msgspec.json.encode(each).decode()) for item, each in items.items()]
        first = max(len(rows) - 1, 0) // ITEMS_AT_ONCE * ITEMS_AT_ONCE

        async def put() -> int:
            version = model.catalogue.next_version()
            show = partial(model.catalogue.put, version, items)
            try:
                # Others are served between the pieces; the loop sees all of them at the end.
                for start in range(0, first, ITEMS_AT_ONCE):
                    piece = rows[start : start + ITEMS_AT_ONCE]
                    await self._call_about(name, partial(_put, name, version, piece))
                last = partial(_put, name, version, rows[first:])
                await self._change_items(name, version, last, show)
            except ValueError:
                await self._look_again(name, version)
                raise
            return version

        return await self._in_turn(model, put, in_pieces=first > 0)

    async def delete_items(self, name: str, ids: Sequence[str]) -> int:
        """Take items out; the new version of the catalogue."""
        model = self._model(name)
        for item in ids:
            if item not in model.catalogue.items:
                raise UnknownItemError(item)

        async def delete() -> int:
            version = model.catalogue.next_version()
            await self._change_items(
                name,
                version,
                lambda store: store.delete_items(name, version, ids),
                lambda: model.catalogue.remove(version, ids),
            )
            return version

        return await self._in_turn(model, delete, in_pieces=False)

    async def _change_items(
        self,
        name: str,
        version: int,
        function: Callable[[Store], None],
        show: Callable[[], object],
    ) -> None:
        def keep(_: None) -> None:
            self._writer.ledger.keepers[name].catalogue = version

        await self._call_about(name, function, keep, lambda _: show())

    async def _look_again(self, name: str, version: int) -> None:
        """Show the items that the database has: it took some pieces and refused another."""
        found: list[Relisted] = []

        def look(store: Store) -> None:
            found.append(Relisted(name, version, store.items(name)))
            store.put_items(name, version, [])

        await self._change_items(name, version, look, lambda: self._relist(found[0]))

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

    def _relist(self, found: Relisted) -> None:
        """The catalogue of a model is not what this server thought."""
        model = self._models.get(found.model)
        if model is not None:
            items = {each.item: json.loads(each.features) for each in found.items}
            model.catalogue.replace(found.version, items)

    def _forget(self, name: str) -> None:
        """A model is deleted."""
        model = self._models.pop(name, None)
        if model is not None:
            model.forget()

    def items(self, name: str, *, limit: int, after: str | None = None) -> ItemsAnswer:
        """A page of the catalogue."""
        return views.items(self._model(name).catalogue, limit, after)

    def catalogue_version(self, name: str) -> int:
        """Of the catalogue as it is now."""
        return self._model(name).catalogue.version

    def item(self, name: str, item: str) -> Record:
        """The features of one item."""
        found = self._model(name).catalogue.items.get(item)
        if found is None:
            raise UnknownItemError(item)
        return found


def _put(model: str, version: int, rows: Sequence[ItemRow], store: Store) -> None:
    store.put_items(model, version, rows)


def _changed(settings: ModelSettings, changes: dict[str, Any]) -> ModelSettings:
    try:
        return changed(settings, changes)
    except (ValueError, msgspec.ValidationError) as error:
        raise InvalidRequestError(str(error)) from error
