"""How far an approximation is from the truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray


class MomentError(NamedTuple):
    """Errors of the means, in true posterior sds, and of the variances, relatively.

    ``mean`` and ``variance`` are root mean squares over the weights; the others the largest.
    """

    mean: float
    variance: float
    worst_mean: float
    worst_variance: float


def moment_error(approximation: Gaussian, mean: FloatArray, covariance: FloatArray) -> MomentError:
    r"""How far :math:`(\mu_j - m_j)/\sqrt{C_{jj}}` and :math:`\Sigma_{jj}/C_{jj} - 1` are from 0.

    Examples
    --------
    >>> error = moment_error(Gaussian([1.0], [[1.0]]), np.array([0.0]), np.array([[4.0]]))
    >>> error.mean, error.variance
    (0.5, 0.75)
    """
    variance = np.diag(covariance)
    if variance.shape != approximation.mean.shape or np.shape(mean) != variance.shape:
        raise ValueError(
            f"the truth has mean of shape {np.shape(mean)} and covariance of shape "
            f"{np.shape(covariance)} but the approximation has {approximation.dimension} weights"
        )
    away = (approximation.mean - mean) / np.sqrt(variance)
    excess = approximation.sd**2 / variance - 1.0
    rms = [float(np.sqrt(np.mean(each**2))) for each in (away, excess)]
    worst = [float(np.abs(each).max()) for each in (away, excess)]
    return MomentError(*rms, *worst)


def kl_divergence(p: Gaussian, q: Gaussian) -> float:
    r"""KL(p ‖ q) in nats, the forward divergence of equation 8 when p is the truth.

    :math:`\tfrac12\left(\mathrm{tr}(\Sigma_q^{-1}\Sigma_p) + \Delta^\top\Sigma_q^{-1}\Delta
    - D + \log|\Sigma_q|/|\Sigma_p|\right)`.

    Examples
    --------
    >>> round(kl_divergence(Gaussian([0.0], [[1.0]]), Gaussian([1.0], [[1.0]])), 6)
    0.5
    """
    if p.dimension != q.dimension:
        raise ValueError(f"p has {p.dimension} weights but q has {q.dimension}")
    relative = np.linalg.solve(q.root, p.root)
    away = q.whiten(p.mean)
    volume = q.log_determinant - p.log_determinant
    return float(0.5 * ((relative**2).sum() + away @ away - p.dimension + volume))


def calibration(approximation: Gaussian, draws: FloatArray) -> FloatArray:
    r"""Kolmogorov distance of each weight's marginal from draws of the true posterior.

    Each draw becomes its quantile under the approximation, :math:`\Phi((\theta_j-\mu_j)/\sigma_j)`;
    a calibrated marginal makes them uniform.  With n independent draws of the approximation
    itself the distance exceeds 1.95/√n in one case of a thousand.

    Examples
    --------
    >>> belief = Gaussian.isotropic(1)
    >>> draws = belief.sample(np.random.default_rng(0), 10_000)
    >>> bool(calibration(belief, draws)[0] < 0.0195)
    True
    """
    if draws.ndim != 2 or draws.shape[1] != approximation.dimension or draws.shape[0] == 0:
        raise ValueError(
            f"draws have shape {draws.shape} but must be rows of {approximation.dimension} weights"
        )
    quantiles = np.sort(ndtr((draws - approximation.mean) / approximation.sd), axis=0)
    count = draws.shape[0]
    above = np.arange(1, count + 1)[:, None] / count - quantiles
    return np.asarray(np.maximum(above, 1.0 / count - above).max(axis=0))
