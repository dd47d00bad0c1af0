"""The paper's formulas as printed: exponential families, and Algorithms 3 and 4 with full matrices.

Labels are −1/+1, and B carries κ² where the paper prints 1/κ² (its derivative gives κ²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray

MomentPair = tuple[FloatArray, FloatArray]

RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Natural:
    r"""A Gaussian as an exponential family (III-C): shift h = Λμ and precision Λ of a factor.

    With sufficient statistics φ(θ) = (θ, −θθᵀ/2), a product of densities adds them and a quotient
    subtracts them, which is all that EP's cavity and site update do.  Unlike in a `Gaussian`, Λ
    may be singular or indefinite: a site knows one direction only.

    Examples
    --------
    >>> prior = Natural.of(Gaussian.isotropic(2, variance=4.0))
    >>> site = Natural.site([1.0, 0.0], precision=0.75, shift=2.0)
    >>> (prior * site).gaussian().mean
    array([2., 0.])
    >>> ((prior * site) / site).gaussian().covariance
    array([[4., 0.],
           [0., 4.]])
    """

    shift: FloatArray
    precision: FloatArray

    @classmethod
    def of(cls, belief: Gaussian) -> Natural:
        """Natural from moment parameters: Λ = Σ⁻¹, h = Σ⁻¹ μ."""
        return cls(belief.precision @ belief.mean, belief.precision)

    @classmethod
    def site(cls, x: npt.ArrayLike, *, precision: float, shift: float) -> Natural:
        """exp(ν xᵀθ − τ (xᵀθ)²/2): the approximation of one impression, of rank one."""
        row = np.asarray(x, dtype=np.float64)
        return cls(shift * row, precision * np.outer(row, row))

    def gaussian(self) -> Gaussian:
        """Moment from natural parameters (equation 10): Σ = Λ⁻¹, μ = Λ⁻¹ h."""
        covariance = np.linalg.inv(self.precision)
        return Gaussian(covariance @ self.shift, covariance)

    def log_partition(self) -> float:
        """Φ(λ) = log ∫ exp(hᵀθ − θᵀΛθ/2) dθ.

        Examples
        --------
        >>> round(Natural.of(Gaussian.isotropic(1)).log_partition(), 4)
        0.9189
        """
        sign, log_determinant = np.linalg.slogdet(self.precision)
        if sign <= 0:
            raise ValueError("precision is not positive definite: the factor has no integral")
        quadratic = self.shift @ np.linalg.solve(self.precision, self.shift)
        dimension = self.shift.size
        return float(0.5 * (quadratic + dimension * math.log(2.0 * math.pi) - log_determinant))

    def __mul__(self, other: Natural) -> Natural:
        return Natural(self.shift + other.shift, self.precision + other.precision)

    def __truediv__(self, other: Natural) -> Natural:
        return Natural(self.shift - other.shift, self.precision - other.precision)


def density_filtering(
    mean: FloatArray, covariance: FloatArray, X: FloatArray, y: FloatArray
) -> MomentPair:
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
) -> MomentPair:
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
) -> MomentPair:
    """Σ₋ = (Σ⁻¹ − Σᵢ⁻¹)⁻¹ and μ₋ = Σ₋ (Σ⁻¹ μ − Σᵢ⁻¹ μᵢ)."""
    precision = np.linalg.pinv(covariance, rcond=RANK_TOLERANCE)
    precision_out = np.linalg.pinv(out, rcond=RANK_TOLERANCE)
    left = np.linalg.pinv(precision - precision_out, rcond=RANK_TOLERANCE)
    return left @ (precision @ mean - precision_out @ mean_out), left


def _project(mean: FloatArray, covariance: FloatArray, x: FloatArray, label: float) -> MomentPair:
    """μ + Σα and Σ − Σ(ααᵀ − 2B)Σ, with α and B of MacKay's log Z ≈ log σ(κ y xᵀμ)."""
    kappa = 1.0 / math.sqrt(1.0 + math.pi * (x @ covariance @ x) / 8.0)
    rho = label * kappa * x
    # σ′(z)/σ(z) = σ(−z); clipped, because e^z overflows for the wide marginals of a vague prior.
    alpha = rho / (1.0 + math.exp(min(float(rho @ mean), 700.0)))
    B = -math.pi / 16.0 * kappa**2 * np.outer(x, x) @ np.outer(mean, alpha)
    shrink = np.outer(alpha, alpha) - 2.0 * B
    return mean + covariance @ alpha, covariance - covariance @ shrink @ covariance
