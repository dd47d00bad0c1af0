"""Mean and standard deviation of a click probability σ(η), η ~ N(m, s²), of eight at once.

A rule compares candidates by them, so three digits would do; they have four, and are the same
wherever in a list a candidate stands.  A site needs more: `moments`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fabcost.kernels.functions import MILLS, exp
from fabcost.kernels.lanes import (
    choose_at,
    hold,
    load_some,
    pointer,
    spread,
    square_root,
    store_some,
    within,
)
from fabcost.kernels.moments import TWO_PI_SQUARED, exact_site

CLOSE = 0.75  # sd up to which the rule of seven nodes is used
NARROW = 1e-3  # sd below which σ is a line
BROAD = 4.0  # sd from which on σ is a step that is slightly blurred
FARTHEST = -300.0  # log-odds; fewer are as hopeless
TAIL = 4.0  # standardised log-odds up to which the expansion of a step is used

#: Seven equidistant nodes whose first nine moments are those of the normal density.
CLOSE_STEP = 1.1969797703930742
CLOSE_MIDDLE = 0.47666988658920744
CLOSE_WEIGHTS = np.array([0.23391473782682471, 0.026938189344825452, 0.00081212953374611378])

VARIANCE = math.pi * math.pi / 3.0  # of the logistic distribution, and its cumulants:
FOURTH = 0.5411616168555691  # κ₄/4!
SIXTH = 0.33911435399481638  # κ₆/6!
EIGHTH = 0.39744728682835297  # κ₈/8! + (κ₄/4!)²/2


@njit(cache=True)
def click_moments(centres, variances):
    """Mean and standard deviation of the click probability σ(η) of each marginal."""
    means, radii = np.empty(centres.size), np.empty(centres.size)
    low, high = math.sqrt(variances.min()), math.sqrt(variances.max())
    step, middle, weights = _nodes(min(high, BROAD))
    cs, vs, found, spreads = pointer(centres), pointer(variances), pointer(means), pointer(radii)
    for i in range(0, centres.size, 8):
        many = min(8, centres.size - i)
        c, variance = load_some(cs, i, many), load_some(vs, i, many)
        sd = square_root(variance)
        m = choose_at(c, 0.0, c, 0.0 - c)
        mean, square = spread(0.0), spread(0.0)
        if low <= BROAD:
            near, calm = within(m, FARTHEST, 0.0), within(sd, 0.0, BROAD)
            mean, square = _summed(near, calm, step, middle, weights, high > 1.0)
        if high > BROAD:
            blurred, its_square = _blurred_step(m, variance)
            mean = choose_at(sd, BROAD, mean, blurred)
            square = choose_at(sd, BROAD, square, its_square)
        radius = square_root(within(square, 0.0, 1.0))
        if low < NARROW:
            odds = exp(m)
            slope = odds / ((1.0 + odds) * (1.0 + odds))
            radius = choose_at(sd, NARROW, sd * slope, radius)
        mean = choose_at(m, -1e-300, mean, 0.5)  # not half a unit in the last place away
        store_some(found, i, many, choose_at(c, 0.0, mean, 1.0 - mean))
        store_some(spreads, i, many, radius)
    hold(centres)
    hold(variances)
    if high > BROAD:
        _correct_tails(centres, variances, means, radii)
    return means, radii


@njit(cache=True)
def _nodes(sd):
    """Step in sds, and weights of the middle and of either side, for sds up to this one.

    From `CLOSE` on the trapezoid rule, whose step the poles of σ at ±iπ limit.
    """
    if sd <= CLOSE:
        return CLOSE_STEP, CLOSE_MIDDLE, CLOSE_WEIGHTS
    step = TWO_PI_SQUARED * sd / (13.5 * sd * sd + 0.25 * TWO_PI_SQUARED)
    many = int((4.7 + min(sd + sd, sd + 1.0)) / step) + 1
    weights, mass = np.empty(many), 1.0
    for k in range(many):
        u = (k + 1) * step
        weights[k] = exp(-0.5 * u * u)
        mass += 2.0 * weights[k]
    return step, 1.0 / mass, weights / mass


@njit(cache=True)
def _summed(m, sd, step, middle, weights, mirrors):
    """Mean and variance of σ over the nodes, for m ≤ 0.

    Far below zero wide densities are mirrored as in `moments.exact_site`, E σ² = e^{m + s²/2} E σσ̄:
    else their nodes would miss where σ is large.
    """
    at, factor, mirrored = m, spread(1.0), spread(0.0)
    if mirrors:
        half = 0.5 * (sd * sd)
        mirrored = choose_at(sd, 1.0, 0.0, choose_at(0.0 - m - half, 0.0, 0.0, 1.0))
        at = m - mirrored * (m + m + half + half)
        factor = exp(mirrored * (m + half))
    odds, rise = exp(0.0 - at), exp(step * sd)
    fall = 1.0 / rise
    up, down = odds * fall, odds * rise
    central = 1.0 / (1.0 + odds)
    first = middle * central
    second = first * central
    for k in range(weights.size):
        above, below = 1.0 + up, 1.0 + down
        both = 1.0 / (above * below)
        high, low = both * below, both * above
        first = first + weights[k] * (high + low)
        second = second + weights[k] * (high * high + low * low)
        up, down = up * fall, down * rise
    if mirrors:
        second = choose_at(mirrored, 0.5, second, factor * (first - second))
        first = factor * first
    return first, second - first * first


@njit(cache=True)
def _blurred_step(m, variance):
    """E σ = P(η + a logistic variable > 0), by its cumulants, and Var σ = E σ − E σ′ − (E σ)²."""
    scale = 1.0 / square_root(variance + VARIANCE)
    a = within((0.0 - m) * scale, 0.0, 5.0)
    density = 0.3989422804014327 * exp(-0.5 * (a * a))
    t = 9.6 / (a + 3.0) - 2.2
    t2 = t * t
    low = (MILLS[0] + MILLS[1] * t) + t2 * (MILLS[2] + MILLS[3] * t)
    high = (MILLS[4] + MILLS[5] * t) + t2 * (MILLS[6] + MILLS[7] * t)
    mills = low + (t2 * t2) * (high + (t2 * t2) * MILLS[8])
    b, w = a * a, scale * scale
    third, fifth = a * (b - 3.0), a * (b * (b - 10.0) + 15.0)
    fourth, sixth = b * (b - 6.0) + 3.0, b * (b * (b - 15.0) + 45.0) - 15.0
    seventh = a * (b * (b * (b - 21.0) + 105.0) - 105.0)
    eighth = b * (b * (b * (b - 28.0) + 210.0) - 420.0) + 105.0
    mean = density * (mills + w * w * (FOURTH * third + w * (SIXTH * fifth + w * EIGHTH * seventh)))
    slope = w * w * (FOURTH * fourth + w * (SIXTH * sixth + w * EIGHTH * eighth))
    return mean, mean - density * scale * (1.0 + slope) - mean * mean


@njit(cache=True)
def _correct_tails(centres, variances, means, radii):
    """Exact moments where the expansion of a step fails."""
    for i in range(centres.size):
        m, variance = -abs(centres[i]), variances[i]
        if variance > BROAD * BROAD and m * m > TAIL * TAIL * (variance + VARIANCE):
            log_scale, z, slope, _, _ = exact_site(-m - variance, variance)
            mean = exp(log_scale + m + 0.5 * variance) * z
            square = mean * (slope - mean)
            if m >= -0.5 * variance:
                log_scale, z, slope, _, _ = exact_site(m, variance)
                mean = exp(log_scale) * z
                square = mean * (1.0 - mean - slope)
            means[i] = 1.0 - mean if centres[i] > 0.0 else mean
            radii[i] = math.sqrt(max(square, 0.0))
