"""Which rows are equal, and what they count together."""

from __future__ import annotations

import numpy as np

from fabcost.compilation import helper, kernel

MINUS_ZERO = np.uint64(0x8000000000000000)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX, SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
HALF, ONE = np.uint64(32), np.uint64(1)
FIRST_CAPACITY = 64


@helper()
def _mixed(code):
    """All bits of a number spread over all bits of another, one to one."""
    code = (code ^ (code >> FIRST_SHIFT)) * FIRST_MIX
    code = (code ^ (code >> SECOND_SHIFT)) * SECOND_MIX
    return code ^ (code >> THIRD_SHIFT)


@helper()
def _code(bits, i, key, factors):
    """The same number for rows that are equal, and hardly ever for others."""
    code = np.uint64(key) * GOLDEN
    for k in range(bits.shape[1]):
        number = np.uint64(0) if bits[i, k] == MINUS_ZERO else bits[i, k]
        code += (number ^ (number >> HALF)) * factors[k]
    return _mixed(code)


@helper()
def _equal(X, i, rows, j):
    k = 0
    while k < X.shape[1] and X[i, k] == rows[j, k]:
        k += 1
    return k == X.shape[1]


@helper()
def _doubled(numbers):
    larger = np.zeros(2 * numbers.size, dtype=numbers.dtype)
    for i in range(numbers.size):  # a slice would take seconds to compile
        larger[i] = numbers[i]
    return larger


@helper()
def _doubled_table(table):
    return _doubled(table.reshape(table.size)).reshape((2 * table.shape[0], table.shape[1]))


@helper()
def _places(codes, many):
    """A table of two places for each of the groups that have room, counted from one."""
    taken = np.zeros(2 * codes.size, dtype=np.int32)
    mask = np.uint64(taken.size - 1)
    for group in range(many):
        place = codes[group] & mask
        while taken[place] != 0:
            place = (place + ONE) & mask
        taken[place] = group + 1
    return taken


@kernel()
def group_rows(X, bits, keys, y, counts):
    """The distinct rows, the first place of each, and clicks and misses, in their order.

    ``bits`` are those of ``X``, which has no NaN.  Rows are equal if their ``keys`` are too.
    Without ``counts`` each row is one, a click or a miss by its label.  What is compared again and
    again lies side by side: tables and rows of the groups alone, which grow with these.
    """
    columns = X.shape[1]
    factors = np.empty(columns, dtype=np.uint64)
    for k in range(columns):
        factors[k] = _mixed(np.uint64(k + 1) * GOLDEN) | ONE
    rows, codes = np.zeros((FIRST_CAPACITY, columns)), np.zeros(FIRST_CAPACITY, dtype=np.uint64)
    first, sums = np.zeros(FIRST_CAPACITY, dtype=np.int64), np.zeros((FIRST_CAPACITY, 2))
    taken, many = _places(codes, 0), 0
    for i in range(X.shape[0]):
        code = _code(bits, i, keys[i], factors)
        mask = np.uint64(taken.size - 1)
        place = code & mask
        group = taken[place] - 1
        while group >= 0 and not (
            codes[group] == code and keys[first[group]] == keys[i] and _equal(X, i, rows, group)
        ):
            place = (place + ONE) & mask
            group = taken[place] - 1
        if group < 0:
            if many == codes.size:
                rows, sums = _doubled_table(rows), _doubled_table(sums)
                codes, first = _doubled(codes), _doubled(first)
                taken = _places(codes, many)
                mask = np.uint64(taken.size - 1)
                place = code & mask
                while taken[place] != 0:
                    place = (place + ONE) & mask
            group = many
            many += 1
            taken[place] = many
            codes[group], first[group] = code, i
            for k in range(columns):
                rows[group, k] = X[i, k]
        if counts.size == 0:
            sums[group, 0 if y[i] > 0.0 else 1] += 1.0
        else:
            sums[group, 0] += counts[i, 0]
            sums[group, 1] += counts[i, 1]
    return rows[:many].copy(), first[:many].copy(), sums[:many].copy()
