"""The integrals of one site: log Z = log ∫ σ(η) N(η; m, s²) dη and its derivatives."""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.functions import exp, half_line, log
from fabcost.kernels.lanes import counted, load, pick, pointer, spread, total

HALF_LOG_TWO_PI = 0.9189385332046727
PI_OVER_EIGHT = 0.39269908169872414
TWO_PI_SQUARED = 19.739208802178716

WIDE = 49.0  # cavity variance above which the step-function expansion takes over
NARROW = 0.43  # cavity sd below which the Gaussian, not the poles of σ, limits the step
NARROW_STEP = 0.855

#: Gauss's rule of 16 nodes for ∫ f(u)/(1 + eᵘ) du over u > 0.
STEP_NODES = np.array(
    [
        0.095147601955810370048,
        0.49566067484460081883,
        1.199411336587502302,
        2.1984646424078049773,
        3.5047157413189185278,
        5.1408668801051576166,
        7.1297206458584953987,
        9.4957673993832923418,
        12.270587439183705025,
        15.497209385158521297,
        19.235372570918377227,
        23.57078337207754611,
        28.633351570669046398,
        34.637819512296163097,
        41.994709045072290864,
        51.755273302994286641,
    ]
)
STEP_WEIGHTS = np.array(
    [
        0.1159490407982463766,
        0.21002175606703468371,
        0.19709913798958028495,
        0.11479352292466519397,
        0.042812938658134610598,
        0.010524340957757652529,
        0.0017390060036138112128,
        0.00019274631553807306364,
        0.000014027027942176691793,
        6.4574643493134143749e-7,
        1.7798044167290326414e-8,
        2.7093345077145004389e-10,
        2.0139276847701422234e-12,
        5.9642226008251106613e-15,
        4.7836668877396492989e-18,
        3.9422110789052215772e-22,
    ]
)


@helper()
def mackay_site(margin, variance):
    """MacKay's log Z ≈ log σ(κ m) and its derivatives; see `exact_site` for what is returned."""
    kappa = 1.0 / math.sqrt(1.0 + PI_OVER_EIGHT * variance)
    scaled = kappa * margin
    if scaled > 0.0:
        decay = exp(-scaled)
        z = 1.0 / (1.0 + decay)
        miss = decay * z
        log_scale = 0.0
    else:
        growth = exp(scaled)
        miss = 1.0 / (1.0 + growth)
        z = miss
        log_scale = scaled
    # Σ(ααᵀ − 2B)Σ with B = −(π/16) κ² (xᵀμ) x αᵀ, read along x.
    curvature = kappa * kappa * miss * (miss + PI_OVER_EIGHT * kappa * margin)
    return log_scale, z, kappa * miss, curvature, 1.0 - curvature * variance


@helper()
def _trapezoid(margin, variance):
    """∫ σ(η) N(η; m, s²) dη and derivatives on an equispaced grid, for m ≥ −s²/2.

    Spacing h (in sds) balances the two limits of the rule's exponential convergence: the
    Gaussian, exp(−2π²/h²), and the poles of σ at ±iπ, exp(−2π²/(h s) + π²/(2s²)).
    Eight nodes on either side are summed at once; from one eight to the next all
    exponentials are geometric recurrences.
    """
    sd = math.sqrt(variance)
    step = NARROW_STEP
    if sd > NARROW:
        step = TWO_PI_SQUARED * sd / ((28.0 + sd) * variance + 0.25 * TWO_PI_SQUARED)
    nodes = int((6.6 + sd) / step) + 1
    half = -0.5 * step * step
    k = counted()
    centre = exp(-margin)
    rise = exp((step * sd) * k)
    up, down = centre / rise, centre * rise
    weight = exp(half * (k * k))
    middle = 1.0 / (1.0 + centre)
    missed = centre * middle
    z, first, second, mass = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    jump, fall, drop = 1.0, 1.0, spread(1.0)
    if nodes > 8:
        jump = pick(rise, 7)
        drop = exp(half * (16.0 * k + 64.0))
        fall = pick(drop, 3)  # exp(128 half)
    while True:
        above, below = 1.0 + up, 1.0 + down
        pair = weight / (above * below)
        z_up, z_down = pair * below, pair * above
        miss_up, miss_down = up / above, down / below
        slope_up, slope_down = z_up * miss_up, z_down * miss_down
        z = z + (z_up + z_down)
        first = first + (slope_up + slope_down)
        second = second + (slope_up * miss_up + slope_down * miss_down)
        mass = mass + weight
        nodes -= 8
        if nodes <= 0:
            break
        weight = weight * drop
        drop = drop * fall
        up, down = up / jump, down * jump
    all_z = middle + total(z)
    slope = (middle * missed + total(first)) / all_z
    bend = (middle * missed * missed + total(second)) / all_z
    # −(log Z)″ = E[r(1 − r)] − Var[r] under the tilted density, r = σ(−η).
    return all_z / (1.0 + 2.0 * total(mass)), slope, slope + slope * slope - 2.0 * bend


