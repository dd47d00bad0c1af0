"""Choosing: draws and their winners, laws of scores, shares, and the best of a pool."""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.functions import exp, log, make_normal
from fabcost.kernels.lanes import (
    hold,
    load,
    load_some,
    overtaken,
    pick,
    pointer,
    raced,
    skip,
    store,
    store_some,
    transposed,
)
from fabcost.kernels.lanes import spread as lanes_of
from fabcost.kernels.moments import logistic
from fabcost.kernels.normals import fresh_normals
from fabcost.kernels.products import (
    are_within,
    dot,
    fill_product,
    furthest,
    narrow,
    times,
    times_where,
)

LANES = 64  # draws of normals that are compared at once
ABREAST = 16  # of these that are in registers
STRIP = 16  # columns of a spread whose sums are in registers at once
BATCH = 32  # rows that are checked and scored while they are near
LARGEST_FEATURE = 1e75

# What is not there is said by arrays of no size, not by None: kernels are compiled once for both.
NOTHING = np.empty(0)
NO_EFFECTS = (NOTHING, np.empty(0, dtype=np.int64), NOTHING)  # noise, places and own normals


@kernel()
def all_within(values, limit):
    """Whether every value is a number of magnitude at most ``limit``."""
    sound = are_within(furthest(pointer(values), values.size, lanes_of(0.0)), limit)
    hold(values)
    return sound


# The largest of numbers is the same in any order.
@helper(fastmath={"nnan", "nsz", "reassoc"})
def largest(values):
    """The largest of numbers."""
    top = values[0]
    for i in range(1, values.size):
        top = max(top, values[i])
    return top


@kernel()
def first_largest(values):
    """Position of the first of the largest values, and how many there are."""
    numbers, eights = pointer(values), values.size - values.size % 8
    best, where, met = lanes_of(-math.inf), lanes_of(0.0), lanes_of(0.0)
    for i in range(0, eights, 8):
        best, where, met = raced(load(numbers, i), float(i), best, where, met)
    top, winner, ties = -math.inf, values.size, 0
    for k in range(values.size - eights + 8):
        if k < 8:
            value, place, times_met = pick(best, k), k + int(pick(where, k)), int(pick(met, k))
        else:
            value, place, times_met = values[eights + k - 8], eights + k - 8, 1
        if times_met and value >= top:
            winner = place if value > top else min(winner, place)
            ties = times_met if value > top else ties + times_met
            top = value
    hold(values)
    return winner, ties


@kernel()
def count_wins(scores):
    """How often each column is the largest of its row; columns that tie share the win."""
    wins = np.zeros(scores.shape[1])
    for i in range(scores.shape[0]):
        first, ties = first_largest(scores[i])
        if ties == 1:
            wins[first] += 1.0
        else:
            for j in range(first, scores.shape[1]):
                if scores[i, j] == scores[i, first]:
                    wins[j] += 1.0 / ties
    return wins


@helper()
def _half_scores(coefficients, z, start, sums):
    """sums ← Σ c_d z_d over every second d from ``start`` on, for all columns of ``z``."""
    sums[:] = 0.0
    d = start
    while d + 2 < coefficients.size:
        for i in range(sums.size):
            sums[i] += coefficients[d] * z[d, i] + coefficients[d + 2] * z[d + 2, i]
        d += 4
    if d < coefficients.size:
        for i in range(sums.size):
            sums[i] += coefficients[d] * z[d, i]


@helper()
def _challenge(k, centre, sign, away, best, leader):
    """Let k lead wherever its score, centre ± away, beats the best so far."""
    for i in range(best.size):
        score = centre + sign * away[i]
        leader[i] = k if score > best[i] else leader[i]
        best[i] = score if score > best[i] else best[i]


@helper()
def _is_equal(a, b):
    i = 0
    while i < a.size and a[i] == b[i]:
        i += 1
    return i == a.size


@helper()
def _signatures(centre, spread):
    """A number for each row; equal rows have equal numbers, others hardly ever."""
    signatures, factors = np.empty(centre.size), np.empty(spread.shape[1])
    for d in range(factors.size):
        factors[d] = d + 1.0
    for k in range(centre.size):
        signatures[k] = centre[k] + dot(pointer(spread[k]), pointer(factors), factors.size)
    hold(factors)
    return signatures


