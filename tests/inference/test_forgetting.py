"""Forgetting: beliefs grow wide around their mean, as a function of the stream alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, HalfLife, Refresh, kernels
from fabcost.impressions import FloatArray, read_only
from fabcost.inference import ep
from fabcost.inference.forgetting import LEAST_KEPT, LONGEST_STEP, STEP, age
from fabcost.inference.history import Carried, History, Sites
from fabcost.inference.logistic import product
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.saved import file as learner_file
from tests.inference.calls import PLAIN
from tests.inference.test_own import assert_joint, dense_prior, one_hot, shown
from tests.simulated import correlated_prior

WEIGHTS = pytest.mark.parametrize("weights", [1, 5, 8, 17])


def stream(rows: int, weights: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, weights))
    X[:, 0] = 1.0
    eta = X @ rng.normal(scale=0.7, size=weights) - 1.0
    return X, np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-eta)), 1.0, -1.0)


def bits(learner: FabCost) -> bytes:
    return learner_file.to_bytes(learner)


@WEIGHTS
@pytest.mark.parametrize("kept", [0.999, 0.5, 1e-6])
def test_ageing_mixes_precisions_and_keeps_the_mean(weights: int, kept: float) -> None:
    prior = correlated_prior(weights)
    learner = FabCost(prior, refresh=Refresh.never())
    learner.observe_many(*stream(200, weights))
    before = learner.posterior
    precision = kept * before.precision + (1.0 - kept) * prior.precision
    carried = Carried.of(before)
    kernels.age(carried.root, prior.triangle, kept)
    after = carried.gaussian()
    np.testing.assert_allclose(after.covariance, np.linalg.inv(precision), atol=1e-9)
    np.testing.assert_array_equal(after.mean, before.mean)


def test_directions_known_a_billion_times_better_age_as_exactly() -> None:
    prior = Gaussian.isotropic(3, variance=1e6)
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    spread = np.array([1e-6, 1.0, 1e3])
    carried = Carried.of(Gaussian.from_root(np.zeros(3), turned * spread))
    kernels.age(carried.root, prior.triangle, 0.5)
    _, found, _ = np.linalg.svd(carried.root[:, :3])
    expected = 1.0 / np.sqrt(0.5 / spread**2 + 0.5 / 1e6)
    np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-9)


def test_effects_of_items_age_as_weights_of_one_hot_ids_do() -> None:
    given, prior = shown(300), correlated_prior(9)
    own, wide = OwnEffects(9, 1.7), dense_prior(prior)
    belief, dense = Carried.of(prior), Carried.of(wide)
    X, hot, none = read_only(given.X), read_only(one_hot(given)), Sites.flat(0)
    slots = own.enter(given.items)
    for start in range(0, 300, 60):
        part = (start, start + 60)
        owned = (*own.written(slots), kernels.NO_COUNTS, None)
        kernels.adf_pass(*belief, X, given.y, *none, *part, True, *owned)
        kernels.adf_pass(*dense, hot, given.y, *none, *part, True, *PLAIN)
        # All items must stay, so that both are the same model: they are named in a history.
        past = History(9, None, owned=True)
        past.append(X[:50], given.y[:50], 50, np.arange(50) % len(own))
        age(belief, prior, past, own, 0.07)
        age(dense, wide, History(59, None), None, 0.07)
    assert len(own) == 50
    assert_joint(belief.gaussian(), own, dense.gaussian())


@pytest.mark.parametrize("half_life", [1000.0, HalfLife(100_000.0, "seconds")])
def test_precision_is_that_of_prior_and_faded_sites(half_life: HalfLife | float) -> None:
    """Rows are kept and never refined: each site fades by its own age alone."""
    prior = correlated_prior(5)
    learner = FabCost(prior, refresh=Refresh.at(10_000), half_life=half_life)
    X, y = stream(110, 5)
    learner.observe_many(X, y, at=100.0 * np.arange(110))
    expected = product(prior, X, learner.sites)
    np.testing.assert_allclose(learner.posterior.covariance, expected.covariance, atol=1e-9)
    ages = np.arange(109, -1, -1) / 1000.0
    halvings = -np.log2(left(learner))
    assert halvings.max() == pytest.approx(STEP, rel=0.02)
    # In steps of a sixteenth: an age is off by one of them at most.
    assert np.abs(halvings - ages).max() <= STEP + 1 / 1000


def test_a_life_is_filtering_and_growing_wide_by_turns() -> None:
    """Beside plain arithmetic on covariances, between parts that are filtered by themselves."""
    prior, (X, y) = correlated_prior(3), stream(160, 3)
    learner = FabCost(prior, refresh=Refresh.never(), half_life=320)
    learner.observe_many(X, y)
    belief, kept = prior, 2.0 ** (-STEP)
    for start in range(0, 160, 20):
        if start:
            precision = kept * belief.precision + (1.0 - kept) * prior.precision
            belief = Gaussian(belief.mean, np.linalg.inv(precision))
        part = FabCost(belief, refresh=Refresh.never())
        part.observe_many(X[start : start + 20], y[start : start + 20])
        belief = part.posterior
    np.testing.assert_allclose(learner.posterior.mean, belief.mean, atol=1e-8)
    np.testing.assert_allclose(learner.posterior.covariance, belief.covariance, atol=1e-8)


def left(learner: FabCost) -> FloatArray:
    counts = learner._history.counts
    assert counts is not None
    return np.asarray(counts[: learner.kept].sum(axis=1))


def test_a_refresh_is_ep_of_impressions_that_count_less() -> None:
    """Of all sites to a power, whatever they were before: σ to it is what is matched.

    The prior is what the belief is without the sites that are kept: as wide as it was at first,
    around where the belief was when it grew wide.
    """
    prior, (X, y) = correlated_prior(5), stream(240, 5)
    learner = FabCost(prior, half_life=2000, refresh=Refresh.at(100, 10_000))
    learner.observe_many(X, y)
    weight, sites, before = left(learner), learner.sites, learner.posterior
    assert weight.size == 240
    assert 0.95 < weight.min() < 0.96
    rest = before.precision - (X * sites.precision[:, None]).T @ X
    shift = before.precision @ before.mean - X.T @ sites.shift
    np.testing.assert_allclose(rest, prior.precision, atol=1e-8)
    centre = np.linalg.solve(prior.precision, shift)
    assert np.abs(centre - prior.mean).max() > 0.01
    assert learner.refresh(max_sweeps=100).converged
    expected = ep.fit(Gaussian(centre, prior.covariance), X, y, weight=weight)
    np.testing.assert_allclose(learner.posterior.mean, expected.posterior.mean, atol=1e-7)
    np.testing.assert_allclose(
        learner.posterior.covariance, expected.posterior.covariance, atol=1e-7
    )


def steps(learner: FabCost) -> int:
    assert learner._ageing is not None
    return learner._ageing.since


def settings() -> Iterable[dict[str, Any]]:
    yield {"half_life": 30.0}
    yield {"half_life": 30.0, "most_kept": 50}
    yield {"half_life": 30.0, "own_variance": 1.0}
    yield {"half_life": HalfLife(400.0, "seconds"), "own_variance": 1.0}
    yield {"half_life": 7.0, "own_variance": 1.0, "refresh": Refresh.never()}
    yield {"half_life": 100.0, "refresh": Refresh.at(100, 200)}


@pytest.mark.parametrize("given", list(settings()))
@pytest.mark.parametrize("batch", [1, 7, 64])
def test_bits_do_not_depend_on_batches_or_on_files(given: dict[str, Any], batch: int) -> None:
    X, y = stream(400, 6)
    items = [f"ad-{k * k % 37}" if k < 200 else f"ad-{k % 5}" for k in range(400)]
    times = np.cumsum(np.where(np.arange(400) % 50 == 49, 900.0, 3.0))
    at_once = FabCost(correlated_prior(6), **given)
    at_once.observe_many(X, y, items, at=times)
    learner = FabCost(correlated_prior(6), **given)
    for start in range(0, 400, batch):
        part = slice(start, start + batch)
        learner.observe_many(X[part], y[part], items[part], at=times[part])
        if start % 3 == 0:
            learner = learner_file.from_bytes(bits(learner))
    assert bits(learner) == bits(at_once)
    assert steps(learner) > 300
    if learner.own is not None and learner.half_life == HalfLife(7.0):
        assert len(learner.own) < 37  # of some nothing is known any more


def test_one_by_one_is_a_batch() -> None:
    X, y = stream(120, 3)
    at_once, singly = (FabCost(correlated_prior(3), half_life=20) for _ in range(2))
    at_once.observe_many(X, y)
    for row, label in zip(X, y, strict=True):
        singly.observe(row, label)
    assert bits(at_once) == bits(singly)


def test_what_is_not_renewed_grows_as_wide_as_the_prior() -> None:
    prior = correlated_prior(4)
    learner = FabCost(prior, half_life=HalfLife(60.0, "seconds"), own_variance=2.0)
    X, y = stream(200, 4)
    learner.observe_many(X, y, ["ad"] * 200, at=np.arange(200.0))
    before = learner.posterior.mean
    learner.observe(np.zeros(4), 1, at=1e9)
    np.testing.assert_array_equal(learner.posterior.mean, before)
    np.testing.assert_array_equal(learner.posterior.root, prior.root)
    assert len(learner.sites.precision) == 1
    assert learner.own is not None
    assert len(learner.own) == 0


def test_ten_million_impressions() -> None:
    """The belief stays as wide as the half-life leaves it, and follows what is new."""
    rng = np.random.default_rng(1)
    prior = Gaussian.isotropic(2)
    learner = FabCost(prior, refresh=Refresh.never(), half_life=5_000)
    X = np.column_stack([np.ones(500_000), rng.normal(size=500_000)])
    sds = []
    for k in range(20):
        theta = np.array([-1.0, 2.0 if k % 2 else -2.0])
        learner.observe_many(X, rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X @ theta)))
        np.testing.assert_allclose(learner.posterior.mean, theta, atol=0.35)  # five sds
        sds.append(learner.posterior.sd)
    assert learner.seen == 10_000_000
    assert np.ptp(np.array(sds), axis=0).max() < 0.01
    assert np.isfinite(learner.posterior.root).all()


def test_memory_is_bounded_and_all_is_visited() -> None:
    learner = FabCost(Gaussian.isotropic(2), half_life=50)
    most, gap = 0, 0
    for row, label in zip(*stream(3_000, 2), strict=True):
        learner.observe(row, label)
        most = max(most, len(learner.sites.precision))
        if learner.seen > 1_000:
            gap = max(gap, (learner.next_refresh or 0) - learner.seen)
    assert 50 * np.log2(1 / LEAST_KEPT) <= most <= 50 * (np.log2(1 / LEAST_KEPT) + 2 * STEP) + 2
    assert gap <= most / 10 + 1


def test_steps_are_not_taken_for_a_few_impressions() -> None:
    """With 200 weights a step costs as much as 100 visits: fewer wait for a quarter."""
    X = np.eye(400, 200)
    learner = FabCost(Gaussian.isotropic(200), half_life=320, refresh=Refresh.never())
    learner.observe_many(X[:81], np.ones(81))
    assert steps(learner) == 320 * LONGEST_STEP
    learner = FabCost(Gaussian.isotropic(200), half_life=3_200, refresh=Refresh.never())
    learner.observe_many(np.vstack([X, X]), np.ones(800))
    assert steps(learner) == 600


@pytest.mark.parametrize("at", [None, np.nan, np.inf, [1.0, 2.0]])
def test_a_time_that_is_none_changes_nothing(at: Any) -> None:
    learner = FabCost(Gaussian.isotropic(1), half_life=HalfLife(9.0, "seconds"), own_variance=1.0)
    learner.observe([1.0], 1, "ad", at=0.0)
    before = bits(learner)
    with pytest.raises(ValueError, match="at |shape"):
        learner.observe_many([[1.0]] * 3, [1, 0, 1], at=at)
    with pytest.raises(ValueError, match="string or an integer"):
        learner.observe([1.0], 1, 2.5, at=900.0)  # type: ignore[arg-type]
    assert bits(learner) == before


def test_sites_of_mackay_have_no_power() -> None:
    with pytest.raises(ValueError, match="'mackay' but a half-life needs 'exact'"):
        FabCost(Gaussian.isotropic(1), half_life=9, moments="mackay")


@pytest.mark.parametrize("length", [0.0, 0.5, -1.0, np.nan, np.inf])
def test_a_half_life_that_is_none_is_refused(length: float) -> None:
    with pytest.raises(ValueError, match="half-life"):
        FabCost(Gaussian.isotropic(1), half_life=length)


def test_weights_that_come_later_age_too() -> None:
    X, y = stream(300, 3)
    late = FabCost(Gaussian.isotropic(2), half_life=60, refresh=Refresh.at(10_000))
    late.observe_many(X[:100, :2], y[:100])
    late.grow(1.0)
    late.observe_many(X[100:], y[100:])
    rows = X.copy()
    rows[:100, 2] = 0.0
    there = FabCost(Gaussian.isotropic(3), half_life=60, refresh=Refresh.at(10_000))
    there.observe_many(rows, y)
    np.testing.assert_allclose(late.posterior.mean, there.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(late.posterior.covariance, there.posterior.covariance, atol=1e-9)


def test_the_old_name_of_most_kept() -> None:
    prior, (X, y) = Gaussian.isotropic(2), stream(700, 2)
    with pytest.warns(DeprecationWarning, match="most_kept"):
        before = FabCost(prior, window=50)
    now = FabCost(prior, most_kept=50)
    for learner in (before, now):
        learner.observe_many(X, y)
        assert len(learner.sites.precision) == learner.most_kept == 50
    assert now.refreshes > 2 * before.refreshes
    assert (now.next_refresh or 0) - now.seen <= 5
    again = learner_file.from_bytes(bits(before))
    for learner in (before, again):
        learner.observe_many(X, y)
    assert bits(before) == bits(again)
