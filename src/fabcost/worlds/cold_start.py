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


def simulate(
    rows: int, weights: int = 15, *, rng: np.random.Generator, weight_sd: float = WEIGHT_SD
) -> Impressions:
    """Standard normal features beside a constant one, and 3 to 4 % of clicks.

    With the same seed, fewer rows are the first rows of more.

    Examples
    --------
    >>> data = simulate(100_000, rng=np.random.default_rng(0))
    >>> bool(0.025 < data.y.mean() < 0.045)
    True
    """
    of_weights, of_rows, of_clicks = rng.spawn(3)
    theta = of_weights.normal(scale=weight_sd, size=weights)
    theta[0] = INTERCEPT
    X = of_rows.standard_normal((rows, weights))
    X[:, 0] = 1.0
    clicked = of_clicks.random(rows) < expit(X @ theta)
    return Impressions(X, clicked.astype(np.float64), theta)
