"""A belief that grows as wide as its prior was, around where it is.

With γ the share that is kept, the precision of the joint belief of weights and effects becomes γ
times its own plus 1 − γ times the prior's, and its mean stays.  For roots R of the belief and L of
the prior, which is triangular, that is with W = L⁻¹R

    Σ' = R M⁻¹ Rᵀ,   M = γ I + (1 − γ) WᵀW,   R' = R C⁻ᵀ,   M = C Cᵀ.

Sites do not lower a precision, so WᵀW has no eigenvalue above one, nor has M, of which none is
below γ either: however wide a belief reaches, this factorisation is well conditioned.

An item's row becomes dᵢ' = γ dᵢ + (1 − γ)/τ², cᵢ' = γ cᵢ and hᵢ' = γ hᵢ + (1 − γ) bᵢ/τ², where
bᵢ = (hᵢ − cᵢᵀμ)/dᵢ is the mean of its effect; and what is marginal of θ keeps more of its precision
than γ of it, by

    Σᵢ wᵢ cᵢ cᵢᵀ,   wᵢ = γ/dᵢ − γ²/dᵢ' = γ (1 − γ)/(τ² dᵢ dᵢ'):

a doubt about the items excuses the weights less.
"""

from __future__ import annotations

import numpy as np

from fabcost.compilation import helper, kernel
from fabcost.kernels.functions import exp
from fabcost.kernels.lanes import hold, load, pointer, skip, store
from fabcost.kernels.products import cholesky, dot, inner, solve_lower, times, times_own_transpose

LN2 = 0.6931471805599453


@kernel()
def half_power(halvings):
    """½ to the power of ``halvings``."""
    return exp(-LN2 * halvings)


@kernel()
def age(root, prior_low, kept):
    """Let a belief keep a share of the precision that it has beyond its prior's, in place."""
    _, matrix = _begun(root, prior_low, kept)
    _end(root, matrix)


@kernel()
def own_age(mean, root, prior_low, kept, table, many, least):
    """`age` where items have effects of their own, in the first ``many`` rows of a table.

    ``least`` is their precision before anything is known of them.
    """
    columns, matrix = _begun(root, prior_low, kept)
    gram = _age_items(mean, kept, table, many, least)
    weights = mean.size
    for j in range(weights):
        along = times(gram, columns[j])
        for k in range(j + 1):
            matrix[j, k] += inner(along, columns[k])
    _end(root, matrix)


@helper()
def _begun(root, prior_low, kept):
    """Rᵀ and M of a belief alone."""
    weights = root.shape[0]
    columns, whitened = np.empty((weights, weights)), np.empty((weights, weights))
    for j in range(weights):
        for i in range(weights):
            columns[j, i] = root[i, j]
        whitened[j] = solve_lower(prior_low, columns[j])
    matrix = (1.0 - kept) * times_own_transpose(whitened)
    for j in range(weights):
        matrix[j, j] += kept
    return columns, matrix


@helper()
def _age_items(mean, kept, table, many, least):
    """Age the rows of items; Σ wᵢ cᵢ cᵢᵀ."""
    weights = mean.size
    gram = np.zeros((weights, weights))
    own, centres, grams = pointer(table), pointer(mean), pointer(gram)
    for slot in range(many):
        row = skip(own, slot * table.shape[1])
        cross = skip(row, 2)
        before = row[0]
        row[0] = kept * before + (1.0 - kept) * least
        weight = kept * (1.0 - kept) * least / (before * row[0])
        effect = (row[1] - dot(cross, centres, weights)) / before
        for i in range(weights):
            _add(skip(grams, i * weights), cross, weights, weight * cross[i])
        row[1] = kept * row[1] + (1.0 - kept) * least * effect
        for i in range(weights):
            cross[i] *= kept
    hold(table)
    hold(mean)
    hold(gram)
    return gram


@helper()
def _add(to, vector, count, factor):
    """to ← to + factor · vector."""
    j = 0
    while j + 7 < count:
        store(to, j, load(to, j) + factor * load(vector, j))
        j += 8
    while j < count:
        to[j] += factor * vector[j]
        j += 1


@helper()
def _end(root, matrix):
    """R ← R C⁻ᵀ."""
    weights = root.shape[0]
    low, _ = cholesky(matrix)
    for i in range(weights):
        root[i, :weights] = solve_lower(low, root[i, :weights].copy())
