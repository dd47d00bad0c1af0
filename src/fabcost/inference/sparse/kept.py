"""The rows of impressions that are kept: an array, or their non-zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.inference.sparse.memory import MUCH, Pages, SparseStore
from fabcost.sparse import SparseRows, as_sparse

#: With so many weights or more, a root is beyond the first caches, and zeros are worth leaving out.
LARGE = 256
#: Rows that are looked at for zeros, and those that are written out at once.
LOOKED_AT, AT_ONCE = 64, 256
_SPARE_COLUMNS = 1.25


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

    @property
    def apart(self) -> bool:
        """Whether rows are handed out by their non-zeros."""
        return self.sparse is not None and not self.written_out

    def write(self, slot: int, X: Rows, count: int, *, written_out: bool) -> None:
        """Put rows into this slot and those that follow, where some are sparse."""
        if self.sparse is None:
            self._leave_zeros(count)
        if isinstance(X, SparseRows):
            self.written_out = written_out
        if self.sparse is not None:
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
