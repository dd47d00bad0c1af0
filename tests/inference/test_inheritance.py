"""What a learner has from another: a power prior, and how much of it the outcomes speak for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import fabcost
from fabcost import FabCost, Gaussian, Refresh
from fabcost.inference.inheritance.information import Information, marginal
from fabcost.inference.inheritance.inheritance import DISCOUNTS, LOOKED, Inheritance

THETA = np.array([-1.0, 2.0, -1.5, 1.0])


def impressions(theta: np.ndarray, many: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((many, theta.size))
    X[:, 0] = 1.0
    return X, rng.random(many) < expit(X @ theta)


def gaussians(seed: int) -> tuple[Gaussian, Gaussian]:
    """A prior, and what becomes of it by some Gaussian information."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, 4, 4))
    before = Gaussian(rng.standard_normal(4), A @ A.T + np.eye(4))
    precision = before.precision + B @ B.T
    shift = before.precision @ before.mean + rng.standard_normal(4)
    return before, Gaussian(np.linalg.solve(precision, shift), np.linalg.inv(precision))


@pytest.fixture(scope="module")
def source() -> FabCost:
    learner = FabCost(Gaussian.isotropic(4, variance=4.0))
    learner.observe_many(*impressions(THETA, 2_000, seed=1))
    return learner


def inherited(source: FabCost, discount: float | None = None) -> Inheritance:
    told = Information.gained(source.prior, source.posterior)
    return Inheritance.given(Gaussian.isotropic(4, variance=4.0), told, discount)


@pytest.mark.parametrize("discount", [0.03, 0.5, 1.0])
def test_the_precision_beyond_the_prior_is_discounted_and_the_shift_alike(discount: float) -> None:
    before, after = gaussians(3)
    base, _ = gaussians(4)
    found = Information.gained(before, after).on(base, discount)
    precision = base.precision + discount * (after.precision - before.precision)
    gained = after.precision @ after.mean - before.precision @ before.mean
    shift = base.precision @ base.mean + discount * gained
    np.testing.assert_allclose(found.precision, precision, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mean, np.linalg.solve(precision, shift), rtol=1e-9)


def test_directions_that_are_known_less_than_before_tell_nothing() -> None:
    before, after = gaussians(5)
    assert Information.gained(after, before).rows.shape == (0, 4)


def test_a_marginal_has_the_moments_of_its_weights() -> None:
    belief, _ = gaussians(6)
    found = marginal(belief, [3, 1])
    np.testing.assert_array_equal(found.mean, belief.mean[[3, 1]])
    np.testing.assert_allclose(found.covariance, belief.covariance[np.ix_([3, 1], [3, 1])])


