"""A sweep of EP over sparse rows that has the covariance in place of its root."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fabcost import kernels
from fabcost.gaussian import LANE
from fabcost.impressions import FloatArray, as_counts
from fabcost.inference.history import Carried, Pass, Sites
from fabcost.sparse import as_sparse

if TYPE_CHECKING:
    from fabcost.inference.passes import Lag

#: Visits skipped in a sweep, Σ log Cᵢ, and how far the belief moved.
Found = tuple[int, float, float]
#: What eight rows of the covariance on average, a step of `kernels.covariance_visits`, eight
#: columns of the factor, and eight rows of the new root take, as measured with 2,000 weights; the
#: first twice as much, since no call makes less than eight rows, of which the last cost most.
_COSTS = (100, 2, 12, 1)


def covariance_of(root: FloatArray) -> FloatArray:
    """R Rᵀ for a root with rows padded to a multiple of eight.

    Examples
    --------
    >>> covariance_of(np.eye(1, 8) * 3.0)[0, 0]
    np.float64(9.0)
    """
    width = root.shape[1]
    panels, covariance = np.zeros((width, width)), np.zeros((width, width))
    kernels.covariance_rows(root, panels, covariance, 0, width)
    return covariance


class CovarianceSweep:
    """One sweep, some of it at a time.

    The covariance is made of the root, all rows are visited, and a root is made of the covariance;
    only then the belief and its sites change.  It takes O(D³) beside the visits, of which each
    costs a quarter of one with a root: with as many rows as weights it costs less.

    Attributes
    ----------
    found : Found | None
        How it went, once it is done.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> from fabcost.sparse import SparseRows
    >>> belief, sites = Carried.of(Gaussian.isotropic(1)), Sites.flat(2)
    >>> rows, y = SparseRows([0, 1, 2], [0, 0], [1.0, 1.0], 1), np.array([1.0, -1.0])
    >>> sweep = CovarianceSweep(belief, sites)
    >>> for done in (1, 2):
    ...     sweep.go_on(belief, Pass(rows, y, sites, 0, done), None, exact=True)
    True
    True
    >>> sweep.found[0]
    0
    """

    def __init__(self, belief: Carried, sites: Sites) -> None:
        width = belief.root.shape[1]
        self.found: Found | None = None
        self._panels, self._covariance = np.zeros((width, width)), np.zeros((width, width))
        self._centre, self._away, self._moves = np.zeros((3, width))
        self._sites = Sites(*(each.copy() for each in sites))
        self._scratch = np.empty((2 * width + 1) * kernels.PENDING + width)
        self._pending, self._sums = np.zeros(1, dtype=np.int64), np.array(kernels.NO_SUMS)
        self._skipped = 0
        rounds = -(-sites.precision.size // kernels.PENDING)
        steps = rounds * (kernels.PENDING + kernels.PARTS)
        eights = width // LANE
        self._pieces, self._done = (eights, steps, eights, eights), [0, 0, 0, 0]

    @staticmethod
    def pays(rows: int, weights: int) -> bool:
        """Whether it costs less than a sweep that keeps the root."""
        return rows >= weights

    def go_on(self, belief: Carried, over: Pass, lag: Lag | None, *, exact: bool) -> bool:
        """Do as much of it as the visits up to ``over.stop`` are of all.

        False where too many digits would be lost; then nothing is changed.
        """
        whole = sum(each * cost for each, cost in zip(self._pieces, _COSTS, strict=True))
        left = over.stop * whole // over.y.size
        for stage, (pieces, cost) in enumerate(zip(self._pieces, _COSTS, strict=True)):
            until = min(-(-left // cost), pieces)
            if stage == 0:  # costs rise: up to x of all they are (x + x²)/2
                until = (math.isqrt(pieces * (pieces + 8 * until)) - pieces) // 2
            start, self._done[stage] = self._done[stage], until
            if until > start and not self._work(stage, belief, over, lag, start, exact=exact):
                return False
            left -= pieces * cost
            if left <= 0:
                break
        if over.stop == over.y.size:
            self._end(belief, over.sites)
        return True

    def _work(
        self, stage: int, belief: Carried, over: Pass, lag: Lag | None, start: int, *, exact: bool
    ) -> bool:
        (mean, root), first, last = belief, LANE * start, LANE * self._done[stage]
        if stage == 0:
            if lag is not None:
                kernels.settle(mean, root, lag, first, last)
            kernels.covariance_rows(root, self._panels, self._covariance, first, last)
        elif stage == 1:
            return self._visit(mean, over, start, exact=exact)
        elif stage == 2:
            if start == 0:
                self._away[: mean.size] = self._centre[: mean.size] - mean
            both = (self._covariance, self._panels)
            given = (*both, self._away, self._moves, mean.size, first, last)
            return bool(kernels.factor_columns(*given))
        else:
            kernels.fill_rows(self._panels, root, first, last)
        return True

    def _visit(self, mean: FloatArray, over: Pass, start: int, *, exact: bool) -> bool:
        if start == 0:
            self._centre[: mean.size] = mean
        rows = as_sparse(over.X, mean.size)
        skipped = kernels.covariance_visits(
            *(self._centre, self._covariance, *rows.arrays, over.y, *self._sites),
            *(
                start,
                self._done[1],
                exact,
                as_counts(over.counts),
                self._sums,
                self._scratch,
                self._pending,
            ),
        )
        self._skipped += max(skipped, 0)
        return bool(skipped >= 0)

    def _end(self, belief: Carried, sites: Sites) -> None:
        belief.mean[:] = self._centre[: belief.mean.size]
        sites.precision[:], sites.shift[:] = self._sites
        log_factors, move = kernels.ep_summary(self._sums, self._moves, np.zeros(0))
        self.found = self._skipped, float(log_factors), float(move)
