"""Bayesian logistic regression: its log density, gradient, quadratic sites and their product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Rows, read_only
from fabcost.inference.history import Carried, Sites
from fabcost.inference.sparse.memory import absorb_rows
from fabcost.sparse import SparseRows

_ROWS_AT_ONCE = 8192
_WORST_CONDITION = 1e10


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
    prior: Gaussian, X: Rows, y: FloatArray, z: FloatArray, counts: FloatArray | None = None
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
    slopes = _slopes(eta, y, counts)
    pulled = X.sum(slopes) if isinstance(X, SparseRows) else X.T @ slopes
    return LogDensity(value, prior.root.T @ pulled - z)


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


def product(prior: Gaussian, X: Rows, sites: Sites) -> Gaussian:
    r"""Prior times sites, normalised.

    :math:`\propto p(\theta)\prod_i \exp(\nu_i x_i^\top\theta - \tfrac12\tau_i (x_i^\top\theta)^2)`.

    Examples
    --------
    >>> sites = Sites(np.array([3.0]), np.array([6.0]))
    >>> product(Gaussian.isotropic(1), np.array([[1.0]]), sites)
    Gaussian(mean=array([1.5]), sd=array([0.5]))
    """
    at_once = _product_at_once(prior, X, sites)
    if at_once is not None:
        return at_once
    carried = Carried.of(prior)
    absorb_rows(carried, X, sites)
    return carried.gaussian(keep=True)


def _product_at_once(prior: Gaussian, X: Rows, sites: Sites) -> Gaussian | None:
    """Through one weighted Gram matrix; None where its rounding would show."""
    found = _factored(prior, X, sites)
    if found is None:
        return None
    factor, shift = found
    inverse = np.linalg.inv(factor)
    root = prior.root @ inverse.T
    return Gaussian.from_root(prior.mean + root @ (inverse @ shift), root)


def whitened_mean(prior: Gaussian, X: Rows, sites: Sites) -> FloatArray:
    """z of the mean μ₀ + R₀ z of `product`.

    Examples
    --------
    >>> sites = Sites(np.array([3.0]), np.array([6.0]))
    >>> whitened_mean(Gaussian.isotropic(1), np.array([[1.0]]), sites)
    array([1.5])
    """
    found = _factored(prior, X, sites)
    if found is None:
        return prior.whiten(product(prior, X, sites).mean)
    factor, shift = found
    away = kernels.solve_lower(read_only(factor), shift)
    upper = np.ascontiguousarray(factor.T[::-1, ::-1])  # upside down it is lower triangular
    z: FloatArray = kernels.solve_lower(read_only(upper), away[::-1].copy())[::-1].copy()
    return z


def _factored(prior: Gaussian, X: Rows, sites: Sites) -> tuple[FloatArray, FloatArray] | None:
    """Cholesky factor of the product's precision, and its shift, in the prior's own coordinates.

    There the precision is I + R₀ᵀ XᵀTX R₀.
    """
    gram, shift = _weighted_gram(prior, X, sites)
    root, scale = prior.root, prior.root.diagonal()
    if np.count_nonzero(root) == np.count_nonzero(scale):
        within = scale[:, None] * gram * scale
    else:
        within = root.T @ gram @ root
    try:
        factor = np.linalg.cholesky(np.eye(prior.dimension) + within)
    except np.linalg.LinAlgError:
        return None
    spread = factor.diagonal()
    if not (spread.max() / spread.min()) ** 2 < _WORST_CONDITION:
        return None
    return np.asarray(factor, dtype=np.float64), root.T @ shift


def _weighted_gram(prior: Gaussian, X: Rows, sites: Sites) -> tuple[FloatArray, FloatArray]:
    if isinstance(X, SparseRows):
        gram = kernels.sparse_gram(*X.arrays, sites.precision, prior.dimension)
        return gram, X.sum(sites.shift - sites.precision * (X @ prior.mean))
    gram = np.zeros((prior.dimension, prior.dimension))
    shift = np.zeros(prior.dimension)
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        rows, precision = X[chunk], sites.precision[chunk]
        gram += (rows * precision[:, None]).T @ rows
        shift += rows.T @ (sites.shift[chunk] - precision * (rows @ prior.mean))
    return gram, shift