@helper()
def _is_apart(j, k, noise, places):
    """Whether two candidates have normals of their own, so that they never tie."""
    if noise.size == 0:
        return False
    return noise[j] != noise[k] or (noise[k] > 0.0 and places[j] != places[k])


@kernel(nogil=False)
def share_among_equals(centre, spread, wins, noise, places):
    """Equal rows tie in every draw, which the first of them has won."""
    signatures = _signatures(centre, spread)
    equals = np.empty(centre.size, dtype=np.int64)
    for k in range(centre.size):
        if wins[k] <= 0.0:
            continue
        equals[0], many = k, 1
        for j in range(k + 1, centre.size):
            alike = signatures[j] == signatures[k] and centre[j] == centre[k]
            if alike and _is_equal(spread[j], spread[k]) and not _is_apart(j, k, noise, places):
                equals[many] = j
                many += 1
        if many > 1:
            share = -wins[k] / many  # negative: has its share already
            for i in range(many):
                wins[equals[i]] = share
    for k in range(wins.size):
        wins[k] = abs(wins[k])
    return wins


@helper()
def add_noise(noise, normals, away, changed):
    """away += noise z, changed −= noise z: a sign for each pair of patterns."""
    for i in range(normals.size):
        own = noise * normals[i]
        away[i] += own
        changed[i] -= own


@kernel(nogil=False)
def drawn_shares(centre, spread, normals, leader, draws, noise, places, own_normals, row):
    """How often each score is the largest, by the leaders of `drawn_leaders` in ``draws`` draws.

    Different rows tie with probability zero.  Centre becomes the scores of a row's first draw.
    """
    wins = np.zeros(centre.size)
    count_leaders(wins, leader, draws)
    shares = share_among_equals(centre, spread, wins, noise, places)
    away = times(spread, normals[row])
    for k in range(centre.size):
        shares[k] /= draws
        centre[k] += away[k]
        if noise.size > 0:
            centre[k] += noise[k] * own_normals[row + places[k]]
    return shares


@kernel(nogil=False)
def drawn_leaders(centre, spread, normals, noise, places, own_normals, values, costs):
    """The best of draws of centre + spread z, and whose it is, by sign pattern and row z.

    Each row z of ``normals`` serves four draws: as it is, with every second sign changed, and the
    negatives of both, which are all standard normal.

    With ``noise``, each score has a normal of its own beside z, times its noise: in the draws of
    row i that of place p has the (i + p)-th of ``own_normals``, so that all of one draw are
    independent, and those of others are used again.

    With ``values``, best is the largest value · σ(score) − cost; where σ is 1 in float64, the
    score decides.
    """
    if values.size == 0:
        return race(centre, spread, normals, noise, places, own_normals, None, None)
    bests = np.empty((4, len(normals)))
    leaders = np.empty((4, len(normals)), dtype=np.int64)
    for start in range(0, len(normals), LANES):
        z = np.ascontiguousarray(normals[start : start + LANES].T)
        many = z.shape[1]
        even, odd = np.empty(many), np.empty(many)
        away, changed = np.empty(many), np.empty(many)
        best, leader = np.full((4, many), -np.inf), np.zeros((4, many), dtype=np.int64)
        top = np.full((4, many), -np.inf)
        for k in range(centre.size):
            deviate(spread[k], z, even, odd, away, changed)
            if noise.size > 0:
                first = start + places[k]
                add_noise(noise[k], own_normals[first : first + many], away, changed)
            law = (k, centre[k], values[k], costs[k])
            _challenge_by_worth(law, 1.0, away, top[0], best[0], leader[0])
            _challenge_by_worth(law, 1.0, changed, top[1], best[1], leader[1])
            _challenge_by_worth(law, -1.0, away, top[2], best[2], leader[2])
            _challenge_by_worth(law, -1.0, changed, top[3], best[3], leader[3])
        bests[:, start : start + many] = best
        leaders[:, start : start + many] = leader
    return bests, leaders


