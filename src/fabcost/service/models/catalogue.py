"""The items of a model, encoded once; what filters select is remembered for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from fabcost.features.items import EncodedItems
from fabcost.features.schema import Schema
from fabcost.service.settings import CACHE_BYTES
from fabcost.service.store.rows import listing
from fabcost.wire.errors import InvalidRequestError, UnknownItemError
from fabcost.wire.messages import Between, Filter, ItemsAnswer, Record, Scalar

#: The owner of what is remembered, and what tells it from the owner's others.
MemoryKey = tuple[Any, ...]

#: Of what is remembered, beside the value: its key, its place, and what holds it.
_ENTRY_BYTES = 500
_BYTES_OF_A_PLACE = 8

_owners = count(1)
_encoder = msgspec.json.Encoder()


class Memory:
    """Values by key, ``most`` bytes of them; those not asked for the longest are dropped first."""

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self.most = most
        self.held = 0
        self._entries: dict[MemoryKey, tuple[Any, int]] = {}

    def get(self, key: MemoryKey) -> Any:
        """The value, or None if it is not known, or no longer."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._entries[key] = entry
        return entry[0]

    def put(self, key: MemoryKey, value: Any, size: int) -> None:
        """Remember a value of so many bytes, unless it is larger than all that may be."""
        self.drop(key)
        size += _ENTRY_BYTES
        while self._entries and self.held + size > self.most:
            self.drop(next(iter(self._entries)))
        if size <= self.most:
            self._entries[key] = (value, size)
            self.held += size

    def drop(self, key: MemoryKey) -> None:
        """Forget a value, if it is known."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.held -= entry[1]

    def forget(self, owner: int) -> None:
        """All values of an owner."""
        for key in [key for key in self._entries if key[0] == owner]:
            self.drop(key)


class Selected(NamedTuple):
    """Items to choose from, their ids as JSON, a number of their own, and where they are kept.

    ``listed`` stands for the ids if they are many: naming each in every record of a decision would
    be much.  Those of the whole catalogue stay as long as it does, and have no key.
    """

    items: EncodedItems
    names: Raw
    listed: str | None
    number: int
    key: MemoryKey | None

    @property
    def size(self) -> int:
        """Bytes; ids are those of the catalogue."""
        written = len(self.names) + len(self.listed or "")
        return self.items.parts.nbytes + _BYTES_OF_A_PLACE * len(self.items) + written


class Catalogue:
    """Items by id, in the order of their first coming.

    Its ``memory`` is shared by all models of a server, and has what filters select.
    """

    def __init__(self, schema: Schema, version: int, items: Mapping[str, Record]) -> None:
        self._schema = schema
        self.version = version
        self._newest = version
        self.items: dict[str, Record] = dict(items)
        self._encoded: EncodedItems | None = None
        self._unread: dict[str, Record] = dict(items)
        self.memory = Memory()
        self.owner = next(_owners)
        self._numbers = count()
        self._everything: Selected | None = None
        self._ids: list[str] | None = None
        self._places: dict[str, int] = {}
        #: Changes are written one after another: a large one takes several transactions.
        self.turn = asyncio.Lock()

    def __len__(self) -> int:
        return len(self.items)

    def next_version(self) -> int:
        """For a change that will be written before it is made here."""
        self._newest += 1
        return self._newest

    def put(self, version: int, items: Mapping[str, Record]) -> None:
        """Add or replace items; they have been checked."""
        self.items.update(items)
        self._unread.update(items)
        self._changed(version)

    def remove(self, version: int, ids: Sequence[str]) -> None:
        """Take items out; they have been checked."""
        for item in ids:
            self.items.pop(item, None)
            self._unread.pop(item, None)
        if self._encoded is not None:
            kept = [k for k, item in enumerate(self._encoded.names) if item in self.items]
            self._encoded = self._encoded.at(kept) if kept else None
        self._changed(version)

    def replace(self, version: int, items: Mapping[str, Record]) -> None:
        """Have these items and no others."""
        self.items, self._unread, self._encoded = dict(items), dict(items), None
        self._changed(version)

    def all(self) -> EncodedItems:
        """Every item."""
        if not self.items:
            raise InvalidRequestError(
                "the catalogue is empty: put items into it or give candidates with the request"
            )
        if self._unread or self._encoded is None:
            fresh = self._schema.encode_items(self._unread)
            self._encoded = fresh if self._encoded is None else self._encoded.joined(fresh)
            self._unread = {}
        return self._encoded

    def named(self, ids: Sequence[str]) -> EncodedItems:
        """The items with these ids, in their order."""
        for item in ids:
            if item not in self.items:
                raise UnknownItemError(item)
        if len(set(ids)) < len(ids):
            raise InvalidRequestError("items has an id twice but ids must be distinct")
        if not ids:
            raise InvalidRequestError("items is empty but must have an id")
        return self.all().subset(ids)

    def selected(self, wanted: Filter | None) -> Selected:
        """The items whose features are as wanted, or all; remembered until something changes."""
        if wanted is None:
            if self._everything is None:
                self._everything = self._select(self.all(), None)
            return self._everything
        key = (self.owner, msgspec.json.encode(wanted))
        found: Selected | None = self.memory.get(key)
        if found is None:
            found = self._select(self._search(wanted), key)
            self.memory.put(key, found, found.size + len(key[1]))
        return found

    def page(self, limit: int, after: str | None) -> ItemsAnswer:
        """Items in the order of their first coming: the next after one, or the first."""
        if after is not None and after not in self.items:
            raise UnknownItemError(after)
        if self._ids is None:
            self._ids = list(self.items)
            self._places = {each: place for place, each in enumerate(self._ids, start=1)}
        start = 0 if after is None else self._places[after]
        page = self._ids[start : start + limit]
        more = start + limit < len(self._ids)
        found = {each: self.items[each] for each in page}
        return ItemsAnswer(version=self.version, items=found, next=page[-1] if more else None)

    def _select(self, items: EncodedItems, key: MemoryKey | None) -> Selected:
        listed = listing(items.names, self.items)  # type: ignore[arg-type]
        names = Raw(_encoder.encode(() if listed else items.names))
        return Selected(items, names, listed, next(self._numbers), key)

    def _search(self, wanted: Filter) -> EncodedItems:
        positions = [
            position
            for position, features in enumerate(self.items.values())
            if all(_fits(features.get(name), value) for name, value in wanted.items())
        ]
        if not positions:
            raise InvalidRequestError("no item of the catalogue matches the filter")
        return self.all().at(positions)

    def _changed(self, version: int) -> None:
        self.version, self._newest = version, max(self._newest, version)
        self._everything = self._ids = None
        self.memory.forget(self.owner)


def _fits(value: Scalar, wanted: Any) -> bool:
    if isinstance(wanted, Between):
        return _is_within(value, wanted)
    if isinstance(wanted, list):
        return value in wanted
    same_kind = isinstance(value, bool) == isinstance(wanted, bool)
    return value is not None and same_kind and value == wanted


def _is_within(value: Any, between: Between) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    above = between.min is None or value >= between.min
    return above and (between.max is None or value <= between.max)
