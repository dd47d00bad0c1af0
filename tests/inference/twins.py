"""Plain NumPy twins of the compiled loops: full covariances, no recurrences, no vector lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fabcost.impressions import FloatArray


class State(NamedTuple):
    mean: FloatArray
    covariance: FloatArray


def exact_site(margin: float, variance: float) -> tuple[float, float, float]:
    """log Z, slope and curvature by the trapezoid rule on 40,001 points of the tilted density."""
    sd = np.sqrt(variance)
    z = np.linspace(-12.0 - sd, 12.0 + sd, 40_001)
    eta = margin + sd * z
    log_weight = -0.5 * z * z - np.logaddexp(0.0, -eta)
    peak = log_weight.max()
    weight = np.exp(log_weight - peak)
    mass = weight.sum()
    centre = weight @ z / mass
    spread = weight @ (z - centre) ** 2 / mass
    log_z = peak + np.log(mass * (z[1] - z[0])) - 0.5 * np.log(2.0 * np.pi)
    return float(log_z), float(centre / sd), float((1.0 - spread) / variance)


def mackay_site(margin: float, variance: float) -> tuple[float, float, float]:
    kappa = 1.0 / np.sqrt(1.0 + np.pi * variance / 8.0)
    miss = expit(-kappa * margin)
    log_z = -np.logaddexp(0.0, -kappa * margin)
    curvature = (kappa * miss) ** 2 + np.pi / 8.0 * kappa**3 * margin * miss
    return float(log_z), float(kappa * miss), float(curvature)


def site(margin: float, variance: float, exact: bool) -> tuple[float, float, float]:
    return exact_site(margin, variance) if exact else mackay_site(margin, variance)


def adf_pass(state: State, X: FloatArray, y: FloatArray, exact: bool) -> State:
    mean, covariance = state
    for row, label in zip(X, y, strict=True):
        reach = covariance @ row
        _, slope, curvature = site(label * (row @ mean), row @ reach, exact)
        mean = mean + label * slope * reach
        covariance = covariance - curvature * np.outer(reach, reach)
    return State(mean, covariance)


def absorb(state: State, X: FloatArray, precision: FloatArray, shift: FloatArray) -> State:
    inverse = np.linalg.inv(state.covariance)
    covariance: FloatArray = np.linalg.inv(inverse + (X.T * precision) @ X).astype(np.float64)
    return State(covariance @ (inverse @ state.mean + X.T @ shift), covariance)


def ep_sweep(
    state: State, X: FloatArray, y: FloatArray, sites: tuple[FloatArray, FloatArray], exact: bool
) -> tuple[State, float]:
    """One sweep, changing ``sites`` in place; also Σ log Cᵢ."""
    mean, covariance = state
    precision, shift = sites
    log_factors = 0.0
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        centre, variance = row @ mean, row @ covariance @ row
        cavity_variance = 1.0 / (1.0 / variance - precision[i])
        cavity_mean = cavity_variance * (centre / variance - shift[i])
        log_z, slope, curvature = site(label * cavity_mean, cavity_variance, exact)
        tilted_variance = cavity_variance * (1.0 - cavity_variance * curvature)
        tilted_mean = cavity_mean + cavity_variance * label * slope
        old = precision[i], shift[i]
        precision[i] = 1.0 / tilted_variance - 1.0 / cavity_variance
        shift[i] = tilted_mean / tilted_variance - cavity_mean / cavity_variance
        growth = 1.0 + precision[i] * cavity_variance
        exponent = shift[i] * cavity_mean + 0.5 * shift[i] ** 2 * cavity_variance
        exponent = (exponent - 0.5 * precision[i] * cavity_mean**2) / growth
        log_factors += log_z + 0.5 * np.log(growth) - exponent
        mean, covariance = absorb(
            State(mean, covariance),
            row[None],
            precision[i : i + 1] - old[0],
            shift[i : i + 1] - old[1],
        )
    return State(mean, covariance), float(log_factors)


def counts_site(a: float, b: float, mean: float, variance: float) -> tuple[float, float, float]:
    """`exact_site` of σ(η)ᵃ σ(−η)ᵇ, on 200,001 points of the density about its largest."""
    sd = np.sqrt(variance)
    low, high = min(mean, -20.0) - 9.0 * sd, max(mean, 20.0) + 9.0 * sd
    for _ in range(3):
        eta = np.linspace(low, high, 200_001)
        log_weight = -0.5 * ((eta - mean) / sd) ** 2
        log_weight -= a * np.logaddexp(0.0, -eta) + b * np.logaddexp(0.0, eta)
        peak = log_weight.max()
        within = eta[log_weight > peak - 60.0]
        low, high = within[0], within[-1]
    weight = np.exp(log_weight - peak)
    mass = weight.sum()
    centre = weight @ eta / mass
    spread = weight @ (eta - centre) ** 2 / mass
    log_z = peak + np.log(mass * (eta[1] - eta[0])) - 0.5 * np.log(2.0 * np.pi * variance)
    return (
        float(log_z),
        float((centre - mean) / variance),
        float((1.0 - spread / variance) / variance),
    )
