from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fabcost import FabCost, Gaussian, Refresh
from fabcost.inference import adf, ep
from fabcost.inference.logistic import product
from fabcost.tilted import Moments
from tests.simulated import cold_start, correlated_prior

SCHEDULES = [
    Refresh.never(),
    Refresh.always(),
    Refresh.at(7, 31),
    Refresh.geometric(1.3),
    Refresh.when(lambda seen: seen % 13 == 0),
]


def ids(schedule: Refresh) -> str:
    return schedule.kind


def bits(learner: FabCost) -> bytes:
    return learner.posterior.mean.tobytes() + learner.posterior.root.tobytes()


@pytest.mark.parametrize("moments", ["exact", "mackay"])
def test_never_equals_adf(moments: Moments) -> None:
    X, y = cold_start(100)
    learner = FabCost(correlated_prior(), refresh=Refresh.never(), moments=moments)
    learner.observe_many(X, y)
    assert learner.posterior == adf.fit(correlated_prior(), X, y, moments=moments).posterior
    assert learner.refreshes == 0


@pytest.mark.parametrize("moments", ["exact", "mackay"])
def test_always_equals_ep(moments: Moments) -> None:
    X, y = cold_start(80)
    learner = FabCost(correlated_prior(), refresh=Refresh.always(), moments=moments)
    learner.observe_many(X, y)
    reference = ep.fit(correlated_prior(), X, y, moments=moments).posterior
    np.testing.assert_allclose(learner.posterior.mean, reference.mean, atol=1e-8)
    np.testing.assert_allclose(learner.posterior.covariance, reference.covariance, atol=1e-8)
    assert learner.refreshes == 80


def test_at_is_ep_there_and_adf_after() -> None:
    X, y = cold_start(60)
    learner = FabCost(correlated_prior(), refresh=Refresh.at(40))
    learner.observe_many(X, y)
    at_forty = ep.fit(correlated_prior(), X[:40], y[:40]).posterior
    expected = adf.fit(at_forty, X[40:], y[40:]).posterior
    np.testing.assert_allclose(learner.posterior.mean, expected.mean, atol=1e-8)
    np.testing.assert_allclose(learner.posterior.covariance, expected.covariance, atol=1e-8)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=ids)
@pytest.mark.parametrize("window", [None, 1, 10, 64, 100])
def test_one_by_one_and_in_batches_give_the_same_bits(
    schedule: Refresh, window: int | None
) -> None:
    X, y = cold_start(150)
    learners = [FabCost(correlated_prior(), refresh=schedule, most_kept=window) for _ in range(3)]
    for row, label in zip(X, y, strict=True):
        learners[0].observe(row, label)
    learners[1].observe_many(X, y)
    for part in np.array_split(np.arange(150), 7):
        learners[2].observe_many(X[part], y[part])
    assert bits(learners[0]) == bits(learners[1]) == bits(learners[2])
    assert {learner.seen for learner in learners} == {150}


@pytest.mark.parametrize("schedule", SCHEDULES[1:], ids=ids)
def test_carried_belief_is_prior_times_sites(schedule: Refresh) -> None:
    X, y = cold_start(31)
    learner = FabCost(correlated_prior(), refresh=schedule)
    learner.observe_many(X[:30], y[:30])
    rebuilt = product(correlated_prior(), X[:30], learner.sites)
    np.testing.assert_allclose(learner.posterior.mean, rebuilt.mean, atol=1e-10)
    np.testing.assert_allclose(learner.posterior.covariance, rebuilt.covariance, atol=1e-10)


def test_carried_belief_does_not_drift() -> None:
    X, y = cold_start(20_000)
    prior = Gaussian.isotropic(5, variance=100.0)
    learner = FabCost(prior)
    learner.observe_many(X, y)
    rebuilt = product(prior, X, learner.sites)
    assert learner.refreshes > 50
    np.testing.assert_allclose(learner.posterior.mean, rebuilt.mean, rtol=1e-11)
    np.testing.assert_allclose(learner.posterior.covariance, rebuilt.covariance, atol=1e-13)


@pytest.mark.parametrize("window", [20, 50])
def test_window_freezes_older_sites(window: int) -> None:
    """With every refresh to convergence over a window, the rest is a fixed Gaussian factor."""
    X, y = cold_start(60)
    learner = FabCost(correlated_prior(), refresh=Refresh.at(50, 60), most_kept=window)
    learner.observe_many(X[:50], y[:50])
    learner.observe_many(X[50:59], y[50:59])
    at_59 = learner.posterior
    last = slice(59 - window + 1, 59)
    frozen = product_without(at_59, X[learner_order(59, window)], learner, keep=last)
    learner.observe(X[59], y[59])
    expected = ep.fit(frozen, X[60 - window : 60], y[60 - window : 60]).posterior
    np.testing.assert_allclose(learner.posterior.mean, expected.mean, atol=1e-7)
    np.testing.assert_allclose(learner.posterior.covariance, expected.covariance, atol=1e-7)


