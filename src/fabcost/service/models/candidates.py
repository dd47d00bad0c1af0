"""Candidates in a context, as rows; those of the catalogue are remembered for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from fabcost.features.feature import Term
from fabcost.features.folding import FoldedRows
from fabcost.features.items import EncodedItems
from fabcost.features.reader import Reader, ReadItems
from fabcost.features.schema import Schema
from fabcost.service.models.catalogue import Catalogue, Selected
from fabcost.service.models.memory import Key, Memory
from fabcost.service.store.record import Impression, encoded
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import DecisionRequest, Record

_encoder = msgspec.json.Encoder()


class WrittenItem(NamedTuple):
    """What is kept of a chosen item, as JSON: its row, and its features in a catalogue."""

    row: str
    features: Raw | None


class Scene(NamedTuple):
    """Candidates in a context: ids and rows, and both sides as JSON.

    ``items`` are the features of a catalogue; with a ``key``, what is written down of a candidate
    is remembered; ``listed`` stands for ``candidates`` that are not named.
    """

    names: tuple[str, ...]
    rows: FoldedRows
    context: Raw
    candidates: Raw
    items: Mapping[str, Record] | None
    key: Key | None
    memory: Memory
    listed: str | None = None

    def at(self, place: int) -> WrittenItem:
        """The candidate at a place, as it is written down."""
        if self.key is None:
            return self._written(place)
        key = (*self.key, place)
        found: WrittenItem | None = self.memory.get(key)
        if found is None:
            found = self._written(place)
            size = len(found.row) + (0 if found.features is None else len(found.features))
            self.memory.put(key, found, size)
        return found

    def _written(self, place: int) -> WrittenItem:
        row = encoded(Impression.of(self.rows.row(place)))
        return WrittenItem(row, None if self.items is None else _raw(self.items[self.names[place]]))

    @property
    def size(self) -> int:
        """Bytes of its own, without the candidates."""
        return self.rows.own_bytes + len(self.context)


class Scenes:
    """Reads requests by a schema, which may grow, and a catalogue."""

    def __init__(self, schema: Schema, catalogue: Catalogue) -> None:
        self._schema = schema
        self._catalogue = catalogue

    def of(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        """The scene of a request, and the places that are excluded; errors change nothing."""
        given = (request.candidates, request.items, request.filter)
        if sum(each is not None for each in given) > 1:
            raise InvalidRequestError("give only one of candidates, items and filter")
        try:
            if request.candidates is not None:
                return self._inline(request)
            return self._of_catalogue(request)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error

    def _inline(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        reader = self._schema.reader()
        terms = reader.read(request.context, "context")
        read = ReadItems.by(reader, request.candidates or {})
        excluded = _excluded(read.names, request.exclude)
        self._schema.grow_to(reader)
        items = self._schema.place_items(reader, read)
        names, context = _raw(items.names), _raw(request.context)
        return self._scene(terms, items, names, context, None, None), excluded

    def _of_catalogue(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        # The catalogue before the reader: encoding it may grow the schema.
        if request.items is not None:
            items = self._catalogue.named(request.items)
            excluded = _excluded(items.names, request.exclude)  # type: ignore[arg-type]
            context = _raw(request.context)
            return self._read(request, items, _raw(items.names), context, None), excluded
        selected = self._catalogue.selected(request.filter)
        excluded = _excluded(selected.items.names, request.exclude)  # type: ignore[arg-type]
        return self._remembered(request, selected), excluded

    def _remembered(self, request: DecisionRequest, selected: Selected) -> Scene:
        context, memory = _encoder.encode(request.context), self._catalogue.memory
        key = self._key(selected, context)
        scene: Scene | None = memory.get(key)
        if scene is None:
            scene = self._read(request, selected.items, selected.names, Raw(context), key)
            # Reading it may have grown the schema.
            key = self._key(selected, context)
            scene = scene._replace(key=key, listed=selected.listed)
            memory.put(key, scene, scene.size)
        # Asked for last, the candidates stay longer than the scenes that hold them.
        if selected.key is not None and memory.get(selected.key) is None:
            memory.drop(key)
        return scene

    def _key(self, selected: Selected, context: bytes) -> Key:
        return (self._catalogue.owner, selected.number, self._schema.width, context)

    def _read(
        self,
        request: DecisionRequest,
        items: EncodedItems,
        names: Raw,
        context: Raw,
        key: Key | None,
    ) -> Scene:
        reader: Reader = self._schema.reader()
        terms = reader.read(request.context, "context")
        self._schema.grow_to(reader)
        return self._scene(terms, items, names, context, self._catalogue.items, key)

    def _scene(
        self,
        terms: list[Term],
        items: EncodedItems,
        names: Raw,
        context: Raw,
        features: Mapping[str, Record] | None,
        key: Key | None,
    ) -> Scene:
        ids: tuple[str, ...] = items.names  # type: ignore[assignment]
        rows = self._schema.drawn(terms, items)
        return Scene(ids, rows, context, names, features, key, self._catalogue.memory)


def _raw(value: Any) -> Raw:
    return Raw(_encoder.encode(value))


def _excluded(names: tuple[str, ...], exclude: Sequence[str]) -> list[int]:
    if not exclude:
        return []
    unwanted = set(exclude)
    positions = [index for index, name in enumerate(names) if name in unwanted]
    if len(positions) == len(names):
        raise InvalidRequestError(f"all {len(names)} candidates are excluded but one must be left")
    return positions
