"""Slow, independent transcriptions of what the library computes fast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
from scipy.special import expit

from fabcost.impressions import FloatArray

DIGITS = 30
NODES = np.polynomial.legendre.leggauss(32)


def tilted_by_quadrature(mean: float, sd: float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """Mean, variance and log Z of σ(η) N(η; m, s²), by quadrature with 30 digits."""
    with mp.workdps(DIGITS):
        m, s = mp.mpf(mean), mp.mpf(sd)

        def log_density(z: mp.mpf) -> mp.mpf:
            return -z * z / 2 - mp.log1p(mp.exp(-(m + s * z)))

        mode = _mode(m, s)
        peak = log_density(mode)
        panels = _panels(m, s, mode)

        mass, first, second = _moments(log_density, mode, mp.mpf(1), panels).tolist()
        shift = first / mass
        centre = m + s * (mode + shift)
        log_z = mp.log(mass) + peak - mp.log(2 * mp.pi) / 2
        return centre, s * s * (second / mass - shift * shift), log_z


def _moments(
    log_density: Callable[[mp.mpf], mp.mpf], mode: mp.mpf, width: mp.mpf, panels: list[mp.mpf]
) -> FloatArray:
    """Of a density over that of its mode, in widths from there: ∫ p, ∫ t p and ∫ t² p.

    Exponents have 30 digits, sums 16, and 32 nodes in each panel leave 1e-13.
    """
    peak, sums = log_density(mode), np.zeros(3)
    for low, high in itertools.pairwise(panels):
        half, middle = (high - low) / 2, (high + low) / 2
        for node, weight in zip(*NODES, strict=True):
            at = middle + half * node
            t = float((at - mode) / width)
            mass = math.exp(log_density(at) - peak) * weight * float(half)
            sums += (mass, mass * t, mass * t * t)
    return sums


def _mode(m: mp.mpf, s: mp.mpf) -> mp.mpf:
    low, high = mp.mpf(0), s
    for _ in range(160):
        middle = (low + high) / 2
        if middle > s / (1 + mp.exp(m + s * middle)):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def _panels(m: mp.mpf, s: mp.mpf, mode: mp.mpf) -> list[mp.mpf]:
    miss = 1 / (1 + mp.exp(m + s * mode))
    width = 1 / mp.sqrt(1 + s * s * miss * (1 - miss))
    inner = [mode + k * width for k in (-8, -3, 0, 3, 8, 20)] + [mode - 7, mode + 7]
    bend = [(-m + k) / s for k in (-240, -100, -30, -8, 0, 8, 30, 100, 240)]  # where σ bends
    low, high = mode - 14, mode + 14
    return [low, *sorted({p for p in inner + bend if low < p < high}), high]


def mackay_gradients(
    mean: FloatArray, covariance: FloatArray, x: FloatArray, y: float
) -> tuple[FloatArray, FloatArray]:
    """α and B of the paper's equation (alphaB), with κ² where it prints 1/κ²."""
    kappa = 1.0 / np.sqrt(1.0 + np.pi * (x @ covariance @ x) / 8.0)
    rho = y * kappa * x
    alpha = rho * (1.0 - expit(rho @ mean))
    return alpha, -(np.pi * kappa**2 / 16.0) * np.outer(x, x) @ np.outer(mean, alpha)


def paper_projection(
    mean: FloatArray, covariance: FloatArray, x: FloatArray, y: float
) -> tuple[FloatArray, FloatArray]:
    """Equation (moment_update1): the moment projection in full matrices."""
    alpha, b = mackay_gradients(mean, covariance, x, y)
    inner = np.outer(alpha, alpha) - 2.0 * b
    return mean + covariance @ alpha, covariance - covariance @ inner @ covariance


