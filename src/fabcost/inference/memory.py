"""Large arrays that no single call has to touch all of."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np

from fabcost.impressions import FloatArray

#: Bytes whose copy takes longer than a row takes to learn.
MUCH = 2**20
#: Rows that move at once: one by one each would cost as much as thirty.
SOME = 64


def untouched(rows: int, columns: int) -> FloatArray:
    """Zeros in memory that the system hands out in small pages, when they are first written to.

    In large ones the first rows, wherever they lie, would take as long as all.

    Examples
    --------
    >>> untouched(2, 3)[0]
    array([0., 0., 0.])
    """
    pages = mmap.mmap(-1, 8 * rows * columns)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # of a system that has no large ones
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages).reshape(rows, columns)


class Removal:
    """Rows that move to a larger array, some at a time, while the second half of the old is filled.

    Examples
    --------
    >>> rows, removal = np.ones((256, 2**10)), Removal()
    >>> removal.move(rows, 200, capacity=512)
    >>> removal.end(rows, capacity=512)[254:258, 0]
    array([1., 1., 0., 0.])
    """

    def __init__(self) -> None:
        self._larger: FloatArray | None = None
        self._moved = 0

    def move(self, rows: FloatArray, filled: int, capacity: int) -> None:
        """Say that so many rows are filled: as many more move as keep up with them."""
        ready = 2 * filled - len(rows)
        if ready < self._moved + SOME or capacity <= len(rows):
            return
        if self._larger is None:
            self._larger = np.zeros((capacity, rows.shape[1]))
        self._larger[self._moved : ready] = rows[self._moved : ready]
        self._moved = ready

    def end(self, rows: FloatArray, capacity: int) -> FloatArray:
        """The larger array, with all rows."""
        larger = np.zeros((capacity, rows.shape[1])) if self._larger is None else self._larger
        larger[self._moved : len(rows)] = rows[self._moved :]
        return larger
