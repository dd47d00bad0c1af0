"""Sums of products in one fixed order, eight lanes and then halves, and matrices made of them."""

from __future__ import annotations

import math

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.lanes import (
    further,
    hold,
    load,
    load_some,
    pick,
    pointer,
    skip,
    spread,
    store,
    total,
    totals,
)


@helper()
def dot(a, b, count):
    """Σ aᵢ bᵢ over ``count`` numbers behind two pointers."""
    first, second = spread(0.0), spread(0.0)
    i = 0
    while i + 15 < count:
        first = first + load(a, i) * load(b, i)
        second = second + load(a, i + 8) * load(b, i + 8)
        i += 16
    if i + 7 < count:
        first = first + load(a, i) * load(b, i)
        i += 8
    if i < count:
        second = second + load_some(a, i, count - i) * load_some(b, i, count - i)
    return total(first + second)


@kernel()
def inner(a, b):
    """The `dot` of two vectors."""
    product = dot(pointer(a), pointer(b), a.size)
    hold(a)
    hold(b)
    return product


@kernel()
def times(matrix, vector):
    """The product of a matrix and a vector: the `dot` of each row, of eight at a time."""
    rows, columns = matrix.shape
    product = np.empty(rows)
    fill_product(pointer(matrix), pointer(vector), rows, columns, pointer(product))
    hold(matrix)
    hold(vector)
    return product


@helper()
def fill_product(a, vector, rows, columns, product):
    """`times` of what is behind pointers."""
    i = 0
    while i + 7 < rows:
        b, c, d, e = _four_sums(skip(a, i * columns), vector, columns)
        f, g, h, k = _four_sums(skip(a, (i + 4) * columns), vector, columns)
        store(product, i, totals(b, c, d, e, f, g, h, k))
        i += 8
    while i < rows:
        product[i] = dot(skip(a, i * columns), vector, columns)
        i += 1


@helper()
def times_where(matrix, vector, wanted):
    """`times`, with zero where of eight rows none is wanted."""
    rows, columns = matrix.shape
    product = np.zeros(rows)
    a, b, out = pointer(matrix), pointer(vector), pointer(product)
    for i in range(0, rows, 8):
        some = min(8, rows - i)
        if wanted[i : i + some].any():
            fill_product(skip(a, i * columns), b, some, columns, skip(out, i))
    hold(matrix)
    hold(vector)
    return product


@helper(inline="always")
def _four_sums(a, vector, count):
    """The sums of four rows before their `total`: memory answers four at once sooner."""
    b, c, d = skip(a, count), skip(a, 2 * count), skip(a, 3 * count)
    a1 = b1 = c1 = d1 = spread(0.0)
    a2 = b2 = c2 = d2 = spread(0.0)
    i = 0
    while i + 15 < count:
        low, high = load(vector, i), load(vector, i + 8)
        a1, a2 = a1 + load(a, i) * low, a2 + load(a, i + 8) * high
        b1, b2 = b1 + load(b, i) * low, b2 + load(b, i + 8) * high
        c1, c2 = c1 + load(c, i) * low, c2 + load(c, i + 8) * high
        d1, d2 = d1 + load(d, i) * low, d2 + load(d, i + 8) * high
        i += 16
    if i + 7 < count:
        low = load(vector, i)
        a1, b1 = a1 + load(a, i) * low, b1 + load(b, i) * low
        c1, d1 = c1 + load(c, i) * low, d1 + load(d, i) * low
        i += 8
    left = count - i
    if left:
        low = load_some(vector, i, left)
        a2, b2 = a2 + load_some(a, i, left) * low, b2 + load_some(b, i, left) * low
        c2, d2 = c2 + load_some(c, i, left) * low, d2 + load_some(d, i, left) * low
    return a1 + a2, b1 + b2, c1 + c2, d1 + d2


@helper()
def furthest(a, count, worst):
    """In lanes, the largest magnitudes of ``worst`` and ``count`` numbers behind a pointer."""
    other = worst
    i = 0
    while i + 15 < count:
        worst, other = further(worst, load(a, i)), further(other, load(a, i + 8))
        i += 16
    if i + 7 < count:
        worst = further(worst, load(a, i))
        i += 8
    if i < count:
        other = further(other, load_some(a, i, count - i))
    return further(worst, other)


@helper()
def are_within(worst, limit):
    """Whether no lane is larger, or NaN."""
    sound = True
    for k in range(8):
        sound &= pick(worst, k) <= limit
    return sound


@kernel()
def times_own_transpose(matrix):
    """A Aᵀ, symmetric to the last bit."""
    rows, columns = matrix.shape
    product = np.empty((rows, rows))
    a = pointer(matrix)
    for i in range(rows):
        for j in range(i + 1):
            product[i, j] = dot(skip(a, i * columns), skip(a, j * columns), columns)
            product[j, i] = product[i, j]
    hold(matrix)
    return product


@kernel()
def cholesky(matrix):
    """Lower triangular L with L Lᵀ = A, and whether A is positive definite; if not, L is a part."""
    size = matrix.shape[0]
    low = np.zeros((size, size))
    a = pointer(low)
    sound = True
    for i in range(size):
        for j in range(i):
            shared = dot(skip(a, i * size), skip(a, j * size), j)
            low[i, j] = (matrix[i, j] - shared) / low[j, j]
        left = matrix[i, i] - dot(skip(a, i * size), skip(a, i * size), i)
        if not left > 0.0:
            sound = False
            break
        low[i, i] = math.sqrt(left)
    hold(low)
    return low, sound


@kernel()
def narrow(wide):
    """A lower triangular L with L Lᵀ = A Aᵀ, for A of no more rows than columns.

    A is overwritten.  By Gram and Schmidt's modified method, whose triangle is as good as that of
    reflections.
    """
    rows, columns = wide.shape
    low = np.zeros((rows, rows))
    a = pointer(wide)
    for j in range(rows):
        own = skip(a, j * columns)
        length = math.sqrt(dot(own, own, columns))
        low[j, j] = length
        if length == 0.0:
            continue
        for i in range(j + 1, rows):
            along = dot(skip(a, i * columns), own, columns) / length
            low[i, j] = along
            part = along / length
            for d in range(columns):
                wide[i, d] -= part * wide[j, d]
    hold(wide)
    return low


@kernel()
def is_lower(root):
    """Whether all numbers above the diagonal are zero."""
    for i in range(len(root)):
        for j in range(i + 1, len(root)):
            if root[i, j] != 0.0:
                return False
    return True


@kernel()
def solve_lower(low, vector):
    """z with L z = v, for a lower triangular L."""
    size = vector.size
    z = np.zeros(size)
    a, b = pointer(low), pointer(z)
    for i in range(size):
        z[i] = (vector[i] - dot(skip(a, i * size), b, i)) / low[i, i]
    hold(low)
    return z


@kernel()
def squares(matrix):
    """The `dot` of each row with itself."""
    rows, columns = matrix.shape
    found, a = np.empty(rows), pointer(matrix)
    for i in range(rows):
        own = skip(a, i * columns)
        found[i] = dot(own, own, columns)
    hold(matrix)
    return found
