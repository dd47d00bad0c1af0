"""Simulated impressions of a site that has just opened: many features, few clicks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fabcost.impressions import FloatArray

INTERCEPT = -4.0
WEIGHT_SD = 0.35


class Impressions(NamedTuple):
    """Rows, outcomes (0 or 1) and the weights that made them."""

    X: FloatArray
    y: FloatArray
    theta: FloatArray


def simulate(rows: int, weights: int = 15, *, rng: np.random.Generator) -> Impressions:
    """Standard normal features beside a constant one, and 3 to 4 % of clicks.

    Examples
    --------
    >>> data = simulate(100_000, rng=np.random.default_rng(0))
    >>> bool(0.025 < data.y.mean() < 0.045)
    True
    """
    X = rng.normal(size=(rows, weights))
    X[:, 0] = 1.0
    theta = rng.normal(scale=WEIGHT_SD, size=weights)
    theta[0] = INTERCEPT
    return Impressions(X, (rng.random(rows) < expit(X @ theta)).astype(np.float64), theta)
