"""The rows of a catalogue, redrawn in place for each context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fabcost.features.layout import Cross, Layout, Places
from fabcost.impressions import FloatArray

#: Rows written at a time: few enough to stay in a processor's cache.
_STRIP = 2048


class Placed(NamedTuple):
    """Slots and numbers of one feature, one of each for every record."""

    slots: Places
    numbers: FloatArray


class Mark(NamedTuple):
    """Slot and number of one feature of the context, which all rows share."""

    slot: int
    number: float


class Drawn(NamedTuple):
    """What a feature or a cross last wrote: for which mark, and where in the flat matrix."""

    mark: Mark
    place: Places | slice


class Canvas:
    """Rows of which only what depends on the context is written, and only if it has changed.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean
    >>> layout = Layout(bias=True)
    >>> block = layout.add(Boolean("mobile", role="context"))
    >>> canvas = Canvas(layout, {}, 2)
    >>> canvas.draw({"mobile": Mark(0, 1.0)})
    array([[1., 1.],
           [1., 1.]])
    """

    def __init__(self, layout: Layout, items: Mapping[str, Placed], count: int) -> None:
        self.width = len(layout.columns)
        self.rows = assemble(layout, items, count)
        self._layout = layout
        self._items = items
        self._flat = self.rows.reshape(-1)
        self._starts = np.asarray(np.arange(count) * self.width, dtype=np.intp)
        self._drawn: dict[str | int, Drawn] = {}

    def draw(self, context: Mapping[str, Mark]) -> FloatArray:
        """The rows in this context: the same array each time."""
        for name, mark in context.items():
            self._put(name, mark, self._layout.blocks[name].where, None)
        for index, cross in enumerate(self._layout.crosses):
            self._put_cross(index, cross, context)
        return self.rows

    def _put_cross(self, index: int, cross: Cross, context: Mapping[str, Mark]) -> None:
        first, second = cross.first.feature.name, cross.second.feature.name
        if first in context and second in context:
            a, b = context[first], context[second]
            if a.slot >= 0 and b.slot >= 0:
                flat_slot = a.slot * cross.where.shape[1] + b.slot
                self._put(index, Mark(flat_slot, a.number * b.number), cross.where.ravel(), None)
            else:
                self._put(index, Mark(-1, 0.0), cross.where.ravel(), None)
        elif first in context:
            self._put(index, context[first], cross.where, self._items.get(second))
        elif second in context:
            self._put(index, context[second], cross.where.T, self._items.get(first))

    def _put(self, key: str | int, mark: Mark, where: Places, item: Placed | None) -> None:
        """Write one feature (``where`` by slot), or a cross with one of the items (by both)."""
        last = self._drawn.get(key)
        if not where.size or (where.ndim == 2 and item is None) or (last and last.mark == mark):
            return
        if last and last.mark.slot == mark.slot:
            place = last.place
        else:
            if last:
                self._flat[last.place] = 0.0
            place = self._place(where[mark.slot], item)
        self._flat[place] = mark.number if item is None else mark.number * item.numbers
        self._drawn[key] = Drawn(mark, place)

    def _place(self, where: Places, item: Placed | None) -> Places | slice:
        if item is None:
            return slice(int(where), None, self.width)
        return np.asarray(self._starts + where.take(item.slots, mode="wrap"))


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
    for start in range(0, count, _STRIP):
        _fill(rows[start : start + _STRIP], layout, placed, slice(start, start + _STRIP))
    return rows


def _fill(rows: FloatArray, layout: Layout, placed: Mapping[str, Placed], part: slice) -> None:
    every = np.arange(len(rows))
    if layout.bias:
        rows[:, 0] = 1.0
    for name, (slots, numbers) in placed.items():
        where = layout.blocks[name].where
        if where.size:
            rows[every, where[slots[part]]] = numbers[part]
    for cross in layout.crosses:
        a, b = placed.get(cross.first.feature.name), placed.get(cross.second.feature.name)
        if a and b and cross.where.size:
            where = cross.where[a.slots[part], b.slots[part]]
            rows[every, where] = a.numbers[part] * b.numbers[part]
