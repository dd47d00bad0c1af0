"""Rows that are copies of one another: only the first that is left has to be scored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray

Positions = npt.NDArray[np.intp]

NONE = -1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio times 2⁶⁴, which spreads bits well
_HALF = np.uint64(32)


class Copies:
    """Queues of equal rows, in the order of their positions.

    Parameters
    ----------
    labels
        The same for rows that are equal.

    Attributes
    ----------
    heads
        The first position that is left of each group of equal rows; `NONE` where all are gone.
        Groups are in the order of their first positions.

    Examples
    --------
    >>> copies = Copies(np.array([7, 5, 7]))
    >>> copies.remove(0), copies.remove(1)
    (2, -1)
    >>> copies.heads, copies.left
    (array([ 2, -1]), 1)
    """

    def __init__(self, labels: Positions) -> None:
        _, first, group = np.unique(labels, return_index=True, return_inverse=True)
        self.heads: Positions = np.sort(first)
        #: How many groups have a row left.
        self.left = first.size
        self._group: Positions = np.argsort(np.argsort(first))[group]
        self._next: Positions = np.full(group.size, NONE, dtype=np.intp)
        order = np.argsort(group, kind="stable")
        follows = np.diff(group[order], prepend=NONE) == 0
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
        return alive, Copies(self._group[alive])


def labels(rows: FloatArray) -> Positions:
    """For each row the position of a row that equals it, as a rule the same for all copies.

    Rows are compared by a hash, and with the first of the same hash: what it takes for copies are
    copies, and it may miss one.

    Examples
    --------
    >>> labels(np.array([[2.0], [0.0], [2.0], [-0.0]]))
    array([0, 1, 0, 1])
    """
    _, first, group = np.unique(_hashes(rows), return_index=True, return_inverse=True)
    found = first[group]
    others = np.zeros(len(rows), dtype=bool)
    for column in rows.T:
        others |= column != column[found]
    found[others] = np.flatnonzero(others)
    return found


def _hashes(rows: FloatArray) -> npt.NDArray[np.uint64]:
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found ^= (column + 0.0).view(np.uint64)  # −0 and 0 are the same number
        found *= _ODD
        found ^= found >> _HALF
    return found