def learner_order(seen: int, window: int) -> npt.NDArray[np.intp]:
    """Which impression lies in each slot of the ring after ``seen``."""
    newest = np.arange(seen - window, seen)
    slots = np.empty(window, dtype=np.intp)
    slots[newest % window] = newest
    return slots


def product_without(
    belief: Gaussian, X: npt.NDArray[np.float64], learner: FabCost, keep: slice
) -> Gaussian:
    """The belief with the sites of impressions ``keep`` divided out."""
    slots = learner_order(59, learner.most_kept or 59)
    chosen = np.isin(slots, np.arange(keep.start, keep.stop))
    precision, shift = learner.sites
    lambda_ = belief.precision - (X[chosen].T * precision[chosen]) @ X[chosen]
    h = belief.precision @ belief.mean - X[chosen].T @ shift[chosen]
    return Gaussian(np.linalg.solve(lambda_, h), np.linalg.inv(lambda_))


def test_window_bounds_the_memory() -> None:
    X, y = cold_start(20_000, 8)
    learner = FabCost(Gaussian.isotropic(8), refresh=Refresh.geometric(2.0), most_kept=100)
    learner.observe_many(X[:200], y[:200])
    tracemalloc.start()
    learner.observe_many(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert learner.sites.precision.size == 100
    assert peak < X.nbytes / 2


def test_without_a_refresh_to_come_nothing_is_kept() -> None:
    X, y = cold_start(50)
    learner = FabCost(correlated_prior(), refresh=Refresh.at(10))
    learner.observe_many(X, y)
    assert learner.sites.precision.size == 0
    with pytest.raises(ValueError, match="nothing to refresh: the schedule 'at'"):
        learner.refresh()


def test_refresh_on_demand_converges() -> None:
    X, y = cold_start(60)
    learner = FabCost(correlated_prior(), refresh=Refresh.at(1000))
    learner.observe_many(X, y)
    outcome = learner.refresh()
    assert outcome.converged
    reference = ep.fit(correlated_prior(), X, y).posterior
    np.testing.assert_allclose(learner.posterior.mean, reference.mean, atol=1e-8)


def test_geometric_refreshes_cost_a_constant_number_of_passes() -> None:
    for growth in (1.05, 1.1, 2.0):
        schedule, seen, visits = Refresh.geometric(growth), 0, 0
        while seen < 1_000_000:
            following = schedule.next_after(seen)
            assert following is not None
            seen = following
            visits += seen
        assert visits < seen * growth / (growth - 1) * 1.02


@pytest.mark.parametrize(
    ("x", "y", "complaint"),
    [
        ([1.0, 2.0], 1, r"x has shape \(2,\) but the prior has 5 weights"),
        ([1.0, 2.0, 3.0, 4.0, np.nan], 1, r"x\[4\] is nan"),
        ([1.0, 2.0, 3.0, np.inf, 5.0], 1, r"x\[3\] is inf"),
        (np.ones(5), 2, "y is 2 but must be 0 or 1"),
        (np.ones(5), np.nan, "y is nan"),
        (np.ones(5), None, "y is None"),
    ],
)
def test_a_bad_impression_leaves_the_learner_unchanged(
    x: npt.ArrayLike, y: Any, complaint: str
) -> None:
    X, labels = cold_start(30)
    learner = FabCost(correlated_prior())
    learner.observe_many(X, labels)
    before = bits(learner)
    with pytest.raises(ValueError, match=complaint):
        learner.observe(x, y)
    with pytest.raises(ValueError, match="X|y"):
        learner.observe_many(np.atleast_2d(x), np.atleast_1d(y))
    assert bits(learner) == before
    assert learner.seen == 30


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: FabCost(correlated_prior(), most_kept=0), "most_kept is 0"),
        (lambda: FabCost(correlated_prior(), tolerance=-1.0), "tolerance is -1.0"),
        (lambda: FabCost(correlated_prior(), moments="x"), "moments is 'x'"),  # type: ignore[arg-type]
        (lambda: FabCost(correlated_prior(), refresh=3), "predicate is 3"),  # type: ignore[arg-type]
        (lambda: Refresh.geometric(1.0), "growth is 1.0 but must be above 1"),
        (lambda: Refresh.geometric(math.nan), "growth is nan"),
        (Refresh.at, "must be iterations"),
        (lambda: Refresh.at(0), "must be iterations"),
        (lambda: Refresh.always(max_sweeps=0), "max_sweeps is 0"),
    ],
)
def test_bad_settings_are_named(make: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()  # type: ignore[operator]