def paper_adf(
    mean: FloatArray, covariance: FloatArray, X: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Algorithm (ADF_calculations)."""
    for row, label in zip(X, y, strict=True):
        mean, covariance = paper_projection(mean, covariance, row, label)
    return mean, covariance


def paper_ep(
    mean: FloatArray, covariance: FloatArray, X: FloatArray, y: FloatArray, sweeps: int
) -> tuple[FloatArray, FloatArray]:
    """Algorithm (EP_calculations), in natural parameters, with the prior as a fixed factor."""
    precision = np.linalg.inv(covariance)
    shift = precision @ mean
    site_precision = np.zeros((len(y), *precision.shape))
    site_shift = np.zeros((len(y), mean.size))
    for _ in range(sweeps):
        for i in range(len(y)):
            cavity_precision = precision - site_precision[i]
            cavity_shift = shift - site_shift[i]
            cavity = np.linalg.inv(cavity_precision)
            new_mean, new_covariance = paper_projection(cavity @ cavity_shift, cavity, X[i], y[i])
            precision = np.linalg.inv(new_covariance)
            shift = precision @ new_mean
            site_precision[i] = precision - cavity_precision
            site_shift[i] = shift - cavity_shift
    return np.linalg.solve(precision, shift), np.linalg.inv(precision)


def grid_posterior(
    prior_mean: FloatArray, prior_covariance: FloatArray, X: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Mean, covariance and log evidence of a two-weight posterior, by summing over a grid."""
    sd = np.sqrt(np.diag(prior_covariance))
    axes = [np.linspace(c - 9 * s, c + 9 * s, 401) for c, s in zip(prior_mean, sd, strict=True)]
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    away = theta - prior_mean
    log_prior = -0.5 * np.einsum("ij,ij->i", away @ np.linalg.inv(prior_covariance), away)
    log_likelihood = -np.logaddexp(0.0, -(theta @ X.T) * y).sum(axis=1)
    log_joint = log_prior + log_likelihood
    weights = np.exp(log_joint - log_joint.max())
    evidence = log_joint.max() + np.log(weights.sum() / np.exp(log_prior).sum())
    weights /= weights.sum()
    mean = weights @ theta
    return mean, (theta - mean).T @ ((theta - mean) * weights[:, None]), float(evidence)


def tilted_counts_by_quadrature(
    clicks: float, misses: float, mean: float, sd: float, *, digits: int = DIGITS
) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """Slope, share of the variance and log Z of σ(η)ᵃ σ(−η)ᵇ N(η; m, s²), with 30 digits or more.

    Between ends where the density has fallen by e⁻¹⁰⁰, in panels that end where it has fallen by
    given amounts, and where σ bends.
    """
    with mp.workdps(digits):
        a, b, m, s = (mp.mpf(each) for each in (clicks, misses, mean, sd))

        def log_density(eta: mp.mpf) -> mp.mpf:
            ends = a * max(-eta, 0) + b * max(eta, 0)
            bend = (a + b) * mp.log1p(mp.exp(-abs(eta)))
            return -ends - bend - ((eta - m) / s) ** 2 / 2

        mode = _counts_mode(a, b, m, s)
        peak = log_density(mode)
        curvature = (a + b) / (2 + mp.exp(mode) + mp.exp(-mode)) + 1 / s**2
        width = 1 / mp.sqrt(curvature)

        def fallen(level: float, side: int) -> mp.mpf:
            near, far = mp.mpf(0), width
            while peak - log_density(mode + side * far) < level:
                far *= 2
            for _ in range(30):
                middle = (near + far) / 2
                if peak - log_density(mode + side * middle) < level:
                    near = middle
                else:
                    far = middle
            return mode + side * far

        levels = (0.5, 2, 8, 20, 45, 100)
        ends = [fallen(level, side) for side in (-1, 1) for level in levels]
        edge = mp.log(max(a + b, 1))
        bends = [c + k for c in (-edge, 0, edge) for k in (-60, -25, -10, -4, 0, 4, 10, 25, 60)]
        panels = sorted({mode, *ends, *(x for x in bends if min(ends) < x < max(ends))})

        mass, first, second = _moments(log_density, mode, width, panels).tolist()
        shift = first / mass
        log_z = mp.log(mass) + peak - mp.log(2 * mp.pi * s * s) / 2
        kept = (width / s) ** 2 * (second / mass - shift * shift)
        return (mode - m + width * shift) / (s * s), kept, log_z


def _counts_mode(a: mp.mpf, b: mp.mpf, m: mp.mpf, s: mp.mpf) -> mp.mpf:
    low, high = m - s * s * b, m + s * s * a
    for _ in range(200):
        middle = (low + high) / 2
        odds = mp.exp(middle)
        if (a - b * odds) / (1 + odds) > (middle - m) / s**2:
            low = middle
        else:
            high = middle
    return (low + high) / 2
