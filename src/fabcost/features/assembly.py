"""Terms of many records, written into rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fabcost.features.layout import Layout, Places
from fabcost.impressions import FloatArray

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


def write(
    rows: FloatArray,
    layout: Layout,
    placed: Mapping[str, Placed],
    homes: Places,
    *,
    ones: bool,
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