@helper()
def race(centre, spread, normals, noise, places, own_normals, inverse, targets):
    """`drawn_leaders` without values, of scores or of (score − target) · inverse of each.

    Targets are by sign pattern and row, of which there is room for a multiple of `ABREAST`.
    """
    rows, columns = normals.shape
    bests, wheres = np.empty((4, rows)), np.empty((4, rows))
    panel, numbers = np.zeros((2, 8 * (columns + 8))), pointer(normals)
    for start in range(0, rows, ABREAST):
        for half in range(2):
            first = start + 8 * half
            if first + 8 <= rows:
                fill_block(skip(numbers, first * columns), columns, pointer(panel[half]))
            else:
                for i in range(first, rows):
                    for d in range(columns):
                        panel[half, 8 * d + i - first] = normals[i, d]
        law = (centre, spread, noise, places, own_normals, inverse, targets)
        _run(start, panel, *law, bests, wheres)
    hold(normals)
    return bests, wheres.astype(np.int64)


@helper(inline="always")
def eight_columns(x, weights, d):
    """Of eight rows of so many weights, behind a pointer, the columns from d on, zeros beyond."""
    left = min(8, weights - d)
    return transposed(
        load_some(x, d, left),
        load_some(x, d + weights, left),
        load_some(x, d + 2 * weights, left),
        load_some(x, d + 3 * weights, left),
        load_some(x, d + 4 * weights, left),
        load_some(x, d + 5 * weights, left),
        load_some(x, d + 6 * weights, left),
        load_some(x, d + 7 * weights, left),
    )


@helper()
def fill_block(x, weights, block):
    """Eight rows of so many weights, behind a pointer, into the columns of a block."""
    for d in range(0, weights, 8):
        a, b, c, e, f, g, h, i = eight_columns(x, weights, d)
        at = 8 * d
        store(block, at, a)
        store(block, at + 8, b)
        store(block, at + 16, c)
        store(block, at + 24, e)
        store(block, at + 32, f)
        store(block, at + 40, g)
        store(block, at + 48, h)
        store(block, at + 56, i)


@helper()
def _run(
    start,
    panel,
    centre,
    spread,
    noise,
    places,
    own_normals,
    inverse,
    targets,
    bests,
    wheres,
):
    """One lap of a `race`: sixteen rows of normals, with the best so far in registers."""
    rows, columns = bests.shape[1], spread.shape[1]
    near, far = min(8, rows - start), max(0, min(8, rows - start - 8))
    numbers, z, beyond = pointer(spread), pointer(panel[0]), pointer(panel[1])
    a = b = c = d = e = f = g = h = lanes_of(-math.inf)
    p = q = r = s = t = u = v = w = lanes_of(0.0)
    for k in range(centre.size):
        own = skip(numbers, k * columns)
        (even, odd), (even_beyond, odd_beyond) = _halves(own, columns, z, beyond)
        x, y = even + odd, even - odd
        x_beyond, y_beyond = even_beyond + odd_beyond, even_beyond - odd_beyond
        if noise.size > 0:
            fresh = skip(pointer(own_normals), start + places[k])
            apart = noise[k] * load_some(fresh, 0, near)
            x, y = x + apart, y - apart
            apart = noise[k] * load_some(fresh, 8, far)
            x_beyond, y_beyond = x_beyond + apart, y_beyond - apart
        place, m = float(k), centre[k]
        if targets is None:
            a, p = overtaken(m + x, place, a, p)
            b, q = overtaken(m + y, place, b, q)
            c, r = overtaken(m - x, place, c, r)
            d, s = overtaken(m - y, place, d, s)
            e, t = overtaken(m + x_beyond, place, e, t)
            f, u = overtaken(m + y_beyond, place, f, u)
            g, v = overtaken(m - x_beyond, place, g, v)
            h, w = overtaken(m - y_beyond, place, h, w)
        else:
            wanted, width, i = skip(pointer(targets), start), targets.shape[1], inverse[k]
            a, p = overtaken((m - load(wanted, 0)) * i + x, place, a, p)
            b, q = overtaken((m - load(wanted, width)) * i + y, place, b, q)
            c, r = overtaken((m - load(wanted, 2 * width)) * i - x, place, c, r)
            d, s = overtaken((m - load(wanted, 3 * width)) * i - y, place, d, s)
            e, t = overtaken((m - load(wanted, 8)) * i + x_beyond, place, e, t)
            f, u = overtaken((m - load(wanted, width + 8)) * i + y_beyond, place, f, u)
            g, v = overtaken((m - load(wanted, 2 * width + 8)) * i - x_beyond, place, g, v)
            h, w = overtaken((m - load(wanted, 3 * width + 8)) * i - y_beyond, place, h, w)
    _store_four(skip(pointer(bests), start), rows, near, a, b, c, d)
    _store_four(skip(pointer(bests), start + 8), rows, far, e, f, g, h)
    _store_four(skip(pointer(wheres), start), rows, near, p, q, r, s)
    _store_four(skip(pointer(wheres), start + 8), rows, far, t, u, v, w)
    hold(spread)
    hold(panel)
    hold(bests)
    hold(wheres)


