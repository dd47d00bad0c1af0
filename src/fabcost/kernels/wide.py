"""A belief over very many weights: full on a core of columns, diagonal elsewhere.

Rows are sparse: row i has the numbers ``values[starts[i]:starts[i + 1]]`` in the columns of the
same places.  ``slots`` says of each column where in the core it is or, outside, −1 − n for a
column that n impressions had.  The core's covariance is ``root rootᵀ``, as in `beliefs`, and
``members`` are its columns.

A site changes the belief by its moments along x.  With f = rootᵀ x over the core,
s² = fᵀf + Σ vⱼxⱼ² over the other columns, slope g and curvature c of log Z,

    mean of the core += g root f,       root ← root − γ (root f) fᵀ,   γ = c / (1 + √(1 − c fᵀf)),
    other means μⱼ += g vⱼ xⱼ,          vⱼ ← vⱼ − c (vⱼ xⱼ)²:

the exact marginals of the core and of each other weight, which is the projection in KL(p‖q) on
this family.  Covariances between the core and the rest, and within the rest, are left out.
"""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.beliefs import LARGEST_VARIANCE, match
from fabcost.kernels.functions import log
from fabcost.kernels.lanes import hold, load, pointer, skip, spread, store
from fabcost.kernels.normals import fresh_normals
from fabcost.kernels.products import dot

MOST_USES = 2**31 - 2


