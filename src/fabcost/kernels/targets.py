"""Choosing by a target, the value that the best candidate might have, or by what is learnt of it.

The rules behind this are in `fabcost.bandit.targeted`.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.beliefs import marginals
from fabcost.kernels.choosing import (
    ABREAST,
    LARGEST_FEATURE,
    all_within,
    drawn_leaders,
    drawn_weights,
    eight_columns,
    fill_block,
    first_largest,
    largest,
    own_scores,
    race,
    share_among_equals,
)
from fabcost.kernels.functions import MILLS, exp, make_normal
from fabcost.kernels.lanes import (
    choose_at,
    further,
    hold,
    load,
    load_some,
    overtaken,
    pick,
    pointer,
    skip,
    spread,
    square_root,
    store,
    store_some,
    within,
)
from fabcost.kernels.moments import TWO_PI_SQUARED, exact_site, logistic
from fabcost.kernels.normals import SEEDS, fresh_normals
from fabcost.kernels.products import are_within, furthest, squares, times

HOPELESS = -1e300  # the score of what is certain and not the best; minus infinity is excluded
ROUNDING = 1e-12  # what is certain is no different in a draw
MARGIN = 1e-9  # of a bound, beyond its rounding

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


@kernel(nogil=False)
def click_moments(centres, variances):
    """Mean and standard deviation of the click probability σ(η) of each marginal, of eight at once.

    Rules compare candidates by them, so three digits would do; they have more, and are the same
    wherever in a list a candidate stands.
    """
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


@helper()
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


@helper()
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
    inverse = 1.0 / ((1.0 + odds) * rise)
    central, fall = inverse * rise, inverse * (1.0 + odds)
    up, down = odds * fall, odds * rise
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


@helper()
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


@helper()
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


@kernel(nogil=False)
def drawn_marginals(rows, mean, root, uniforms):
    """Scores of rows under `drawn_weights`, by draws, and mean and variance of each score.

    The last that is found is whether all numbers of the rows are features.
    """
    thetas = _drawn(mean, root, uniforms)
    found, sound = _measured(rows, _columns(thetas, mean, root), len(thetas))
    draws = len(thetas)
    return found[:draws], found[draws], found[draws + 1], sound


@helper()
def _drawn(mean, root, uniforms):
    """`drawn_weights` of several draws."""
    weights = mean.size
    thetas = np.empty((uniforms.size // weights, weights))
    for k in range(len(thetas)):
        thetas[k] = drawn_weights(mean, root, uniforms[k * weights : (k + 1) * weights], 1.0)
    return thetas


@helper()
def _columns(thetas, mean, root):
    """Drawn and mean weights and the columns of the root as rows, and zeros up to fours."""
    weights, before = mean.size, len(thetas) + 1
    columns = np.zeros((-(-(weights + before) // 4) * 4, weights))
    columns[: before - 1], columns[before - 1] = thetas, mean
    for j in range(weights):
        for d in range(weights):
            columns[before + j, d] = root[d, j]
    return columns


@helper()
def _measured(rows, columns, draws):
    """Of each row the products with ``draws`` columns and one more, and Σ of squares of the others.

    Eight rows are taken at once, and the weights in their order: equal rows have equal bits.
    """
    many, weights = rows.shape
    found, block = np.empty((draws + 2, many)), np.zeros((weights + 8, 8))
    xs, eight, out, worst = pointer(rows), pointer(block), pointer(found), spread(0.0)
    for first in range(0, many, 8):
        size = min(8, many - first)
        worst = furthest(skip(xs, first * weights), size * weights, worst)
        _fill(rows, first, xs, block, eight)
        variance = spread(0.0)
        for j in range(0, len(columns), 4):
            a = b = c = d = spread(0.0)
            for i in range(weights):
                x = load(eight, 8 * i)
                a, b = a + columns[j, i] * x, b + columns[j + 1, i] * x
                c, d = c + columns[j + 2, i] * x, d + columns[j + 3, i] * x
            if j <= draws:
                store_some(out, j * many + first, size, a)
                a = spread(0.0)
            if j + 1 <= draws:
                store_some(out, (j + 1) * many + first, size, b)
                b = spread(0.0)
            if j + 2 <= draws:
                store_some(out, (j + 2) * many + first, size, c)
                c = spread(0.0)
            if j + 3 <= draws:
                store_some(out, (j + 3) * many + first, size, d)
                d = spread(0.0)
            variance = variance + ((a * a + b * b) + (c * c + d * d))
        store_some(out, (draws + 1) * many + first, size, variance)
    hold(rows)
    hold(block)
    hold(found)
    return found, are_within(worst, LARGEST_FEATURE)


@helper()
def _fill(rows, first, xs, block, eight):
    """Eight rows from the ``first`` on into the columns of a block, the last as often as needed."""
    left, weights = len(rows) - first, rows.shape[1]
    if left >= 8:
        fill_block(skip(xs, first * weights), weights, eight)
    else:
        for k in range(8):
            block[:weights, k] = rows[first + min(k, left - 1)]


@helper()
def _target_score(target, top, mean, radius):
    if target <= top + ROUNDING * abs(top):
        return radius if mean == top else mean - top
    if radius <= 0.0:
        return HOPELESS
    return max((mean - target) / radius, HOPELESS)


@kernel(nogil=False)
def target_scores(target, means, radii):
    """(mean − target) / radius of each candidate.

    A target that is no larger than the largest mean leaves the means to decide, and among equal
    ones the radius.
    """
    top, scores = largest(means), np.empty(means.size)
    if target <= top + ROUNDING * abs(top):
        for k in range(means.size):
            scores[k] = _target_score(target, top, means[k], radii[k])
    else:
        for k in range(means.size):
            score = (means[k] - target) / radii[k] if radii[k] > 0.0 else HOPELESS
            scores[k] = max(score, HOPELESS)
    return scores


@kernel(nogil=False)
def drawn_target_leader(log_odds, scatter, rare, rows, mean, root, uniforms):
    """`_drawn_target_scores`, the first of the largest, and how many there are.

    There are none if a number of the rows is no feature.
    """
    found = drawn_marginals(rows, mean, root, uniforms)
    scores = _drawn_target_scores(log_odds, scatter, rare, *found[:3])
    first, ties = first_largest(scores)
    return scores, first, ties if found[3] else 0


@kernel(nogil=False)
def drawn_target_winner(scatter, rare, rows, mean, root, uniforms, kept):
    """What `drawn_target_leader` finds by log-odds with scatter, without the scores of all.

    A score is −g/s, with g that can be had for two products, and s² = xᵀΣx at most λw,
    w = Σ xᵢ² Σᵢᵢ, for λ no less than an eigenvalue of the correlations.  By that bound most rows
    are behind; the others have the very scores.  The rows of the root go on with zeros up to
    eights.  If there is room, all that the scores of all are made of is ``kept``.
    """
    many = len(rows)
    if kept.size > 0:
        _keep(rows, mean, root, uniforms, kept)
    thetas = _drawn(mean, root, uniforms)
    variances, most = _wide_variances(root)
    found, tops = _glanced(rows, thetas, mean, variances, scatter, kept)
    sound = tops[2] <= LARGEST_FEATURE * LARGEST_FEATURE * variances.min() or all_within(
        rows, LARGEST_FEATURE
    )
    if not sound or _is_rare(tops[0], True, rare):
        first, ties = first_largest(found[0, :many])
        return first, ties if sound else 0
    law, gaps = (thetas[1], mean, root, max(tops[0], tops[1]), scatter), np.empty(found.shape[1])
    guess = _score(rows[min(_nearest(found, law[3], gaps), many - 1)], *law)
    slack = (1.0 + scatter) * _slack(thetas, mean, variances)
    limit = math.sqrt(most) * max(-guess, 0.0) * (1.0 + MARGIN) + slack
    return _first_near(gaps, limit * limit, rows, law)


@helper()
def _slack(thetas, mean, variances):
    """What rounding makes of a product with a draw or the mean, at most, in √w."""
    total = 0.0
    for i in range(mean.size):
        size = abs(thetas[1, i]) + abs(mean[i])
        total += size * size / variances[i]
    return ROUNDING * (1.0 + 1e-3 * mean.size) * math.sqrt(total)


@helper()
def _first_near(gaps, limit, rows, law):
    """The first of the largest scores, and how many, among rows whose gap is at most a limit."""
    top, first, ties = -math.inf, 0, 0
    for k in range(len(rows)):
        if gaps[k] <= limit:
            score = _score(rows[k], *law)
            if score > top:
                top, first, ties = score, k, 0
            ties += score == top
    return first, ties


@helper()
def _keep(rows, mean, root, uniforms, kept):
    """The last rows that are no eight, and root, mean and uniform numbers after them."""
    many, weights = rows.shape
    for i in range(weights):
        for k in range(many - many % 8, many):
            kept[k, i] = rows[k, i]
        for j in range(weights):
            kept[many + i, j] = root[i, j]
        kept[-3, i], kept[-2, i], kept[-1, i] = mean[i], uniforms[i], uniforms[weights + i]


@helper()
def _wide_variances(root):
    """Variances of the weights, and no less than the largest eigenvalue of their correlations."""
    weights, width = root.shape
    variances, block, most = squares(root), np.empty((width, 8)), 0.0
    whole, inverse = np.zeros((-(-weights // 8) * 8, width)), np.empty(weights)
    for i in range(weights):
        inverse[i] = 1.0 / math.sqrt(variances[i])
        for j in range(width):
            whole[i, j] = root[i, j]
    a, eight = pointer(whole), pointer(block)
    for first in range(0, weights, 8):
        fill_block(skip(a, first * width), width, eight)
        around = spread(0.0)
        for i in range(weights):
            shared = other = spread(0.0)
            for d in range(0, width, 2):
                shared = shared + root[i, d] * load(eight, 8 * d)
                other = other + root[i, d + 1] * load(eight, 8 * d + 8)
            around = around + inverse[i] * further(spread(0.0), shared + other)
        for k in range(min(8, weights - first)):
            most = max(most, pick(around, k) * inverse[first + k])
    hold(whole)
    hold(block)
    return variances, most


@helper()
def _glanced(rows, thetas, mean, variances, scatter, kept):
    """Of each row the product with the first draw, what target − g is but for rounding, and w.

    Beside these are the largest products with that draw and with the mean, and w.  Products are as
    of `_measured`.  On the way rows are ``kept``, if there is room.
    """
    many, weights = rows.shape
    width, packed, last = -(-many // 8) * 8, np.zeros((weights + 7, 4)), np.empty((8, weights))
    for i in range(weights):
        packed[i, 0], packed[i, 1] = thetas[0, i], mean[i]
        packed[i, 2] = mean[i] + scatter * (thetas[1, i] - mean[i])
        packed[i, 3] = variances[i]
    if many < width:
        for k in range(8):
            for i in range(weights):
                last[k, i] = rows[min(width - 8 + k, many - 1), i]
    found, heaviest = np.empty((3, width)), spread(0.0)
    high = best = spread(-math.inf)
    xs, end, by, out = pointer(rows), pointer(last), pointer(packed), pointer(found)
    copied, copies = pointer(kept), many if kept.size > 0 else 0
    for first in range(0, many, 8):
        x = skip(xs, first * weights) if first + 8 <= many else end
        if first + 8 <= copies:
            for i in range(first * weights, (first + 8) * weights, 8):
                store(copied, i, load(xs, i))
        sums = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for i in range(0, weights, 8):
            e, f, g, h, p, q, r, s = eight_columns(x, weights, i)
            sums = _more(f, skip(by, 4 * i + 4), *_more(e, skip(by, 4 * i), *sums))
            sums = _more(h, skip(by, 4 * i + 12), *_more(g, skip(by, 4 * i + 8), *sums))
            sums = _more(q, skip(by, 4 * i + 20), *_more(p, skip(by, 4 * i + 16), *sums))
            sums = _more(s, skip(by, 4 * i + 28), *_more(r, skip(by, 4 * i + 24), *sums))
        a, b, c, d = sums
        store(out, first, a)
        store(out, width + first, c)
        store(out, 2 * width + first, d)
        high, _ = overtaken(a, 0.0, high, high)
        best, _ = overtaken(b, 0.0, best, best)
        heaviest = further(heaviest, d)
    hold(rows)
    hold(last)
    hold(packed)
    hold(found)
    hold(kept)
    return found, (_top(high), _top(best), _top(heaviest))


@helper()
def _more(x, by, a, b, c, d):
    """Sums after one more column, by four numbers behind a pointer."""
    return a + by[0] * x, b + by[1] * x, c + by[2] * x, d + (by[3] * x) * x


@helper()
def _top(lanes):
    """The largest lane, or NaN if there is one."""
    top = pick(lanes, 0)
    for k in range(1, 8):
        if not pick(lanes, k) <= top:
            top = pick(lanes, k)
    return top


@helper()
def _nearest(found, target, gaps):
    """gaps ← g² / w of each row, and where it is the least; g is nothing below zero."""
    width, reach = gaps.size, target - ROUNDING * abs(target)
    numbers, out, least, where = pointer(found), pointer(gaps), spread(-math.inf), spread(0.0)
    for i in range(0, width, 8):
        g = within(reach - load(numbers, width + i), 0.0, math.inf)
        gap = g * g / within(load(numbers, 2 * width + i), 1e-300, math.inf)
        store(out, i, gap)
        least, where = overtaken(0.0 - gap, float(i), least, where)
    hold(found)
    hold(gaps)
    place, top = 0, -math.inf
    for k in range(8):
        if pick(least, k) > top:
            place, top = k + int(pick(where, k)), pick(least, k)
    return place


@helper()
def _score(x, own, mean, root, target, scatter):
    """That of a row, with the very bits that `_drawn_target_scores` has."""
    weights, width = root.shape
    along, a, drawn, centre, variance = np.zeros(width + 8), pointer(root), 0.0, 0.0, 0.0
    for i in range(weights):
        drawn, centre = drawn + own[i] * x[i], centre + mean[i] * x[i]
    for j in range(0, width, 8):
        lanes = spread(0.0)
        for i in range(weights):
            lanes = lanes + x[i] * load(a, i * width + j)
        store(pointer(along), j + 3, lanes)
    for j in range(0, width + 4, 4):
        b, c, d, e = along[j], along[j + 1], along[j + 2], along[j + 3]
        variance += (b * b + c * c) + (d * d + e * e)
    hold(root)
    hold(along)
    sd, short = math.sqrt(variance), target - centre
    if sd > 0.0:
        return scatter * (drawn - centre) / sd - short / sd
    return HOPELESS if short > 0.0 else 0.0


@helper()
def _is_rare(target, log_odds, rare):
    """Whether the target is a click of smaller probability."""
    return rare > 0.0 and (logistic(target) if log_odds else target) < rare


@helper()
def _drawn_target_scores(log_odds, scatter, rare, drawn, centres, variances):
    """`target_scores` of rows whose target is the best of a draw, on average over draws.

    With scatter, the last draw is that of the deviations of `scattered_scores`; where the target
    is `_is_rare`, the scores are those of its draw.
    """
    target, draws = 0.0, len(drawn) - (1 if scatter > 0.0 else 0)
    for k in range(draws):
        best = largest(drawn[k])
        target += (best if log_odds else logistic(best)) / draws
    if _is_rare(target, log_odds, rare):
        return drawn[0].copy()
    sds = np.sqrt(variances)
    means, radii = (centres, sds) if log_odds else click_moments(centres, variances)
    if scatter <= 0.0:
        return target_scores(target, means, radii)
    away = np.empty(sds.size)
    for k in range(sds.size):
        away[k] = scatter * (drawn[draws, k] - centres[k]) / sds[k] if sds[k] > 0.0 else 0.0
    return scattered_scores(target, means, radii, away)


@kernel(nogil=False)
def own_target_scores(
    log_odds,
    scatter,
    rare,
    parts,
    source,
    factors,
    mean,
    root,
    uniforms,
    tilt,
    offset,
    noise,
    tilted,
    places,
):
    """`_drawn_target_scores` by one draw, of folded rows with items' effects as of `own_scores`."""
    folded, own = (parts, source, factors, mean, root), (tilt, offset, noise, tilted, places)
    of_target = mean.size + SEEDS
    drawn = own_scores(*folded, uniforms[:of_target], 1.0, *own)
    target = largest(drawn) if log_odds else logistic(largest(drawn))
    if _is_rare(target, log_odds, rare):
        return drawn
    rows = np.empty(tilt.shape)
    for k in range(len(rows)):
        for j in range(mean.size):
            rows[k, j] = parts[k, source[j]] * factors[j] - tilt[k, j]
    centres, variances = marginals(rows, mean, root)
    for k in range(len(rows)):
        centres[k], variances[k] = centres[k] + offset[k], variances[k] + noise[k] * noise[k]
    means, radii = centres, np.sqrt(variances)
    if not log_odds:
        means, radii = click_moments(centres, variances)
    if scatter <= 0.0:
        return target_scores(target, means, radii)
    away = own_scores(*folded, uniforms[of_target:], 1.0, *own)
    inverse = inverse_roots(variances)
    for k in range(len(rows)):
        away[k] = scatter * (away[k] - centres[k]) * inverse[k]
    return scattered_scores(target, means, radii, away)


