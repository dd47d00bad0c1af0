"""Sparse rows and a belief over all weights: what a row does not have is neither read nor changed.

Rows are as in `wide`: row i has ``values[starts[i]:starts[i + 1]]`` in the columns of the same
places.  The ADF pass and `sparse_absorb` are those of `beliefs` to the last bit: sums leave out
zeros only, and keep their lanes and their order.  A row of the root is changed
by the steps since it was last needed when it is needed again, and at the end: it is read once for
many of them.

`sparse_match` is for parallel EP, whose sites are all matched to one belief.

`covariance_visits` has the covariance in place of the root, Σ = C − Σₗ kₗ uₗuₗᵀ with at most
`PENDING` terms that C does not hold yet.  A visit is as in `beliefs`, with u = Σx and
k = Δτ/(1 + Δτ xᵀu); it takes O((non-zeros + `PENDING`) D), and O(D²) when all terms are taken into
C at once, whose symmetry halves it.  Where differences would eat up the digits it says so.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.beliefs import LARGEST_VARIANCE, SMALLEST_CAVITY, match, multiply, visit
from fabcost.kernels.functions import log
from fabcost.kernels.lagging import add_row, follow, follow_four
from fabcost.kernels.lanes import hold, load, pointer, skip, spread, store, total, transposed
from fabcost.kernels.products import dot

AWAITED = 8
PENDING = 32
PARTS = 96  # in which what is pending is taken into the covariance, some rows each
SMALLEST_SHARE = 1e-6  # of the largest variance that a row of these weights could have


@helper()
def sparse_dot(columns, values, first, last, vector, count, lanes):
    """The `dot` of a sparse row and the ``count`` numbers behind a pointer; 16 lanes of scratch."""
    store(lanes, 0, spread(0.0))
    store(lanes, 8, spread(0.0))
    whole = count - count % 16
    late = 8 if count - whole < 8 else 0
    for p in range(first, last):
        column = columns[p]
        lane = column % 16 + (late if column >= whole else 0)
        lanes[lane] += values[p] * vector[column]
    return total(load(lanes, 0) + load(lanes, 8))


@helper()
def _add_two(along, row, x, other, y, width):
    for j in range(0, width, 8):
        store(along, j, load(along, j) + (x * load(row, j) + y * load(other, j)))


@helper()
def _add_four(along, root, columns, values, first, last, width):
    """Three or four rows of one group of four, those of either half first."""
    a, b = skip(root, columns[first] * width), skip(root, columns[first + 1] * width)
    c, d = skip(root, columns[first + 2] * width), skip(root, columns[last - 1] * width)
    x0, x1, x2, x3 = values[first], values[first + 1], values[first + 2], values[last - 1]
    if last - first == 4:
        for j in range(0, width, 8):
            low = x0 * load(a, j) + x1 * load(b, j)
            high = x2 * load(c, j) + x3 * load(d, j)
            store(along, j, load(along, j) + (low + high))
    elif columns[first + 1] % 4 == 1:
        for j in range(0, width, 8):
            low = x0 * load(a, j) + x1 * load(b, j)
            store(along, j, load(along, j) + (low + x2 * load(c, j)))
    else:
        for j in range(0, width, 8):
            high = x1 * load(b, j) + x2 * load(c, j)
            store(along, j, load(along, j) + (x0 * load(a, j) + high))


@helper()
def _project(root, columns, values, first, last, weights, width, along):
    """along ← rootᵀ x, with the rows of each four added up before; returns xᵀ Σ x."""
    for j in range(0, width, 8):
        store(along, j, spread(0.0))
    fours = weights - weights % 4
    p = first
    while p < last:
        end = p + 1
        if columns[p] < fours:
            while end < last and columns[end] // 4 == columns[p] // 4:
                end += 1
        row = skip(root, columns[p] * width)
        if end - p == 1:
            add_row(along, row, values[p], width)
        elif end - p == 2:
            other = skip(root, columns[p + 1] * width)
            _add_two(along, row, values[p], other, values[p + 1], width)
        else:
            _add_four(along, root, columns, values, p, end, width)
        p = end
    return dot(along, along, width)


@helper()
def _catch_up(belief, row, until):
    """Let a row of the root, and its mean, take the steps up to ``until`` that it has not taken."""
    centres, root, width, taken, steps, shrinks, alongs, _ = belief
    follow(alongs, steps, shrinks, centres, root, width, row, taken[row], until)
    taken[row] = until


@helper()
def _catch_up_four(belief, rows, start, until):
    """`_catch_up` for four rows that have taken the steps before ``start``."""
    centres, root, width, taken, steps, shrinks, alongs, _ = belief
    four = (rows[0], rows[1], rows[2], rows[3])
    follow_four(alongs, steps, shrinks, centres, root, width, four, start, until)
    for row in rows:
        taken[row] = until


@helper()
def _catch_up_some(belief, four, rows, first, last, until):
    """`_catch_up` for ``rows[first:last]``, four at a time of those that have taken as many."""
    taken = belief[3]
    for start in range(until):
        many = 0
        for k in range(first, last):
            if taken[rows[k]] == start:
                four[many] = rows[k]
                many += 1
            if many == 4:
                _catch_up_four(belief, four, start, until)
                many = 0
        for row in four[:many]:
            _catch_up(belief, row, until)


@helper()
def _carry(mean, root):
    """A belief of which rows may be behind, and the scratch behind its pointers."""
    weights, width = root.shape
    scratch = np.empty((width + 2) * AWAITED + 16)
    lanes = pointer(scratch)
    steps, shrinks = skip(lanes, 16), skip(lanes, 16 + AWAITED)
    taken, alongs = np.zeros(weights, dtype=np.int64), skip(lanes, 16 + 2 * AWAITED)
    return (pointer(mean), pointer(root), width, taken, steps, shrinks, alongs, lanes), scratch


@helper()
def _catch_up_all(belief, until):
    """Let all rows take all steps, of which there are none to be taken then."""
    taken = belief[3]
    four, everyone = np.empty(4, dtype=np.int64), np.arange(taken.size)
    _catch_up_some(belief, four, everyone, 0, taken.size, until)
    taken[:] = 0


@helper()
def _look(belief, columns, values, first, last, awaited):
    """Mean and variance of the score of a row; its direction is put behind the steps awaited."""
    centres, root, width, taken, _, _, alongs, lanes = belief
    if awaited > 0:
        _catch_up_some(belief, np.empty(4, dtype=np.int64), columns, first, last, awaited)
    along, weights = skip(alongs, awaited * width), taken.size
    centre = sparse_dot(columns, values, first, last, centres, weights, lanes)
    return centre, _project(root, columns, values, first, last, weights, width, along)


@helper()
def _go(belief, awaited, step, shrink):
    """One more step to be taken along what `_look` has put there; how many there are then."""
    steps, shrinks = belief[4], belief[5]
    steps[awaited], shrinks[awaited] = step, shrink
    if awaited + 1 < AWAITED:
        return awaited + 1
    _catch_up_all(belief, AWAITED)
    return 0


@kernel()
def sparse_adf_pass(
    mean, root, starts, columns, values, y, precision, shift, start, stop, exact, counts
):
    """`adf_pass` over sparse rows, with the same bits."""
    belief, scratch = _carry(mean, root)
    skipped, awaited, labels = 0, 0, pointer(y)
    for i in range(start, stop):
        centre, variance = _look(belief, columns, values, starts[i], starts[i + 1], awaited)
        _, _, slope, curvature, kept = match(labels, counts, i, centre, variance, exact)
        sound = kept > 0.0 and variance * kept < LARGEST_VARIANCE
        if sound:
            awaited = _go(belief, awaited, slope, curvature / (1.0 + math.sqrt(kept)))
        else:
            skipped += 1
        if precision.size > 0:
            precision[i] = curvature / kept if sound else 0.0
            shift[i] = (slope + centre * curvature) / kept if sound else 0.0
    _catch_up_all(belief, awaited)
    hold(scratch)
    hold(mean)
    hold(root)
    hold(y)
    return skipped


@kernel()
def sparse_absorb(mean, root, starts, columns, values, precision, shift, start, stop):
    """`absorb` over sparse rows, with the same bits."""
    belief, scratch = _carry(mean, root)
    skipped, awaited = 0, 0
    for i in range(start, stop):
        centre, variance = _look(belief, columns, values, starts[i], starts[i + 1], awaited)
        growth = 1.0 + precision[i] * variance
        if growth > SMALLEST_CAVITY and growth < LARGEST_VARIANCE:
            step = (shift[i] - precision[i] * centre) / growth
            shrink = precision[i] / growth / (1.0 + math.sqrt(1.0 / growth))
            awaited = _go(belief, awaited, step, shrink)
        else:
            skipped += 1
    _catch_up_all(belief, awaited)
    hold(scratch)
    hold(mean)
    hold(root)
    return skipped


@kernel()
def sparse_marginals(starts, columns, values, mean, root):
    """`marginals` of sparse rows, with the same bits."""
    weights, many = mean.size, starts.size - 1
    width = -(-weights // 8) * 8
    scratch = np.empty(width + 16)
    padded = np.empty((weights if weights < width else 0, width))
    lanes, means = pointer(scratch), pointer(mean)
    roots = pointer(padded) if weights < width else pointer(root)
    is_there = np.full(weights, weights == width)
    for column in columns:
        if not is_there[column]:
            is_there[column] = True
            padded[column, :weights] = root[column]
            padded[column, weights:] = 0.0
    along = skip(lanes, 16)
    centres, variances = np.empty(many), np.empty(many)
    for i in range(many):
        first, last = starts[i], starts[i + 1]
        centres[i] = sparse_dot(columns, values, first, last, means, weights, lanes)
        variances[i] = _project(roots, columns, values, first, last, weights, width, along)
    hold(scratch)
    hold(mean)
    hold(root)
    hold(padded)
    return centres, variances


@kernel()
def covariance_rows(root, panels, covariance, first, last):
    """Some rows of R Rᵀ, whole eights of them, and what mirrors them; all before are there.

    The covariance begins with zeros.  Beside it eights of rows of R are written as panels, which
    have a row of eight numbers for each column: tiles then read memory in its order.
    """
    weights, width = root.shape
    t, sigma = pointer(panels), pointer(covariance)
    for start in range(first, last, 32):  # panels of so many rows stay in the caches
        stop = min(start + 32, last)
        for row in range(start, min(stop, weights)):
            own = skip(t, row // 8 * 8 * width + row % 8)
            for k in range(width):
                own[8 * k] = root[row, k]
        for j in range(0, stop, 8):
            for i in range(max(start, j), stop, 8):
                tile = skip(sigma, i * width + j)
                _settle_tile(tile, width, skip(t, j * width), skip(t, i * width), 8, width)
                for at in range(0, 8 * width, width):
                    store(tile, at, spread(0.0) - load(tile, at))
                _mirror(sigma, width, i, j)
    hold(panels)
    hold(covariance)


@kernel()
def covariance_visits(
    mean,
    covariance,
    starts,
    columns,
    values,
    y,
    precision,
    shift,
    start,
    stop,
    exact,
    counts,
    sums,
    scratch,
    pending,
):
    """Some steps of an EP sweep; visits that were skipped, or −1 where rounding would show.

    What was changed up to there is then of no use.  After `PENDING` visits, or the last few, the
    next `PARTS` steps take what they change into the covariance.  Mean and covariance are padded
    with zeros to a multiple of eight.  ``sums`` are those of `ep_visits`; they, scratch and the
    count of ``pending`` terms go on from call to call.
    """
    width = covariance.shape[1]
    us = pointer(scratch)
    scaled, shares, sds = (
        skip(us, width * PENDING),
        skip(us, 2 * width * PENDING),
        skip(us, (2 * width + 1) * PENDING),
    )
    centres, sigma, labels = pointer(mean), pointer(covariance), pointer(y)
    skipped, awaited = 0, pending[0]
    log_factors, product, grown, shrunk = sums[0], sums[1], sums[2], sums[3]
    for step in range(start, stop):
        at = step % (PENDING + PARTS)
        i = step // (PENDING + PARTS) * PENDING + at
        if at >= PENDING:
            awaited = _settle_part(sigma, us, scaled, width, awaited, at - PENDING)
        if at >= PENDING or i >= y.size:
            continue
        first, last = starts[i], starts[i + 1]
        if awaited == 0:
            for j in range(mean.size):
                sds[j] = math.sqrt(max(covariance[j, j], 0.0))
        u = skip(us, awaited * width)
        _reach(sigma, us, scaled, shares, columns, values, first, last, width, awaited)
        centre, variance, most = 0.0, 0.0, 0.0
        for p in range(first, last):
            centre += values[p] * centres[columns[p]]
            variance += values[p] * u[columns[p]]
            most += abs(values[p]) * sds[columns[p]]
        if not variance >= SMALLEST_SHARE * most * most:
            return -1
        sound, new_precision, new_shift, growth, log_factor, factor = visit(
            labels, counts, i, centre, variance, precision[i], shift[i], exact
        )
        if not sound:
            skipped += 1
            continue
        change = new_precision - precision[i]
        move, share = (new_shift - shift[i] - change * centre) / growth, change / growth
        later = skip(scaled, awaited * width)
        for j in range(0, width, 8):
            store(centres, j, load(centres, j) + move * load(u, j))
            store(later, j, share * load(u, j))
        awaited += 1
        grown += max(growth - 1.0, 0.0)
        shrunk += max(1.0 / growth - 1.0, 0.0)
        precision[i], shift[i] = new_precision, new_shift
        log_factors, product = multiply(log_factors, product, log_factor, factor)
    pending[0] = awaited
    sums[0], sums[1], sums[2], sums[3] = log_factors, product, grown, shrunk
    hold(scratch)
    hold(mean)
    hold(covariance)
    hold(y)
    return skipped


@kernel()
def factor_columns(covariance, panels, away, moves, weights, first, last):
    """Some columns of L with L Lᵀ = Σ, whole eights of them, in panels; all before are there.

    Whether Σ is positive definite so far.  On the way L ``moves`` = ``away`` is solved.
    """
    width = covariance.shape[1]
    sigma, t, rest = pointer(covariance), pointer(panels), pointer(away)
    for block in range(first, last, 8):
        for j in range(block, width, 8):
            tile = skip(sigma, block * width + j)
            _settle_tile(tile, width, skip(t, j * width), skip(t, block * width), 8, block)
        for k in range(block, min(block + 8, weights)):
            if not _factor_column(skip(sigma, k * width), t, width, block, k):
                return False
            moves[k] = rest[k] / t[block * width + 8 * k + k - block]
            for j in range(block, width, 8):
                store(rest, j, load(rest, j) - moves[k] * load(t, j * width + 8 * k))
    hold(covariance)
    hold(panels)
    hold(away)
    return True


@helper()
def _factor_column(row, t, width, block, k):
    """Column k of L, from row k of what the columns before its block leave of Σ; if there is one.

    Numbers above the diagonal are of no use.
    """
    diagonal = skip(t, block * width + k - block)
    for j in range(block, width, 8):
        lanes, own = load(row, j), skip(t, j * width)
        for before in range(8 * block, 8 * k, 8):
            lanes = lanes - diagonal[before] * load(own, before)
        store(own, 8 * k, lanes)
    left = diagonal[8 * k]
    if not left > 0.0:
        return False
    length = math.sqrt(left)
    for j in range(block, width, 8):
        own = skip(t, j * width)
        store(own, 8 * k, load(own, 8 * k) / length)
    return True


@kernel()
def fill_rows(panels, root, first, last):
    """Some rows of a lower triangular root whose panels are there."""
    weights, width = root.shape
    t = pointer(panels)
    for i in range(first, min(last, weights)):
        own = skip(t, i // 8 * 8 * width + i % 8)
        for k in range(width):
            root[i, k] = own[8 * k] if k <= i else 0.0
    hold(panels)


@helper()
def _reach(sigma, us, scaled, shares, columns, values, first, last, width, pending):
    """u ← Σx, behind the terms that are pending: C x − Σₗ kₗ (uₗᵀx) uₗ."""
    for k in range(pending):
        scaled_u, share = skip(scaled, k * width), 0.0
        for p in range(first, last):
            share += values[p] * scaled_u[columns[p]]
        shares[k] = share
    u = skip(us, pending * width)
    for j in range(0, width, 8):
        sums = spread(0.0)
        for p in range(first, last):
            sums = sums + values[p] * load(sigma, columns[p] * width + j)
        for k in range(pending):
            sums = sums - shares[k] * load(us, k * width + j)
        store(u, j, sums)


@helper()
def _settle(sigma, us, scaled, width, pending, start, stop):
    """C ← C − Σₗ kₗ uₗuₗᵀ, by tiles of 8 × 8 of the lower half, each copied to the upper half.

    Of the lower half some rows only.
    """
    for i in range(start, stop, 8):
        for j in range(0, i + 1, 8):
            row = skip(sigma, i * width + j)
            _settle_tile(row, width, skip(us, j), skip(scaled, i), width, pending)
            _mirror(sigma, width, i, j)


@helper()
def _settle_part(sigma, us, scaled, width, pending, part):
    """One of `PARTS` of `_settle` that cost alike; how many terms are pending then."""
    eights = width // 8
    start = int(math.sqrt(part / PARTS) * eights) * 8
    stop = int(math.sqrt((part + 1) / PARTS) * eights) * 8
    _settle(sigma, us, scaled, width, pending, start, stop)
    return 0 if part == PARTS - 1 else pending


@helper()
def _mirror(sigma, width, i, j):
    """Copy a tile of the lower half to the upper half."""
    if i == j:
        for column in range(j, j + 8):
            for row in range(column + 1, i + 8):
                sigma[column * width + row] = sigma[row * width + column]
        return
    low, high = skip(sigma, i * width + j), skip(sigma, j * width + i)
    columns = transposed(
        load(low, 0),
        load(low, width),
        load(low, 2 * width),
        load(low, 3 * width),
        load(low, 4 * width),
        load(low, 5 * width),
        load(low, 6 * width),
        load(low, 7 * width),
    )
    store(high, 0, columns[0])
    store(high, width, columns[1])
    store(high, 2 * width, columns[2])
    store(high, 3 * width, columns[3])
    store(high, 4 * width, columns[4])
    store(high, 5 * width, columns[5])
    store(high, 6 * width, columns[6])
    store(high, 7 * width, columns[7])


@helper()
def _settle_tile(row, width, us, scaled, stride, pending):
    """A tile of eight rows less Σₗ aₗbₗᵀ, with b and a each ``stride`` numbers behind the last."""
    a = b = c = d = e = f = g = h = spread(0.0)
    for k in range(0, pending * stride, stride):
        along, u = load(us, k), skip(scaled, k)
        a, b, c, d = a + u[0] * along, b + u[1] * along, c + u[2] * along, d + u[3] * along
        e, f, g, h = e + u[4] * along, f + u[5] * along, g + u[6] * along, h + u[7] * along
    store(row, 0, load(row, 0) - a)
    store(row, width, load(row, width) - b)
    store(row, 2 * width, load(row, 2 * width) - c)
    store(row, 3 * width, load(row, 3 * width) - d)
    store(row, 4 * width, load(row, 4 * width) - e)
    store(row, 5 * width, load(row, 5 * width) - f)
    store(row, 6 * width, load(row, 6 * width) - g)
    store(row, 7 * width, load(row, 7 * width) - h)


@kernel()
def sparse_match(mean, covariance, starts, columns, values, y, precision, shift, exact, counts):
    """Visit all rows with one belief, which stays; visits skipped, Σ log Cᵢ, and the change or −1.

    The change is how much precisions grew or shrank, and −1 where rounding would show.
    """
    skipped, labels, sds = 0, pointer(y), np.sqrt(np.diag(covariance))
    log_factors, product, grown, shrunk = 0.0, 1.0, 0.0, 0.0
    for i in range(y.size):
        centre, variance, most = 0.0, 0.0, 0.0
        for p in range(starts[i], starts[i + 1]):
            row, along = covariance[columns[p]], 0.0
            for q in range(starts[i], p):
                along += values[q] * row[columns[q]]
            centre += values[p] * mean[columns[p]]
            variance += values[p] * (2.0 * along + values[p] * row[columns[p]])
            most += abs(values[p]) * sds[columns[p]]
        if not variance >= SMALLEST_SHARE * most * most:
            grown, shrunk = -1.0, -1.0
            break
        sound, new_precision, new_shift, growth, log_factor, factor = visit(
            labels, counts, i, centre, variance, precision[i], shift[i], exact
        )
        if not sound:
            skipped += 1
            continue
        grown += max(growth - 1.0, 0.0)
        shrunk += max(1.0 / growth - 1.0, 0.0)
        precision[i], shift[i] = new_precision, new_shift
        log_factors, product = multiply(log_factors, product, log_factor, factor)
    hold(y)
    return skipped, log_factors + log(product), max(grown, shrunk)


@kernel()
def inverse_of(low):
    """L⁻¹, and L⁻ᵀL⁻¹, for a lower triangular L; both padded to a multiple of eight."""
    weights = low.shape[0]
    width = -(-weights // 8) * 8
    solved = np.zeros((width, width))
    m = pointer(solved)
    for i in range(weights):
        row = skip(m, i * width)
        for j in range(i):
            other, factor = skip(m, j * width), low[i, j]
            for k in range(0, j + 1, 8):
                store(row, k, load(row, k) - factor * load(other, k))
        row[i] += 1.0
        for k in range(0, i + 1, 8):
            store(row, k, load(row, k) / low[i, i])
    opposite, inverse = -solved, np.zeros((width, width))
    _settle(pointer(inverse), m, pointer(opposite), width, weights, 0, width)
    hold(solved)
    hold(opposite)
    return solved, inverse


@kernel()
def sparse_gram(starts, columns, values, weight, weights):
    """Σ wᵢ xᵢxᵢᵀ, by what rows have."""
    gram = np.zeros((weights, weights))
    for i in range(weight.size):
        for p in range(starts[i], starts[i + 1]):
            row, x = gram[columns[p]], weight[i] * values[p]
            for q in range(starts[i], p + 1):
                row[columns[q]] += x * values[q]
    for i in range(weights):
        for j in range(i):
            gram[j, i] = gram[i, j]
    return gram


@kernel()
def sparse_sum(starts, columns, values, weight, weights):
    """Σ wᵢ xᵢ."""
    found = np.zeros(weights)
    for i in range(weight.size):
        for p in range(starts[i], starts[i + 1]):
            found[columns[p]] += weight[i] * values[p]
    return found
