"""A belief whose root follows its steps later: a row of it takes many of them at once.

A step changes all of the root, root ← root − γ (root f) fᵀ, but row by row: none of them needs
another.  So the last `LAG` steps are kept as f, γ and that of the mean, in ``lag``, and a row takes
those that it has not taken when it is needed, that is where x is not zero; beside that, some rows
in turn at every step, so that none is further behind.  A root that is larger than the caches is
then read and written once for `LAG` steps, and where x is sparse a step needs few of its rows.
Every row takes the same steps in the same order: bits are those of `beliefs`.

A belief can be copied without a call that copies all of it: each row is put aside before it changes
for the first time, and the last ones when the copy is needed.
"""

from __future__ import annotations

from fabcost.compilation import helper, kernel
from fabcost.kernels.lanes import load, pointer, skip, spread, store, total
from fabcost.kernels.products import dot

LAG = 32
DENSE = 8  # a row with more than one number in so many is not sparse


@helper()
def follow(alongs, steps, shrinks, mean, root, width, row, first, until):
    """Let one row take the steps from ``first`` to before ``until``, of at most `LAG` in a ring."""
    own = skip(root, row * width)
    for step in range(first, until):
        k = step % LAG
        along, sums = skip(alongs, k * width), spread(0.0)
        for j in range(0, width, 8):
            sums = sums + load(own, j) * load(along, j)
        reach = total(sums)
        mean[row] += steps[k] * reach
        reach *= shrinks[k]
        for j in range(0, width, 8):
            store(own, j, load(own, j) - reach * load(along, j))


@helper()
def follow_four(alongs, steps, shrinks, mean, root, width, rows, first, until):
    """The same for four rows, which are changed by a step while the sums of the next are formed."""
    a, b = skip(root, rows[0] * width), skip(root, rows[1] * width)
    c, d = skip(root, rows[2] * width), skip(root, rows[3] * width)
    now = skip(alongs, first % LAG * width)
    sum_a = sum_b = sum_c = sum_d = spread(0.0)
    for j in range(0, width, 8):
        f = load(now, j)
        sum_a, sum_b = sum_a + load(a, j) * f, sum_b + load(b, j) * f
        sum_c, sum_d = sum_c + load(c, j) * f, sum_d + load(d, j) * f
    for step in range(first, until):
        k = step % LAG
        reach_a, reach_b, reach_c, reach_d = total(sum_a), total(sum_b), total(sum_c), total(sum_d)
        mean[rows[0]] += steps[k] * reach_a
        mean[rows[1]] += steps[k] * reach_b
        mean[rows[2]] += steps[k] * reach_c
        mean[rows[3]] += steps[k] * reach_d
        reach_a, reach_b = reach_a * shrinks[k], reach_b * shrinks[k]
        reach_c, reach_d = reach_c * shrinks[k], reach_d * shrinks[k]
        now = skip(alongs, k * width)
        coming = skip(alongs, (step + 1) % LAG * width) if step + 1 < until else now
        sum_a = sum_b = sum_c = sum_d = spread(0.0)
        for j in range(0, width, 8):
            f, ahead = load(now, j), load(coming, j)
            new_a, new_b = load(a, j) - reach_a * f, load(b, j) - reach_b * f
            new_c, new_d = load(c, j) - reach_c * f, load(d, j) - reach_d * f
            store(a, j, new_a)
            store(b, j, new_b)
            store(c, j, new_c)
            store(d, j, new_d)
            sum_a, sum_b = sum_a + new_a * ahead, sum_b + new_b * ahead
            sum_c, sum_d = sum_c + new_c * ahead, sum_d + new_d * ahead


@helper()
def _follow(lag, mean, root, width, row, until):
    """Let one row take the steps before ``until`` that it has not taken."""
    alongs, steps, shrinks, taken = lag[:4]
    if taken[row] < until:
        _put_aside(lag, mean, root, width, row)
        kept, at, by = pointer(alongs), pointer(steps), pointer(shrinks)
        follow(kept, at, by, mean, root, width, row, taken[row], until)
        taken[row] = until


@helper()
def _follow_four(lag, mean, root, width, row, until):
    """The same for this row and the three after it."""
    alongs, steps, shrinks, taken = lag[:4]
    first = max(taken[row], taken[row + 1], taken[row + 2], taken[row + 3])
    for i in range(row, row + 4):
        _follow(lag, mean, root, width, i, first)
    if first == until:
        return
    for i in range(row, row + 4):
        _put_aside(lag, mean, root, width, i)
    kept, at, by = pointer(alongs), pointer(steps), pointer(shrinks)
    rows = (row, row + 1, row + 2, row + 3)
    follow_four(kept, at, by, mean, root, width, rows, first, until)
    for i in range(row, row + 4):
        taken[i] = until


