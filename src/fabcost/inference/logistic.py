"""Bayesian logistic regression: its log density, gradient and quadratic sites."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray


class LogDensity(NamedTuple):
    """A log density, up to a constant, and its gradient."""

    value: float
    gradient: FloatArray


def log_likelihood(eta: FloatArray, y: FloatArray, counts: FloatArray | None = None) -> float:
    """Σ log σ(yᵢ ηᵢ) with labels −1/+1: equations 3 to 5 of the paper.

    Where rows have ``counts``, clicks and misses, Σ aᵢ log σ(ηᵢ) + bᵢ log σ(−ηᵢ).

    Examples
    --------
    >>> import numpy as np
    >>> round(log_likelihood(np.array([0.0, 0.0]), np.array([1.0, -1.0])), 4)
    -1.3863
    """
    if counts is None:
        return float(log_expit(y * eta).sum())
    return float(counts[:, 0] @ log_expit(eta) + counts[:, 1] @ log_expit(-eta))


def log_posterior(
    prior: Gaussian, X: FloatArray, y: FloatArray, z: FloatArray, counts: FloatArray | None = None
) -> LogDensity:
    r"""log p(y | X, θ) p(θ) and its gradient at θ = μ₀ + R₀ z, in the whitened coordinates z.

    :math:`-\tfrac12 z^\top z + \sum_i \log\sigma(y_i\,x_i^\top\theta)` (equation 6).

    Examples
    --------
    >>> import numpy as np
    >>> prior = Gaussian.isotropic(1, variance=4.0)
    >>> density = log_posterior(prior, np.array([[1.0]]), np.array([1.0]), np.zeros(1))
    >>> round(density.value, 4), density.gradient
    (-0.6931, array([1.]))
    """
    eta = X @ (prior.mean + prior.root @ z)
    value = log_likelihood(eta, y, counts) - 0.5 * float(z @ z)
    return LogDensity(value, prior.root.T @ (X.T @ _slopes(eta, y, counts)) - z)


def _slopes(eta: FloatArray, y: FloatArray, counts: FloatArray | None) -> FloatArray:
    if counts is None:
        return np.asarray(y * expit(-y * eta))
    return np.asarray(counts[:, 0] * expit(-eta) - counts[:, 1] * expit(eta))


def quadratic_sites(
    eta: FloatArray, y: FloatArray, counts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Precision and shift of the second-order expansion of log σ(y η) at ``eta``.

    Multiplying the prior by these Gaussian sites is one Newton step of the log posterior.

    Examples
    --------
    >>> import numpy as np
    >>> quadratic_sites(np.array([0.0]), np.array([1.0]))
    (array([0.25]), array([0.5]))
    """
    miss = expit(-y * eta)
    precision = miss * expit(y * eta)
    if counts is not None:
        precision = counts.sum(axis=1) * precision
        return precision, precision * eta + _slopes(eta, y, counts)
    return precision, precision * eta + y * miss
