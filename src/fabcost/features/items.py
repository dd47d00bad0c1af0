"""Items encoded once, for all contexts, and terms of many records written into rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.features.kinds import NOTHING, Term
from fabcost.features.layout import Layout, Places
from fabcost.impressions import FloatArray
from fabcost.sparse import SparseRows

#: Rows written at a time: few enough to stay in a processor's cache.
_STRIP = 2048


class Placed(NamedTuple):
    """Slots and numbers of one feature, one of each for every record.

    Examples
    --------
    >>> Placed(np.array([0, 1]), np.array([1.0, 1.0])).slots
    array([0, 1])
    """

    slots: Places
    numbers: FloatArray

    @classmethod
    def known(cls, slots: Places, numbers: FloatArray) -> Placed:
        """With the number 0 wherever there is no slot."""
        nowhere = slots < 0
        return cls(slots, np.where(nowhere, 0.0, numbers) if nowhere.any() else numbers)


def assemble(layout: Layout, placed: Mapping[str, Placed], count: int) -> FloatArray:
    """Rows of ``count`` records: bias, features, and the crosses between those in ``placed``.

    Examples
    --------
    >>> from fabcost.features.kinds import Numeric
    >>> layout = Layout()
    >>> block = layout.add(Numeric("age"))
    >>> assemble(layout, {"age": Placed(np.zeros(2, dtype=np.intp), np.array([3.0, 4.0]))}, 2)
    array([[3.],
           [4.]])
    """
    rows = np.zeros((count, len(layout.columns)))
    write(rows, layout, placed, np.arange(len(layout.columns)), ones=layout.bias)
    return rows


def assemble_sparse(layout: Layout, placed: Mapping[str, Placed], count: int) -> SparseRows:
    """`assemble` without the zeros: time and memory are those of the features, not of the columns.

    Examples
    --------
    >>> from fabcost.features.kinds import Text
    >>> layout = Layout(bias=True)
    >>> makes = [layout.slot(layout.add(Text("make")), f"make={name}") for name in ("kia",)]
    >>> placed = {"make": Placed(np.array([0, -1]), np.array([1.0, 0.0]))}
    >>> assemble_sparse(layout, placed, 2).dense()
    array([[1., 1.],
           [1., 0.]])
    """
    found = [(np.zeros(count, dtype=np.intp), np.ones(count))] if layout.bias else []
    for name, (slots, numbers) in placed.items():
        found.append((_columns_at(layout.blocks[name].where, slots), numbers))
    for cross in layout.crosses:
        a, b = placed.get(cross.first.feature.name), placed.get(cross.second.feature.name)
        if a and b:
            found.append((_columns_at(cross.where, a.slots, b.slots), a.numbers * b.numbers))
    columns = np.array([where for where, _ in found], dtype=np.int64).reshape(-1, count).T
    values = np.array([numbers for _, numbers in found]).reshape(-1, count).T
    order = np.argsort(columns, axis=1)
    columns, values = (np.take_along_axis(each, order, axis=1) for each in (columns, values))
    there = values != 0.0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return SparseRows(starts, columns[there], values[there], len(layout.columns))


def _columns_at(where: Places, *slots: Places) -> Places:
    """The columns of some slots; any for what has none, whose number is zero."""
    return where[slots] if where.size else np.zeros(slots[0].size, dtype=np.intp)


def write(
    rows: FloatArray, layout: Layout, placed: Mapping[str, Placed], homes: Places, *, ones: bool
) -> None:
    """Write into ``rows`` of zeros what belongs to column j of the layout at ``homes[j]``.

    With ``ones`` the first column becomes 1.

    Examples
    --------
    >>> from fabcost.features.kinds import Numeric
    >>> layout, rows = Layout(), np.zeros((1, 3))
    >>> block = layout.add(Numeric("age"))
    >>> age = Placed(np.array([0]), np.array([4.0]))
    >>> write(rows, layout, {"age": age}, np.array([2]), ones=True)
    >>> rows
    array([[1., 0., 4.]])
    """
    for start in range(0, len(rows), _STRIP):
        part = slice(start, start + _STRIP)
        if ones:
            rows[part, 0] = 1.0
        here = {name: Placed(each.slots[part], each.numbers[part]) for name, each in placed.items()}
        _fill(rows[part], layout, here, homes)


def _fill(rows: FloatArray, layout: Layout, placed: Mapping[str, Placed], homes: Places) -> None:
    every = np.arange(len(rows))
    for name, (slots, numbers) in placed.items():
        where = homes[layout.blocks[name].where]
        if where.size:
            rows[every, where[slots]] = numbers
    for cross in layout.crosses:
        a, b = placed.get(cross.first.feature.name), placed.get(cross.second.feature.name)
        if a and b and cross.where.size:
            rows[every, homes[cross.where[a.slots, b.slots]]] = a.numbers * b.numbers


if TYPE_CHECKING:
    from fabcost.features.schema import Schema


class EncodedItems:
    """A catalogue whose records have been read; make one with `Schema.encode_items`.

    It stays valid when the schema grows.

    Attributes
    ----------
    names : tuple
        The items' ids, in the order of the rows.
    parts : ndarray
        What the rows have of the items in any context; see `fabcost.features.folding.Folding`.

    Examples
    --------
    >>> from fabcost import Schema
    >>> schema = Schema.from_dict({"features": {"age": {"kind": "numeric"}}})
    >>> items = schema.encode_items({"ad-1": {"age": 3}, "ad-2": {"age": 5}, "ad-3": {"age": 8}})
    >>> len(items), items.names
    (3, ('ad-1', 'ad-2', 'ad-3'))
    >>> items.subset(["ad-3", "ad-1"]).parts
    array([[1., 8.],
           [1., 3.]])
    """

    def __init__(self, schema: Schema, names: Sequence[Hashable], parts: FloatArray) -> None:
        self.schema = schema
        self.names = tuple(names)
        self.parts = parts
        self.parts.setflags(write=False)

    def __len__(self) -> int:
        return len(self.names)

    def subset(self, names: Iterable[Hashable]) -> EncodedItems:
        """Some of the items, in the order given, without reading them again."""
        positions = []
        for name in names:
            if name not in self._positions:
                raise ValueError(
                    f"there is no item {name!r} among the {len(self)} that are encoded"
                )
            positions.append(self._positions[name])
        return self.at(positions)

    def at(self, positions: npt.ArrayLike) -> EncodedItems:
        """`subset` by positions among ``names``.

        Examples
        --------
        >>> from fabcost import Schema
        >>> items = Schema.open().encode_items({"ad-1": {"age": 3}, "ad-2": {"age": 5}})
        >>> items.at([1]).names
        ('ad-2',)
        """
        chosen = np.asarray(positions)
        if chosen.size == 0:
            raise ValueError("there are no items but there must be at least one")
        if chosen.dtype.kind not in "iu" or not 0 <= chosen.min() <= chosen.max() < len(self):
            raise ValueError(
                f"positions are {positions!r} but must be integers from 0 to {len(self) - 1}"
            )
        names = [self.names[position] for position in chosen.tolist()]
        return EncodedItems(self.schema, names, self.parts[chosen])

    def joined(self, other: EncodedItems) -> EncodedItems:
        """These items and the other's; an item of both is the other's, in its place here.

        Examples
        --------
        >>> from fabcost import Schema
        >>> schema = Schema.open(scaled=False)
        >>> old = schema.encode_items({"ad-1": {"age": 3}, "ad-2": {"age": 5}})
        >>> new = schema.encode_items({"ad-3": {"make": "kia"}, "ad-1": {"age": 4}})
        >>> old.joined(new).names, old.joined(new).parts.tolist()
        (('ad-1', 'ad-2', 'ad-3'), [[1.0, 4.0, 0.0], [1.0, 5.0, 0.0], [1.0, 0.0, 1.0]])
        """
        if other.schema is not self.schema:
            raise ValueError("the items were encoded by another schema but must be by this one")
        added = [name for name in other.names if name not in self._positions]
        places = {**self._positions, **{name: len(self) + k for k, name in enumerate(added)}}
        # A part that came later is zero for the items that were read before.
        shape = (len(places), max(self.parts.shape[1], other.parts.shape[1]))
        parts = np.zeros(shape)
        parts[: len(self), : self.parts.shape[1]] = self.parts
        rows = [places[name] for name in other.names]
        parts[rows] = 0.0
        parts[rows, : other.parts.shape[1]] = other.parts
        return EncodedItems(self.schema, tuple(places), parts)

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {name: position for position, name in enumerate(self.names)}


def place(
    layout: Layout, names: Iterable[str], records: Sequence[Sequence[Term]]
) -> dict[str, Placed]:
    """Slots and numbers of each feature over all records; open features grow.

    Examples
    --------
    >>> from fabcost.features.kinds import Text
    >>> layout = Layout()
    >>> block = layout.add(Text("make"))
    >>> place(layout, ["make"], [[Term("make=kia", 1.0)], [Term("make=audi", 1.0)]])["make"].slots
    array([0, 1])
    """
    placed = {}
    for name, terms in zip(names, zip_longest(*records, fillvalue=NOTHING), strict=False):
        block = layout.blocks[name]
        found = []
        for label, _ in terms:
            known = block.slots.get(label)
            found.append(layout.slot(block, label) if known is None else known)
        slots = np.array(found, dtype=np.intp)
        placed[name] = Placed.known(slots, np.array([term.number for term in terms]))
    return placed
