"""The candidates that a request means: as rows, what they are worth, and as they are written down.

What is found is remembered for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Raw

from fabcost.bandit.prospects import positions
from fabcost.features.folding import FoldedRows
from fabcost.features.items import EncodedItems
from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.service.models.catalogue import Catalogue, Memory, MemoryKey, Selected
from fabcost.service.store.rows import DecisionRecord, Impression, NewRecord
from fabcost.sparse import SparseRows
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import LARGEST_AMOUNT, DecisionRequest, Record, Scalar
from fabcost.wire.settings import ModelSettings

_Given = Mapping[str, float] | None
_encoder = msgspec.json.Encoder()


class CandidateAmounts(NamedTuple):
    """One value and one cost for each candidate, in their order.

    Examples
    --------
    >>> CandidateAmounts(np.array([2.0, 1.0]), np.array([0.5, 0.0])).at(0)
    (2.0, 0.5)
    """

    values: FloatArray
    costs: FloatArray

    def at(self, place: int) -> tuple[float, float]:
        """Those of one candidate."""
        return self.values.item(place), self.costs.item(place)

    @property
    def plain(self) -> bool:
        """Whether they change nothing: every click counts one, and nothing costs."""
        return bool((self.values == 1.0).all() and not self.costs.any())


def amounts_of(
    request: DecisionRequest, catalogue: Catalogue, settings: ModelSettings
) -> CandidateAmounts | None:
    """Those of the candidates that a request means; None if they are as without any.

    A request's own numbers come before the items' features; an item that has neither has the
    value 1 and the cost 0.
    """
    try:
        found = _by_features(request, catalogue, settings)
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
    if request.values or request.costs:
        names = {name: place for place, name in enumerate(_names(request, catalogue))}
        values = _replaced(found.values, names, request.values, "values")
        found = CandidateAmounts(values, _replaced(found.costs, names, request.costs, "costs"))
    return None if found.plain else found


def check_amounts(items: Mapping[str, Record], settings: ModelSettings) -> None:
    """A ValueError that names an item whose value or cost is no number that can be one."""
    _read(items.items(), settings)


def _by_features(
    request: DecisionRequest, catalogue: Catalogue, settings: ModelSettings
) -> CandidateAmounts:
    if request.candidates is not None:
        return _read(request.candidates.items(), settings)
    known = catalogue.items
    if request.items is not None:
        return _read(((name, known.get(name, {})) for name in request.items), settings)
    selected, memory = catalogue.selected(request.filter), catalogue.memory
    key = (catalogue.owner, selected.number, settings.value_feature, settings.cost_feature)
    found: CandidateAmounts | None = memory.get(key)
    if found is None:
        found = _read(((str(name), known[str(name)]) for name in selected.items.names), settings)
        memory.put(key, found, found.values.nbytes + found.costs.nbytes)
    return found


def _names(request: DecisionRequest, catalogue: Catalogue) -> Iterable[Any]:
    if request.candidates is not None:
        return request.candidates
    return request.items or catalogue.selected(request.filter).items.names


def _read(items: Iterable[tuple[str, Record]], settings: ModelSettings) -> CandidateAmounts:
    value, cost = settings.value_feature, settings.cost_feature
    rows = [
        (
            _number(item, value, features, 1.0, least=0.0),
            _number(item, cost, features, 0.0, least=-LARGEST_AMOUNT),
        )
        for item, features in items
    ]
    values, costs = np.array(rows, dtype=np.float64).reshape(-1, 2).T.copy()
    return CandidateAmounts(values, costs)


def _number(
    item: str, name: str | None, features: Record, otherwise: float, *, least: float
) -> float:
    given: Scalar = None if name is None else features.get(name)
    if given is None:
        return otherwise
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not least <= float(given) <= LARGEST_AMOUNT:
        raise ValueError(
            f"item {item!r} has {name!r} = {given!r}, which the model takes for its value or cost "
            f"but must be a number from {least:g} to {LARGEST_AMOUNT:g}"
        )
    return float(given)


def _replaced(
    amounts: FloatArray, names: Mapping[str, int], given: _Given, what: str
) -> FloatArray:
    if not given:
        return amounts
    found = amounts.copy()
    for name, amount in given.items():
        if name not in names:
            raise InvalidRequestError(f"{what} has {name!r}, which is not among the candidates")
        found[names[name]] = amount
    return found


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
    rows: FoldedRows | SparseRows
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
        row = encoded(Impression(*[each.tolist() for each in self.rows.numbers(place)]))
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
        excluded = positions(read.names, request.exclude)
        self.schema.grow_to(reader)
        rows = self.schema.drawn(terms, self.schema.place_items(reader, read))
        context, names = _raw(request.context), _raw(read.names)
        return Scene(read.names, rows, context, names, self.catalogue.memory), excluded

    def _of_catalogue(self, request: DecisionRequest) -> tuple[Scene, list[int]]:
        # The catalogue before the reader: encoding it may grow the schema.
        if request.items is not None:
            items = self.catalogue.named(request.items)
            excluded = positions(request.items, request.exclude)
            return self._read(request.context, items, _raw(items.names)), excluded
        selected = self.catalogue.selected(request.filter)
        excluded = positions(selected.items.names, request.exclude)
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


def encoded(value: DecisionRecord | NewRecord | Impression) -> str:
    """As JSON."""
    if isinstance(value, Impression) and value.steps is None:
        return _encoder.encode((value.columns, value.numbers)).decode()
    return _encoder.encode(value).decode()


def at_step(features: str, steps: int | None, *, alike: bool = False) -> str:
    """An impression without steps, as `encoded` wrote it, with them.

    Examples
    --------
    >>> at_step("[[0],[1.0]]", 3), at_step("[[0],[1.0]]", None, alike=True)
    ('[[0],[1.0],3]', '[[0],[1.0],null,true]')
    """
    if alike:
        return f"{features[:-1]},{'null' if steps is None else steps},true]"
    return features if steps is None else f"{features[:-1]},{steps}]"