@helper()
def _store_four(out, width, many, a, b, c, d):
    store_some(out, 0, many, a)
    store_some(out, width, many, b)
    store_some(out, 2 * width, many, c)
    store_some(out, 3 * width, many, d)


@helper(inline="always")
def _halves(c, columns, z, beyond):
    """Σ c_d z_d over even and over odd d, for the draws of z and for those beyond."""
    even = odd = even_beyond = odd_beyond = lanes_of(0.0)
    i = 0
    while i + 3 < columns:
        at = 8 * i
        first, second, third, fourth = c[i], c[i + 1], c[i + 2], c[i + 3]
        even = even + (first * load(z, at) + third * load(z, at + 16))
        odd = odd + (second * load(z, at + 8) + fourth * load(z, at + 24))
        even_beyond = even_beyond + (first * load(beyond, at) + third * load(beyond, at + 16))
        odd_beyond = odd_beyond + (second * load(beyond, at + 8) + fourth * load(beyond, at + 24))
        i += 4
    at, left = 8 * i, columns - i
    if left == 3:
        first, third = c[i], c[i + 2]
        even = even + (first * load(z, at) + third * load(z, at + 16))
        even_beyond = even_beyond + (first * load(beyond, at) + third * load(beyond, at + 16))
    elif left:
        even, even_beyond = even + c[i] * load(z, at), even_beyond + c[i] * load(beyond, at)
    if left > 1:
        second = c[i + 1]
        odd = odd + second * load(z, at + 8)
        odd_beyond = odd_beyond + second * load(beyond, at + 8)
    return (even, odd), (even_beyond, odd_beyond)


@helper(inline="always")
def deviate(coefficients, z, even, odd, away, changed):
    """away ← deviations of a score in all draws, changed ← with every second sign changed."""
    _half_scores(coefficients, z, 0, even)
    _half_scores(coefficients, z, 1, odd)
    for i in range(away.size):
        away[i], changed[i] = even[i] + odd[i], even[i] - odd[i]


@helper()
def _challenge_by_worth(law, sign, away, top, best, leader):
    """Let k lead wherever it is worth more, or as much at a larger score."""
    k, centre, value, cost = law
    worths = np.empty(away.size)
    _fill_worths(centre, sign, away, value, cost, worths)
    for i in range(best.size):
        score = centre + sign * away[i]
        if worths[i] > best[i] or (worths[i] == best[i] and score > top[i]):
            best[i], top[i], leader[i] = worths[i], score, k


@helper()
def _fill_worths(centre, sign, away, value, cost, worths):
    """worths ← value · σ(centre ± away) − cost."""
    source, found = pointer(away), pointer(worths)
    i = 0
    while i < away.size:
        many = min(8, away.size - i)
        x = centre + sign * load_some(source, i, many)
        store_some(found, i, many, value / (1.0 + exp(0.0 - x)) - cost)
        i += 8
    hold(away)
    hold(worths)


@kernel(nogil=False)
def worths_of(scores, values, costs):
    """value · σ(score) − cost of each."""
    worths = np.empty(scores.size)
    for i in range(scores.size):
        worths[i] = values[i] * logistic(scores[i]) - costs[i]
    return worths


