"""Memory of the rows that are kept: arrays that no call touches all of, or their non-zeros."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.sparse import Columns, SparseRows, as_sparse

#: Bytes whose copy takes longer than a row takes to learn.
MUCH = 2**20
#: With so many weights or more, a root is beyond the first caches, and zeros are worth leaving out.
LARGE = 256
#: Rows that are looked at for zeros, and those that are written out at once.
LOOKED_AT, AT_ONCE = 64, 256
_SPARE_COLUMNS = 1.25
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

    def write_one(self, slot: int, columns: Columns, values: FloatArray) -> None:
        """Put one row into a slot."""
        self._sizes[slot] = 0
        size = values.size
        if self._end + size > self._values.size:
            self._make_room(size)
        end = self._end + size
        self._columns[self._end : end], self._values[self._end : end] = columns, values
        self._starts[slot], self._sizes[slot], self._end = self._end, size, end

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


class KeptRows:
    """Rows in slots, of which the first ``count`` are taken.

    Rows that are given sparse are kept and handed out so, from the first on all.  If ``compact``,
    those of an array also leave their zeros: from `LARGE` weights on, as soon as the array becomes
    too small, if at most one in `kernels.DENSE` of its first numbers is none.  They are handed out
    as arrays all the same (``written_out``), so what is learnt has the same bits.

    Examples
    --------
    >>> rows = KeptRows(np.eye(LOOKED_AT, LARGE), compact=True)
    >>> rows.grow(2 * LOOKED_AT, LOOKED_AT)
    >>> rows.X.nbytes, rows.between(0, 1).shape, rows.kept(2).values
    (0, (1, 256), array([1., 1.]))
    """

    def __init__(self, X: FloatArray, *, compact: bool = False) -> None:
        self.weights = X.shape[1]
        self.sparse: SparseStore | None = None
        self.written_out = False
        self._compact = compact
        self.X: FloatArray
        self.readable: FloatArray
        self._hold(X)

    def write(self, slot: int, X: Rows, count: int, *, written_out: bool) -> None:
        """Put rows into this slot and those that follow, where some are sparse."""
        if self.sparse is None:
            self._leave_zeros(count)
        if isinstance(X, SparseRows):
            self.written_out = written_out
        if self.sparse is None:
            return
        if type(X) is np.ndarray and X.ndim == 1:  # a quarter of the time of what follows
            columns = X.nonzero()[0]
            self.sparse.write_one(slot, columns, X[columns])
        else:
            self.sparse.write(slot, as_sparse(X, self.weights))

    def between(self, start: int, stop: int) -> Rows:
        """The rows of some slots as they are handed out, contiguous and without spare columns."""
        if self.sparse is None:
            return np.ascontiguousarray(self.X[start:stop, : self.weights])
        rows = self.sparse.between(start, stop, self.weights)
        return rows.dense() if self.written_out else rows

    def kept(self, count: int) -> Rows:
        """The first rows as they are kept."""
        if self.sparse is None:
            return self.between(0, count)
        return self.sparse.between(0, count, self.weights)

    def reorder(self, slots: npt.NDArray[np.intp]) -> None:
        """Put the rows of some slots into the first, in this order."""
        if self.sparse is None:
            self.X[: slots.size] = self.X[slots]
        else:
            self.sparse.reorder(slots, self.weights)

    def widen(self, more: int, count: int) -> None:
        """Give every row so many more columns, all zero; amortised over spare ones."""
        self.weights += more
        if self.sparse is not None or self.weights <= self.X.shape[1]:
            return
        if self.thin_out(count):
            return
        wider = np.zeros((len(self.X), max(self.weights, int(_SPARE_COLUMNS * self.X.shape[1]))))
        wider[:, : self.X.shape[1]] = self.X
        self._hold(wider)

    def grow(self, capacity: int, count: int) -> None:
        """Have more slots."""
        if self.sparse is None and not self.thin_out(count):
            self._hold_more(capacity)
        elif self.sparse is not None:
            self.sparse.grow(capacity)

    def thin_out(self, count: int) -> bool:
        """Leave the zeros of an array, if that is wanted and pays; whether it does."""
        if self.sparse is not None or not self._compact or self.weights < LARGE:
            return False
        first = self.X[: min(count, LOOKED_AT)]
        if np.count_nonzero(first) * kernels.DENSE > len(first) * self.weights:
            return False
        self._leave_zeros(count)
        self.written_out = True
        return True

    def _leave_zeros(self, count: int) -> None:
        self.sparse = SparseStore(len(self.X))
        known = min(self.weights, self.X.shape[1])
        starts, columns, values = as_sparse(self.X[:count, :known], known).arrays
        self.sparse.write(0, SparseRows.part_of(starts, columns, values, self.weights))
        self._hold(np.zeros((0, self.weights)))

    def _hold(self, X: FloatArray, pages: Pages | None = None) -> None:
        self.X, self.readable, self._pages = X, read_only(X), pages

    def _hold_more(self, capacity: int) -> None:
        if self.X.nbytes < MUCH:
            larger = np.zeros((max(capacity, 1), self.X.shape[1]))
            larger[: len(self.X)] = self.X
            self._hold(larger)
            return
        pages, X = self._pages, self.X
        if pages is None:
            pages = Pages(X, capacity)
        else:
            self._hold(X[:0].copy())
            del X
            pages.grow(capacity)
        self._hold(pages.rows, pages)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pages": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hold(self.X)  # a copy of the view is a view of nothing that is written


#: Mean and root of a belief, or precision and shift of its sites.
Pair = tuple[FloatArray, FloatArray]


def absorb_rows(belief: Pair, rows: Rows, sites: Pair) -> int:
    """Multiply a belief by the Gaussian sites of rows, sparse or not; how many were skipped.

    Examples
    --------
    >>> import numpy as np
    >>> belief = np.zeros(1), np.eye(1, 8)
    >>> absorb_rows(belief, np.ones((1, 1)), (np.ones(1), np.ones(1))), belief[0]
    (0, array([0.5]))
    """
    if isinstance(rows, SparseRows):
        return int(kernels.sparse_absorb(*belief, *rows.arrays, *sites, 0, len(rows)))
    return int(kernels.absorb(*belief, read_only(rows), *sites, 0, len(rows), *kernels.NO_ITEMS))
