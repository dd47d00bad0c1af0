"""Pools: the best of very many rows that leave once they are shown, exactly.

Of rows that are equal only the first by priority is scored; when it leaves, the next takes its
place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.bandit.pool.shortlist import Positions, Shortlist
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_rows

NONE = -1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio times 2⁶⁴, which spreads bits well
_HALF = np.uint64(32)
#: What it costs to make a shortlist and to scan all rows, in rows read from a shortlist for each.
_COST_OF_LIST = 80
_COST_OF_SCAN = 10
_SHARPER = 0.9  # a belief so much narrower makes a new shortlist shorter
_LONGER = 1.5  # so does having to read so much more than at first
_SMALL = 1024  # distinct rows that need no shortlist


class Pool:
    """Rows of which the best is chosen and then removed, one after another.

    Parameters
    ----------
    rows
        All candidates, K × D.
    rng
        Gives each row a random priority, once: equal scores go to the higher priority, so that
        the order of the rows tells nothing.

    Examples
    --------
    >>> pool = Pool([[1.0], [3.0], [2.0]], rng=np.random.default_rng(0))
    >>> first = pool.best([1.0])
    >>> pool.remove(first)
    >>> first, pool.best([1.0]), len(pool)
    (1, 2, 2)
    """

    def __init__(self, rows: npt.ArrayLike, *, rng: np.random.Generator) -> None:
        given = np.asarray(rows, dtype=np.float64)
        checked = as_rows(given, given.shape[-1] if given.ndim else 0)
        ids = rng.permutation(checked.shape[0])
        self._where = np.empty_like(ids)
        self._count = ids.size
        shuffled = checked[ids]
        self._arrange(ids, shuffled, Copies(labels(shuffled)))
        self._shortlist: _Listed | None = None
        self._work = 0.0
        self._usual = 0.0

    def __len__(self) -> int:
        return self._count

    def best(self, theta: npt.ArrayLike, belief: Gaussian | None = None) -> int:
        """The index of the row with the largest score aᵀθ among those left.

        ``belief``, if θ was drawn from it, makes this fast; the answer is the same without.
        """
        weights = self._checked(theta)
        position = self._listed(weights)
        if position is None:
            position = self._scan(weights)
        index = int(self._ids[position])
        if belief is not None and self._is_due(belief):
            self._make_shortlist(belief, float(self._rows[position] @ weights))
        return index

    def remove(self, index: int) -> None:
        """Take the row with this index out of the pool."""
        position = int(self._where[index]) if 0 <= index < self._where.size else -1
        if position < 0:
            raise ValueError(f"row {index} is not in the pool")
        self._where[index] = -1
        self._count -= 1
        heir = self._copies.remove(position)
        if self._shortlist is not None:
            self._shortlist.succeed(position, heir)

    def _checked(self, theta: npt.ArrayLike) -> FloatArray:
        weights = np.ascontiguousarray(theta, dtype=np.float64)
        if weights.shape != (self._rows.shape[1],):
            raise ValueError(
                f"theta has shape {weights.shape} but the rows have {self._rows.shape[1]} columns"
            )
        if self._count == 0:
            raise ValueError("the pool is empty but must have a row to choose")
        return weights

    def _listed(self, theta: FloatArray) -> int | None:
        """Position of the best row, if the shortlist knows it."""
        if self._shortlist is None:
            return None
        position, read = self._shortlist.best(theta)
        self._work += read
        self._usual += 0.05 * (read - self._usual)
        return position

    def _scan(self, theta: FloatArray) -> int:
        """Position of the best of all rows."""
        heads = self._copies.heads
        self._work += _COST_OF_SCAN * heads.size
        scores = self._distinct @ theta
        scores[heads == NONE] = -np.inf
        # BLAS may round equal rows differently: what is nearly best is summed again in order.
        top = scores.max()
        near = heads[scores >= top - 1e-9 * (1.0 + abs(top))]
        return int(kernels.largest_score(self._rows, near, theta)[0])

    def _is_due(self, belief: Gaussian) -> bool:
        """Whether a new shortlist would soon be worth what it costs."""
        left = self._copies.left
        if left <= _SMALL or self._work < _COST_OF_LIST * left:
            return False
        listed = self._shortlist
        return (
            listed is None
            or self._usual > _LONGER * listed.needed
            or float(np.linalg.norm(belief.root)) < _SHARPER * listed.width
        )

    def _make_shortlist(self, belief: Gaussian, score: float) -> None:
        self._drop_removed()
        heads = self._copies.heads
        self._shortlist = _Listed(self._rows, heads[heads != NONE], belief, score)
        self._work = self._usual = 0.0

    def _drop_removed(self) -> None:
        if self._copies.left <= 0.75 * self._copies.heads.size:
            alive, copies = self._copies.compact()
            self._arrange(self._ids[alive], self._rows[alive], copies)

    def _arrange(self, ids: Positions, rows: FloatArray, copies: Copies) -> None:
        self._ids, self._rows, self._copies = ids, rows, copies
        self._where[ids] = np.arange(ids.size)
        self._distinct = rows if copies.left == ids.size else rows[copies.heads]


class _Listed(Shortlist):
    """A shortlist on which copies of a row succeed one another."""

    def succeed(self, position: int, heir: int) -> None:
        """Give the slot of a row to a copy of it, or to nobody."""
        if heir == NONE:
            self.remove(position)
            return
        slot = self._slots[position]
        if slot >= 0:
            self._positions.flat[slot] = heir
            self._slots[position], self._slots[heir] = -1, slot


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
