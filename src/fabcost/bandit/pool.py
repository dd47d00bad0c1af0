"""Pools: the best of very many rows that leave once they are shown, exactly.

A Thompson draw lies near the mean of the belief.  Write q = ‖R⁻¹(θ − μ)‖; then

    aᵀθ = aᵀμ + (Rᵀa)ᵀ R⁻¹(θ − μ) ≤ aᵀμ + q ‖Rᵀa‖

for every row a (Cauchy–Schwarz).  Rows whose bound is below the score of a row at hand need not be
looked at.  A pool therefore keeps a shortlist of the rows with the largest bounds, scans only that,
and falls back to all rows when the bound of the others does not rule them out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_rows

#: Distances q, in belief sds, at which the bound of the rows left out is known.
REACHES = np.array([3.0, 4.0, 5.0, 6.0, 8.0, 12.0])
_CHOSEN_AT = 5.0
_SMALLEST_SHORTLIST = 4096
_SHORT_LIFE = 256
_AT_ONCE = 512
_ROWS_AT_ONCE = 16384


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
        order = rng.permutation(checked.shape[0])
        self._ids = order
        self._rows = checked[order]
        self._left = np.ones(order.size, dtype=bool)
        self._where = np.empty(order.size, dtype=np.intp)
        self._where[order] = np.arange(order.size)
        self._count = order.size
        self._size = _SMALLEST_SHORTLIST
        self._shortlist: _Shortlist | None = None

    def __len__(self) -> int:
        return self._count

    def best(self, theta: npt.ArrayLike, belief: Gaussian | None = None) -> int:
        """The index of the row with the largest score aᵀθ among those left.

        ``belief``, if θ was drawn from it, makes this fast; the answer is the same without.
        """
        weights = np.ascontiguousarray(theta, dtype=np.float64)
        if weights.shape != (self._rows.shape[1],):
            raise ValueError(
                f"theta has shape {weights.shape} but the rows have {self._rows.shape[1]} columns"
            )
        if self._count == 0:
            raise ValueError("the pool is empty but must have a row to choose")
        if belief is None:
            return int(self._ids[_Shortlist.of_all(self._rows, self._left).best(weights)[0]])
        found = self._shortlist.winner(weights) if self._shortlist is not None else None
        if found is None:
            found = self._look_again(weights, belief)
        return int(self._ids[found])

    def remove(self, index: int) -> None:
        """Take the row with this index out of the pool."""
        position = self._where[index] if 0 <= index < self._where.size else -1
        if position < 0:
            raise ValueError(f"row {index} is not in the pool")
        self._where[index] = -1
        self._left[position] = False
        self._count -= 1
        if self._shortlist is not None:
            self._shortlist.remove(position)

    def _look_again(self, theta: FloatArray, belief: Gaussian) -> int:
        """Make shortlists, each twice as long, until one settles this draw."""
        if self._shortlist is not None and self._shortlist.answers < _SHORT_LIFE:
            self._size *= 2
        elif self._size > _SMALLEST_SHORTLIST:
            self._size //= 2
        self._drop_removed()
        while True:
            self._shortlist = _Shortlist.around(belief, self._rows, self._left, self._size)
            found = self._shortlist.winner(theta)
            if found is not None:
                return found
            self._size *= 2

    def _drop_removed(self) -> None:
        if self._count > 0.75 * self._left.size:
            return
        self._rows = self._rows[self._left]
        self._ids = self._ids[self._left]
        self._where[self._ids] = np.arange(self._ids.size)
        self._left = np.ones(self._ids.size, dtype=bool)


class _Shortlist:
    """Columns to scan, and for each reach a bound on the score of every row left out."""

    def __init__(self, rows: FloatArray, positions: npt.NDArray[np.intp]) -> None:
        self._columns = np.ascontiguousarray(rows[positions].T)
        self._positions = positions
        self._slot = {int(p): k for k, p in enumerate(positions)}
        self._count = positions.size
        self._scores = np.empty(_AT_ONCE)
        self._bounds = np.full(REACHES.size, -np.inf)
        self._mean: FloatArray | None = None
        self._inverse: FloatArray | None = None
        self.answers = 0

    @classmethod
    def of_all(cls, rows: FloatArray, left: npt.NDArray[np.bool_]) -> _Shortlist:
        return cls(rows, np.flatnonzero(left))

    @classmethod
    def around(
        cls, belief: Gaussian, rows: FloatArray, left: npt.NDArray[np.bool_], size: int
    ) -> _Shortlist:
        alive = np.flatnonzero(left)
        if alive.size <= size:
            return cls(rows, alive)
        centre, width = _centres_and_widths(belief, rows)
        reach = (centre + _CHOSEN_AT * width)[alive]
        split = np.argpartition(reach, alive.size - size)
        rest = alive[split[: alive.size - size]]
        shortlist = cls(rows, alive[split[alive.size - size :]])
        shortlist._bounds = np.array([(centre[rest] + q * width[rest]).max() for q in REACHES])
        shortlist._mean = belief.mean
        shortlist._inverse = np.asarray(np.linalg.inv(belief.root), dtype=np.float64)
        return shortlist

    def winner(self, theta: FloatArray) -> int | None:
        """The position of the best row of all, or None if a row left out might be better."""
        if self._count == 0:
            return None
        position, score = self.best(theta)
        if self._mean is not None and self._inverse is not None:
            q = np.linalg.norm(self._inverse @ (theta - self._mean))
            k = int(np.searchsorted(REACHES, q))
            if k == REACHES.size or not score > self._bounds[k] + _rounding(self._bounds[k]):
                return None
        self.answers += 1
        return position

    def best(self, theta: FloatArray) -> tuple[int, float]:
        slot, score = kernels.largest_score(
            self._columns, self._positions, self._count, theta, self._scores
        )
        return int(self._positions[slot]), float(score)

    def remove(self, position: int) -> None:
        slot = self._slot.pop(int(position), None)
        if slot is None:
            return
        self._count -= 1
        last = int(self._positions[self._count])
        self._columns[:, slot] = self._columns[:, self._count]
        self._positions[slot] = last
        if slot != self._count:
            self._slot[last] = slot


def _rounding(bound: float) -> float:
    return 1e-9 * (1.0 + abs(bound))


def _centres_and_widths(belief: Gaussian, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    centre = np.empty(rows.shape[0])
    width = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        centre[chunk], variance = belief.marginal(rows[chunk])
        width[chunk] = np.sqrt(variance)
    return centre, width
