"""Equal rows made one, which stands for the clicks and misses of all."""

from __future__ import annotations

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray, Outcomes
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
    group, first = kernels.group_rows(np.ascontiguousarray(X).view(np.uint64), keys)
    weights = outcomes.counts
    if weights is None:
        clicked = outcomes.labels > 0.0
        shown = np.bincount(group, minlength=first.size)
        clicks = np.bincount(group[clicked], minlength=first.size)
        counts = np.column_stack([clicks, shown - clicks]).astype(np.float64)
    else:
        sums = (np.bincount(group, each, minlength=first.size) for each in weights.T)
        counts = np.column_stack(list(sums))
    labels = np.where(counts[:, 0] > counts[:, 1], 1.0, -1.0)
    return X[first], Outcomes(labels, counts), None if slots is None else slots[first]