@helper()
def _below_step(tilt, variance):
    """∫ (η/s)ᵏ σ(η) N(η; m, s²) dη / (s N(0; m, s²)), k = 0, 1, 2, m = −tilt·s², 0 ≤ tilt ≤ ½.

    For large s.  σ(η) is e^η on the left and 1 on the right, each in closed form, less a share
    1/(1 + e^|η|) of either, which is gone after a few units of η, where the rest hardly changes.
    """
    sd = math.sqrt(variance)
    nodes, weights = pointer(STEP_NODES), pointer(STEP_WEIGHTS)
    zeroth, first, second = spread(0.0), spread(0.0), spread(0.0)
    for k in range(0, STEP_NODES.size, 8):
        u = load(nodes, k)
        bell = load(weights, k) * exp((-0.5 / variance) * (u * u))
        right, left = bell * exp((0.0 - tilt) * u), bell * exp((tilt - 1.0) * u)
        zeroth = zeroth + (right + left)
        first = first + u * (right - left)
        second = second + u * u * (right + left)
    right0, right1, right2 = half_line(tilt * sd)
    left0, left1, left2 = half_line((1.0 - tilt) * sd)
    return (
        right0 + left0 - total(zeroth) / sd,
        right1 - left1 - total(first) / variance,
        right2 + left2 - total(second) / sd / variance,
    )


@helper()
def _tilted_below(tilt, variance):
    """Z / N(0; m, s²), slope, and the tilted variance in units of s², through `_below_step`."""
    sd = math.sqrt(variance)
    zeroth, first, second = _below_step(tilt, variance)
    mean = first / zeroth
    return sd * zeroth, tilt + mean / sd, second / zeroth - mean * mean


@helper()
def _wide(margin, variance):
    """log-scale, Z, slope, and share of the variance kept, for m ≥ −s²/2 and large s."""
    tilt = abs(margin) / variance
    log_density = -0.5 * abs(margin) * tilt - 0.5 * log(variance) - HALF_LOG_TWO_PI
    if margin <= 0.0:
        z, slope, kept = _tilted_below(tilt, variance)
        return log_density, z, slope, kept
    # Above the step: Z(m) = 1 − E(−m), with E, E′, E″ of the mirrored mean.
    if tilt <= 0.5:
        lower, slope, kept = _tilted_below(tilt, variance)
        lower *= exp(log_density)
        first = lower * slope
        second = lower * (slope * slope - (1.0 - kept) / variance)
    elif tilt < 1.0:
        # E(−m) = e^{s²/2 − m} E(m − s²), and the tilted densities coincide.
        lower, slope, kept = _tilted_below(1.0 - tilt, variance)
        lower *= exp(log_density)
        first = lower * (1.0 - slope)
        second = lower * ((1.0 - slope) * (1.0 - slope) - (1.0 - kept) / variance)
    else:
        lower = exp(0.5 * variance - margin)
        first = lower
        second = lower
    z = 1.0 - lower
    slope = first / z
    # Here at least 1 − 2/π of the variance is kept: nothing cancels.
    return 0.0, z, slope, 1.0 - variance * (slope * slope + second / z)


@helper()
def exact_site(margin, variance):
    """(log scale, z, slope, curvature, kept) of log Z at label-signed cavity mean and variance.

    Z = exp(log scale)·z = ∫ σ(η) N(η; m, s²) dη; slope = ∂ log Z/∂m; curvature = −∂² log Z/∂m²;
    kept = 1 − s² curvature, the tilted variance in units of s², which a wide cavity makes small.
    The identity σ(η) N(η; m, s²) = e^{m + s²/2} σ(−η) N(η; m + s², s²) mirrors the far lower
    half of the means onto the upper, where nothing underflows.
    """
    mirrored = margin < -0.5 * variance
    mean = -margin - variance if mirrored else margin
    if variance <= WIDE:
        z, slope, curvature = _trapezoid(mean, variance)
        log_scale = 0.0
        # Log-concavity, and Var ≥ 1/E[−(log density)″], bound the curvature by [0, 1/(4 + s²)].
        curvature = min(max(curvature, 0.0), 1.0 / (4.0 + variance))
        kept = 1.0 - variance * curvature
    else:
        log_scale, z, slope, kept = _wide(mean, variance)
        kept = min(max(kept, 4.0 / (4.0 + variance)), 1.0)
        curvature = (1.0 - kept) / variance
    if mirrored:
        log_scale += margin + 0.5 * variance
        slope = 1.0 - slope
    return log_scale, z, slope, curvature, kept


@helper()
def site(margin, variance, exact):
    """`exact_site` or `mackay_site`."""
    if exact:
        return exact_site(margin, variance)
    return mackay_site(margin, variance)


@kernel()
def sites_over_rows(margins, variances, exact):
    """Rows of (log Z, slope, curvature, kept), one for each cavity marginal."""
    rows = np.empty((margins.size, 4))
    for i in range(margins.size):
        log_scale, z, slope, curvature, kept = site(margins[i], variances[i], exact)
        rows[i, 0] = log_scale + log(z)
        rows[i, 1] = slope
        rows[i, 2] = curvature
        rows[i, 3] = kept
    return rows


@kernel()
def predictions(centres, variances, exact):
    """Z of each marginal: the probability of a click."""
    z = np.empty(centres.size)
    for i in range(z.size):
        log_scale, share, _, _, _ = site(centres[i], variances[i], exact)
        z[i] = exp(log_scale) * share
    return z


@helper()
def logistic(x):
    """σ(x)."""
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    growth = exp(x)
    return growth / (1.0 + growth)