def test_a_learner_with_all_information_goes_on_like_the_other(source: FabCost) -> None:
    learner = FabCost(inherited(source, 1.0))
    np.testing.assert_allclose(learner.posterior.mean, source.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(learner.posterior.sd, source.posterior.sd, rtol=1e-9)


def test_outcomes_speak_for_a_market_that_is_alike(source: FabCost) -> None:
    learner = FabCost(inherited(source))
    learner.observe_many(*impressions(THETA, LOOKED, seed=2))
    assert learner.inheritance is not None
    assert learner.inheritance.discount >= 0.1


def test_outcomes_speak_against_a_market_that_is_not(source: FabCost) -> None:
    learner = FabCost(inherited(source))
    learner.observe_many(*impressions(-THETA, 2 * LOOKED, seed=2))
    assert learner.inheritance is not None
    assert (learner.inheritance.discount, learner.inheritance.look) == (0.0, None)
    alone = FabCost(Gaussian.isotropic(4, variance=4.0), refresh=Refresh.at(2 * LOOKED))
    alone.observe_many(*impressions(-THETA, 2 * LOOKED, seed=2))
    learner.refresh()
    np.testing.assert_allclose(learner.posterior.mean, alone.posterior.mean, atol=1e-4)


def test_a_discount_that_is_given_stays(source: FabCost) -> None:
    learner = FabCost(inherited(source, 0.3))
    learner.observe_many(*impressions(-THETA, 50, seed=2))
    assert learner.inheritance is not None
    assert learner.inheritance.discount == 0.3


@pytest.mark.parametrize("discount", [0.0, -0.1, 1.5, float("nan")])
def test_other_discounts_are_refused(source: FabCost, discount: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        inherited(source, discount)


def test_one_by_one_or_all_at_once_has_the_same_bits(source: FabCost) -> None:
    X, y = impressions(-THETA, 60, seed=3)
    together, single = (FabCost(inherited(source), own_variance=0.3) for _ in range(2))
    items = [f"ad-{k % 7}" for k in range(60)]
    together.observe_many(X, y, items)
    for row, label, item in zip(X, y, items, strict=True):
        single.observe(row, label, item)
    np.testing.assert_array_equal(together.posterior.root, single.posterior.root)


@pytest.mark.parametrize("seen", [0, 13, 150])
def test_a_saved_learner_goes_on_with_the_same_bits(
    source: FabCost, seen: int, tmp_path: Path
) -> None:
    X, y = impressions(-THETA, 300, seed=4)
    learner = FabCost(inherited(source))
    learner.observe_many(X[:seen], y[:seen])
    fabcost.save(learner, tmp_path / "learner")
    other = fabcost.load(tmp_path / "learner")
    for each in (learner, other):
        each.grow(1.0)
        each.replace_prior(Gaussian.isotropic(5, variance=3.0))
        each.observe_many(np.pad(X[seen:], ((0, 0), (0, 1)), constant_values=0.5), y[seen:])
    assert learner.inheritance is not None
    assert other.inheritance is not None
    assert other.inheritance.discount == learner.inheritance.discount
    np.testing.assert_array_equal(learner.posterior.mean, other.posterior.mean)
    np.testing.assert_array_equal(learner.posterior.root, other.posterior.root)


def test_another_prior_comes_below_what_is_inherited(source: FabCost) -> None:
    learner = FabCost(inherited(source, 0.5))
    base = Gaussian.isotropic(4, variance=0.01)
    assert learner.replace_prior(base)
    told = Information.gained(source.prior, source.posterior)
    np.testing.assert_allclose(learner.posterior.mean, told.on(base, 0.5).mean)


def test_nothing_of_elsewhere_is_among_what_the_outcomes_choose_from() -> None:
    assert min(DISCOUNTS) == 0.0
    assert max(DISCOUNTS) == 1.0


#: Learners that do not keep all of the first outcomes for a refresh to look at.
FORGETFUL: dict[str, dict[str, Any]] = {
    "never": {"refresh": Refresh.never()},
    "at last": {"refresh": Refresh.at(1_000)},
    "at first": {"refresh": Refresh.at(10)},
    "seldom": {"refresh": Refresh.geometric(30.0)},
    "when": {"refresh": Refresh.when(lambda seen: seen == 30)},
    "few kept": {"most_kept": 20},
    "half-life": {"half_life": 360},
    "short half-life": {"half_life": 40},
    "in seconds": {"half_life": fabcost.HalfLife(400, "seconds")},
    "both": {"half_life": 100, "most_kept": 20, "refresh": Refresh.geometric(1.5)},
    "spread": {"half_life": 100, "most_kept": 30, "most_work": 64},
}


def learnt(learner: FabCost, theta: np.ndarray, start: int, stop: int) -> FabCost:
    X, y = impressions(theta, 2 * LOOKED, seed=2)
    items = [f"ad-{k % 7}" for k in range(start, stop)]
    learner.observe_many(X[start:stop], y[start:stop], items, at=10.0 * np.arange(start, stop))
    return learner


@pytest.mark.parametrize("how", FORGETFUL)
def test_whatever_is_kept_outcomes_speak_against_a_market_that_is_not_alike(
    source: FabCost, how: str
) -> None:
    learner = learnt(FabCost(inherited(source), **FORGETFUL[how]), -THETA, 0, 2 * LOOKED)
    assert learner.inheritance is not None
    assert (learner.inheritance.discount, learner.inheritance.look) == (0.0, None)
    alone = learnt(
        FabCost(Gaussian.isotropic(4, variance=4.0), **FORGETFUL[how]), -THETA, 0, 2 * LOOKED
    )
    np.testing.assert_allclose(learner.posterior.mean, alone.posterior.mean, atol=0.2)
    np.testing.assert_allclose(learner.posterior.sd, alone.posterior.sd, rtol=0.1)


@pytest.mark.parametrize("how", FORGETFUL)
def test_whatever_is_kept_outcomes_speak_for_a_market_that_is_alike(
    source: FabCost, how: str
) -> None:
    learner = learnt(FabCost(inherited(source), **FORGETFUL[how]), THETA, 0, 2 * LOOKED)
    assert learner.inheritance is not None
    assert learner.inheritance.discount >= 0.1
    assert learner.inheritance.look is None
    assert learner._past is None


@pytest.mark.parametrize("how", sorted(FORGETFUL.keys() - {"when"}))
def test_saved_among_the_first_outcomes_one_goes_on_with_the_same_bits(
    source: FabCost, how: str, tmp_path: Path
) -> None:
    one = FabCost(inherited(source), own_variance=0.3, **FORGETFUL[how])
    for start, stop in ((0, 1), (1, 9), (9, 150), (150, 300)):
        fabcost.save(learnt(one, -THETA, start, stop), tmp_path / "learner")
        one = fabcost.load(tmp_path / "learner")
    other = learnt(FabCost(inherited(source), own_variance=0.3, **FORGETFUL[how]), -THETA, 0, 300)
    for each in (one, other):
        each.grow(1.0)
        each.forget(["ad-3"])
        rows, y = impressions(-np.append(THETA, 0.5), 300, seed=5)
        each.observe_many(rows, y, at=3_000 + np.arange(300))
    assert one.inheritance is not None
    assert other.inheritance is not None
    assert (one.inheritance.discount, one.inheritance.look) == (0.0, None)
    np.testing.assert_array_equal(one.posterior.root, other.posterior.root)
    np.testing.assert_array_equal(one.posterior.mean, other.posterior.mean)
    assert one.own is not None
    assert "ad-3" not in one.own


@pytest.mark.parametrize("how", ["never", "few kept", "in seconds", "spread"])
def test_one_by_one_the_discount_has_the_same_bits(source: FabCost, how: str) -> None:
    together, single = (FabCost(inherited(source), **FORGETFUL[how]) for _ in range(2))
    learnt(together, -THETA, 0, 200)
    for k in range(200):
        learnt(single, -THETA, k, k + 1)
    np.testing.assert_array_equal(together.posterior.root, single.posterior.root)
    assert together.inheritance is not None
    assert together.inheritance.discount == 0.0


def test_a_learner_that_starts_later_keeps_outcomes_too(source: FabCost) -> None:
    learner = FabCost(Gaussian.isotropic(4, variance=4.0), refresh=Refresh.never())
    assert learner.replace_prior(inherited(source))
    learnt(learner, -THETA, 0, 50)
    assert learner.inheritance is not None
    assert learner.inheritance.discount == 0.0


def test_a_file_without_all_outcomes_is_refused(source: FabCost) -> None:
    learner = learnt(FabCost(inherited(source), half_life=40), -THETA, 0, 20)
    settings, arrays = learner.state()
    arrays["past_rows"] = arrays["past_rows"][1:]
    with pytest.raises(ValueError, match=r"past_rows has shape \(19, 4\) but must have \(20, 4\)"):
        FabCost.restored(settings, arrays)
