"""Gaussian sites of sparse rows, or of dense ones."""

from __future__ import annotations

from fabcost import kernels
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.sparse import SparseRows

#: Mean and root of a belief, or precision and shift of its sites.
Pair = tuple[FloatArray, FloatArray]


def absorb_rows(belief: Pair, rows: Rows, sites: Pair) -> int:
    """Multiply a belief by the Gaussian sites of rows, sparse or not; how many were skipped.

    Examples
    --------
    >>> import numpy as np
    >>> belief = np.zeros(1), np.eye(1, 8)
    >>> absorb_rows(belief, np.ones((1, 1)), (np.ones(1), np.ones(1))), belief[0]
    (0, array([0.5]))
    """
    if isinstance(rows, SparseRows):
        return int(kernels.sparse_absorb(*belief, *rows.arrays, *sites, 0, len(rows)))
    return int(kernels.absorb(*belief, read_only(rows), *sites, 0, len(rows)))
