"""The items of a model, encoded once, and found by id or by their features.

Records of decisions among many items say which of a version of the catalogue they were: naming
each in every record would be much.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from itertools import compress, count
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Raw

from fabcost.features.items import EncodedItems
from fabcost.features.schema import Schema
from fabcost.service.models.memory import Key, Memory, new_owner
from fabcost.service.store.record import MANY, encoded, pack, record, unpack
from fabcost.service.store.rows import StoredDecision
from fabcost.service.store.store import Store
from fabcost.wire.errors import InvalidRequestError, UnknownItemError
from fabcost.wire.messages import Between, Filter, ItemsAnswer, Record, Scalar

_BYTES_OF_A_PLACE = 8
_ALL = "all"
_MARK = '"listed":'


class Selected(NamedTuple):
    """Items to choose from, their ids as JSON, a number of their own, and where they are kept.

    ``listed`` stands for the ids if they are many.  Those of the whole catalogue stay as long as
    it does, and have no key.
    """

    items: EncodedItems
    names: Raw
    listed: str | None
    number: int
    key: Key | None

    @property
    def size(self) -> int:
        """Bytes; ids are those of the catalogue."""
        written = len(self.names) + len(self.listed or "")
        return self.items.parts.nbytes + _BYTES_OF_A_PLACE * len(self.items) + written


class Catalogue:
    """Items by id, in the order of their first coming.

    Attributes
    ----------
    memory
        Remembers what filters select; a server's models share one.
    owner
        Whose entries there are those of the catalogue.

    Examples
    --------
    >>> catalogue = Catalogue(Schema.open(), 0, {})
    >>> catalogue.put(1, {"ad-1": {"make": "kia"}, "ad-2": {"make": "ford"}})
    >>> catalogue.all().names, catalogue.matching({"make": "ford"}).names
    (('ad-1', 'ad-2'), ('ad-2',))
    """

    def __init__(self, schema: Schema, version: int, items: Mapping[str, Record]) -> None:
        self._schema = schema
        self.version = version
        self._newest = version
        self.items: dict[str, Record] = dict(items)
        self._encoded: EncodedItems | None = None
        self._unread: dict[str, Record] = dict(items)
        self.memory = Memory()
        self.owner = new_owner()
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
        self._newest = max(self._newest, version)
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

    def matching(self, wanted: Filter) -> EncodedItems:
        """The items whose features are as wanted."""
        return self.selected(wanted).items

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

    def _select(self, items: EncodedItems, key: Key | None) -> Selected:
        listed = listing(items.names, self.items)  # type: ignore[arg-type]
        names = Raw(msgspec.json.encode(() if listed else items.names))
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
        self.version = version
        self._everything = self._ids = None
        self.memory.forget(self.owner)


def _fits(value: Scalar, wanted: Any) -> bool:
    if isinstance(wanted, Between):
        return _is_number(value) and _within(value, wanted)
    if isinstance(wanted, list):
        return value in wanted
    return (
        value is not None
        and isinstance(value, bool) == isinstance(wanted, bool)
        and (value == wanted)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(value: Any, between: Between) -> bool:
    return (between.min is None or value >= between.min) and (
        between.max is None or value <= between.max
    )


def listing(names: Sequence[str], catalogue: Mapping[str, object]) -> str | None:
    """Which items of a catalogue these are, as text; None if they are few.

    Examples
    --------
    >>> items = dict.fromkeys(map(str, range(1_000)))
    >>> listing(list(items), items), listing(["1", "2"], items)
    ('all', None)
    >>> even = [item for item in items if int(item) % 2 == 0]
    >>> told(listing(even, items), list(items)) == even
    True
    """
    if len(names) < MANY:
        return None
    if len(names) == len(catalogue):
        return _ALL
    among = set(names)
    bits = np.fromiter((item in among for item in catalogue), dtype=bool, count=len(catalogue))
    return pack(np.packbits(bits))


def told(listed: str, items: Sequence[str]) -> list[str]:
    """The names that `listing` was made of, from the items of the catalogue."""
    if listed == _ALL:
        return list(items)
    bits = np.unpackbits(unpack(listed, np.dtype(np.uint8)), count=len(items))
    return list(compress(items, bits.tolist()))


def in_full(store: Store, rows: Collection[StoredDecision]) -> list[StoredDecision]:
    """Decisions whose records name all candidates, as the database has them or not."""
    known: dict[tuple[str, int], list[str]] = {}
    return [_in_full(store, row, known) if _MARK in row.record else row for row in rows]


def _in_full(
    store: Store, row: StoredDecision, known: dict[tuple[str, int], list[str]]
) -> StoredDecision:
    made = record(row.record)
    if made.listed is None:
        return row
    at = (row.model, made.catalogue_version)
    if at not in known:
        known[at] = store.listed_items(*at)
    candidates = told(made.listed, known[at])
    named = msgspec.structs.replace(made, candidates=candidates, listed=None)
    return row._replace(record=encoded(named))
