"""Memory of what is kept: arrays that no call touches all of, and sparse rows in slots."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.sparse import Columns, SparseRows

#: Bytes whose copy takes longer than a row takes to learn.
MUCH = 2**20
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


def untouched(rows: int, columns: int) -> FloatArray:
    """Zeros in memory that the system hands out in small pages, when they are first written to.

    In large ones the first rows, wherever they lie, would take as long as all.

    Examples
    --------
    >>> untouched(2, 3)[0]
    array([0., 0., 0.])
    """
    return np.frombuffer(_pages(rows, columns)).reshape(rows, columns)


def _pages(rows: int, columns: int) -> mmap.mmap:
    pages = mmap.mmap(-1, 8 * rows * columns, **_PRIVATE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # of a system that has no large ones
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages


class Pages:
    """Rows that become more without being copied, unless somebody still has an array of them.

    Examples
    --------
    >>> pages = Pages(np.ones((1, 2)), 2)
    >>> pages.grow(3)
    >>> pages.rows
    array([[1., 1.],
           [0., 0.],
           [0., 0.]])
    """

    def __init__(self, rows: FloatArray, capacity: int) -> None:
        self._columns = rows.shape[1]
        self._hold(rows, capacity)

    @property
    def rows(self) -> FloatArray:
        """An array of all, which others must let go of before they grow."""
        return np.frombuffer(self._mapped).reshape(-1, self._columns)

    def grow(self, capacity: int) -> None:
        """Have zeros behind the rows that are there."""
        try:
            self._mapped.resize(8 * capacity * self._columns)
        except (BufferError, OSError, SystemError, ValueError):  # in use, or not on this system
            self._hold(self.rows, capacity)

    def _hold(self, rows: FloatArray, capacity: int) -> None:
        self._mapped = _pages(capacity, self._columns)
        self.rows[: len(rows)] = rows


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
