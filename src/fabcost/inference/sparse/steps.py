"""Passes over sparse rows."""

from __future__ import annotations

import math

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.sparse import SparseRows

#: Mean and root of a belief, or precision and shift of its sites.
Pair = tuple[FloatArray, FloatArray]


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
    counts: FloatArray | None,
) -> tuple[int, float, float]:
    """One EP sweep: visits skipped, Σ log Cᵢ, and how far the belief moved.

    Rows that are many are visited with the covariance in place of its root, unless rounding would
    show; what comes of it differs from the sweep over dense rows by rounding only.

    Examples
    --------
    >>> belief, sites = (np.zeros(1), np.eye(1, 8)), (np.zeros(2), np.zeros(2))
    >>> rows = SparseRows([0, 1, 2], [0, 0], [1.0, 1.0], 1)
    >>> sweep_sparse(belief, rows, np.array([1.0, -1.0]), sites, True, None)[0]
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
    belief: Pair,
    rows: SparseRows,
    y: FloatArray,
    sites: Pair,
    exact: bool,
    counts: FloatArray | None,
) -> tuple[int, float, float] | None:
    """`sweep_sparse`, or None, and nothing is changed, where too many digits would be lost."""
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
