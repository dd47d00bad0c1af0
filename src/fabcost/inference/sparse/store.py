"""Sparse rows in slots that are written again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost.sparse import Columns, SparseRows

_FIRST_NUMBERS = 256


class SparseStore:
    """A row for each of ``capacity`` slots, empty at first; memory O(slots + non-zeros).

    Numbers are written behind each other.  When there is no more room, those that belong to no row
    any longer are left behind.

    Examples
    --------
    >>> store = SparseStore(2)
    >>> store.write(0, SparseRows.of_pairs([([1], [2.0]), ([0, 2], [3.0, 4.0])], 3))
    >>> store.write(0, SparseRows.of_pairs([([2], [5.0])], 3))
    >>> store.between(0, 2, 3).dense()
    array([[0., 0., 5.],
           [3., 0., 4.]])
    """

    def __init__(self, capacity: int) -> None:
        self._starts: Columns = np.zeros(capacity, dtype=np.int64)
        self._sizes: Columns = np.zeros(capacity, dtype=np.int64)
        self._columns: Columns = np.zeros(_FIRST_NUMBERS, dtype=np.int64)
        self._values = np.zeros(_FIRST_NUMBERS)
        self._end = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all that is held."""
        return sum(each.nbytes for each in (self._starts, self._sizes, self._columns, self._values))

    def write(self, slot: int, rows: SparseRows) -> None:
        """Put rows into this slot and those that follow."""
        many = slice(slot, slot + len(rows))
        self._sizes[many] = 0
        end = self._end + rows.values.size
        if end > self._values.size:
            self._make_room(rows.values.size)
            end = self._end + rows.values.size
        self._columns[self._end : end] = rows.columns
        self._values[self._end : end] = rows.values
        self._starts[many] = self._end + rows.starts[:-1]
        self._sizes[many] = np.diff(rows.starts)
        self._end = end

    def between(self, start: int, stop: int, weights: int) -> SparseRows:
        """The rows of some slots: views, if they lie behind each other."""
        if stop - start != 1:
            return self._rows(np.arange(start, stop), weights)
        first, size = self._starts[start], self._sizes[start]
        numbers = (self._columns[first : first + size], self._values[first : first + size])
        return SparseRows.part_of(np.array([0, size]), *numbers, weights)

    def reorder(self, slots: npt.NDArray[np.intp], weights: int) -> None:
        """Put the rows of some slots into the first, in this order; the others are empty then."""
        rows = self._rows(slots, weights)
        self._sizes[:] = 0
        self._end = 0
        self.write(0, rows)

    def grow(self, capacity: int) -> None:
        """Have more slots."""
        more = np.zeros(capacity - self._starts.size, dtype=np.int64)
        self._starts = np.concatenate([self._starts, more])
        self._sizes = np.concatenate([self._sizes, more])

    def _rows(self, slots: npt.NDArray[np.intp], weights: int) -> SparseRows:
        first, sizes = self._starts[slots], self._sizes[slots]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        if slots.size and np.array_equal(first, first[0] + starts[:-1]):
            own = slice(first[0], first[0] + starts[-1])
            return SparseRows.part_of(starts, self._columns[own], self._values[own], weights)
        taken = np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)
        return SparseRows(starts, self._columns[taken], self._values[taken], weights)

    def _make_room(self, more: int) -> None:
        live = int(self._sizes.sum())
        slots = np.arange(self._starts.size)
        rows = self._rows(slots, np.iinfo(np.int64).max)
        columns, values = rows.columns, rows.values
        room = 2 * (live + more)
        self._columns, self._values = np.zeros(room, dtype=np.int64), np.zeros(room)
        self._columns[:live], self._values[:live] = columns, values
        self._starts, self._end = rows.starts[:-1].copy(), live
