"""Passes over sparse rows."""

from __future__ import annotations

import math

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.sparse import SparseRows

#: Mean and root of a belief, or precision and shift of its sites.
Pair = tuple[FloatArray, FloatArray]
#: Clicks and misses of each row, or None where all are single impressions.
Counts = FloatArray | None
#: Visits skipped in a sweep, Σ log Cᵢ, and how far the belief moved.
Found = tuple[int, float, float]
_WORST_CONDITION = 1e10


def absorb_rows(belief: Pair, rows: Rows, sites: Pair) -> int:
    """Multiply a belief by the Gaussian sites of rows, sparse or not; how many were skipped.

    Examples
    --------
    >>> belief = np.zeros(1), np.eye(1, 8)
    >>> absorb_rows(belief, np.ones((1, 1)), (np.ones(1), np.ones(1))), belief[0]
    (0, array([0.5]))
    """
    if isinstance(rows, SparseRows):
        return int(kernels.sparse_absorb(*belief, *rows.arrays, *sites, 0, len(rows)))
    return int(kernels.absorb(*belief, read_only(rows), *sites, 0, len(rows)))


def sweep_sparse(
    belief: Pair,
    rows: SparseRows,
    y: FloatArray,
    sites: Pair,
    exact: bool,
    counts: Counts,
    *,
    tolerance: float,
    max_sweeps: int,
) -> tuple[int, bool, int, float]:
    """EP in place until nothing moves: sweeps, whether it is so, visits skipped, and Σ log Cᵢ.

    Where rows are many, and more than one sweep may be made, sites are matched at once: the fixed
    point is the same.  If that does not halve the moves in two sweeps, or rounding would show, the
    rest is done by one visit after the other.

    Examples
    --------
    >>> belief, sites = (np.zeros(1), np.eye(1, 8)), (np.zeros(2), np.zeros(2))
    >>> rows, y = SparseRows([0, 1, 2], [0, 0], [1.0, 1.0], 1), np.array([1.0, -1.0])
    >>> sweep_sparse(belief, rows, y, sites, True, None, tolerance=1e-10, max_sweeps=100)[1:3]
    (True, 0)
    """
    moves, skipped, given = [math.inf], 0, (y, sites, exact, counts)
    many = len(rows) >= belief[0].size
    at_once = _AtOnce.of(belief, rows, sites) if many and max_sweeps > 1 else None
    for sweeps in range(1, max_sweeps + 1):
        found = None if at_once is None else at_once.sweep(*given)
        if found is None or (sweeps > 2 and found[2] > 0.5 * moves[-2]):
            at_once = None
        if found is None:
            found = sweep_once(belief, rows, *given)
        left_out, log_factors, move = found
        skipped += left_out
        remaining = move * move / moves[-1] if move < moves[-1] < math.inf else move
        moves.append(move)
        if remaining <= tolerance:
            break
    return sweeps, remaining <= tolerance, skipped, math.nan if left_out else log_factors


def sweep_once(
    belief: Pair, rows: SparseRows, y: FloatArray, sites: Pair, exact: bool, counts: Counts
) -> Found:
    """One EP sweep: visits skipped, Σ log Cᵢ, and how far the belief moved.

    Rows that are many are visited with the covariance in place of its root, unless rounding would
    show; what comes of it differs from the sweep over dense rows by rounding only.

    Examples
    --------
    >>> belief, sites = (np.zeros(1), np.eye(1, 8)), (np.zeros(2), np.zeros(2))
    >>> rows = SparseRows([0, 1, 2], [0, 0], [1.0, 1.0], 1)
    >>> sweep_once(belief, rows, np.array([1.0, -1.0]), sites, True, None)[0]
    0
    """
    if len(rows) >= belief[0].size:
        swept = _by_covariance(belief, rows, y, sites, exact, counts)
        if swept is not None:
            return swept
    given = (*belief, *rows.arrays, y, *sites, exact, counts)
    skipped, log_factors, move = kernels.sparse_root_sweep(*given)
    return int(skipped), float(log_factors), float(move)


def _by_covariance(
    belief: Pair, rows: SparseRows, y: FloatArray, sites: Pair, exact: bool, counts: Counts
) -> Found | None:
    """`sweep_once`, or None, and nothing is changed, where too many digits would be lost."""
    (mean, root), weights = belief, belief[0].size
    centre, covariance = np.zeros(root.shape[1]), kernels.covariance_of(root)
    centre[:weights] = mean
    tried = (sites[0].copy(), sites[1].copy())
    given = (centre, covariance, *rows.arrays, y, *tried, exact, counts)
    skipped, log_factors, change = kernels.sparse_sweep(*given)
    if change < 0.0:
        return None
    low, sound = kernels.cholesky(np.ascontiguousarray(covariance[:weights, :weights]))
    if not sound:
        return None
    away = kernels.solve_lower(low, centre[:weights] - mean)
    mean[:], root[:, :weights] = centre[:weights], low
    sites[0][:], sites[1][:] = tried
    return int(skipped), float(log_factors), max(math.sqrt(kernels.inner(away, away)), 0.5 * change)


class _AtOnce:
    """Parallel EP: what the belief is without its sites, in precisions and shifts.

    Its precision matrix is Λ = Λ₀ + Σ τᵢxᵢxᵢᵀ and Λμ = λ₀ + Σ νᵢxᵢ.
    """

    def __init__(self, belief: Pair, rows: SparseRows, sites: Pair, low: FloatArray) -> None:
        self._belief, self._rows = belief, rows
        weights = low.shape[0]
        _, padded = kernels.inverse_of(low)
        precision = np.ascontiguousarray(padded[:weights, :weights])
        self._precision = precision - self._gram(sites[0])
        self._shift = kernels.times(precision, belief[0]) - rows.sum(sites[1])
        self._covariance: FloatArray = kernels.covariance_of(belief[1])

    @classmethod
    def of(cls, belief: Pair, rows: SparseRows, sites: Pair) -> _AtOnce | None:
        """None where the belief is known so much better along some directions than along others."""
        low = kernels.narrow(belief[1].copy())
        scale = np.abs(low.diagonal())
        if not (scale.max() / scale.min()) ** 2 < _WORST_CONDITION:
            return None
        return cls(belief, rows, sites, low)

    def sweep(self, y: FloatArray, sites: Pair, exact: bool, counts: Counts) -> Found | None:
        """Match all sites, and make the belief of them; None, and nothing changes, if none is."""
        (mean, root), weights = self._belief, self._belief[0].size
        tried = (sites[0].copy(), sites[1].copy())
        given = (mean, self._covariance, *self._rows.arrays, y, *tried, exact, counts)
        skipped, log_factors, change = kernels.sparse_match(*given)
        precision = self._precision + self._gram(tried[0])
        low, sound = kernels.cholesky(precision)
        if skipped or change < 0.0 or not sound:
            return None
        solved, self._covariance = kernels.inverse_of(low)
        turned = np.ascontiguousarray(solved[:weights, :weights])
        root[:, :weights] = turned.T
        shift = self._shift + self._rows.sum(tried[1])
        centre = kernels.times(np.ascontiguousarray(turned.T), kernels.times(turned, shift))
        away = centre - mean
        length = kernels.inner(away, kernels.times(precision, away))
        mean[:], sites[0][:], sites[1][:] = centre, *tried
        return 0, float(log_factors), max(math.sqrt(max(length, 0.0)), 0.5 * change)

    def _gram(self, precision: FloatArray) -> FloatArray:
        gram: FloatArray = kernels.sparse_gram(*self._rows.arrays, precision, self._rows.weights)
        return gram
