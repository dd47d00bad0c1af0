"""Passes over impressions with their sites."""

from __future__ import annotations

from fabcost import kernels
from fabcost.inference.history import Carried, Pass
from fabcost.inference.own.effects import OwnEffects
from fabcost.sparse import SparseRows


def filter_rows(belief: Carried, over: Pass, own: OwnEffects | None, *, exact: bool) -> int:
    """Learn the rows of a pass by ADF, each with its site; how many steps were skipped.

    Examples
    --------
    >>> import numpy as np
    >>> from fabcost.gaussian import Gaussian
    >>> from fabcost.inference.history import Sites
    >>> belief = Carried.of(Gaussian.isotropic(1))
    >>> rows = Pass(np.ones((1, 1)), np.ones(1), Sites.flat(0), 0, 1)
    >>> filter_rows(belief, rows, None, exact=True), belief.mean.round(2)
    (0, array([0.41]))
    """
    X, y, sites, start, stop, items, counts = over
    if isinstance(X, SparseRows):
        sparse = (*belief, *X.arrays, y, *sites, start, stop)
        return int(kernels.sparse_adf_pass(*sparse, exact, counts))
    given = (*belief, X, y, *sites, start, stop)
    how = exact if counts is None else counts
    if own is None or items is None:
        step = kernels.adf_pass if counts is None else kernels.counts_adf_pass
        return int(step(*given, how))
    owned = kernels.own_adf_pass if counts is None else kernels.own_counts_adf_pass
    return int(owned(*given, how, items, own.table))
