"""Kernels as tests call them, without what they need not know of."""

from __future__ import annotations

from typing import Any

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.inference.history import Carried, Sites
from fabcost.kernels import NO_COUNTS, NO_ITEMS, NO_SUMS

#: No effects of items, no counts, no lag.
PLAIN = (None, None, None, None)


def swept(
    belief: Carried, X: FloatArray, y: FloatArray, sites: Sites, exact: bool, owned: Any = NO_ITEMS
) -> tuple[int, float, float]:
    """One EP sweep over all rows: skipped visits, Σ log Cᵢ, and how far the belief moved."""
    numbers, many = owned[0], 0
    if len(numbers):
        numbers, many = kernels.numbered(owned[0], len(owned[1]))
    sums, moves, own_moves = np.array(NO_SUMS), np.zeros(belief.root.shape[1]), np.zeros(many)
    rest = (*owned, NO_COUNTS) if len(numbers) else PLAIN[:3]
    given = (*belief, X, y, *sites, 0, y.size, exact, *rest)
    skipped = kernels.ep_visits(*given, numbers, sums, moves, own_moves, None)
    return (skipped, *kernels.ep_summary(sums, moves, own_moves))
