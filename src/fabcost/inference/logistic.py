"""Bayesian logistic regression: its log density, gradient and quadratic sites."""

from __future__ import annotations

from typing import NamedTuple

from scipy.special import expit, log_expit

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray


class LogDensity(NamedTuple):
    """A log density, up to a constant, and its gradient."""

    value: float
    gradient: FloatArray


def log_likelihood(eta: FloatArray, y: FloatArray) -> float:
    """Σ log σ(yᵢ ηᵢ) with labels −1/+1: equations 3 to 5 of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> round(log_likelihood(np.array([0.0, 0.0]), np.array([1.0, -1.0])), 4)
    -1.3863
    """
    return float(log_expit(y * eta).sum())


def log_posterior(prior: Gaussian, X: FloatArray, y: FloatArray, z: FloatArray) -> LogDensity:
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
    value = log_likelihood(eta, y) - 0.5 * float(z @ z)
    return LogDensity(value, prior.root.T @ (X.T @ (y * expit(-y * eta))) - z)


def quadratic_sites(eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
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
    return precision, precision * eta + y * miss
