"""Candidates in a context, as rows; those of the catalogue are remembered for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from fabcost.features.folding import FoldedRows
from fabcost.features.items import EncodedItems
from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.service.models.catalogue import Catalogue, Memory, MemoryKey, Selected
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
    memory: Memory
    items: Mapping[str, Record] | None = None
    key: MemoryKey | None = None
    listed: str | None = None

    def at(self, place: int) -> WrittenItem:
        """The candidate at a place, as it is written down."""
        if self.key is None:
            return self._written(place)
        key = (*self.key, place)
        found: WrittenItem | None = self.memory.get(key)
        if found is None:
            found = self._written(place)
            self.memory.put(key, found, len(found.row) + len(found.features or b""))
        return found

    def _written(self, place: int) -> WrittenItem:
        row = encoded(Impression.of(self.rows.row(place)))
        return WrittenItem(row, None if self.items is None else _raw(self.items[self.names[place]]))


@dataclass(frozen=True, eq=False)
class Scenes:
    """Reads requests by a schema, which may grow, and a catalogue."""

    schema: Schema
    catalogue: Catalogue

    def of(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        """The scene of a request, and the places that are excluded; errors change nothing."""
        given = (request.candidates, request.items, request.filter)
        if sum(each is not None for each in given) > 1:
            raise InvalidRequestError("give only one of candidates, items and filter")
        try:
            if request.candidates is not None:
                return self._inline(request, request.candidates)
            return self._of_catalogue(request)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error

    def _inline(
        self, request: DecisionRequest, candidates: Mapping[str, Record]
    ) -> tuple[Scene, list[int]]:
        reader = self.schema.reader()
        terms = reader.read(request.context, "context")
        read = ReadItems.by(reader, candidates)
        excluded = _excluded(read.names, request.exclude)
        self.schema.grow_to(reader)
        rows = self.schema.drawn(terms, self.schema.place_items(reader, read))
        context, names = _raw(request.context), _raw(read.names)
        return Scene(read.names, rows, context, names, self.catalogue.memory), excluded

    def _of_catalogue(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        # The catalogue before the reader: encoding it may grow the schema.
        if request.items is not None:
            items = self.catalogue.named(request.items)
            excluded = _excluded(request.items, request.exclude)
            return self._read(request.context, items, _raw(items.names)), excluded
        selected = self.catalogue.selected(request.filter)
        excluded = _excluded(selected.items.names, request.exclude)  # type: ignore[arg-type]
        return self._remembered(request.context, selected), excluded

    def _remembered(self, context: Record, selected: Selected) -> Scene:
        written, memory = _encoder.encode(context), self.catalogue.memory
        key = self._key(selected, written)
        scene: Scene | None = memory.get(key)
        if scene is None:
            scene = self._read(context, selected.items, selected.names)
            # Reading it may have grown the schema.
            key = self._key(selected, written)
            scene = scene._replace(key=key, listed=selected.listed)
            memory.put(key, scene, scene.rows.own_bytes + len(written))
        # Asked for last, the candidates stay longer than the scenes that hold them.
        if selected.key is not None and memory.get(selected.key) is None:
            memory.drop(key)
        return scene

    def _key(self, selected: Selected, context: bytes) -> MemoryKey:
        return (self.catalogue.owner, selected.number, self.schema.width, context)

    def _read(self, context: Record, items: EncodedItems, names: Raw) -> Scene:
        rows, catalogue = self.schema.folded(context, items), self.catalogue
        ids: tuple[str, ...] = items.names  # type: ignore[assignment]
        return Scene(ids, rows, _raw(context), names, catalogue.memory, catalogue.items)


def _raw(value: Any) -> Raw:
    return Raw(_encoder.encode(value))


def _excluded(names: Sequence[str], exclude: Sequence[str]) -> list[int]:
    if not exclude:
        return []
    unwanted = set(exclude)
    positions = [index for index, name in enumerate(names) if name in unwanted]
    if len(positions) == len(names):
        raise InvalidRequestError(f"all {len(names)} candidates are excluded but one must be left")
    return positions
