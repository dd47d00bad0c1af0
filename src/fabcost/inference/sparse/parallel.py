"""Parallel EP over sparse rows: all sites are matched to one belief, which is then made anew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray, as_counts
from fabcost.inference.history import Carried, Pass, Sites
from fabcost.inference.logistic import quadratic_sites
from fabcost.inference.own.directory import NOBODY
from fabcost.inference.passes import Sweeping, Swept, check_stopping
from fabcost.inference.schedule import Portion
from fabcost.inference.sparse.covariance import Found, covariance_of
from fabcost.sparse import SparseRows

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost

#: Clicks and misses of each row, or None where all are single impressions.
Counts = FloatArray | None
_WORST_CONDITION = 1e10


def sweep_sparse(
    belief: Carried,
    rows: SparseRows,
    y: FloatArray,
    sites: Sites,
    exact: bool,
    counts: Counts,
    *,
    tolerance: float,
    max_sweeps: int,
) -> Swept:
    """EP in place until nothing moves.

    Where rows are many, and more than one sweep may be made, sites are matched at once: the fixed
    point is the same.  If that does not halve the moves in two sweeps, or rounding would show, the
    rest is done by one visit after the other.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> rows, y = SparseRows([0, 1, 2], [0, 0], [1.0, 1.0], 1), np.array([1.0, -1.0])
    >>> given = (Carried.of(Gaussian.isotropic(1)), rows, y, Sites.flat(2), True, None)
    >>> sweep_sparse(*given, tolerance=1e-10, max_sweeps=100)[1:3]
    (True, 0)
    """
    check_stopping(tolerance, max_sweeps)
    moves, skipped, given = [math.inf], 0, (y, sites, exact, counts)
    many = len(rows) >= belief.mean.size
    at_once = None
    if many and max_sweeps > 1:
        at_once = _AtOnce.of(belief, rows, sites)
    if at_once is not None:
        at_once.begin(y, sites, counts)
    for sweeps in range(1, max_sweeps + 1):
        found = None if at_once is None else at_once.sweep(*given)
        if found is None or (sweeps > 2 and found[2] > 0.5 * moves[-2]):
            at_once = None
        if found is None:
            found = _sweep(belief, rows, *given)
        left_out, log_factors, move = found
        skipped += left_out
        remaining = move * move / moves[-1] if move < moves[-1] < math.inf else move
        moves.append(move)
        if remaining <= tolerance:
            break
    factors = math.nan if left_out else log_factors
    return Swept(sweeps, remaining <= tolerance, skipped, factors)


def keep(learner: FabCost, batch: Portion) -> None:
    """Let a learner have impressions that only its next refresh is to learn from.

    Where that matches the sites of sparse rows at once, to filter them before takes longer.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian, Refresh
    >>> learner = FabCost(Gaussian.isotropic(2), refresh=Refresh.at(10**9))
    >>> keep(learner, Portion(np.eye(2), np.array([1.0, -1.0])))
    >>> learner.kept, learner.posterior.sd, learner.refresh().converged
    (2, array([1., 1.]), True)
    """
    history, done = learner._history, 0
    while done < batch.size:
        some = slice(done, done + min(history.room(), batch.size - done))
        part = batch.part(some)
        given = (part.rows, part.labels, part.size, NOBODY, part.counts)
        slots = slice(*history.append(*given))
        history.sites.precision[slots] = history.sites.shift[slots] = 0.0
        done = some.stop
    learner.seen += done


def _sweep(
    belief: Carried, rows: SparseRows, y: FloatArray, sites: Sites, exact: bool, counts: Counts
) -> Found:
    one = Sweeping(len(rows), belief.root.shape[1], tolerance=1.0, max_sweeps=1)
    while one.swept is None:
        one.visit(belief, Pass(rows, y, sites, one.at, len(rows), None, counts), exact=exact)
    return one.swept.skipped, one.swept.log_factors, one.moved


class _AtOnce:
    """Parallel EP: what the belief is without its sites, in precisions and shifts.

    Its precision matrix is Λ = Λ₀ + Σ τᵢxᵢxᵢᵀ and Λμ = λ₀ + Σ νᵢxᵢ.
    """

    def __init__(self, belief: Carried, rows: SparseRows, sites: Sites, low: FloatArray) -> None:
        self._belief, self._rows = belief, rows
        weights = low.shape[0]
        _, padded = kernels.inverse_of(low)
        precision = np.ascontiguousarray(padded[:weights, :weights])
        self._precision = precision - self._gram(sites[0])
        self._shift = kernels.times(precision, belief[0]) - rows.sum(sites[1])
        self._covariance: FloatArray = covariance_of(belief[1])

    @classmethod
    def of(cls, belief: Carried, rows: SparseRows, sites: Sites) -> _AtOnce | None:
        """None where the belief is known so much better along some directions than along others."""
        low = kernels.narrow(belief[1].copy())
        scale = np.abs(low.diagonal())
        if not (scale.max() / scale.min()) ** 2 < _WORST_CONDITION:
            return None
        return cls(belief, rows, sites, low)

    def begin(self, y: FloatArray, sites: Sites, counts: Counts) -> None:
        """Let flat sites begin as Newton's method does: matched to the prior, they overshoot."""
        if not (sites.precision.any() or sites.shift.any()):
            first = Sites(*quadratic_sites(np.zeros(y.size), y, counts))
            if self._take(first) is not None:
                sites.precision[:], sites.shift[:] = first

    def sweep(self, y: FloatArray, sites: Sites, exact: bool, counts: Counts) -> Found | None:
        """Match all sites, and make the belief of them; None, and nothing changes, if none is."""
        tried = Sites(*(each.copy() for each in sites))
        given = (
            self._belief.mean,
            self._covariance,
            *self._rows.arrays,
            y,
            *tried,
            exact,
            as_counts(counts),
        )
        skipped, log_factors, change = kernels.sparse_match(*given)
        moved = None if skipped or change < 0.0 else self._take(tried)
        if moved is None:
            return None
        sites.precision[:], sites.shift[:] = tried
        return 0, float(log_factors), max(moved, 0.5 * change)

    def _take(self, sites: Sites) -> float | None:
        """The belief that has these sites; how far its mean moved, or None if there is none."""
        (mean, root), weights = self._belief, self._belief.mean.size
        precision = self._precision + self._gram(sites.precision)
        low, sound = kernels.cholesky(precision)
        if not sound:
            return None
        solved, self._covariance = kernels.inverse_of(low)
        turned = np.ascontiguousarray(solved[:weights, :weights])
        root[:, :weights] = turned.T
        shift = self._shift + self._rows.sum(sites.shift)
        centre = kernels.times(np.ascontiguousarray(turned.T), kernels.times(turned, shift))
        away = centre - mean
        mean[:] = centre
        return math.sqrt(max(kernels.inner(away, kernels.times(precision, away)), 0.0))

    def _gram(self, precision: FloatArray) -> FloatArray:
        gram: FloatArray = kernels.sparse_gram(*self._rows.arrays, precision, self._rows.weights)
        return gram
