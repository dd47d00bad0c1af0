"""Which of very many rows a draw of the weights can choose at all.

A Thompson draw lies near the mean of the belief.  Write q = ‖R⁻¹(θ − μ)‖; then

    aᵀθ = aᵀμ + (Rᵀa)ᵀ R⁻¹(θ − μ) ≤ aᵀμ + q ‖Rᵀa‖

for every row a (Cauchy–Schwarz).  Rows are read in the order of this bound, and reading stops where
the bounds of all further rows are below the best score so far.  They are read in single precision,
half the memory, with a margin for its rounding; what may be best within it is scored again exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray

Positions = npt.NDArray[np.intp]

#: Distances q, in sds beyond √D, at which the bounds of the rows are known.
_REACHES = np.arange(-1.5, 2.01, 0.25)
_USUAL = 0.5  # the distance by which rows are ordered
_SPARE = 4096  # rows on the list beyond three times those that can win at first
_BLOCK = 512
_ROWS_AT_ONCE = 4096
_LARGEST_SINGLE = 1e30
_BELOW_ALL = -1e300


class Answer(NamedTuple):
    """The best row, if it is certain, and how many rows were read."""

    position: int | None
    read: int


class Shortlist:
    """The rows of largest bound under one belief, in that order, and bounds for all the others.

    Parameters
    ----------
    rows
        All rows; a position is an index into them and a priority among equal scores.
    alive
        Positions of the rows that can be chosen.
    belief
        The belief whose draws are expected.
    score
        What the best row scored last: how many rows can beat it decides the length of the list.

    Examples
    --------
    >>> rows = np.array([[1.0], [3.0], [2.0]])
    >>> shortlist = Shortlist(rows, np.arange(3), Gaussian([1.0], [[0.01]]), 3.0)
    >>> shortlist.best(np.array([1.1]))
    Answer(position=1, read=3)
    """

    def __init__(self, rows: FloatArray, alive: Positions, belief: Gaussian, score: float) -> None:
        self.width = float(np.linalg.norm(belief.root))
        self._rows = rows
        self._mean = belief.mean
        self._inverse = np.asarray(np.linalg.inv(belief.root), dtype=np.float64)
        self._reaches = math.sqrt(belief.dimension) + _REACHES
        centre, spread = _centres_and_spreads(belief, rows, alive)
        bound = centre + (math.sqrt(belief.dimension) + _USUAL) * spread
        #: Rows that could have beaten ``score``.
        self.needed = max(int((bound >= score).sum()), _BLOCK)
        order = _order(bound, min(3 * self.needed + _SPARE, alive.size))
        self._limits = _limits(centre, spread, order, self._reaches)
        self._widest = float(spread.max())
        self._fill(alive[order])

    def _fill(self, listed: Positions) -> None:
        """Lay the rows out in blocks of columns, in single precision."""
        chosen = self._rows[listed]
        self._magnitude = np.abs(chosen).max(axis=0)
        self._blocks, self._counts = _blocks_of(chosen.clip(-_LARGEST_SINGLE, _LARGEST_SINGLE))
        self._positions = np.zeros((self._counts.size, _BLOCK), dtype=np.intp)
        self._positions.ravel()[: listed.size] = listed
        self._slots = np.full(len(self._rows), -1, dtype=np.intp)
        self._slots[listed] = np.arange(listed.size)
        self._found = np.empty(listed.size, dtype=np.intp)
        self._near = np.empty(listed.size, dtype=np.float32)

    def best(self, theta: FloatArray) -> Answer:
        """The best row of all that can be chosen, unless a row off the list might be better."""
        slack = self._slack(theta)
        if not slack < _LARGEST_SINGLE * 1e-7:
            return Answer(None, 0)
        many, read, certain = kernels.nearly_best(
            self._blocks,
            self._counts,
            self._positions,
            self._limits_for(theta),
            theta.astype(np.float32),
            slack,
            self._found,
            self._near,
        )
        if not certain:
            return Answer(None, read * _BLOCK)
        position, _ = kernels.largest_score(self._rows, self._found[:many], theta)
        return Answer(position, min(read * _BLOCK, self._found.size))

    def remove(self, position: int) -> None:
        """Take a row off the list, if it is on it: the last of its block takes its slot."""
        slot = int(self._slots[position])
        if slot < 0:
            return
        block, place = divmod(slot, _BLOCK)
        last = int(self._counts[block]) - 1
        moved = self._positions[block, last]
        self._blocks[block, :, place] = self._blocks[block, :, last]
        self._positions[block, place] = moved
        self._slots[moved] = slot
        self._slots[position] = -1
        self._counts[block] = last

    def _slack(self, theta: FloatArray) -> float:
        """How far a score in single precision can be from the true one.

        Three roundings for each product and D for the sum, each of relative size 2⁻²⁴.
        """
        size = np.abs(theta)
        relative = (theta.size + 4) * 2.0**-24 * float(size.dot(self._magnitude))
        return relative + 1e-36 * (1.0 + float(size.sum()))

    def _limits_for(self, theta: FloatArray) -> FloatArray:
        """Bounds on the scores after each block, for a draw as far from the mean as ``theta``."""
        away = self._inverse.dot(theta - self._mean)
        distance = math.sqrt(away.dot(away)) * (1.0 + 1e-9)
        k = int(np.searchsorted(self._reaches, distance))
        if k < self._reaches.size:
            return np.asarray(self._limits[k])
        return np.asarray(self._limits[-1] + (distance - self._reaches[-1]) * self._widest)


def _order(bound: FloatArray, size: int) -> Positions:
    """The ``size`` rows of largest bound, largest first."""
    largest = np.argpartition(bound, bound.size - size)[bound.size - size :]
    return largest[np.argsort(-bound[largest])]


def _limits(
    centre: FloatArray, spread: FloatArray, order: Positions, reaches: FloatArray
) -> FloatArray:
    """At each reach, the largest bound of all rows after each block of ``order``."""
    unlisted = np.ones(centre.size, dtype=bool)
    unlisted[order] = False
    others = centre[unlisted], spread[unlisted]
    listed = centre[order], spread[order]
    starts = np.arange(0, order.size, _BLOCK)
    limits = np.empty((reaches.size, starts.size))
    for k, q in enumerate(reaches):
        blocks = np.maximum.reduceat(listed[0] + q * listed[1], starts)
        last = (others[0] + q * others[1]).max(initial=_BELOW_ALL)
        limits[k] = np.maximum.accumulate(np.append(blocks[1:], last)[::-1])[::-1]
    return np.asarray(limits + 1e-9 * (1.0 + np.abs(limits)))


def _blocks_of(rows: FloatArray) -> tuple[npt.NDArray[np.float32], Positions]:
    """Blocks × columns × rows in single precision, and how many rows each block has."""
    count = -(-len(rows) // _BLOCK)
    padded = np.zeros((count * _BLOCK, rows.shape[1]), dtype=np.float32)
    padded[: len(rows)] = rows
    counts = np.full(count, _BLOCK, dtype=np.intp)
    counts[-1] = len(rows) - (count - 1) * _BLOCK
    blocks = padded.reshape(count, _BLOCK, -1).transpose(0, 2, 1)
    return np.ascontiguousarray(blocks), counts


def _centres_and_spreads(
    belief: Gaussian, rows: FloatArray, alive: Positions
) -> tuple[FloatArray, FloatArray]:
    centre, spread = np.empty((2, alive.size))
    for start in range(0, alive.size, _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        centre[chunk], variance = belief.marginal(rows[alive[chunk]])
        spread[chunk] = np.sqrt(variance)
    return centre, spread
