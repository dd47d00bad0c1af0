"""Rows that are copies of one another: only the first that is left has to be scored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray

Positions = npt.NDArray[np.intp]

NONE = -1


class Copies:
    """Queues of equal rows, in the order of their positions.

    Parameters
    ----------
    group
        Which distinct row each row is, counted from zero.

    Attributes
    ----------
    heads
        The first position that is left of each group; `NONE` where all are gone.

    Examples
    --------
    >>> copies = Copies(np.array([0, 1, 0]))
    >>> copies.remove(0), copies.remove(1)
    (2, -1)
    >>> copies.heads, copies.left
    (array([ 2, -1]), 1)
    """

    def __init__(self, group: Positions) -> None:
        order = np.argsort(group, kind="stable")
        follows = np.diff(group[order], prepend=NONE) == 0
        self.heads: Positions = order[~follows]
        #: How many groups have a row left.
        self.left = self.heads.size
        self._group = group
        self._next: Positions = np.full(group.size, NONE, dtype=np.intp)
        self._next[order[:-1][follows[1:]]] = order[follows]
        self._gone = np.zeros(group.size, dtype=bool)

    def remove(self, position: int) -> int:
        """Take a row out; the position that stands for its group now, if ``position`` did so."""
        self._gone[position] = True
        group = self._group[position]
        if self.heads[group] != position:
            return NONE
        heir = self._next[position]
        while heir != NONE and self._gone[heir]:
            heir = self._next[heir]
        self.heads[group] = heir
        self.left -= int(heir == NONE)
        return int(heir)

    def compact(self) -> tuple[Positions, Copies]:
        """The positions that are left, and the queues of rows at these positions only."""
        alive = np.flatnonzero(~self._gone)
        _, group = np.unique(self._group[alive], return_inverse=True)
        return alive, Copies(group)


def grouped(rows: FloatArray) -> Positions:
    """Which distinct row each row is, counted from zero as they come.

    Examples
    --------
    >>> grouped(np.array([[2.0], [0.0], [2.0], [-0.0]]))
    array([0, 1, 0, 1])
    """
    seen: dict[bytes, int] = {}
    numbers = (seen.setdefault(key, len(seen)) for key in _keys(rows))
    return np.fromiter(numbers, dtype=np.intp, count=len(rows))


def _keys(rows: FloatArray) -> Iterator[bytes]:
    content = (rows + 0.0).tobytes()  # −0 and 0 are the same number
    width = rows.itemsize * rows.shape[1]
    return (content[start : start + width] for start in range(0, len(content), width))