@kernel()
def wide_pass(
    mean, variance, slots, root, members, filled, starts, columns, values, y, after, exact, counts
):
    """One ADF step for each row, or for the clicks and misses that it stands for.

    Returns the size of the core then, how many were skipped, and Σ log Z of the others: how
    probable the outcomes were, each before it was learnt.
    """
    width = root.shape[1]
    scratch = np.zeros(width)
    along, roots, labels = pointer(scratch), pointer(root), pointer(y)
    skipped, evidence = 0, 0.0
    for i in range(y.size):
        row = columns[starts[i] : starts[i + 1]]
        x = values[starts[i] : starts[i + 1]]
        filled = _count_uses(variance, slots, root, members, filled, row, after)
        used = -(-filled // 8) * 8
        centre, spare = _project(mean, variance, slots, roots, width, used, row, x, along)
        total = dot(along, along, used) + spare
        if not total > 0.0:
            continue  # a row of zeros says nothing
        log_scale, z, slope, curvature, kept = match(labels, counts, i, centre, total, exact)
        if not (kept > 0.0 and total * kept < LARGEST_VARIANCE):
            skipped += 1
            continue
        evidence += log_scale + log(z)
        shrink = curvature / (1.0 + math.sqrt(kept + curvature * spare))
        if total > spare:
            _move_core(mean, roots, width, used, members, filled, along, slope, shrink)
        for p in range(row.size):
            if slots[row[p]] < 0:
                reach = variance[row[p]] * x[p]
                mean[row[p]] += slope * reach
                variance[row[p]] -= curvature * reach * reach
    hold(scratch)
    hold(root)
    hold(y)
    return filled, skipped, evidence


@helper()
def _count_uses(variance, slots, root, members, filled, row, after):
    """Count uses of a row's columns; those with ``after`` of them join the core while it has room.

    A column brings its variance and no covariance, so that nothing is lost.
    """
    for p in range(row.size):
        j = row[p]
        if slots[j] < 0 and slots[j] > -MOST_USES:
            slots[j] -= 1
        if slots[j] < -after and filled < members.size:
            root[filled, filled] = math.sqrt(variance[j])
            members[filled] = j
            slots[j] = filled
            filled += 1
    return filled


@helper()
def _project(mean, variance, slots, root, width, used, row, x, along):
    """along ← rootᵀ x over the core; returns xᵀμ, and the variance of xᵀθ outside of the core."""
    centre, spare = 0.0, 0.0
    for j in range(0, used, 8):
        store(along, j, spread(0.0))
    for p in range(row.size):
        centre += x[p] * mean[row[p]]
        slot = slots[row[p]]
        if slot < 0:
            spare += x[p] * x[p] * variance[row[p]]
        else:
            of_slot = skip(root, slot * width)
            for j in range(0, used, 8):
                store(along, j, load(along, j) + x[p] * load(of_slot, j))
    return centre, spare


@helper()
def _move_core(mean, root, width, used, members, filled, along, step, shrink):
    """mean ← mean + step·Σx and root ← root − shrink·(Σx) alongᵀ, for along = rootᵀ x."""
    for i in range(filled):
        row = skip(root, i * width)
        reach = dot(row, along, used)
        mean[members[i]] += step * reach
        reach *= shrink
        for j in range(0, used, 8):
            store(row, j, load(row, j) - reach * load(along, j))


@kernel()
def wide_marginals(mean, variance, slots, root, filled, starts, columns, values):
    """Mean and variance of the score of each row."""
    many, width = starts.size - 1, root.shape[1]
    used = -(-filled // 8) * 8
    centres, variances, scratch = np.empty(many), np.empty(many), np.zeros(width)
    along, roots = pointer(scratch), pointer(root)
    for i in range(many):
        row = columns[starts[i] : starts[i + 1]]
        x = values[starts[i] : starts[i + 1]]
        centres[i], spare = _project(mean, variance, slots, roots, width, used, row, x, along)
        variances[i] = dot(along, along, used) + spare
    hold(scratch)
    hold(root)
    return centres, variances


@kernel()
def wide_law(mean, variance, slots, root, filled, starts, places, values, touched):
    """Centre of each score, its spread over the core and over other columns, and its own noise.

    Row i is in the columns ``touched[places]``.  Weights outside of the core are independent: those
    that one row alone has are together one normal of its own.
    """
    many, used = starts.size - 1, -(-filled // 8) * 8
    columns, others = _shared_places(slots, used, places, touched)
    centres, noise, spread = np.empty(many), np.zeros(many), np.zeros((many, columns))
    of_rows, roots = pointer(spread), pointer(root)
    for i in range(many):
        some = places[starts[i] : starts[i + 1]]
        x, row, along = values[starts[i] : starts[i + 1]], touched[some], skip(of_rows, i * columns)
        law = (mean, variance, slots, roots, root.shape[1], used)
        centres[i], _ = _project(*law, row, x, along)
        for p in range(some.size):
            if others[some[p]] >= 0:
                spread[i, others[some[p]]] = x[p] * math.sqrt(variance[row[p]])
            elif slots[row[p]] < 0:
                noise[i] += x[p] * x[p] * variance[row[p]]
    hold(spread)
    hold(root)
    return centres, spread, np.sqrt(noise)


@helper()
def _shared_places(slots, first, places, touched):
    """Columns from ``first`` on for those outside of the core that several rows have; else −1."""
    uses, others = np.zeros(touched.size, dtype=np.int64), np.full(touched.size, -1)
    for t in places:
        uses[t] += 1
    for t in range(touched.size):
        if uses[t] > 1 and slots[touched[t]] < 0:
            others[t] = first
            first += 1
    return first, others


@kernel()
def sparse_times(starts, columns, values, weights):
    """The product of sparse rows and a vector."""
    product = np.zeros(starts.size - 1)
    for i in range(product.size):
        for p in range(starts[i], starts[i + 1]):
            product[i] += values[p] * weights[columns[p]]
    return product


@kernel()
def wide_draw(mean, variance, slots, root, filled, touched, seeds, scale):
    """Weights of the columns ``touched`` in one draw of all."""
    used = -(-filled // 8) * 8
    normals = fresh_normals(seeds, used + touched.size)
    z, roots = pointer(normals), pointer(root)
    theta = np.empty(touched.size)
    for t in range(touched.size):
        slot = slots[touched[t]]
        if slot < 0:
            away = math.sqrt(variance[touched[t]]) * normals[used + t]
        else:
            away = dot(skip(roots, slot * root.shape[1]), z, used)
        theta[t] = mean[touched[t]] + scale * away
    hold(normals)
    hold(root)
    return theta


@kernel()
def hashed_rows(context, parts, pairs, bits, bias):
    """Rows of items in a context: starts, columns, values; see `fabcost.features.hashed`.

    Features of the context, then those of a row of ``parts``, are hash and number by turns, and
    ``pairs`` the places of those that are crossed.  With ``bias`` every row has a 1 in column 0.
    """
    many, of_context = parts.shape[0], context.size // 2
    features = np.empty(context.size + parts.shape[1])
    features[: context.size] = context
    most = 1 + features.size // 2 + pairs.shape[0]
    mask = np.uint64((1 << bits) - 1)
    starts = np.zeros(many + 1, dtype=np.int64)
    columns, values = np.empty(many * most, dtype=np.int64), np.empty(many * most)
    row, x = np.empty(most, dtype=np.int64), np.empty(most)
    for k in range(many):
        features[2 * of_context :] = parts[k]
        size = _written(features, pairs, mask, bias, row, x)
        order = np.argsort(row[:size], kind="mergesort")
        found, sums = added_up(row[:size][order], x[:size][order])
        end = starts[k] + found.size
        columns[starts[k] : end], values[starts[k] : end] = found, sums
        starts[k + 1] = end
    return starts, columns[: starts[-1]].copy(), values[: starts[-1]].copy()


@helper()
def _written(features, pairs, mask, bias, row, x):
    """Columns and numbers of one row, in no order; how many."""
    size = 0
    if bias:
        row[0], x[0], size = 0, 1.0, 1
    many = features.size // 2
    for i in range(many):
        if features[2 * i + 1] != 0.0:
            row[size], x[size] = np.uint64(features[2 * i]) & mask, features[2 * i + 1]
            size += 1
    for p in range(pairs.shape[0]):
        i, j = pairs[p]
        if i < many and j < many and features[2 * i + 1] * features[2 * j + 1] != 0.0:
            row[size] = crossed_hash(features[2 * i], features[2 * j]) & mask
            x[size] = features[2 * i + 1] * features[2 * j + 1]
            size += 1
    return size


@kernel()
def crossed_hash(first, second):
    """The hash of two hashes (whole numbers below 2^48), by the finaliser of SplitMix64."""
    z = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(second)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel()
def are_sound(starts, columns, values, weights, limit):
    """Whether these are sparse rows: columns exist and rise within each, values are in limits."""
    many = values.size
    if starts.size == 0 or columns.size != many:
        return False
    if starts[0] != 0 or starts[-1] != many:
        return False
    for i in range(starts.size - 1):
        if starts[i + 1] < starts[i] or not are_rising(columns[starts[i] : starts[i + 1]]):
            return False
    sound = True
    for p in range(many):
        sound &= (columns[p] >= 0) & (columns[p] < weights) & (abs(values[p]) <= limit)
    return sound


@kernel()
def are_rising(columns):
    """Whether each number is larger than the one before."""
    rising = True
    for p in range(1, columns.size):
        rising &= columns[p] > columns[p - 1]
    return rising


@kernel()
def added_up(columns, values):
    """Columns each once, and the sums of their values; equal columns stand side by side."""
    found, sums, many = columns.copy(), values.copy(), 0
    for p in range(columns.size):
        if many > 0 and found[many - 1] == columns[p]:
            sums[many - 1] += values[p]
        else:
            found[many], sums[many] = columns[p], values[p]
            many += 1
    return found[:many], sums[:many]
