"""Candidates in a context, as rows; those of the catalogue are remembered for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from fabcost.features.folded import FoldedRows
from fabcost.features.items import EncodedItems
from fabcost.features.kinds import Term
from fabcost.features.reader import Reader, ReadItems
from fabcost.features.schema import Schema
from fabcost.service.catalogue import Catalogue
from fabcost.service.errors import InvalidRequestError
from fabcost.service.listing import listing
from fabcost.service.messages import DecisionRequest, Record
from fabcost.service.records import Impression, encoded

#: Contexts whose rows are remembered.
REMEMBERED = 1024

_encoder = msgspec.json.Encoder()


class Chosen(NamedTuple):
    """What is written down of a chosen item, as JSON: its row, and its features in a catalogue."""

    row: str
    features: Raw | None


class Scene(NamedTuple):
    """Candidates in a context: ids and rows, and both sides as JSON.

    ``items`` are the features of a catalogue, ``chosen`` what was written down before, ``listed``
    stands for ``candidates`` that are not named.
    """

    names: tuple[str, ...]
    rows: FoldedRows
    context: Raw
    candidates: Raw
    items: Mapping[str, Record] | None
    chosen: dict[int, Chosen]
    listed: str | None

    def at(self, place: int) -> Chosen:
        """The candidate at a place, as it is written down."""
        found = self.chosen.get(place)
        if found is None:
            row = encoded(Impression.of(self.rows.row(place)))
            features = None if self.items is None else _raw(self.items[self.names[place]])
            found = self.chosen[place] = Chosen(row, features)
        return found


class Scenes:
    """Reads requests by a schema, which may grow.

    Parameters
    ----------
    schema
        Of the model.
    catalogue
        Its items.
    """

    def __init__(self, schema: Schema, catalogue: Catalogue) -> None:
        self._schema = schema
        self._catalogue = catalogue
        self._remembered: dict[tuple[EncodedItems, int, bytes], Scene] = {}
        self._version = catalogue.version
        self._names: tuple[EncodedItems | None, Raw, str | None] = (None, Raw(), None)

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
        return self._drawn(terms, items, _raw(request.context), None), excluded

    def _of_catalogue(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        # The catalogue before the reader: encoding it may grow the schema.
        items = self._chosen_items(request)
        excluded = _excluded(items.names, request.exclude)  # type: ignore[arg-type]
        context = _encoder.encode(request.context)
        if request.items is not None:
            return self._read(request, items, Raw(context)), excluded
        if self._version != self._catalogue.version:
            self._version = self._catalogue.version
            self._remembered.clear()
        scene = self._remembered.get((items, self._schema.width, context))
        if scene is None:
            scene = self._read(request, items, Raw(context))
            self._remember((items, self._schema.width, context), scene)
        return scene, excluded

    def _read(self, request: DecisionRequest, items: EncodedItems, context: Raw) -> Scene:
        reader: Reader = self._schema.reader()
        terms = reader.read(request.context, "context")
        self._schema.grow_to(reader)
        in_order = request.items is None
        return self._drawn(terms, items, context, self._catalogue.items, in_order=in_order)

    def _drawn(
        self,
        terms: list[Term],
        items: EncodedItems,
        context: Raw,
        features: Mapping[str, Record] | None,
        *,
        in_order: bool = False,
    ) -> Scene:
        names: tuple[str, ...] = items.names  # type: ignore[assignment]
        if self._names[0] is not items:
            listed = listing(names, features) if features is not None and in_order else None
            self._names = (items, _raw(() if listed else names), listed)
        rows = self._schema.drawn(terms, items)
        return Scene(names, rows, context, self._names[1], features, {}, self._names[2])

    def _remember(self, key: tuple[EncodedItems, int, bytes], scene: Scene) -> None:
        if len(self._remembered) >= REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[key] = scene

    def _chosen_items(self, request: DecisionRequest) -> EncodedItems:
        if request.items is not None:
            return self._catalogue.named(request.items)
        if request.filter is not None:
            return self._catalogue.matching(request.filter)
        return self._catalogue.all()


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
