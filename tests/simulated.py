"""Data for the tests."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from fabcost import Gaussian
from fabcost.impressions import FloatArray, read_only


def cold_start(
    rows: int, weights: int = 5, *, seed: int = 0, intercept: float = -2.0
) -> tuple[FloatArray, FloatArray]:
    """Rows with a constant first column and labels −1/+1, mostly −1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, weights))
    X[:, 0] = 1.0
    theta = rng.normal(scale=0.5, size=weights)
    theta[0] = intercept
    return X, np.where(rng.random(rows) < expit(X @ theta), 1.0, -1.0)


def given_rows(rows: int, weights: int = 5) -> tuple[FloatArray, FloatArray]:
    """`cold_start` as kernels are given it; they would be compiled anew for what can be written."""
    X, y = cold_start(rows, weights)
    return read_only(X), y


def correlated_prior(weights: int = 5, *, seed: int = 1, scale: float = 2.0) -> Gaussian:
    """A prior whose mean is not zero and whose covariance is neither unit nor diagonal."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(weights, weights))
    covariance = scale * (mixing @ mixing.T / weights + 0.3 * np.eye(weights))
    return Gaussian(rng.normal(scale=0.5, size=weights), covariance)