@helper()
def _put_aside(lag, mean, root, width, row):
    """Copy a row before it changes, with the number of steps that it has taken, if that is due."""
    mean_aside, root_aside, taken_aside, missing = lag[5:]
    if missing[0] == 0:
        return
    if taken_aside[row] < 0:
        own, copy = skip(root, row * width), skip(pointer(root_aside), row * width)
        for j in range(0, width, 8):
            store(copy, j, load(own, j))
        mean_aside[row], taken_aside[row] = mean[row], lag[3][row]
        missing[0] -= 1


@kernel()
def put_rest_aside(mean, root, lag):
    """Copy those rows too that have not changed since."""
    weights, width = root.shape
    if lag[8][0] > 0:
        for row in range(weights):
            _put_aside(lag, pointer(mean), pointer(root), width, row)


@kernel()
def settle(mean, root, lag, first, last):
    """Let some rows, whole fours or the last, take all steps; those before them have."""
    weights, width = root.shape
    turn = lag[4]
    if turn[2] != turn[0]:
        stop = min(last, weights)
        _follow_some(lag, pointer(mean), pointer(root), width, first, stop, turn[0])
        if stop == weights:
            turn[2] = turn[0]


@helper()
def _follow_some(lag, mean, root, width, start, stop, until):
    fours = stop - (stop - start) % 4
    for row in range(start, fours, 4):
        _follow_four(lag, mean, root, width, row, until)
    for row in range(fours, stop):
        _follow(lag, mean, root, width, row, until)


@helper()
def follow_where(lag, mean, root, weights, width, x):
    """Let those rows take all steps that x needs; whether these are few.

    If not, all do, and the step along x is not to be taken later.
    """
    turn, many = lag[4], 0
    for row in range(weights):
        many += x[row] != 0.0
    turn[1] = many > weights // DENSE
    if turn[1]:
        if turn[2] != turn[0]:
            _follow_some(lag, mean, root, width, 0, weights, turn[0])
            turn[2] = turn[0]
        if lag[8][0] > 0:
            for row in range(weights):
                _put_aside(lag, mean, root, width, row)
        return False
    for row in range(weights):
        if x[row] != 0.0:
            _follow(lag, mean, root, width, row, turn[0])
    return True


@helper()
def project_where(root, x, weights, width, along):
    """along ← rootᵀ x as `beliefs` has it, without the rows where x is zero; returns xᵀ Σ x."""
    for j in range(0, width, 8):
        store(along, j, spread(0.0))
    fours = weights - weights % 4
    for i in range(0, fours, 4):
        low = (x[i] != 0.0) + (x[i + 1] != 0.0)
        high = (x[i + 2] != 0.0) + (x[i + 3] != 0.0)
        if low + high == 1:
            for row in range(i, i + 4):
                if x[row] != 0.0:
                    add_row(along, skip(root, row * width), x[row], width)
        elif low + high > 1:
            a = skip(root, i * width)
            b, c, d = skip(a, width), skip(a, 2 * width), skip(a, 3 * width)
            for j in range(0, width, 8):
                lower = x[i] * load(a, j) + x[i + 1] * load(b, j)
                upper = x[i + 2] * load(c, j) + x[i + 3] * load(d, j)
                store(along, j, load(along, j) + (lower + upper))
    for row in range(fours, weights):
        if x[row] != 0.0:
            add_row(along, skip(root, row * width), x[row], width)
    return dot(along, along, width)


@helper()
def add_row(along, row, x, width):
    """along ← along + x row."""
    for j in range(0, width, 8):
        store(along, j, load(along, j) + x * load(row, j))


@helper()
def take(lag, mean, root, weights, width, along, step, shrink):
    """One more step, which the next rows in turn take with those before it."""
    alongs, steps, shrinks, _, turn = lag[:5]
    k = turn[0] % LAG
    own = skip(pointer(alongs), k * width)
    for j in range(0, width, 8):
        store(own, j, load(along, j))
    steps[k], shrinks[k] = step, shrink
    turn[0] += 1
    share = -(-weights // (4 * LAG)) * 4
    start = turn[0] % LAG * share
    _follow_some(lag, mean, root, width, min(start, weights), min(start + share, weights), turn[0])
