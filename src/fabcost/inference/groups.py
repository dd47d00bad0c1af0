"""Equal rows made one, which stands for the clicks and misses of all."""

from __future__ import annotations

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray, Outcomes, read_only
from fabcost.inference.own.directory import Slots


def grouped(
    X: FloatArray, outcomes: Outcomes, slots: Slots | None = None
) -> tuple[FloatArray, Outcomes, Slots | None]:
    """The distinct rows, in the order in which they come first, with their counts and items.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows, outcomes, _ = grouped(X, Outcomes(np.array([1.0, -1.0, -1.0])))
    >>> rows.ravel(), outcomes.counts
    (array([1., 2.]), array([[1., 1.],
           [0., 1.]]))
    """
    keys = np.zeros(len(X), dtype=np.int64) if slots is None else slots
    rows = read_only(np.ascontiguousarray(X))
    rows, first, counts = kernels.group_rows(rows, rows.view(np.uint64), keys, *outcomes)
    labels = np.where(counts[:, 0] > counts[:, 1], 1.0, -1.0)
    return rows, Outcomes(labels, counts), None if slots is None else slots[first]