@kernel(nogil=False)
def drawn_worths(centre, spread, normals, noise, places, own_normals, values, costs):
    """value · σ(score) − cost of each candidate in the draws of `drawn_leaders`."""
    rows = len(normals)
    worths = np.empty((centre.size, 4, rows))
    z = np.ascontiguousarray(normals.T)
    even, odd, away, changed = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for k in range(centre.size):
        deviate(spread[k], z, even, odd, away, changed)
        if noise.size > 0:
            add_noise(noise[k], own_normals[places[k] : places[k] + rows], away, changed)
        value, cost = values[k], costs[k]
        _fill_worths(centre[k], 1.0, away, value, cost, worths[k, 0])
        _fill_worths(centre[k], 1.0, changed, value, cost, worths[k, 1])
        _fill_worths(centre[k], -1.0, away, value, cost, worths[k, 2])
        _fill_worths(centre[k], -1.0, changed, value, cost, worths[k, 3])
    return worths.reshape(centre.size, 4 * rows)


@helper(inline="always")  # as a call of its own it takes a tenth longer
def challenge_in_patterns(k, centre, away, changed, best, leader):
    """`_challenge` in the four draws that share their normals."""
    _challenge(k, centre, 1.0, away, best[0], leader[0])
    _challenge(k, centre, 1.0, changed, best[1], leader[1])
    _challenge(k, centre, -1.0, away, best[2], leader[2])
    _challenge(k, centre, -1.0, changed, best[3], leader[3])


@helper()
def count_leaders(wins, leader, draws):
    """A win for each leader of as many draws as are left."""
    for i in range(leader.shape[1]):
        for pattern in range(min(4, draws - 4 * i)):
            wins[leader[pattern, i]] += 1.0


@kernel(nogil=False)
def count_own_wins(
    parts,
    source,
    factors,
    mean,
    root,
    normals,
    draws,
    tilt,
    offset,
    noise,
    tilted,
    places,
    own_normals,
    row,
):
    """Scores in the first draw of a row, and wins in all draws, of folded rows with effects.

    The weights themselves are drawn, R z for all z at once, and scores made of them.  Where both
    candidates and weights are many that is less work than the spread of all scores, XR, which
    effects make as wide as there are weights: parts and tilts are mostly zeros.
    """
    centre = times(parts, _folded(parts, source, factors, mean)) + offset
    centre -= times_where(tilt, mean, tilted)
    wins, scores = np.zeros(centre.size), np.empty(centre.size)
    for start in range(0, len(normals), LANES):
        z = np.ascontiguousarray(normals[start : start + LANES].T)
        even, odd = np.empty(z.shape), np.empty(z.shape)
        for d in range(mean.size):
            _half_scores(root[d], z, 0, even[d])
            _half_scores(root[d], z, 1, odd[d])
        of_even = fold(even, source, factors, parts.shape[1])
        of_odd = fold(odd, source, factors, parts.shape[1])
        many = z.shape[1]
        away, changed = np.empty(many), np.empty(many)
        best, leader = np.full((4, many), -np.inf), np.zeros((4, many), dtype=np.int64)
        for k in range(centre.size):
            away[:], changed[:] = 0.0, 0.0
            _add_multiples(parts[k], 1.0, of_even, of_odd, away, changed)
            if tilted[k]:
                _add_multiples(tilt[k], -1.0, even, odd, away, changed)
            for i in range(many):
                away[i], changed[i] = away[i] + changed[i], away[i] - changed[i]
            first = start + places[k]
            add_noise(noise[k], own_normals[first : first + many], away, changed)
            if start <= row < start + many:
                scores[k] = centre[k] + away[row - start]
            challenge_in_patterns(k, centre[k], away, changed, best, leader)
        count_leaders(wins, leader, draws - 4 * start)
    return scores, share_among_equals(centre, parts, wins, noise, places)


@helper()
def _add_multiples(coefficients, sign, even, odd, of_even, of_odd):
    """Add multiples of the rows of two matrices, but of none by zero."""
    for d in range(coefficients.size):
        if coefficients[d] != 0.0:
            c = sign * coefficients[d]
            for i in range(of_even.size):
                of_even[i] += c * even[d, i]
                of_odd[i] += c * odd[d, i]


