"""Models, their catalogues and their API keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fabcost.service import looking
from fabcost.service.core import Core
from fabcost.service.errors import InvalidRequestError, UnknownItemError
from fabcost.service.messages import ItemsAnswer, ModelAnswer, Record
from fabcost.service.model_settings import ModelSettings, changed
from fabcost.service.store.protocol import Store
from fabcost.service.store.rows import ItemRow, KeyRow


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
        return looking.model(model)

    async def delete_model(self, name: str) -> None:
        """Forget a model, its catalogue and its log, and revoke its API keys."""
        if name not in self._writer.ledger.unreadable:
            self._model(name)
        now = self.clock.now()

        def write(store: Store) -> None:
            store.delete_model(name)
            store.revoke_keys_of(name, now)

        # Also where the writer knows it no more: it was deleted, but nobody heard of that.
        await self._call(
            write, lambda _: self._writer.ledger.forget(name), lambda _: self._forget(name)
        )

    async def put_items(self, name: str, items: dict[str, Record]) -> int:
        """Add items or replace their features; the new version of the catalogue."""
        model = self._model(name)
        model.check_items(items)
        rows = [ItemRow(item, msgspec.json.encode(each).decode()) for item, each in items.items()]
        version = model.catalogue.next_version()
        await self._call_about(
            name,
            lambda store: store.put_items(name, version, rows),
            show=lambda _: model.catalogue.put(version, items),
        )
        return version

    async def delete_items(self, name: str, ids: Sequence[str]) -> int:
        """Take items out; the new version of the catalogue."""
        model = self._model(name)
        for item in ids:
            if item not in model.catalogue.items:
                raise UnknownItemError(item)
        version = model.catalogue.next_version()
        await self._call_about(
            name,
            lambda store: store.delete_items(name, version, ids),
            show=lambda _: model.catalogue.remove(version, ids),
        )
        return version

    def _forget(self, name: str) -> None:
        """A model is deleted."""
        model = self._models.pop(name, None)
        if model is not None:
            model.forget()

    def items(self, name: str, *, limit: int, after: str | None = None) -> ItemsAnswer:
        """A page of the catalogue."""
        return looking.items(self._model(name).catalogue, limit, after)

    def catalogue_version(self, name: str) -> int:
        """Of the catalogue as it is now."""
        return self._model(name).catalogue.version

    def item(self, name: str, item: str) -> Record:
        """The features of one item."""
        found = self._model(name).catalogue.items.get(item)
        if found is None:
            raise UnknownItemError(item)
        return found


def _changed(settings: ModelSettings, changes: dict[str, Any]) -> ModelSettings:
    try:
        return changed(settings, changes)
    except (ValueError, msgspec.ValidationError) as error:
        raise InvalidRequestError(str(error)) from error
