"""Pools: the best of very many rows that leave once they are shown, exactly.

Of rows that are equal only the first by priority is scored; when it leaves, the next takes its
place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.bandit.pool.copies import NONE, Copies, Positions, labels
from fabcost.bandit.pool.shortlist import Shortlist
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_rows

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
