"""A belief that is changed one site at a time: the ADF pass and the EP sweep.

A belief is carried as its mean and a square root ``root`` of its covariance
(``Σ = root rootᵀ``, rows padded with zero columns to a multiple of eight), changed by Potter's
rank-one form [1]_:

    f = rootᵀ x,   s² = fᵀf,   Σ − k (Σx)(Σx)ᵀ = root (I − k f fᵀ) rootᵀ,
    root ← root − γ (root f) fᵀ,   γ = k / (1 + √(1 − k s²)).

A product of a matrix with its transpose cannot leave the positive semi-definite cone, and it
represents covariances of condition up to 1e32 where the covariance itself stops at 1e16.

Where items have effects of their own, η = xᵀθ + bᵢ, the belief is the marginal one of θ, and the
rest is in a table with a row dᵢ, hᵢ, cᵢ for each item: bᵢ given θ is N((hᵢ − cᵢᵀθ)/dᵢ, 1/dᵢ).
``slots`` then says whose effect each row has, −1 for none.  With u = x − cᵢ/dᵢ,

    η ~ N(uᵀμ + hᵢ/dᵢ, uᵀΣu + 1/dᵢ),   Cov(θ, η) = Σu,

so that a site changes the belief along u, by k of the whole variance of η, and 1 − k uᵀΣu is
1 − k s² + k/dᵢ.  Then cᵢ, dᵢ and hᵢ grow by Δτ x, Δτ and Δν.

References
----------
.. [1] Bierman, Factorization Methods for Discrete Sequential Estimation (1977), ch. V.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.counts import counts_site
from fabcost.kernels.functions import log
from fabcost.kernels.lagging import follow_where, project_where, take
from fabcost.kernels.lanes import (
    fetch,
    hold,
    load,
    load_some,
    pointer,
    skip,
    spread,
    store,
    store_some,
    total,
)
from fabcost.kernels.moments import site
from fabcost.kernels.products import dot, times

SMALLEST_CAVITY = 1e-10  # share of the precision along x that must remain without the site
LARGEST_VARIANCE = 1e250
NARROW_ROOT = 128
TALL = 32  # rows of a root, each on a page of its own, that are found again at once
AHEAD = 4  # visits before which the row of an item is asked for
NO_SUMS = (0.0, 1.0, 0.0, 0.0)  # Σ log Cᵢ but for a product, that, and what grew and shrank
#: In place of items that have effects of their own and their table, and of counts.
NO_ITEMS = (np.empty(0, dtype=np.int64), np.empty((0, 0)))
NO_COUNTS = np.empty((0, 2))
SCATTER = 0x9E3779B1  # odd: its multiples of the numbers below 2ᵏ are all different modulo 2ᵏ


@helper(inline="always")
def _four(column, at, width, x, i):
    """Four rows of a column times their features."""
    low = x[i] * load(column, at) + x[i + 1] * load(column, at + width)
    at += 2 * width
    high = x[i + 2] * load(column, at) + x[i + 3] * load(column, at + width)
    return low + high


@helper()
def _project(root, x, weights, width, along):
    """along ← rootᵀ x, four rows at a time; returns xᵀ Σ x.

    Down the columns, with sums in registers, where the root fits the first cache, and else along
    the rows: each sum has the same order either way.
    """
    fours = weights - weights % 4
    if width <= NARROW_ROOT:
        for j in range(0, width, 8):
            column, sums = skip(root, j), spread(0.0)
            for i in range(0, fours, 4):
                sums = sums + _four(column, i * width, width, x, i)
            for i in range(fours, weights):
                sums = sums + x[i] * load(column, i * width)
            store(along, j, sums)
    else:
        for j in range(0, width, 8):
            store(along, j, spread(0.0))
        for i in range(0, fours, 4):
            for j in range(0, width, 8):
                store(along, j, load(along, j) + _four(root, i * width + j, width, x, i))
        for i in range(fours, weights):
            for j in range(0, width, 8):
                store(along, j, load(along, j) + x[i] * load(root, i * width + j))
    return dot(along, along, width)


@helper()
def _move(mean, root, weights, width, along, step, shrink):
    """mean ← mean + step·Σx and root ← root − shrink·(Σx) alongᵀ, for along = rootᵀ x."""
    for i in range(weights):
        row, sums = skip(root, i * width), spread(0.0)
        for j in range(0, width, 8):
            sums = sums + load(row, j) * load(along, j)
        reach = total(sums)
        mean[i] += step * reach
        reach *= shrink
        for j in range(0, width, 8):
            store(row, j, load(row, j) - reach * load(along, j))


@helper()
def _look(lag, mean, root, x, weights, width, along):
    """along ← rootᵀ x of a belief that may lag behind; returns xᵀμ and xᵀ Σ x."""
    if lag is None:
        return dot(x, mean, weights), _project(root, x, weights, width, along)
    if follow_where(lag, mean, root, weights, width, x):
        return dot(x, mean, weights), project_where(root, x, weights, width, along)
    return dot(x, mean, weights), _project(root, x, weights, width, along)


@helper()
def _go(lag, mean, root, weights, width, along, step, shrink):
    """`_move`, now or later."""
    if lag is None:  # a branch that the compiler leaves out where there is a lag
        _move(mean, root, weights, width, along, step, shrink)
        return
    if lag[4][1]:
        _move(mean, root, weights, width, along, step, shrink)
    else:
        take(lag, mean, root, weights, width, along, step, shrink)


@helper()
def _aim(slots, table, i, x, weights, tilted):
    """Where θ and η meet, u; and what the item adds to centre and variance of η, hᵢ/dᵢ and 1/dᵢ."""
    if slots is None:  # a branch that the compiler leaves out where there are some
        return x, 0.0, 0.0
    if slots.size == 0:
        return x, 0.0, 0.0
    own = pointer(table)
    if i + AHEAD < slots.size and slots[i + AHEAD] >= 0:
        coming = slots[i + AHEAD] * table.shape[1]
        for j in range(0, weights + 2, 8):
            fetch(own, coming + j)
    if slots[i] < 0:
        return x, 0.0, 0.0
    row = slots[i] * table.shape[1]
    spare = 1.0 / own[row]
    cross = skip(own, row + 2)
    j = 0
    while j + 7 < weights:
        store(tilted, j, load(x, j) - spare * load(cross, j))
        j += 8
    if j < weights:
        left = weights - j
        store(tilted, j, load_some(x, j, left) - spare * load_some(cross, j, left))
    offset = spare * own[row + 1]
    hold(table)
    return tilted, offset, spare


@helper()
def _add(slots, table, i, x, weights, change, shift_change):
    """Let the item take part in the change of a site: cᵢ += Δτ x, dᵢ += Δτ, hᵢ += Δν."""
    if slots is None:
        return
    if slots.size == 0 or slots[i] < 0:
        return
    own = skip(pointer(table), slots[i] * table.shape[1])
    own[0] += change
    own[1] += shift_change
    cross = skip(own, 2)
    j = 0
    while j + 7 < weights:
        store(cross, j, load(cross, j) + change * load(x, j))
        j += 8
    if j < weights:
        left = weights - j
        more = load_some(cross, j, left) + change * load_some(x, j, left)
        store_some(cross, j, left, more)
    hold(table)


@helper()
def match(labels, counts, i, centre, variance, exact):
    """`site` of an impression, or of the clicks and misses that a row stands for; slope along η."""
    if counts is None:
        return _single(labels[i], centre, variance, exact)
    if counts.size == 0:
        return _single(labels[i], centre, variance, exact)
    return counts_site(counts[i, 0], counts[i, 1], centre, variance)


@helper()
def _single(label, centre, variance, exact):
    log_scale, z, slope, curvature, kept = site(label * centre, variance, exact)
    return log_scale, z, label * slope, curvature, kept


@kernel()
def adf_pass(mean, root, X, y, precision, shift, start, stop, exact, slots, table, counts, lag):
    """One ADF step for each row of ``X[start:stop]``; returns how many steps were skipped.

    The site that each step implies is written to ``precision`` and ``shift`` unless empty.  Slots
    and their table are empty where no item has an effect of its own, counts where labels are
    learnt; ``lag`` is None unless the root may lag behind.  Where all are so slots, table and
    counts may be None: the loop for that alone takes a tenth less time.
    """
    weights, width = root.shape
    scratch = np.empty(2 * width)
    along, centres, roots = pointer(scratch), pointer(mean), pointer(root)
    rows, labels, tilted = pointer(X), pointer(y), skip(along, width)
    skipped = 0
    for i in range(start, stop):
        x = skip(rows, i * weights)
        u, offset, spare = _aim(slots, table, i, x, weights, tilted)
        centre, variance = _look(lag, centres, roots, u, weights, width, along)
        centre, variance = centre + offset, variance + spare
        _, _, slope, curvature, kept = match(labels, counts, i, centre, variance, exact)
        sound = kept > 0.0 and variance * kept < LARGEST_VARIANCE
        if sound:
            shrink = curvature / (1.0 + math.sqrt(kept + curvature * spare))
            _go(lag, centres, roots, weights, width, along, slope, shrink)
            shifted = (slope + centre * curvature) / kept
            _add(slots, table, i, x, weights, curvature / kept, shifted)
        else:
            skipped += 1
        if precision.size > 0:
            precision[i] = curvature / kept if sound else 0.0
            shift[i] = (slope + centre * curvature) / kept if sound else 0.0
    hold(scratch)
    hold(mean)
    hold(root)
    hold(X)
    hold(y)
    return skipped


@kernel()
def absorb(mean, root, X, precision, shift, start, stop, slots, table):
    """Multiply the belief by the Gaussian sites of ``X[start:stop]``; returns those skipped."""
    weights, width = root.shape
    scratch = np.empty(2 * width)
    along, centres, roots, rows = pointer(scratch), pointer(mean), pointer(root), pointer(X)
    tilted = skip(along, width)
    skipped = 0
    for i in range(start, stop):
        x = skip(rows, i * weights)
        u, offset, spare = _aim(slots, table, i, x, weights, tilted)
        centre = dot(u, centres, weights) + offset
        variance = _project(roots, u, weights, width, along) + spare
        growth = 1.0 + precision[i] * variance
        if growth > SMALLEST_CAVITY and growth < LARGEST_VARIANCE:
            step = (shift[i] - precision[i] * centre) / growth
            left = (1.0 + precision[i] * spare) / growth
            shrink = precision[i] / growth / (1.0 + math.sqrt(left))
            _move(centres, roots, weights, width, along, step, shrink)
            _add(slots, table, i, x, weights, precision[i], shift[i])
        else:
            skipped += 1
    hold(scratch)
    hold(mean)
    hold(root)
    hold(X)
    return skipped


@kernel()
def numbered(slots, capacity):
    """A number for each slot, the same for equal ones, and how many numbers there may be.

    They are counted as they come, so that a sweep over a few items of many needs little memory.
    """
    if capacity <= 4 * slots.size:
        return slots, capacity
    size = 1
    while size < 2 * slots.size:
        size *= 2
    places, seen = np.full(size, -1), np.empty(size, dtype=np.int64)
    numbers, many = np.empty(slots.size, dtype=np.int64), 0
    for i in range(slots.size):
        at = (slots[i] * SCATTER) & (size - 1)
        while places[at] >= 0 and seen[at] != slots[i]:
            at = (at + 1) & (size - 1)
        if places[at] < 0:
            places[at], seen[at] = many, slots[i]
            many += 1
        numbers[i] = places[at]
    return numbers, many


@helper()
def visit(labels, counts, i, centre, variance, precision, shift, exact):
    """A site after a visit of EP, given the marginal of η and what the site was.

    Whether there is one, its precision and shift, the growth of the precision along x, and its
    factor Cᵢ as a logarithm and a number to multiply.
    """
    left = 1.0 - precision * variance
    if not (left > SMALLEST_CAVITY and variance < LARGEST_VARIANCE * left):
        return False, precision, shift, 1.0, 0.0, 1.0
    cavity_variance = variance / left
    cavity_mean = (centre - shift * variance) / left
    log_scale, z, slope, curvature, kept = match(
        labels, counts, i, cavity_mean, cavity_variance, exact
    )
    new_precision = curvature / kept
    new_shift = (slope + cavity_mean * curvature) / kept
    growth = 1.0 + (new_precision - precision) * variance
    if not (kept > 0.0 and growth > SMALLEST_CAVITY and growth < LARGEST_VARIANCE):
        return False, precision, shift, 1.0, 0.0, 1.0
    log_factor = log_scale - kept * (
        new_shift * cavity_mean
        + 0.5 * new_shift * new_shift * cavity_variance
        - 0.5 * new_precision * cavity_mean * cavity_mean
    )
    return True, new_precision, new_shift, growth, log_factor, z / math.sqrt(kept)


@helper()
def multiply(log_factors, product, log_factor, factor):
    """Σ log Cᵢ with one more, as a sum of logarithms and a product whose logarithm is missing."""
    product *= factor
    if product < 1e-100 or product > 1e100:
        return log_factors + log_factor + log(product), 1.0
    return log_factors + log_factor, product


@kernel()
def ep_visits(
    mean,
    root,
    X,
    y,
    precision,
    shift,
    start,
    stop,
    exact,
    slots,
    table,
    counts,
    numbers,
    sums,
    moves,
    own_moves,
    lag,
):
    """The visits of an EP sweep to ``X[start:stop]``; returns how many were skipped.

    What a sweep adds up goes on in ``sums`` (from `NO_SUMS`), ``moves`` and ``own_moves``, of
    which the latter has a number for each item (``numbers``); else as for `adf_pass`.
    """
    weights, width = root.shape
    scratch = np.empty(2 * width)
    along, moved, centres, roots = pointer(scratch), pointer(moves), pointer(mean), pointer(root)
    rows, labels, tilted = pointer(X), pointer(y), skip(along, width)
    skipped = 0
    log_factors, product, grown, shrunk = sums[0], sums[1], sums[2], sums[3]
    for i in range(start, stop):
        x = skip(rows, i * weights)
        u, offset, spare = _aim(slots, table, i, x, weights, tilted)
        centre, variance = _look(lag, centres, roots, u, weights, width, along)
        centre, variance = centre + offset, variance + spare
        sound, new_precision, new_shift, growth, log_factor, factor = visit(
            labels, counts, i, centre, variance, precision[i], shift[i], exact
        )
        if not sound:
            skipped += 1
            continue
        change = new_precision - precision[i]
        step = (new_shift - shift[i] - change * centre) / growth
        _go(
            lag,
            centres,
            roots,
            weights,
            width,
            along,
            step,
            change / growth / (1.0 + math.sqrt((1.0 + change * spare) / growth)),
        )
        for j in range(0, width, 8):
            store(moved, j, load(moved, j) + step * load(along, j))
        if slots is not None and spare > 0.0:
            own_moves[numbers[i]] += step * math.sqrt(spare)
        _add(slots, table, i, x, weights, change, new_shift - shift[i])
        grown += max(growth - 1.0, 0.0)
        shrunk += max(1.0 / growth - 1.0, 0.0)
        precision[i] = new_precision
        shift[i] = new_shift
        log_factors, product = multiply(log_factors, product, log_factor, factor)
    sums[0], sums[1], sums[2], sums[3] = log_factors, product, grown, shrunk
    hold(scratch)
    hold(moves)
    hold(mean)
    hold(root)
    hold(X)
    hold(y)
    return skipped


@kernel()
def ep_summary(sums, moves, own_moves):
    """Σ log Cᵢ of a sweep, and how far the belief moved.

    Cᵢ is the factor that makes the site Cᵢ exp(νη − τη²/2) integrate to Zᵢ over its cavity.

    The move is in sds, along the direction that moved most, or more.  With f = rootᵀ x a visit
    moves the mean by step·f in the belief's own coordinates, which add up to a vector, and its
    precision by Δτ f fᵀ.  The sum of those that grow, and of those that shrink, has no
    eigenvalue above its trace Σ |Δτ| fᵀf; an sd changes by half as much.  An effect of its own
    is one coordinate more, along which f is 1/√dᵢ.
    """
    log_factors, product, grown, shrunk = sums[0], sums[1], sums[2], sums[3]
    moved, own_moved = pointer(moves), pointer(own_moves)
    length = dot(moved, moved, moves.size) + dot(own_moved, own_moved, own_moves.size)
    move = max(math.sqrt(length), 0.5 * max(grown, shrunk))
    hold(moves)
    hold(own_moves)
    return log_factors + log(product), move


@kernel()
def marginals(rows, mean, root):
    """Mean and variance of xᵀθ for each row x, under a belief whose root is not padded.

    Four rows take turns, so that the numbers of a large root come from memory once for them.
    """
    many, weights = rows.shape
    width = -(-weights // 8) * 8
    centres, variances, scratch = times(rows, mean), np.empty(many), np.empty((4, width))
    xs, roots, along = pointer(rows), pointer(root), pointer(scratch)
    for first in range(0, many, 4):
        four, x = min(4, many - first), skip(xs, first * weights)
        scratch[:] = 0.0
        if four == 4 and _are_mostly_met(x, weights):
            for i in range(0, weights, TALL):
                end = min(i + TALL, weights)
                for j in range(0, weights, 16):
                    _add_to_four(roots, i, end, j, x, weights, width, along)
        else:
            for k in range(four):
                _add_rows(roots, skip(x, k * weights), weights, skip(along, k * width))
        for k in range(four):
            own = skip(along, k * width)
            variances[first + k] = dot(own, own, width)
    hold(rows)
    hold(root)
    hold(scratch)
    return centres, variances


@helper()
def _are_mostly_met(x, weights):
    """Whether half the fours of numbers of four rows have one that is not zero."""
    met, fours = 0, weights - weights % 4
    for row in range(0, 4 * weights, weights):
        for at in range(row, row + fours, 4):
            met += x[at] != 0.0 or x[at + 1] != 0.0 or x[at + 2] != 0.0 or x[at + 3] != 0.0
    return 2 * met >= fours


@helper()
def _add_to_four(root, start, end, j, x, weights, width, along):
    """`_add_rows` for four rows x at once, sixteen columns from j on in registers."""
    left, right = min(8, weights - j), max(0, min(8, weights - j - 8))
    y, z, u = skip(x, weights), skip(x, 2 * weights), skip(x, 3 * weights)
    more, some, others = skip(along, width), skip(along, 2 * width), skip(along, 3 * width)
    a, b, c, d = load(along, j), load(more, j), load(some, j), load(others, j)
    e, f = load_some(along, j + 8, right), load_some(more, j + 8, right)
    g, h = load_some(some, j + 8, right), load_some(others, j + 8, right)
    fours = end - end % 4
    for i in range(start, fours, 4):
        p, q, r, s = _four_lanes(root, i * weights + j, weights, left)
        a, b = a + _multiples(x, i, p, q, r, s), b + _multiples(y, i, p, q, r, s)
        c, d = c + _multiples(z, i, p, q, r, s), d + _multiples(u, i, p, q, r, s)
        p, q, r, s = _four_lanes(root, i * weights + j + 8, weights, right)
        e, f = e + _multiples(x, i, p, q, r, s), f + _multiples(y, i, p, q, r, s)
        g, h = g + _multiples(z, i, p, q, r, s), h + _multiples(u, i, p, q, r, s)
    for i in range(fours, end):
        p, q = load_some(root, i * weights + j, left), load_some(root, i * weights + j + 8, right)
        a, b, c, d = a + x[i] * p, b + y[i] * p, c + z[i] * p, d + u[i] * p
        e, f, g, h = e + x[i] * q, f + y[i] * q, g + z[i] * q, h + u[i] * q
    store(along, j, a)
    store(more, j, b)
    store(some, j, c)
    store(others, j, d)
    if right:
        store(along, j + 8, e)
        store(more, j + 8, f)
        store(some, j + 8, g)
        store(others, j + 8, h)


@helper(inline="always")
def _four_lanes(root, at, weights, count):
    """Lanes of four rows of a root."""
    p, q = load_some(root, at, count), load_some(root, at + weights, count)
    at += 2 * weights
    return p, q, load_some(root, at, count), load_some(root, at + weights, count)


@helper(inline="always")
def _multiples(x, i, p, q, r, s):
    """Four rows of a root times the features from i on."""
    return (x[i] * p + x[i + 1] * q) + (x[i + 2] * r + x[i + 3] * s)


@helper()
def _add_rows(root, x, weights, along):
    """along += rootᵀ x, four weights at a time, in the order of `_project`.

    What is zero is passed over, which changes no sum.
    """
    fours, left = weights - weights % 4, weights % 8
    whole = weights - left
    for i in range(0, fours, 4):
        if x[i] != 0.0 or x[i + 1] != 0.0 or x[i + 2] != 0.0 or x[i + 3] != 0.0:
            for j in range(0, whole, 8):
                store(along, j, load(along, j) + _four(root, i * weights + j, weights, x, i))
            if left:
                p, q, r, s = _four_lanes(root, i * weights + whole, weights, left)
                store(along, whole, load(along, whole) + _multiples(x, i, p, q, r, s))
    for d in range(fours, weights):
        for j in range(0, weights, 8):
            row = load_some(root, d * weights + j, min(8, weights - j))
            store(along, j, load(along, j) + x[d] * row)


@kernel()
def drawn(mean, root, normals):
    """μ + R z for each row z of ``normals``."""
    weights = mean.size
    draws = np.empty(normals.shape)
    roots, zs = pointer(root), pointer(normals)
    for k in range(draws.shape[0]):
        for i in range(weights):
            away = dot(skip(roots, i * weights), skip(zs, k * weights), weights)
            draws[k, i] = mean[i] + away
    hold(root)
    hold(normals)
    return draws