@helper()
def _with_noise(variances, noise):
    for k in range(noise.size):
        variances[k] += noise[k] * noise[k]
    return variances


@helper()
def _winner(target, top, means, radii):
    """The first candidate of the largest score."""
    best, winner = -math.inf, 0
    for k in range(means.size):
        score = _target_score(target, top, means[k], radii[k])
        if score > best:
            best, winner = score, k
    return winner


@kernel(nogil=False)
def target_shares(targets, means, radii):
    """How often each candidate has the largest of the `target_scores`; equal ones share.

    Beyond the largest mean a score is a line in the target, so a candidate wins on an interval of
    targets: what wins at both ends of one wins in between.
    """
    rising, top = np.sort(targets), means.max()
    many = rising.size
    winners = np.empty(many, dtype=np.int64)
    winners[0] = _winner(rising[0], top, means, radii)
    winners[-1] = _winner(rising[-1], top, means, radii)
    ends = np.empty((many, 2), dtype=np.int64)
    ends[0, 0], ends[0, 1], left = 0, many - 1, 1
    while left > 0:
        left -= 1
        low, high = ends[left]
        if winners[low] == winners[high]:
            winners[low:high] = winners[low]
        elif high - low > 1:
            middle = (low + high) // 2
            winners[middle] = _winner(rising[middle], top, means, radii)
            ends[left, 0], ends[left, 1] = low, middle
            ends[left + 1, 0], ends[left + 1, 1] = middle, high
            left += 2
    return _shared(winners, means, radii)


