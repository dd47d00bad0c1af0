"""Items encoded once, with rows for each context."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from fabcost.features.canvas import Canvas, Mark, Placed
from fabcost.features.kinds import NOTHING, Term
from fabcost.features.layout import Layout
from fabcost.impressions import FloatArray

if TYPE_CHECKING:
    from fabcost.features.schema import Schema


class EncodedItems:
    """A catalogue whose records have been read; make one with `Schema.encode_items`.

    It keeps the rows of the last context and rewrites what another context changes.  When the
    schema has grown, the rows are made anew.

    Attributes
    ----------
    names : tuple
        The items' ids, in the order of the rows.

    Examples
    --------
    >>> from fabcost import Schema
    >>> schema = Schema.from_dict({"features": {"age": {"kind": "numeric"}}})
    >>> items = schema.encode_items({"ad-1": {"age": 3}, "ad-2": {"age": 5}})
    >>> len(items), items.names
    (2, ('ad-1', 'ad-2'))
    """

    def __init__(
        self, schema: Schema, names: Sequence[Hashable], placed: Mapping[str, Placed]
    ) -> None:
        self.schema = schema
        self.names = tuple(names)
        self._placed = placed
        self._canvas: Canvas | None = None

    def __len__(self) -> int:
        return len(self.names)

    def drawn(self, layout: Layout, context: Mapping[str, Mark]) -> FloatArray:
        """One row for each item, in an array that the next call changes."""
        if self._canvas is None or self._canvas.width != len(layout.columns):
            self._canvas = Canvas(layout, self._placed, len(self.names))
        return self._canvas.draw(context)


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
        slots = np.array([layout.slot(block, term.label) for term in terms], dtype=np.intp)
        placed[name] = Placed(slots, np.array([term.number for term in terms]))
    return placed


def marked(layout: Layout, names: Iterable[str], terms: Iterable[Term]) -> dict[str, Mark]:
    """Slot and number of each feature of one record; open features grow.

    Examples
    --------
    >>> from fabcost.features.kinds import Text
    >>> layout = Layout()
    >>> block = layout.add(Text("device"))
    >>> marked(layout, ["device"], [Term("device=tv", 1.0)])
    {'device': Mark(slot=0, number=1.0)}
    """
    return {
        name: Mark(layout.slot(layout.blocks[name], term.label), term.number)
        for name, term in zip(names, terms, strict=True)
    }
