"""Choosing by a target, the value that the best candidate might have, or by what is learnt of it.

The rules behind this are in `fabcost.bandit.targeted`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fabcost.kernels.choosing import LANES, add_noise, deviate, drawn_weights, largest
from fabcost.kernels.clicks import click_moments
from fabcost.kernels.lanes import (
    hold,
    load,
    load_some,
    pointer,
    skip,
    spread,
    store,
    store_some,
    transposed,
)
from fabcost.kernels.moments import logistic

HOPELESS = -1e300  # the score of what is certain and not the best; minus infinity is excluded
ROUNDING = 1e-12  # what is certain is no different in a draw


@njit(cache=True)
def drawn_marginals(rows, mean, root, uniforms, triangle):
    """Scores of rows under `drawn_weights`, and mean and variance of each score.

    Eight rows are taken at once, and the weights in their order: equal rows have equal bits.  The
    triangle is a root whose columns begin with zeros, which are passed over; it may be the root.
    """
    many, weights = rows.shape
    found = np.empty((3, many))
    columns, starts = _columns(drawn_weights(mean, root, uniforms, 1.0), mean, triangle)
    block = np.zeros((weights + 8, 8))
    xs, eight, out = pointer(rows), pointer(block), pointer(found)
    for first in range(0, many, 8):
        size = min(8, many - first)
        if size == 8:
            _fill_block(skip(xs, first * weights), weights, eight)
        else:
            for k in range(size):
                block[:weights, k] = rows[first + k]
        variance = spread(0.0)
        for j in range(0, len(columns), 4):
            a = b = c = d = spread(0.0)
            for i in range(starts[j // 4], weights):
                x = load(eight, 8 * i)
                a, b = a + columns[j, i] * x, b + columns[j + 1, i] * x
                c, d = c + columns[j + 2, i] * x, d + columns[j + 3, i] * x
            if j == 0:
                store_some(out, first, size, a)
                store_some(out, many + first, size, b)
                a = b = spread(0.0)
            variance = variance + ((a * a + b * b) + (c * c + d * d))
        store_some(out, 2 * many + first, size, variance)
    hold(rows)
    hold(block)
    hold(found)
    return found[0], found[1], found[2]


@njit(cache=True)
def _columns(theta, mean, triangle):
    """Drawn and mean weights and the columns of the triangle as rows, and where fours begin."""
    weights = mean.size
    many = -(-(weights + 2) // 4) * 4
    columns, starts = np.zeros((many, weights)), np.zeros(many // 4, dtype=np.int64)
    columns[0], columns[1] = theta, mean
    for j in range(weights):
        for d in range(weights):
            columns[j + 2, d] = triangle[d, j]
    for j in range(4, many):
        start = 0
        while start < weights and columns[j, start] == 0.0:
            start += 1
        starts[j // 4] = start if j % 4 == 0 else min(start, starts[j // 4])
    return columns, starts


@njit(cache=True)
def _fill_block(x, weights, block):
    """Eight rows of so many weights, behind a pointer, into the columns of a block."""
    for d in range(0, weights, 8):
        left = min(8, weights - d)
        if left == 8:
            found = transposed(
                load(x, d),
                load(x, d + weights),
                load(x, d + 2 * weights),
                load(x, d + 3 * weights),
                load(x, d + 4 * weights),
                load(x, d + 5 * weights),
                load(x, d + 6 * weights),
                load(x, d + 7 * weights),
            )
        else:
            found = transposed(
                load_some(x, d, left),
                load_some(x, d + weights, left),
                load_some(x, d + 2 * weights, left),
                load_some(x, d + 3 * weights, left),
                load_some(x, d + 4 * weights, left),
                load_some(x, d + 5 * weights, left),
                load_some(x, d + 6 * weights, left),
                load_some(x, d + 7 * weights, left),
            )
        a, b, c, e, f, g, h, i = found
        at = 8 * d
        store(block, at, a)
        store(block, at + 8, b)
        store(block, at + 16, c)
        store(block, at + 24, e)
        store(block, at + 32, f)
        store(block, at + 40, g)
        store(block, at + 48, h)
        store(block, at + 56, i)


@njit(cache=True)
def _target_score(target, top, mean, radius):
    if target <= top + ROUNDING * abs(top):
        return radius if mean == top else mean - top
    if radius <= 0.0:
        return HOPELESS
    return max((mean - target) / radius, HOPELESS)


@njit(cache=True)
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


@njit(cache=True)
def drawn_target_scores(log_odds, rows, mean, root, uniforms, triangle):
    """`target_scores` of rows whose target is the best of one draw."""
    drawn, centres, variances = drawn_marginals(rows, mean, root, uniforms, triangle)
    if log_odds:
        return target_scores(largest(drawn), centres, np.sqrt(variances))
    return target_scores(logistic(largest(drawn)), *click_moments(centres, variances))


@njit(cache=True)
def _winner(target, top, means, radii):
    """The first candidate of the largest score."""
    best, winner = -math.inf, 0
    for k in range(means.size):
        score = _target_score(target, top, means[k], radii[k])
        if score > best:
            best, winner = score, k
    return winner


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def scattered_scores(target, means, radii, deviations):
    """`target_scores` at a target that is no smaller than the largest mean, plus deviations."""
    target, scores = max(target, largest(means)), np.empty(means.size)
    for k in range(means.size):
        short = target - means[k]
        scores[k] = deviations[k] - (short / radii[k] if radii[k] > 0.0 else 0.0)
        if radii[k] <= 0.0 and short > 0.0:
            scores[k] = HOPELESS
    return scores


@njit(cache=True)
def scattered_leaders(targets, means, radii, spread, normals, noise, places, own_normals):
    """Who has the largest of `scattered_scores`, by sign pattern and row of normals.

    Deviations are draws as in `choosing.drawn_leaders`, around zero; the targets are gone through
    in a circle, one for each draw.
    """
    leaders, top = np.empty((4, len(normals)), dtype=np.int64), largest(means)
    for start in range(0, len(normals), LANES):
        z = np.ascontiguousarray(normals[start : start + LANES].T)
        many = z.shape[1]
        even, odd = np.empty(many), np.empty(many)
        away, changed, short = np.empty(many), np.empty(many), np.empty((4, many))
        best, leader = np.full((4, many), -np.inf), np.zeros((4, many), dtype=np.int64)
        for i in range(many):
            for pattern in range(4):
                place = (4 * (start + i) + pattern) % targets.size
                short[pattern, i] = max(targets[place], top)
        for k in range(means.size):
            deviate(spread[k], z, even, odd, away, changed)
            if noise is not None:
                first = start + places[k]
                add_noise(noise[k], own_normals[first : first + many], away, changed)
            inverse = 1.0 / radii[k] if radii[k] > 0.0 else -HOPELESS
            law = (k, means[k], inverse)
            _challenge_below(law, 1.0, away, short[0], best[0], leader[0])
            _challenge_below(law, 1.0, changed, short[1], best[1], leader[1])
            _challenge_below(law, -1.0, away, short[2], best[2], leader[2])
            _challenge_below(law, -1.0, changed, short[3], best[3], leader[3])
        leaders[:, start : start + many] = leader
    return leaders


@njit(cache=True)
def _challenge_below(law, sign, away, targets, best, leader):
    """Let k lead wherever (mean − target) / radius ± away beats the best so far."""
    k, mean, inverse = law
    for i in range(best.size):
        score = (mean - targets[i]) * inverse + sign * away[i]
        leader[i] = k if score > best[i] else leader[i]
        best[i] = score if score > best[i] else best[i]


@njit(cache=True)
def moving_means(numbers, many):
    """The mean of each number and those after it, ``many`` in all, in a circle."""
    found = np.zeros(numbers.size)
    for i in range(numbers.size):
        for j in range(many):
            found[i] += numbers[(i + j) % numbers.size] / many
    return found


@njit(cache=True)
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


@njit(cache=True)
def _ratio(regret, gain):
    if gain > 0.0:
        return regret * regret / gain
    return 0.0 if regret == 0.0 else -HOPELESS


@njit(cache=True)
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


@njit(cache=True)
def ratio_scores(regrets, gains):
    """−regret² / gain of each candidate."""
    scores = np.empty(regrets.size)
    for k in range(scores.size):
        scores[k] = -_ratio(regrets[k], gains[k])
    return scores


@njit(cache=True)
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
