"""Pools: the best of very many rows that leave once they are shown, exactly.

A Thompson draw lies near the mean of the belief.  Write q = ‖R⁻¹(θ − μ)‖; then

    aᵀθ = aᵀμ + (Rᵀa)ᵀ R⁻¹(θ − μ) ≤ aᵀμ + q ‖Rᵀa‖

for every row a (Cauchy–Schwarz).  Rows whose bound is below the score of a row at hand need not be
looked at.  A pool therefore keeps two shortlists of the rows with the largest bounds, a short one
for ordinary draws and a long one for unusual draws.  Where the bounds of the others do not rule
them out, it scans them all.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_rows

#: Distances q, in sds beyond √D, at which the bounds of the rows left out are known.
_REACHES = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
#: The distance for which each shortlist is made, and the rows it has to spare.
_SHORTLISTS = ((0.5, 1024), (2.0, 4096))
_SHARPER = 0.85  # a belief so much narrower makes new shortlists worth their cost
_ROWS_AT_ONCE = 16384
_SCANS_BETWEEN_ATTEMPTS = 32
_BLOCK = 512


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
        self._ids = rng.permutation(checked.shape[0])
        self._rows = checked[self._ids]
        self._left = np.ones(self._ids.size, dtype=bool)
        self._where = np.argsort(self._ids)
        self._count = self._ids.size
        self._focus: _Focus | None = None
        self._scans = 0

    def __len__(self) -> int:
        return self._count

    def best(self, theta: npt.ArrayLike, belief: Gaussian | None = None) -> int:
        """The index of the row with the largest score aᵀθ among those left.

        ``belief``, if θ was drawn from it, makes this fast; the answer is the same without.
        """
        weights = self._checked(theta)
        if self._focus is not None:
            found = self._focus.winner(weights)
            if found is not None:
                return int(self._ids[found])
        position, score = self._scan(weights)
        index = int(self._ids[position])
        if belief is not None and self._is_time_to_focus(belief):
            self._drop_removed()
            self._focus = _Focus.on(self._rows, self._left, belief, score)
        return index

    def remove(self, index: int) -> None:
        """Take the row with this index out of the pool."""
        position = int(self._where[index]) if 0 <= index < self._where.size else -1
        if position < 0:
            raise ValueError(f"row {index} is not in the pool")
        self._where[index] = -1
        self._left[position] = False
        self._count -= 1
        if self._focus is not None:
            self._focus.remove(position)

    def _checked(self, theta: npt.ArrayLike) -> FloatArray:
        weights = np.ascontiguousarray(theta, dtype=np.float64)
        if weights.shape != (self._rows.shape[1],):
            raise ValueError(
                f"theta has shape {weights.shape} but the rows have {self._rows.shape[1]} columns"
            )
        if self._count == 0:
            raise ValueError("the pool is empty but must have a row to choose")
        return weights

    def _scan(self, theta: FloatArray) -> tuple[int, float]:
        """Position and score of the best of all rows."""
        self._scans += 1
        scores = self._rows @ theta
        scores[~self._left] = -np.inf
        # BLAS may round equal rows differently: what is nearly best is summed again in order.
        near = np.flatnonzero(scores >= scores.max() - _rounding(scores.max()))
        return _Shortlist(self._rows, near).best(theta)

    def _is_time_to_focus(self, belief: Gaussian) -> bool:
        if self._focus is None:
            return self._scans % _SCANS_BETWEEN_ATTEMPTS == 1
        return self._focus.is_worn_out or _width(belief) < _SHARPER * self._focus.width

    def _drop_removed(self) -> None:
        if self._count > 0.75 * self._left.size:
            return
        self._rows = self._rows[self._left]
        self._ids = self._ids[self._left]
        self._where[self._ids] = np.arange(self._ids.size)
        self._left = np.ones(self._ids.size, dtype=bool)


class _Focus:
    """Shortlists around one belief, and bounds on the scores of the rows that each leaves out."""

    def __init__(self, belief: Gaussian) -> None:
        self.width = _width(belief)
        self._mean = belief.mean
        self._inverse = np.asarray(np.linalg.inv(belief.root), dtype=np.float64)
        self._reaches = math.sqrt(belief.dimension) + _REACHES
        self._lists: list[tuple[_Shortlist, FloatArray]] = []
        self._answers = 0
        self._misses = 0

    @classmethod
    def on(
        cls, rows: FloatArray, left: npt.NDArray[np.bool_], belief: Gaussian, score: float
    ) -> _Focus | None:
        """Rows that might beat ``score``, and as many again; None if those are too many."""
        focus = cls(belief)
        alive = np.flatnonzero(left)
        centre, spread = _centres_and_spreads(belief, rows, alive)
        for reach, spare in _SHORTLISTS:
            bound = centre + (math.sqrt(belief.dimension) + reach) * spread
            size = 2 * int((bound >= score).sum()) + spare
            if 3 * size > alive.size:
                break
            split = np.argpartition(bound, alive.size - size)
            others = split[: alive.size - size]
            limits = np.array([(centre[others] + q * spread[others]).max() for q in focus._reaches])
            focus._lists.append((_Shortlist(rows, alive[split[alive.size - size :]]), limits))
        return focus if focus._lists else None

    def winner(self, theta: FloatArray) -> int | None:
        """The position of the best row of all, or None if a row left out might be better."""
        away = self._inverse @ (theta - self._mean)
        k = int(np.searchsorted(self._reaches, math.sqrt(away @ away)))
        for shortlist, limits in self._lists if k < self._reaches.size else ():
            if len(shortlist) > 0:
                position, score = shortlist.best(theta)
                if score > limits[k] + _rounding(limits[k]):
                    self._answers += 1
                    return position
        self._misses += 1
        return None

    @property
    def is_worn_out(self) -> bool:
        """Whether it misses more often than it is worth."""
        return self._misses > 2 + self._answers // 100

    def remove(self, position: int) -> None:
        """Take a row off the lists."""
        for shortlist, _ in self._lists:
            shortlist.remove(position)


class _Shortlist:
    """Columns to scan instead of rows; a position in the pool is also a priority."""

    def __init__(self, rows: FloatArray, positions: npt.NDArray[np.intp]) -> None:
        self._columns = np.ascontiguousarray(rows[positions].T)
        self._positions = positions
        self._slots = dict(zip(positions.tolist(), range(positions.size), strict=True))
        self._scores = np.empty(_BLOCK)

    def __len__(self) -> int:
        return len(self._slots)

    def best(self, theta: FloatArray) -> tuple[int, float]:
        """Position and score of the best row on the list."""
        slot, score = kernels.largest_score(
            self._columns, self._positions, len(self), theta, self._scores
        )
        return int(self._positions[slot]), float(score)

    def remove(self, position: int) -> None:
        """Take a row off the list, if it is on it: the last one takes its slot."""
        slot = self._slots.pop(position, None)
        end = len(self)
        if slot is None or slot == end:
            return
        last = int(self._positions[end])
        self._columns[:, slot] = self._columns[:, end]
        self._positions[slot] = last
        self._slots[last] = slot


def _width(belief: Gaussian) -> float:
    return float(np.linalg.norm(belief.root))


def _centres_and_spreads(
    belief: Gaussian, rows: FloatArray, alive: npt.NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    centre, spread = np.empty((2, alive.size))
    for start in range(0, alive.size, _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        centre[chunk], variance = belief.marginal(rows[alive[chunk]])
        spread[chunk] = np.sqrt(variance)
    return centre, spread


def _rounding(value: float) -> float:
    return 1e-9 * (1.0 + abs(value))
