"""Which rows are equal, bit for bit, but for the sign of a zero."""

from __future__ import annotations

import numpy as np
from numba import njit

MINUS_ZERO = np.uint64(0x8000000000000000)
START = np.uint64(0x9E3779B97F4A7C15)
FACTOR = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def _plain(bits):
    """The bits of a number, or those of zero if it is minus zero."""
    return np.uint64(0) if bits == MINUS_ZERO else bits


@njit(cache=True, nogil=True)
def _equal(bits, i, j):
    k = 0
    while k < bits.shape[1] and _plain(bits[i, k]) == _plain(bits[j, k]):
        k += 1
    return k == bits.shape[1]


@njit(cache=True, nogil=True)
def group_rows(bits, keys):
    """The group of each row, and the first row of each group, in the order in which they come.

    ``bits`` are rows of float64 seen as uint64; rows are equal if their ``keys`` are too.
    """
    rows, columns = bits.shape
    size = 16
    while size < 2 * rows:
        size *= 2
    mask = np.uint64(size - 1)
    taken = np.zeros(size, dtype=np.int64)  # the group, counted from one
    group, first = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    found = 0
    for i in range(rows):
        code = START ^ np.uint64(keys[i])
        for k in range(columns):
            code = (code ^ _plain(bits[i, k])) * FACTOR
            code ^= code >> HALF
        place = code & mask
        while True:
            other = taken[place]
            if other == 0:
                first[found] = i
                found += 1
                taken[place] = found
                group[i] = found - 1
                break
            leader = first[other - 1]
            if keys[leader] == keys[i] and _equal(bits, leader, i):
                group[i] = other - 1
                break
            place = (place + np.uint64(1)) & mask
    return group, first[:found].copy()