@kernel(nogil=False)
def law(rows, mean, root):
    """Centre Xμ and spread XR of scores; equal rows have the same, bit for bit, wherever they are.

    A product by BLAS does not promise that.  Every sum goes over the weights in their order, and
    to leave out zeros changes none.
    """
    (many, weights), columns = rows.shape, root.shape[1]
    centre, spread = np.zeros(many), np.empty((many, columns))
    fours = _dense_fours(rows) if columns >= STRIP else 0
    if fours:
        _fill_strips(rows, root, fours, spread)
    met, xs, out, roots = (
        np.empty(weights, dtype=np.int64),
        pointer(rows),
        pointer(spread),
        pointer(root),
    )
    for i in range(many):
        own, first = skip(xs, i * weights), columns - columns % STRIP if i < 4 * fours else 0
        centre[i] = _fill_row(own, mean, met, first, roots, columns, skip(out, i * columns))
    hold(rows)
    hold(root)
    hold(spread)
    return centre, spread


@helper()
def _fill_row(x, mean, met, first, root, columns, spread):
    """xᵀμ, and xᵀR from the column ``first`` on, with its sums in registers."""
    many, centre = 0, 0.0
    for d in range(mean.size):
        if x[d] != 0.0:
            centre += x[d] * mean[d]
            met[many] = d
            many += 1
    j = first
    while j + 32 <= columns:
        a = b = c = e = lanes_of(0.0)
        for k in range(many):
            at, coefficient = met[k] * columns + j, x[met[k]]
            a, b = a + coefficient * load(root, at), b + coefficient * load(root, at + 8)
            c, e = c + coefficient * load(root, at + 16), e + coefficient * load(root, at + 24)
        store(spread, j, a)
        store(spread, j + 8, b)
        store(spread, j + 16, c)
        store(spread, j + 24, e)
        j += 32
    while j < columns:
        a, left = lanes_of(0.0), min(8, columns - j)
        for k in range(many):
            a = a + x[met[k]] * load_some(root, met[k] * columns + j, left)
        store_some(spread, j, left, a)
        j += 8
    return centre


@kernel()
def own_folded_law(parts, source, factors, mean, root, tilt, offset):
    """`law` of folded rows whose items have effects, without the noise of these given θ."""
    rows = np.empty(tilt.shape)
    for k in range(len(rows)):
        for j in range(source.size):
            rows[k, j] = parts[k, source[j]] * factors[j] - tilt[k, j]
    centre, spread = law(rows, mean, root)
    for k in range(centre.size):
        centre[k] += offset[k]
    return centre, spread


@helper()
def _dense_fours(rows):
    """How many fours of rows there are if most numbers are not zero, else none."""
    zeros = 0
    for i in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            zeros += rows[i, d] == 0.0
        if 4 * zeros > rows.size:
            return 0
    return rows.shape[0] // 4


@helper()
def _fill_strips(rows, root, fours, spread):
    """The first columns of the spread of four rows each, in strips with their sums in registers."""
    weights, columns = root.shape
    packed = np.empty((weights, STRIP))
    strip, out = pointer(packed), pointer(spread)
    for start in range(0, columns - columns % STRIP, STRIP):
        for d in range(weights):
            for j in range(STRIP):
                packed[d, j] = root[d, start + j]
        for i in range(0, 4 * fours, 4):
            a = b = c = e = lanes_of(0.0)
            f = g = h = k = lanes_of(0.0)
            for d in range(weights):
                low, high = load(strip, d * STRIP), load(strip, d * STRIP + 8)
                a, b = a + rows[i, d] * low, b + rows[i, d] * high
                c, e = c + rows[i + 1, d] * low, e + rows[i + 1, d] * high
                f, g = f + rows[i + 2, d] * low, g + rows[i + 2, d] * high
                h, k = h + rows[i + 3, d] * low, k + rows[i + 3, d] * high
            at = i * columns + start
            store(out, at, a)
            store(out, at + 8, b)
            store(out, at + columns, c)
            store(out, at + columns + 8, e)
            store(out, at + 2 * columns, f)
            store(out, at + 2 * columns + 8, g)
            store(out, at + 3 * columns, h)
            store(out, at + 3 * columns + 8, k)
    hold(packed)
    hold(spread)


