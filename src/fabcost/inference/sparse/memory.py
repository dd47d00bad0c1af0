"""Large arrays that no single call has to touch all of."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np

from fabcost.impressions import FloatArray

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
