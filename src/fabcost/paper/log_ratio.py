"""The posterior over a Gaussian near it: the logarithm of the ratio, and its known moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray

_ROWS_AT_ONCE = 256
_DRAWS_AT_ONCE = 256
_FACTORS = 8  # of which one logarithm is taken
_LARGEST_EXPONENT = 80.0  # its exponential to the power of _FACTORS is still a float
_REACH = 8.5  # sds beyond which a Gaussian is zero to rounding


@dataclass(frozen=True, eq=False)
class LogRatio:
    """L(z) = log p(y | X, θ) p(θ) − log q(θ), up to a constant, at θ = μ + R z of q."""

    mean: float  # E_q[L]
    slope: FloatArray  # E_q[L z] = E_q[∇L]
    curvature: FloatArray  # E_q[(L − E_q L) z zᵀ] = E_q[∇∇ᵀL]
    _margins: FloatArray
    _rows: FloatArray
    _prior_centre: FloatArray
    _prior_slope: FloatArray

    @classmethod
    def of(cls, prior: Gaussian, X: FloatArray, y: FloatArray, q: Gaussian) -> LogRatio:
        """With labels −1/+1.

        Every impression enters through one scalar, so its expectations under q are
        one-dimensional integrals, and integration by parts does the rest (Stein's lemma).

        Examples
        --------
        >>> q = Gaussian.isotropic(1)
        >>> ratio = LogRatio.of(q, np.zeros((3, 1)), np.ones(3), q)
        >>> round(ratio.mean, 4), ratio.slope, ratio.curvature
        (-2.0794, array([0.]), array([[0.]]))
        """
        rows = y[:, None] * (X @ q.root)
        margins = y * (X @ q.mean)
        centre = prior.whiten(q.mean)
        inside = np.asarray(np.linalg.solve(prior.root, q.root), dtype=np.float64)
        size = float(centre @ centre + (inside**2).sum()) - q.dimension
        mean, slope, curvature = _expectations(margins, rows)
        return cls(
            mean - 0.5 * size,
            slope - inside.T @ centre,
            curvature - inside.T @ inside + np.eye(q.dimension),
            margins,
            rows,
            centre,
            inside,
        )

    def at_pairs(self, z: FloatArray) -> FloatArray:
        """L at the rows of ``z`` and at their mirror images −z: two rows of values.

        Examples
        --------
        >>> q = Gaussian.isotropic(1)
        >>> ratio = LogRatio.of(q, np.ones((1, 1)), np.ones(1), q)
        >>> ratio.at_pairs(np.array([[2.0]])).round(4)
        array([[-0.1269],
               [-2.1269]])
        """
        values = np.empty((2, z.shape[0]))
        for start in range(0, z.shape[0], _DRAWS_AT_ONCE):
            chosen = slice(start, start + _DRAWS_AT_ONCE)
            values[:, chosen] = self._log_likelihoods(z[chosen])
        inside = z @ self._prior_slope.T
        away = np.stack([self._prior_centre + inside, self._prior_centre - inside])
        return np.asarray(values + 0.5 * ((z * z).sum(axis=1) - (away * away).sum(axis=2)))

    def _log_likelihoods(self, z: FloatArray) -> FloatArray:
        total = np.zeros((2, z.shape[0]))
        farthest = float(np.sqrt((z * z).sum(axis=1).max()))
        for start in range(0, self._margins.size, _ROWS_AT_ONCE):
            chosen = slice(start, start + _ROWS_AT_ONCE)
            rows, margins = self._rows[chosen], self._margins[chosen, None]
            away = rows @ z.T
            reach = np.abs(margins[:, 0]) + farthest * np.sqrt((rows * rows).sum(axis=1))
            if reach.max() > _LARGEST_EXPONENT:
                total[0] -= np.logaddexp(0.0, -margins - away).sum(axis=0)
                total[1] -= np.logaddexp(0.0, -margins + away).sum(axis=0)
            else:
                grown, odds = np.exp(away, out=away), np.exp(-margins)
                total[0] -= _sum_of_logs(odds / grown)
                total[1] -= _sum_of_logs(np.multiply(odds, grown, out=grown))
        return total


def _sum_of_logs(odds: FloatArray) -> FloatArray:
    """Σ log(1 + odds) over the rows, several rows to a logarithm."""
    odds += 1.0
    whole = odds.shape[0] // _FACTORS
    split = odds[: whole * _FACTORS].reshape(_FACTORS, whole, odds.shape[1])
    products = split[0]
    for each in split[1:]:
        products *= each
    rest = np.log(odds[whole * _FACTORS :])
    return np.asarray(np.log(products).sum(axis=0) + rest.sum(axis=0))


def _expectations(margins: FloatArray, rows: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Sums over the rows of E log σ(m), E σ(−m) g and −E σ(m)σ(−m) g gᵀ, m ~ N(margin, |g|²)."""
    dimension = rows.shape[1]
    mean, slope, curvature = 0.0, np.zeros(dimension), np.zeros((dimension, dimension))
    sds = np.sqrt((rows * rows).sum(axis=1))
    for start in range(0, sds.size, _ROWS_AT_ONCE):
        chosen = slice(start, start + _ROWS_AT_ONCE)
        # The trapezoid rule converges exponentially; the poles are at ±iπ.
        step = min(0.6, 0.6 / max(float(sds[chosen].max()), 1e-9))
        half = int(np.ceil(_REACH / step))
        nodes = step * np.arange(-half, half + 1)
        weights = np.exp(-0.5 * nodes**2)
        weights /= weights.sum()
        eta = margins[chosen, None] + sds[chosen, None] * nodes
        miss = expit(-eta)
        mean -= float((np.logaddexp(0.0, -eta) @ weights).sum())
        slope += (miss @ weights) @ rows[chosen]
        bend = (miss * (1.0 - miss)) @ weights
        curvature -= (rows[chosen] * bend[:, None]).T @ rows[chosen]
    return mean, slope, curvature