@kernel(nogil=False)
def mix(shares, floor):
    """shares ← (1 − floor) shares + floor / K, then divided by their sum."""
    total = 0.0
    for k in range(shares.size):
        shares[k] = (1.0 - floor) * shares[k] + floor / shares.size
        total += shares[k]
    for k in range(shares.size):
        shares[k] /= total


@kernel(nogil=False)
def place_of(u, shares):
    """The first place where the sum of ``shares`` so far exceeds u of the whole."""
    rest = u * shares.sum()
    last = 0
    for k in range(shares.size):
        if shares[k] > 0.0:
            last = k
            rest -= shares[k]
            if rest < 0.0:
                break
    return last


@kernel(nogil=False)
def entropy(shares):
    """−Σ p log p."""
    total = 0.0
    for p in shares:
        if p > 0.0:
            total -= p * log(p)
    return total


@kernel(nogil=False)
def folded_law(parts, source, factors, mean, root):
    """`law` of folded rows; a spread wider than the parts are many is made narrower."""
    centre = np.zeros(parts.shape[1])
    for j in range(source.size):
        centre[source[j]] += factors[j] * mean[j]
    folded = fold(root, source, factors, parts.shape[1])
    if folded.shape[0] < folded.shape[1]:
        folded = narrow(folded)
    return law(parts, centre, folded)


@kernel(nogil=False)
def drawn_weights(mean, root, uniforms, scale):
    """μ + scale·R z for z the quantiles of ``uniforms``, which they replace.

    Rows of the root may go on with zeros.
    """
    make_normal(uniforms)
    theta, width = np.empty(mean.size), root.shape[1]
    a, z = pointer(root), pointer(uniforms)
    for j in range(theta.size):
        theta[j] = mean[j] + scale * dot(skip(a, j * width), z, theta.size)
    hold(root)
    hold(uniforms)
    return theta


@kernel(nogil=False)
def drawn_leader(rows, mean, root, uniforms, scale):
    """Scores of rows under `drawn_weights`, the first of the largest, and how many there are.

    There are none if a number of the rows is no feature, which is seen on the way.
    """
    many, columns = rows.shape
    theta, scores, worst = drawn_weights(mean, root, uniforms, scale), np.empty(many), lanes_of(0.0)
    a, b, found = pointer(rows), pointer(theta), pointer(scores)
    for start in range(0, many, BATCH):
        some, own = min(BATCH, many - start), skip(a, start * columns)
        worst = furthest(own, some * columns, worst)
        fill_product(own, b, some, columns, skip(found, start))
    hold(rows)
    hold(theta)
    first, ties = first_largest(scores)
    return scores, first, ties if are_within(worst, LARGEST_FEATURE) else 0


@kernel(nogil=False)
def folded_scores(parts, source, factors, mean, root, uniforms, scale):
    """Scores of folded rows under `drawn_weights`."""
    theta = drawn_weights(mean, root, uniforms, scale)
    return times(parts, _folded(parts, source, factors, theta))


@helper()
def _folded(parts, source, factors, theta):
    """Weights of the parts, by the source and the factor of each column."""
    folded = np.zeros(parts.shape[1])
    for j in range(source.size):
        folded[source[j]] += factors[j] * theta[j]
    return folded


@kernel(nogil=False)
def own_law(table, slots, weights, variance):
    """c/d, h/d and 1/√d of items by their rows d, h, c in the table, and whether c is not zero.

    They are 0, 0 and the prior's sd for slot −1, whose item is not known, and 0 below.
    """
    tilt, tilted = np.zeros((slots.size, weights)), np.zeros(slots.size, dtype=np.bool_)
    offset, noise = np.zeros(slots.size), np.zeros(slots.size)
    for i in range(slots.size):
        if slots[i] >= 0:
            _fill_law(table, slots[i], i, tilt, offset, noise, tilted)
        elif slots[i] == -1:
            noise[i] = math.sqrt(variance)
    return tilt, offset, noise, tilted


