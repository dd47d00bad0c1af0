"""A belief that goes back towards its prior: every site to a power below one.

With γ the share that is kept, precision and shift of the joint belief of weights and effects become
γ times their own plus 1 − γ times the prior's.  For roots R of the belief and L of the prior, which
is triangular, that is with W = L⁻¹R

    Σ' = R M⁻¹ Rᵀ,   M = γ I + (1 − γ) WᵀW,   R' = R C⁻ᵀ,   M = C Cᵀ,
    μ' = μ + (1 − γ) R' C⁻¹ Wᵀ L⁻¹ (μ₀ − μ).

Sites do not lower a precision, so WᵀW has no eigenvalue above one, nor has M, of which none is
below γ either: however wide a belief reaches, this factorisation is well conditioned.

An item's row becomes dᵢ' = γ dᵢ + (1 − γ)/τ², hᵢ' = γ hᵢ, cᵢ' = γ cᵢ, and what is marginal of θ
keeps more of its precision than γ of it, by

    Σᵢ wᵢ cᵢ cᵢᵀ,   wᵢ = γ/dᵢ − γ²/dᵢ' = γ (1 − γ)/(τ² dᵢ dᵢ'),

and of its shift by Σᵢ wᵢ hᵢ cᵢ: a doubt about the items excuses the weights less.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fabcost.kernels.functions import exp
from fabcost.kernels.lanes import hold, load, pointer, skip, store
from fabcost.kernels.products import cholesky, dot, inner, solve_lower, times, times_own_transpose

LN2 = 0.6931471805599453


@njit(cache=True, nogil=True)
def half_power(halvings):
    """½ to the power of ``halvings``."""
    return exp(-LN2 * halvings)


@njit(cache=True, nogil=True)
def age(mean, root, prior_mean, prior_low, kept):
    """Let a belief keep a share of every site, in place."""
    _, whitened, matrix = _begun(root, prior_low, kept)
    away = (1.0 - kept) * times(whitened, solve_lower(prior_low, prior_mean - mean))
    _end(mean, root, matrix, away)


@njit(cache=True, nogil=True)
def own_age(mean, root, prior_mean, prior_low, kept, table, many, least):
    """`age` where items have effects of their own, in the first ``many`` rows of a table.

    ``least`` is their precision before anything is known of them.
    """
    columns, whitened, matrix = _begun(root, prior_low, kept)
    away = (1.0 - kept) * times(whitened, solve_lower(prior_low, prior_mean - mean))
    gram, pull = _age_items(mean, kept, table, many, least)
    away += times(columns, pull)
    weights = mean.size
    for j in range(weights):
        along = times(gram, columns[j])
        for k in range(j + 1):
            matrix[j, k] += inner(along, columns[k])
    _end(mean, root, matrix, away)


@njit(cache=True, nogil=True)
def _begun(root, prior_low, kept):
    """Rᵀ, Wᵀ and M of a belief alone."""
    weights = root.shape[0]
    columns, whitened = np.empty((weights, weights)), np.empty((weights, weights))
    for j in range(weights):
        for i in range(weights):
            columns[j, i] = root[i, j]
        whitened[j] = solve_lower(prior_low, columns[j])
    matrix = (1.0 - kept) * times_own_transpose(whitened)
    for j in range(weights):
        matrix[j, j] += kept
    return columns, whitened, matrix


@njit(cache=True, nogil=True)
def _age_items(mean, kept, table, many, least):
    """Age the rows of items; Σ wᵢ cᵢ cᵢᵀ, and Σ wᵢ (hᵢ − cᵢᵀμ) cᵢ."""
    weights = mean.size
    gram, pull = np.zeros((weights, weights)), np.zeros(weights)
    own, centres, grams, pulls = pointer(table), pointer(mean), pointer(gram), pointer(pull)
    for slot in range(many):
        row = skip(own, slot * table.shape[1])
        cross = skip(row, 2)
        before = row[0]
        row[0] = kept * before + (1.0 - kept) * least
        weight = kept * (1.0 - kept) * least / (before * row[0])
        _add(pulls, cross, weights, weight * (row[1] - dot(cross, centres, weights)))
        for i in range(weights):
            _add(skip(grams, i * weights), cross, weights, weight * cross[i])
        row[1] *= kept
        for i in range(weights):
            cross[i] *= kept
    hold(table)
    hold(mean)
    hold(gram)
    hold(pull)
    return gram, pull


@njit(cache=True, nogil=True)
def _add(to, vector, count, factor):
    """to ← to + factor · vector."""
    j = 0
    while j + 7 < count:
        store(to, j, load(to, j) + factor * load(vector, j))
        j += 8
    while j < count:
        to[j] += factor * vector[j]
        j += 1


@njit(cache=True, nogil=True)
def _end(mean, root, matrix, away):
    """R ← R C⁻ᵀ, and μ ← μ + R C⁻¹ away."""
    weights = mean.size
    low, _ = cholesky(matrix)
    for i in range(weights):
        root[i, :weights] = solve_lower(low, root[i, :weights].copy())
    step = solve_lower(low, away)
    for i in range(weights):
        mean[i] += inner(root[i, :weights].copy(), step)
