"""The paper's Algorithms 3 and 4 as printed: full matrices, NumPy, MacKay's moments.

Labels are −1/+1, and B carries κ² where the paper prints 1/κ² (its derivative gives κ²).
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.impressions import FloatArray

Moments = tuple[FloatArray, FloatArray]

RANK_TOLERANCE = 1e-9


def density_filtering(
    mean: FloatArray, covariance: FloatArray, X: FloatArray, y: FloatArray
) -> Moments:
    """Gaussian Density Filtering: the last approximation is the cavity of the next row.

    Examples
    --------
    >>> mean, covariance = density_filtering(np.zeros(1), np.eye(1), np.ones((1, 1)), np.ones(1))
    >>> mean.round(3), covariance.round(3)
    (array([0.424]), array([[0.82]]))
    """
    for x, label in zip(X, y, strict=True):
        mean, covariance = _project(mean, covariance, x, label)
    return mean, covariance


def expectation_propagation(
    mean: FloatArray, covariance: FloatArray, X: FloatArray, y: FloatArray, *, sweeps: int
) -> Moments:
    """Gaussian Expectation Propagation with a D × D covariance for each site.

    Sites constrain one direction only, so the inverses are pseudo-inverses, as in the authors'
    notebooks; a flat site is the zero matrix, whose pseudo-inverse is zero as well.  Singular
    values below the tolerance are rounding: kept, they make the second sweep diverge.

    Examples
    --------
    >>> X, y = np.ones((1, 1)), np.ones(1)
    >>> expectation_propagation(np.zeros(1), np.eye(1), X, y, sweeps=4)[0].round(3)
    array([0.424])
    """
    rows, weights = X.shape
    site_means = np.zeros((rows, weights))
    site_covariances = np.zeros((rows, weights, weights))
    for visit in range(sweeps * rows):
        i = visit % rows
        cavity = _cavity(mean, covariance, site_means[i], site_covariances[i])
        mean, covariance = _project(*cavity, X[i], y[i])
        # What remains when the cavity is divided out of the projection: the same quotient.
        site_means[i], site_covariances[i] = _cavity(mean, covariance, *cavity)
    return mean, covariance


def _cavity(
    mean: FloatArray, covariance: FloatArray, mean_out: FloatArray, out: FloatArray
) -> Moments:
    """Σ₋ = (Σ⁻¹ − Σᵢ⁻¹)⁻¹ and μ₋ = Σ₋ (Σ⁻¹ μ − Σᵢ⁻¹ μᵢ)."""
    precision = np.linalg.pinv(covariance, rcond=RANK_TOLERANCE)
    precision_out = np.linalg.pinv(out, rcond=RANK_TOLERANCE)
    left = np.linalg.pinv(precision - precision_out, rcond=RANK_TOLERANCE)
    return left @ (precision @ mean - precision_out @ mean_out), left


def _project(mean: FloatArray, covariance: FloatArray, x: FloatArray, label: float) -> Moments:
    """μ + Σα and Σ − Σ(ααᵀ − 2B)Σ, with α and B of MacKay's log Z ≈ log σ(κ y xᵀμ)."""
    kappa = 1.0 / math.sqrt(1.0 + math.pi * (x @ covariance @ x) / 8.0)
    rho = label * kappa * x
    # σ′(z)/σ(z) = σ(−z); clipped, because e^z overflows for the wide marginals of a vague prior.
    alpha = rho / (1.0 + math.exp(min(float(rho @ mean), 700.0)))
    B = -math.pi / 16.0 * kappa**2 * np.outer(x, x) @ np.outer(mean, alpha)
    shrink = np.outer(alpha, alpha) - 2.0 * B
    return mean + covariance @ alpha, covariance - covariance @ shrink @ covariance