@kernel(nogil=False)
def correct_own_law(table, slots, changed, tilt, offset, noise, tilted):
    """Write those entries of an `own_law` again whose slot is the one that changed."""
    for i in range(slots.size):
        if slots[i] == changed:
            _fill_law(table, changed, i, tilt, offset, noise, tilted)


@helper()
def _fill_law(table, slot, i, tilt, offset, noise, tilted):
    spare = 1.0 / table[slot, 0]
    offset[i], noise[i] = spare * table[slot, 1], math.sqrt(spare)
    away = 0
    for j in range(tilt.shape[1]):
        share = spare * table[slot, j + 2]
        tilt[i, j] = share
        away += share != 0.0
    tilted[i] = away > 0


@kernel(nogil=False)
def own_scores(
    parts, source, factors, mean, root, uniforms, scale, tilt, offset, noise, tilted, places
):
    """Scores of rows under `drawn_weights`, with items' effects that are drawn given these.

    An effect is offset − tiltᵀθ + scale · noise · z with one z for each place, of which the last
    ``uniforms`` are the seeds.  Rows that are not folded have no source and no factors.
    """
    theta = drawn_weights(mean, root, uniforms[: mean.size], scale)
    folded = theta if source is None else _folded(parts, source, factors, theta)
    normals = fresh_normals(uniforms[mean.size :], places.size)
    scores, less = times(parts, folded), times_where(tilt, theta, tilted)
    for i in range(places.size):
        scores[i] = scores[i] - less[i] + (offset[i] + scale * noise[i] * normals[places[i]])
    return scores


@kernel(nogil=False)
def fold(weights, source, factors, parts):
    """Sums of f_j times row j of ``weights``, over those j whose part s(j) is each of ``parts``."""
    folded = np.zeros((parts, weights.shape[1]))
    for j in range(source.size):
        for d in range(weights.shape[1]):
            folded[source[j], d] += factors[j] * weights[j, d]
    return folded


@kernel()
def largest_score(rows, positions, theta):
    """The position among ``positions`` of the row of the largest θᵀa, and that score.

    Equal scores go to the smaller position.  Every score is summed in the order of the weights,
    so equal rows have equal scores wherever they stand.
    """
    best = -math.inf
    winner = -1
    for i in positions:
        score = 0.0
        for d in range(theta.size):
            score += theta[d] * rows[i, d]
        if score > best or (score == best and i < winner):
            best = score
            winner = i
    return winner, best


@helper(fastmath={"nnan", "nsz", "reassoc"})
def _score_block(block, count, theta, scores):
    """scores ← θᵀ block for its first ``count`` columns; returns the largest."""
    for k in range(count):
        scores[k] = theta[0] * block[0, k]
    for d in range(1, theta.size):
        for k in range(count):
            scores[k] += theta[d] * block[d, k]
    top = scores[0]
    for k in range(1, count):
        top = max(top, scores[k])
    return top


@kernel()
def nearly_best(blocks, counts, positions, limits, theta, slack, found, near):
    """Scan blocks until what they leave out is beaten; collect what may be best so far.

    Scores are in single precision, wrong by at most ``slack``.  ``limits[b]`` bounds the scores
    of all rows after block b.  Returns how many positions were put into ``found`` (with their
    scores in ``near``), how many blocks were read, and whether no other row can be better.
    """
    scores = np.empty(blocks.shape[2], dtype=np.float32)
    best = -math.inf
    many = 0
    for b in range(counts.size):
        if counts[b] > 0:
            top = _score_block(blocks[b], counts[b], theta, scores)
            best = max(best, top)
            if top >= best - 2.0 * slack:
                for k in range(counts[b]):
                    if scores[k] >= best - 2.0 * slack:
                        found[many] = positions[b, k]
                        near[many] = scores[k]
                        many += 1
        if best - slack > limits[b]:
            return _kept(found, near, many, best - 2.0 * slack), b + 1, True
    return many, counts.size, False


@helper()
def _kept(found, near, many, lowest):
    """Keep those of the first ``many`` that reach ``lowest``; returns how many."""
    kept = 0
    for i in range(many):
        if near[i] >= lowest:
            found[kept] = found[i]
            kept += 1
    return kept