@helper()
def _shared(winners, means, radii):
    """The share of each winner, divided among all of its mean and radius."""
    wins, shares = np.zeros(means.size), np.zeros(means.size)
    for k in winners:
        wins[k] += 1.0 / winners.size
    for k in range(means.size):
        if wins[k] > 0.0:
            equal = (means == means[k]) & (radii == radii[k])
            shares[equal] += wins[k] / equal.sum()
    return shares


@kernel(nogil=False)
def inverse_roots(variances):
    """1/sd of each, and 0 of what is certain."""
    found = np.empty(variances.size)
    for k in range(variances.size):
        found[k] = 1.0 / math.sqrt(max(variances[k], 1e-300)) if variances[k] > 0.0 else 0.0
    return found


@kernel(nogil=False)
def scattered_scores(target, means, radii, deviations):
    """`target_scores` at a target that is no smaller than the largest mean, plus deviations."""
    target, scores = max(target, largest(means)), np.empty(means.size)
    for k in range(means.size):
        short = target - means[k]
        scores[k] = deviations[k] - (short / radii[k] if radii[k] > 0.0 else 0.0)
        if radii[k] <= 0.0 and short > 0.0:
            scores[k] = HOPELESS
    return scores


@kernel(nogil=False)
def scattered_leaders(targets, means, radii, spread, normals, noise, places, own_normals):
    """Who has the largest of `scattered_scores`, by sign pattern and row of normals.

    Deviations are draws as in `choosing.drawn_leaders`, around zero; the targets are gone through
    in a circle, one for each draw.
    """
    rows, top = len(normals), largest(means)
    wanted, inverse = np.zeros((4, -(-rows // ABREAST) * ABREAST)), np.empty(means.size)
    for i in range(rows):
        for pattern in range(4):
            wanted[pattern, i] = max(targets[(4 * i + pattern) % targets.size], top)
    for k in range(means.size):
        inverse[k] = 1.0 / radii[k] if radii[k] > 0.0 else -HOPELESS
    return race(means, spread, normals, noise, places, own_normals, inverse, wanted)[1]


@kernel()
def scattered_story(
    draws,
    log_odds,
    scatter,
    rare,
    rows,
    uniforms,
    centre,
    spread,
    noise,
    places,
    items,
    values,
    costs,
):
    """Scores in one of 4 × ``rows`` draws of `TSUCB` with scatter, and shares over all of them.

    Each draw has one of the targets, which are of other draws.  A target is one number of all
    candidates, so that each serves four draws of their deviations.  With values none is rare.
    """
    variances, columns = _with_noise(squares(spread), noise), spread.shape[1]
    of_targets = max((rows + 3) // 4, draws)
    z_of_targets, of_their_items = _normals(uniforms, of_targets, columns, items, noise)
    law_of_targets = (centre, spread, z_of_targets, noise, places, of_their_items)
    best, ahead = drawn_leaders(*law_of_targets, values, costs)
    # One sign pattern after the other: m draws in a row are independent.
    targets, means, radii = best.ravel(), centre.copy(), np.sqrt(variances)
    if values.size > 0 or not log_odds:
        means, radii = click_moments(centre, variances)
    if values.size > 0:
        means, radii = means * values - costs, radii * values
    elif not log_odds:
        for i in range(targets.size):
            targets[i] = logistic(targets[i])
    if draws > 1:
        targets = moving_means(targets, draws)
    used = of_targets * columns if noise.size == 0 else SEEDS + 1
    z, own = _normals(uniforms[used:], rows, columns, items, noise)
    factors, features = scatter * inverse_roots(variances), _features(spread, values, costs)
    scaled, of_items = spread * factors.reshape(-1, 1), (noise * factors[: noise.size], places, own)
    law, equals = (targets, means, radii, scaled, z), (centre, features)
    follows, first = np.zeros(targets.size, dtype=np.bool_), (z_of_targets, of_their_items)
    if values.size == 0:
        for i in range(targets.size):
            follows[i] = _is_rare(targets[i], log_odds, rare)
    leader = scattered_leaders(*law, *of_items)
    _follow(leader, follows, ahead)
    return scattered_shares(uniforms[-1], leader, follows, first, *law, *of_items, *equals, noise)


@helper()
def _follow(leader, follows, ahead):
    """Who is ahead in the draw of a target, where this is rare."""
    many = ahead.shape[1]
    for pattern in range(4):
        for row in range(leader.shape[1]):
            k = (4 * row + pattern) % follows.size
            if follows[k]:
                leader[pattern, row] = ahead[k // many, k % many]


@helper()
def _normals(uniforms, rows, columns, items, noise):
    """Of so many draws, by rows, and of their items if these have noise."""
    if noise.size == 0:
        own = uniforms[: rows * columns]
        make_normal(own)
        return own.reshape(rows, columns), own[:0]
    fresh = fresh_normals(uniforms[:SEEDS], rows * columns + items + rows - 1)
    return fresh[: rows * columns].reshape(rows, columns), fresh[rows * columns :]


@helper()
def _features(spread, values, costs):
    """What is the same of candidates that are equal in everything, beside centre and noise."""
    if values.size == 0:
        return spread
    return np.column_stack((spread, values, costs))


@helper()
def scattered_shares(
    u,
    leader,
    follows,
    first,
    targets,
    means,
    radii,
    spread,
    normals,
    noise,
    places,
    own_normals,
    centres,
    features,
    of_items,
):
    """`scattered_scores` of a draw, by a uniform number u, and shares of the leaders of all.

    Those share that have the same centre, features and noise of items.  Scores are those of the
    target's own draw, the ``first``, where it is rare and ``follows``.
    """
    wins = np.zeros(means.size)
    for pattern in range(4):
        for k in leader[pattern]:
            wins[k] += 1.0
    wins /= leader.size
    shares = share_among_equals(centres, features, wins, of_items, places)
    place = int(leader.size * u)
    target = place % targets.size
    if follows[target]:
        many = len(first[0])
        away = _deviations(target // many, target % many, features, *first, of_items, places)
        return centres + away, shares
    away = _deviations(place % 4, place // 4, spread, normals, own_normals, noise, places)
    return scattered_scores(targets[target], means, radii, away), shares


@helper()
def _deviations(pattern, row, spread, normals, own_normals, noise, places):
    """Spread z + noise · a normal of each item's own, with the signs of a pattern."""
    sign, every_second = (1.0 if pattern < 2 else -1.0), (1.0 if pattern % 2 == 0 else -1.0)
    z = sign * normals[row]
    z[1::2] *= every_second
    away = times(spread, z)
    if noise.size > 0:
        for k in range(away.size):
            away[k] += sign * every_second * noise[k] * own_normals[row + places[k]]
    return away


@kernel(nogil=False)
def moving_means(numbers, many):
    """The mean of each number and those after it, ``many`` in all, in a circle."""
    found = np.zeros(numbers.size)
    for i in range(numbers.size):
        for j in range(many):
            found[i] += numbers[(i + j) % numbers.size] / many
    return found


@kernel(nogil=False)
def regrets_and_gains(worths, leader):
    """Of draws of all candidates' values, K × M, and the best in each.

    The regret of a candidate is what the best has beyond it on average; its gain is the variance
    of its mean given which candidate is the best (Russo and Van Roy's Algorithm 6).
    """
    many, draws = worths.shape
    group, groups = np.full(many, -1), 0
    for k in leader:
        if group[k] < 0:
            group[k], groups = groups, groups + 1
    sizes, best = np.zeros(groups), 0.0
    for j in range(draws):
        sizes[group[leader[j]]] += 1.0
        best += worths[leader[j], j] / draws
    regrets, gains, sums = np.empty(many), np.zeros(many), np.empty(groups)
    for k in range(many):
        sums[:] = 0.0
        for j in range(draws):
            sums[group[leader[j]]] += worths[k, j]
        mean = sums.sum() / draws
        regrets[k] = max(best - mean, 0.0)
        for g in range(groups):
            gains[k] += sizes[g] / draws * (sums[g] / sizes[g] - mean) ** 2
    return regrets, gains


@helper()
def _ratio(regret, gain):
    if gain > 0.0:
        return regret * regret / gain
    return 0.0 if regret == 0.0 else -HOPELESS


@kernel(nogil=False)
def least_ratio(regrets, gains):
    """Two candidates and the share of the second with the least (E regret)² / E gain.

    Mixtures fill the convex hull of the candidates' points (gain, regret), and the least is on an
    edge of it between the least regret and the largest gain, along which it has a formula.
    """
    here = 0
    for k in range(regrets.size):
        lower = regrets[k] < regrets[here]
        if lower or (regrets[k] == regrets[here] and gains[k] > gains[here]):
            here = k
    first, second, share = here, here, 0.0
    least = _ratio(regrets[here], gains[here])
    while True:
        after, slope = -1, math.inf
        for k in range(regrets.size):
            if gains[k] > gains[here]:
                rise = (regrets[k] - regrets[here]) / (gains[k] - gains[here])
                if rise < slope or (rise == slope and gains[k] > gains[after]):
                    after, slope = k, rise
        if after < 0:
            return first, second, share, least
        more, wider = regrets[after] - regrets[here], gains[after] - gains[here]
        q = 1.0
        if more > 0.0:
            q = min(max(regrets[here] / more - 2.0 * gains[here] / wider, 0.0), 1.0)
        ratio = _ratio(regrets[here] + q * more, gains[here] + q * wider)
        if ratio < least:
            first, second, share, least = here, after, q, ratio
        here = after


@kernel(nogil=False)
def ratio_scores(regrets, gains):
    """−regret² / gain of each candidate."""
    scores = np.empty(regrets.size)
    for k in range(scores.size):
        scores[k] = -_ratio(regrets[k], gains[k])
    return scores


@kernel(nogil=False)
def revealed(variances, means, radii, horizon):
    """Factors on centre and on deviation of log-odds, as ``horizon`` impressions reveal them.

    Var E[η | one outcome] / s² = s² (E σ′)² / (E σ E(1 − σ)) = λ/(1 + λ), and λ adds up.  What is
    not revealed is integrated out as MacKay does, σ(κ m).
    """
    on_centre, on_deviation = np.empty(means.size), np.empty(means.size)
    for k in range(means.size):
        spare, variance = means[k] * (1.0 - means[k]), variances[k]
        slope = spare - radii[k] * radii[k]
        one = 0.0 if spare <= 0.0 else min(variance * slope * slope / spare, 1.0 - 1e-9)
        known = horizon * one / (1.0 - one)
        share = known / (1.0 + known)
        on_centre[k] = 1.0 / math.sqrt(1.0 + (math.pi / 8.0) * variance * (1.0 - share))
        on_deviation[k] = on_centre[k] * math.sqrt(share)
    return on_centre, on_deviation
