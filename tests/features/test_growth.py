from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import FabCost, Gaussian, Refresh
from fabcost.impressions import FloatArray
from fabcost.inference.saved.file import from_bytes, to_bytes

SCHEDULES = [Refresh.never(), Refresh.always(), Refresh.at(7, 60), Refresh.geometric(1.2)]


def stream(sizes: list[int], seed: int = 0) -> tuple[list[FloatArray], list[FloatArray]]:
    """Stages of 20 rows, each with as many weights as ``sizes`` says, and their clicks."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(20, size)) for size in sizes]
    return X, [np.asarray(rng.random(20) < 0.3, dtype=np.float64) for _ in sizes]


def prior_of(size: int, grown: int) -> Gaussian:
    """Correlated weights, then independent ones of variance 4."""
    covariance = 4.0 * np.eye(grown)
    covariance[:size, :size] = 2.0 * np.eye(size) + 0.5
    return Gaussian(np.concatenate([np.full(size, 0.3), np.zeros(grown - size)]), covariance)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(SCHEDULES),
    st.sampled_from([None, 7, 30]),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.booleans(),
)
def test_growing_equals_having_had_the_weights(
    schedule: Refresh, window: int | None, steps: list[int], through_file: bool
) -> None:
    sizes = np.cumsum([3, *steps]).tolist()
    X, y = stream(sizes)
    learner = FabCost(prior_of(3, 3), refresh=schedule, most_kept=window)
    wide = FabCost(prior_of(3, sizes[-1]), refresh=schedule, most_kept=window)
    for stage, size in enumerate(sizes):
        learner.grow(4.0, size - learner.prior.dimension)
        if through_file:
            learner = from_bytes(to_bytes(learner))
        for row, label in zip(X[stage][:10], y[stage][:10], strict=True):
            learner.observe(row, label)
        learner.observe_many(X[stage][10:], y[stage][10:])
        wide.observe_many(np.pad(X[stage], [(0, 0), (0, sizes[-1] - size)]), y[stage])
    assert (learner.seen, learner.refreshes) == (wide.seen, wide.refreshes)
    np.testing.assert_allclose(learner.posterior.mean, wide.posterior.mean, atol=1e-10)
    np.testing.assert_allclose(learner.posterior.covariance, wide.posterior.covariance, atol=1e-10)
    np.testing.assert_allclose(learner.sites, wide.sites, atol=1e-10)
    np.testing.assert_allclose(learner.prior.covariance, wide.prior.covariance, atol=1e-14)


def test_growth_between_two_saves_keeps_the_bits() -> None:
    X, y = stream([3, 5, 6])
    unbroken, broken = (FabCost(prior_of(3, 3), most_kept=25) for _ in range(2))
    for stage, size in enumerate((3, 5, 6)):
        for learner in (unbroken, broken):
            learner.grow(4.0, size - learner.prior.dimension)
            learner.observe_many(X[stage], y[stage])
        broken = from_bytes(to_bytes(broken))
    assert to_bytes(broken) == to_bytes(unbroken)


def test_a_new_weight_is_at_its_prior() -> None:
    learner = FabCost(prior_of(3, 3))
    X, y = stream([3])
    learner.observe_many(X[0], y[0])
    before = learner.posterior
    learner.grow(9.0)
    after = learner.posterior
    assert after.dimension == 4
    assert (after.mean[3], after.sd[3]) == (0.0, 3.0)
    np.testing.assert_array_equal(after.covariance[3, :3], 0.0)
    np.testing.assert_array_equal(after.root[:3, :3], before.root)


def test_growing_by_a_bad_amount_is_refused() -> None:
    learner = FabCost(prior_of(3, 3))
    before = to_bytes(learner)
    with pytest.raises(ValueError, match="count is -1 but must be at least 0"):
        learner.grow(1.0, -1)
    with pytest.raises(ValueError, match="a variance is -1.0 but must lie between"):
        learner.grow(-1.0)
    learner.grow(1.0, 0)
    assert to_bytes(learner) == before
