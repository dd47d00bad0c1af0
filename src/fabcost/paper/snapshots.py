"""Every method's posterior after so many impressions of a stream, and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import ep, laplace
from fabcost.inference.online import FabCost
from fabcost.inference.result import Fit
from fabcost.inference.schedule import Refresh
from fabcost.offline import methods
from fabcost.tilted import Moments


class Snapshot(NamedTuple):
    """A posterior and the work behind it.

    Since the start of the stream for a learner that goes along with it, of this one fit for a
    batch method.
    """

    posterior: Gaussian
    filtered: int  # ADF steps
    visited: int  # EP's visits to sites
    seconds: float


Method = Callable[[Gaussian, FloatArray, FloatArray, Sequence[int]], list[Snapshot]]


def _refitted(fit: Callable[[Gaussian, FloatArray, FloatArray, FloatArray], Fit]) -> Method:
    """A batch method; it is given the mean of the fit before, to start from."""

    def follow(
        prior: Gaussian, X: FloatArray, y: FloatArray, sizes: Sequence[int]
    ) -> list[Snapshot]:
        found, near = [], prior.mean
        for size in sizes:
            start = time.perf_counter()
            result = fit(prior, X[:size], y[:size], near)
            seconds = time.perf_counter() - start
            visited = result.sweeps * size if isinstance(result, ep.EPResult) else 0
            found.append(Snapshot(result.posterior, 0, visited, seconds))
            near = result.posterior.mean
        return found

    return follow


def _learner(schedule: Refresh, moments: Moments) -> Method:
    def follow(
        prior: Gaussian, X: FloatArray, y: FloatArray, sizes: Sequence[int]
    ) -> list[Snapshot]:
        """Refreshes by hand, because they say how many sweeps they took."""
        keeps = Refresh.never() if schedule.kind == "never" else Refresh.at(sizes[-1] + 1)
        learner = FabCost(prior, refresh=keeps, moments=moments)
        found, visited, seconds = [], 0, 0.0
        due = schedule.next_after(0)
        for size in sizes:
            start = time.perf_counter()
            while due is not None and due <= size:
                learner.observe_many(X[learner.seen : due], y[learner.seen : due])
                visited += due * learner.refresh(max_sweeps=schedule.max_sweeps).sweeps
                due = schedule.next_after(due)
            learner.observe_many(X[learner.seen : size], y[learner.seen : size])
            seconds += time.perf_counter() - start
            found.append(Snapshot(learner.posterior, size, visited, seconds))
        return found

    return follow


_TWICE = Refresh.at(*methods.PAPER_REFRESH)
METHODS: dict[str, Method] = {
    methods.LAPLACE: _refitted(lambda prior, X, y, near: laplace.fit(prior, X, y, start=near)),
    methods.ADF: _learner(Refresh.never(), "exact"),
    methods.ADF_MACKAY: _learner(Refresh.never(), "mackay"),
    methods.EP: _refitted(lambda prior, X, y, _: ep.fit(prior, X, y)),
    methods.EP_MACKAY: _refitted(lambda prior, X, y, _: ep.fit(prior, X, y, moments="mackay")),
    methods.FAB_COST: _learner(Refresh.geometric(), "exact"),
    methods.FAB_COST_TWICE: _learner(_TWICE, "exact"),
    methods.FAB_COST_PAPER: _learner(_TWICE, "mackay"),
}
BATCH_METHODS = (methods.LAPLACE, methods.EP, methods.EP_MACKAY)


def take(name: str, X: FloatArray, y: FloatArray, sizes: Sequence[int]) -> list[Snapshot]:
    """The method called ``name`` on the first rows, for each of the rising ``sizes``.

    The prior is N(0, 100 I), as the authors'.  Labels are 0/1.

    Examples
    --------
    >>> from fabcost.paper.designs import authors_design
    >>> X, y, *_ = authors_design(200, seed=0)
    >>> [(each.filtered, each.visited) for each in take("ADF", X, y, [100, 200])]
    [(100, 0), (200, 0)]
    """
    if list(sizes) != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] > len(y):
        raise ValueError(f"sizes are {tuple(sizes)} but must rise from 1 to at most {len(y)}")
    prior = Gaussian.isotropic(X.shape[1], variance=methods.PRIOR_VARIANCE)
    return METHODS[name](prior, X, y, sizes)
