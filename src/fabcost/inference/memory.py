"""Large arrays that no single call has to touch all of."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np

from fabcost.impressions import FloatArray

#: Bytes whose copy takes longer than a row takes to learn.
MUCH = 2**20


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
    """Rows that move to a larger array, two with each that comes to the second half of the old.

    Examples
    --------
    >>> rows, removal = np.ones((4, 2**16)), Removal()
    >>> removal.move(rows, 1, stop=3, capacity=8)
    >>> removal.end(rows, capacity=8)[:5, 0]
    array([1., 1., 1., 1., 0.])
    """

    def __init__(self) -> None:
        self._larger: FloatArray | None = None
        self._moved = 0

    def move(self, rows: FloatArray, many: int, stop: int, capacity: int) -> None:
        """Say that ``many`` rows have come to the second half, the last of them before ``stop``."""
        if capacity <= len(rows):
            return
        if self._larger is None:
            self._larger = untouched(capacity, rows.shape[1])
        some = slice(self._moved, min(self._moved + 2 * many + 1, stop))
        self._larger[some] = rows[some]
        self._moved = some.stop

    def end(self, rows: FloatArray, capacity: int) -> FloatArray:
        """The larger array, with all rows."""
        larger = np.zeros((capacity, rows.shape[1])) if self._larger is None else self._larger
        larger[self._moved : len(rows)] = rows[self._moved :]
        return larger
