"""Every method's posterior after so many impressions of a stream, and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import ep, laplace
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.tilted import Moments

#: As in the authors' simulations.
PRIOR_VARIANCE = 100.0
PAPER_REFRESH = (100, 10_000)

LAPLACE = "Laplace"
ADF = "ADF"
ADF_MACKAY = "ADF, MacKay"
EP = "EP"
EP_MACKAY = "EP, MacKay"
FAB_COST = "FAB-COST"
FAB_COST_TWICE = "FAB-COST, EP twice"
FAB_COST_PAPER = "FAB-COST, paper"


class Snapshot(NamedTuple):
    """A posterior and the work behind it.

    Attributes
    ----------
    posterior
        After so many impressions.
    filtered, visited
        ADF steps and visits of EP to sites: since the start of the stream for a learner that
        goes along with it, of this one fit for a batch method.
    seconds
        Likewise.
    """

    posterior: Gaussian
    filtered: int
    visited: int
    seconds: float


Method = Callable[[Gaussian, FloatArray, FloatArray, Sequence[int]], list[Snapshot]]


def _laplace(prior: Gaussian, X: FloatArray, y: FloatArray, sizes: Sequence[int]) -> list[Snapshot]:
    """Each fit starts from the one before."""
    found: list[Snapshot] = []
    for size in sizes:
        near = found[-1].posterior.mean if found else prior.mean
        start = time.perf_counter()
        posterior = laplace.fit(prior, X[:size], y[:size], start=near).posterior
        found.append(Snapshot(posterior, 0, 0, time.perf_counter() - start))
    return found


def _ep(moments: Moments) -> Method:
    def fit(prior: Gaussian, X: FloatArray, y: FloatArray, sizes: Sequence[int]) -> list[Snapshot]:
        found = []
        for size in sizes:
            start = time.perf_counter()
            result = ep.fit(prior, X[:size], y[:size], moments=moments)
            seconds = time.perf_counter() - start
            found.append(Snapshot(result.posterior, 0, result.sweeps * size, seconds))
        return found

    return fit


def _learner(schedule: Refresh, moments: Moments) -> Method:
    def follow(
        prior: Gaussian, X: FloatArray, y: FloatArray, sizes: Sequence[int]
    ) -> list[Snapshot]:
        """Refreshes by hand, because they say how many sweeps they took."""
        points = _points(schedule, sizes[-1])
        keeps = Refresh.at(sizes[-1] + 1) if points else Refresh.never()
        learner = FabCost(prior, refresh=keeps, moments=moments)
        found, visited, seconds = [], 0, 0.0
        for size in sizes:
            start = time.perf_counter()
            for stop in [point for point in points if learner.seen < point <= size]:
                learner.observe_many(X[learner.seen : stop], y[learner.seen : stop])
                visited += stop * learner.refresh(max_sweeps=schedule.max_sweeps).sweeps
            learner.observe_many(X[learner.seen : size], y[learner.seen : size])
            seconds += time.perf_counter() - start
            found.append(Snapshot(learner.posterior, size, visited, seconds))
        return found

    return follow


def _points(schedule: Refresh, last: int) -> list[int]:
    """The iterations of the schedule, which must not depend on where snapshots are taken."""
    points: list[int] = []
    due = schedule.next_after(0)
    while due is not None and due <= last:
        points.append(due)
        due = schedule.next_after(due)
    return points


METHODS: dict[str, Method] = {
    LAPLACE: _laplace,
    ADF: _learner(Refresh.never(), "exact"),
    ADF_MACKAY: _learner(Refresh.never(), "mackay"),
    EP: _ep("exact"),
    EP_MACKAY: _ep("mackay"),
    FAB_COST: _learner(Refresh.geometric(), "exact"),
    FAB_COST_TWICE: _learner(Refresh.at(*PAPER_REFRESH), "exact"),
    FAB_COST_PAPER: _learner(Refresh.at(*PAPER_REFRESH), "mackay"),
}
BATCH_METHODS = (LAPLACE, EP, EP_MACKAY)


def take(name: str, X: FloatArray, y: FloatArray, sizes: Sequence[int]) -> list[Snapshot]:
    """The method called ``name`` on the first rows, for each of the rising ``sizes``.

    The prior is N(0, 100 I), as the authors'.  Labels are 0/1.

    Examples
    --------
    >>> from fabcost.paper.data.impressions import authors_design
    >>> X, y, *_ = authors_design(200, seed=0)
    >>> [(each.filtered, each.visited) for each in take("ADF", X, y, [100, 200])]
    [(100, 0), (200, 0)]
    """
    if list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] > len(y):
        raise ValueError(f"sizes are {tuple(sizes)} but must rise from 1 to at most {len(y)}")
    prior = Gaussian.isotropic(X.shape[1], variance=PRIOR_VARIANCE)
    return METHODS[name](prior, X, y, sizes)
