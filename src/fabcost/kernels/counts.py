"""The integrals of a site with two exponents, σ(η)ᵃ σ(−η)ᵇ: a clicks and b impressions without.

With n = a + b the tilted density is exp(L), L = a η − n log(1 + e^η) − (η − m)²/(2 s²), which is
log-concave for all real a, b ≥ 0.  It is summed on a grid about its mode, relative to which

    L(η₀ + δ) − L(η₀) = r δ − n (log(1 + p₀(e^δ − 1)) − p₀ δ) − δ²/(2 s²),   p₀ = σ(η₀),

where r, the slope that is left at the grid's centre, is zero if that is the mode, and small
otherwise.  The trapezoid rule converges exponentially: in η where the density is narrow, and
else in a variable that is fine where σⁿ bends and coarse where it does not.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.functions import asinh, exp, expm1, log, log_of_lanes
from fabcost.kernels.lanes import choose_at, counted, pick, spread, total
from fabcost.kernels.moments import exact_site

ROOT_TWO_PI = 2.5066282746310002
MOST_STEPS = 200
CLOSE = 0.3  # widths of the density that Newton's last step may take
BROAD = 1.0  # width of the density from which on its grid is not even
EVEN_STEP = 0.855
FINER = 1.4
NARROW = 0.15  # width up to which the density is nearly Gaussian
SHIFT, MOST_SHIFT = 7.7, 2.0
LEAST_WEIGHT = 1e-8  # of the last of eight nodes; the next are far smaller
UNEVEN_STEP = 0.12
LOCAL_STEP = 0.3
BEND = 1.5  # distance from the bend of σⁿ within which the uneven grid is nearly even
LEAST_HEIGHT = 1e-13


@helper()
def _share(eta):
    """σ(η) and σ(−η), both to full accuracy."""
    decay = exp(-abs(eta))
    large = 1.0 / (1.0 + decay)
    small = decay * large
    return (large, small) if eta > 0.0 else (small, large)


@helper()
def _to_mode(a, b, mean, variance):
    """About how far it is from the cavity's mean to the mode: d = s² (a σ(−m−d) − b σ(m+d)).

    Newton's method between bounds, which are halved where it is slow.
    """
    low, high = -variance * b, variance * a
    at = 0.0
    if a * b * variance > a + b:
        at = min(max(log(a / b) - mean, low), high)
    before = math.inf
    for _ in range(MOST_STEPS):
        p, q = _share(mean + at)
        excess = at - variance * (a * q - b * p)
        growth = 1.0 + variance * (a + b) * p * q
        step = excess / growth
        if excess > 0.0:
            high = at
        else:
            low = at
        if step * step <= CLOSE * CLOSE * min(variance / growth, 1.0):
            return at - step
        at -= step
        if abs(step) > 0.5 * before or not low < at < high:
            at = 0.5 * (low + high)
        before = abs(step)
    return at


@helper(inline="always")
def _even_nodes(t, n, p, q, rise, half, width):
    """Heights of the density, and σ(η) − p, at eight nodes that are t widths from the centre."""
    delta = width * t
    x = p * expm1(delta)
    whole = 1.0 + x
    inverse = 1.0 / whole
    soft = log_of_lanes(whole, (x - (whole - 1.0)) * inverse)
    return exp(delta * (rise + half * delta) - n * soft), q * x * inverse


@helper()
def _even(n, p, q, slope, variance, width):
    """Moments 0 to 2 of δ in widths, and 1 and 2 of σ(η) − p, on an even grid near the mode.

    Its middle is moved towards the longer tail, so that both ends are equally far down.
    """
    bend = n * p * q * (q - p) * width * width * width
    step = EVEN_STEP / (1.0 + FINER * width * math.sqrt(width))
    least = LEAST_WEIGHT if width < NARROW else LEAST_HEIGHT
    middle = -min(SHIFT * bend, MOST_SHIFT)
    mass, first, second = spread(0.0), spread(0.0), spread(0.0)
    more, square = spread(0.0), spread(0.0)
    half = -0.5 / variance
    rise = slope + n * p
    k = counted() - 0.5
    while True:
        away = step * k
        right, left = middle + away, middle - away
        here, over = _even_nodes(right, n, p, q, rise, half, width)
        there, under = _even_nodes(left, n, p, q, rise, half, width)
        mass = mass + (here + there)
        right_moment, left_moment = here * right, there * left
        first = first + (right_moment + left_moment)
        second = second + (right_moment * right + left_moment * left)
        right_moment, left_moment = here * over, there * under
        more = more + (right_moment + left_moment)
        square = square + (right_moment * over + left_moment * under)
        if not (pick(here, 7) > least or pick(there, 7) > least):
            break
        k = k + 8.0
    all_mass = total(mass)
    return (
        step * all_mass,
        total(first) / all_mass,
        total(second) / all_mass,
        total(more) / all_mass,
        total(square) / all_mass,
    )


@helper(inline="always")
def _uneven_nodes(tau, n, centre, edge, p, rise, half, level):
    """Heights, distances from the centre, σ(η) − p and dη/dτ at eight nodes."""
    up = exp(tau)
    down = 1.0 / up
    eta = edge + (0.5 * BEND) * (up - down)
    delta = eta - centre
    x = exp(0.0 - choose_at(eta, 0.0, 0.0 - eta, eta))
    whole = 1.0 + x
    large = 1.0 / whole
    over = choose_at(eta, 0.0, x * large, large) - p
    soft = log_of_lanes(whole, (x - (whole - 1.0)) * large) + choose_at(eta, 0.0, 0.0, eta)
    height = exp(delta * (rise + half * delta) - n * (soft - level))
    return height, delta, over, (0.5 * BEND) * (up + down)


@helper()
def _uneven(n, centre, p, slope, variance, width):
    """`_even` on a grid in τ, η = e + c sinh τ, with e where (1 + e^η)⁻ⁿ begins to fall."""
    edge = -log(max(n, 1.0))
    away = (centre - edge) / BEND
    start = asinh(away)
    step = min(UNEVEN_STEP, LOCAL_STEP * width / BEND / math.sqrt(1.0 + away * away))
    half = -0.5 / variance
    rise, level = slope + n * p, _softplus(centre)
    mass, first, second = spread(0.0), spread(0.0), spread(0.0)
    more, square = spread(0.0), spread(0.0)
    for side in (step, -step):
        k = counted() - 0.5
        while True:
            height, delta, over, stretch = _uneven_nodes(
                start + side * k, n, centre, edge, p, rise, half, level
            )
            weight = height * stretch
            t = delta / width
            moment = weight * t
            mass = mass + weight
            first = first + moment
            second = second + moment * t
            moment = weight * over
            more = more + moment
            square = square + moment * over
            if not pick(height, 7) > LEAST_HEIGHT:
                break
            k = k + 8.0
    all_mass = total(mass)
    return (
        step * all_mass / width,
        total(first) / all_mass,
        total(second) / all_mass,
        total(more) / all_mass,
        total(square) / all_mass,
    )


@helper()
def _softplus(eta):
    """log(1 + e^η) of a number."""
    x = exp(-abs(eta))
    w = 1.0 + x
    return max(eta, 0.0) + log(w) + (x - (w - 1.0)) / w


@kernel()
def counts_site(a, b, mean, variance):
    """`exact_site` of σ(η)ᵃ σ(−η)ᵇ, for the cavity mean as it is; flat where a + b is zero.

    Where the site adds little to the precision, slope and curvature are read from σ(η) under the
    tilted density, E[a − nσ] and n (E[σ(1−σ)] − n Var σ), and else from its mean and variance:
    either way nothing cancels.
    """
    n = a + b
    if n == 0.0:
        return 0.0, 1.0, 0.0, 0.0, 1.0
    if variance == 0.0:  # a row of zeros
        p, q = _share(mean)
        return a * mean - n * _softplus(mean), 1.0, a * q - b * p, n * p * q, 1.0
    if n == 1.0 and a * b == 0.0:
        label = a - b
        log_scale, z, slope, curvature, kept = exact_site(label * mean, variance)
        return log_scale, z, label * slope, curvature, kept
    sign = 1.0
    to_mode = _to_mode(a, b, mean, variance)
    if mean + to_mode > 0.0:  # mirrored, so that p ≤ ½
        sign, a, b, mean, to_mode = -1.0, b, a, -mean, -to_mode
    centre = mean + to_mode
    p, q = _share(centre)
    left = (a * q - b * p) - to_mode / variance
    added = n * p * q * variance
    width = math.sqrt(variance / (1.0 + added))
    if width < BROAD:
        mass, first, second, more, square = _even(n, p, q, left, variance, width)
    else:
        mass, first, second, more, square = _uneven(n, centre, p, left, variance, width)
    if added < 1.0 and (width < BROAD or n * variance < 4.0):
        slope = (a * q - b * p) - n * more
        curvature = n * (p * q + (q - p) * more - square - n * (square - more * more))
        curvature = min(max(curvature, 0.0), n / (4.0 + n * variance))
        kept = 1.0 - variance * curvature
    else:
        slope = (to_mode + width * first) / variance
        kept = (second - first * first) / (1.0 + added)
        kept = min(max(kept, 4.0 / (4.0 + n * variance)), 1.0)
        curvature = (1.0 - kept) / variance
    log_scale = a * centre - n * _softplus(centre) - 0.5 * to_mode * to_mode / variance
    z = mass / (ROOT_TWO_PI * math.sqrt(1.0 + added))
    return log_scale, z, sign * slope, curvature, kept


@kernel()
def counts_over_rows(clicks, misses, means, variances):
    """Rows of (log Z, slope, curvature, kept), one for each site and cavity marginal."""
    rows = np.empty((means.size, 4))
    for i in range(means.size):
        found = counts_site(clicks[i], misses[i], means[i], variances[i])
        log_scale, z, slope, curvature, kept = found
        rows[i, 0] = log_scale + log(z)
        rows[i, 1] = slope
        rows[i, 2] = curvature
        rows[i, 3] = kept
    return rows
