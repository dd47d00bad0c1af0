"""The Gaussian as an exponential family: natural parameters, products and quotients.

The paper's section III-C.  With sufficient statistics φ(θ) = (θ, −θθᵀ/2) the natural parameters
are the shift h = Λμ and the precision Λ; a product of densities adds them and a quotient
subtracts them, which is all that EP's cavity and site update do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray


@dataclass(frozen=True, eq=False)
class Natural:
    r"""Shift h and precision Λ of an unnormalised Gaussian factor.

    Unlike a `Gaussian`, Λ may be singular or indefinite: a site knows one direction only.

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
