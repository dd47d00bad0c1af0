"""Effects of items that come with an inheritance, against the same model with a column for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import fabcost
from fabcost import FabCost, Gaussian, HalfLife, Refresh
from fabcost.inference.history import joined
from fabcost.inference.inheritance.information import Information, InheritedEffects, marginal
from fabcost.inference.inheritance.inheritance import DISCOUNTS, Inheritance
from fabcost.inference.own.directory import Key
from fabcost.inference.schedule import Portion

THETA = np.array([-1.0, 1.5, -1.0])
EFFECTS: dict[Key, float] = {"a": 1.5, "b": -1.0, 7: 0.5, "rare": 0.0}
KEYS = list(EFFECTS)
VARIANCE = 0.8
BASE = Gaussian.isotropic(3, variance=2.0)


def impressions(many: int, seed: int) -> tuple[np.ndarray, np.ndarray, list[Key]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((many, 3))
    X[:, 0] = 1.0
    items = [KEYS[k] for k in rng.choice(4, size=many, p=[0.5, 0.3, 0.19, 0.01])]
    effects = np.array([EFFECTS[item] for item in items])
    return X, rng.random(many) < expit(X @ THETA + effects), items


def one_hot(X: np.ndarray, items: list[Key]) -> np.ndarray:
    return np.column_stack([X, np.array(items, dtype=object)[:, None] == np.array(KEYS, object)])


@pytest.fixture(scope="module")
def source() -> FabCost:
    learner = FabCost(BASE, own_variance=VARIANCE)
    learner.observe_many(*impressions(300, seed=1))
    return learner


def joint(learner: FabCost) -> Gaussian:
    """The belief of the weights and of all effects, by the arrowhead's definition."""
    assert learner.own is not None
    rows = learner.own.rows[[learner.own.keys.index(key) for key in KEYS]]
    d, h, cross = rows[:, 0], rows[:, 1], rows[:, 2:]
    block = learner.posterior.precision + (cross.T / d) @ cross
    precision = np.block([[block, cross.T], [cross, np.diag(d)]])
    shift = learner.posterior.precision @ learner.posterior.mean + (cross.T / d) @ h
    return Gaussian(np.linalg.solve(precision, np.r_[shift, h]), np.linalg.inv(precision))


def with_columns(base: Gaussian, variance: float) -> Gaussian:
    return joined(base, Gaussian.isotropic(len(KEYS), variance=variance))


def inherited(
    source: FabCost, discount: float | None, variance: float = VARIANCE, base: Gaussian = BASE
) -> Inheritance:
    assert source.own is not None
    told = Information.gained(source.prior, source.posterior)
    effects = InheritedEffects.of(source.own, source.posterior, [0, 1, 2], variance)
    return Inheritance.given(base, told, discount, effects)


def as_columns(
    source: FabCost, discount: float | None, variance: float = VARIANCE, base: Gaussian = BASE
) -> Inheritance:
    """The reference: weights in place of effects."""
    told = Information.gained(with_columns(source.prior, VARIANCE), joint(source))
    return Inheritance.given(with_columns(base, variance), told, discount)


def test_all_of_it_is_the_posterior_of_the_other(source: FabCost) -> None:
    learner = FabCost(inherited(source, 1.0), own_variance=VARIANCE)
    found, expected = joint(learner), joint(source)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-10, atol=1e-10)
    assert learner.seen == 0


@pytest.mark.parametrize("variance", [VARIANCE, 0.3])
@pytest.mark.parametrize("discount", [0.01, 0.4, 1.0])
def test_a_discount_is_a_power_of_all_sites(
    source: FabCost, discount: float, variance: float
) -> None:
    base = Gaussian.isotropic(3, variance=0.7)
    given = inherited(source, discount, variance, base)
    found = joint(FabCost(given, own_variance=variance))
    expected = as_columns(source, discount, variance, base).prior
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8, atol=1e-8)


def test_an_item_that_is_unknown_there_begins_at_the_prior(source: FabCost) -> None:
    learner = FabCost(inherited(source, 1.0), own_variance=VARIANCE)
    assert learner.own is not None
    found = learner.own.effects(learner.posterior, ["new"])
    assert (found.mean[0], found.variance[0]) == (0.0, pytest.approx(VARIANCE))


def test_it_learns_on_as_if_the_items_were_columns(source: FabCost) -> None:
    X, y, items = impressions(60, seed=2)
    schedule = Refresh.at(25, 60)
    learner = FabCost(inherited(source, 0.3), own_variance=VARIANCE, refresh=schedule)
    other = FabCost(as_columns(source, 0.3), refresh=schedule)
    learner.observe_many(X, y, items)
    other.observe_many(one_hot(X, items).astype(float), y)
    np.testing.assert_allclose(joint(learner).mean, other.posterior.mean, atol=1e-6)
    np.testing.assert_allclose(joint(learner).covariance, other.posterior.covariance, atol=1e-6)


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_the_evidence_is_that_of_columns(source: FabCost, discount: float) -> None:
    X, y, items = impressions(80, seed=3)
    learner = FabCost(inherited(source, None), own_variance=VARIANCE, refresh=Refresh.at(999))
    other = FabCost(as_columns(source, None), refresh=Refresh.at(999))
    learner.observe_many(X, y, items)
    other.observe_many(one_hot(X, items).astype(float), y)
    evidence = [
        Inheritance(each.base, each.information, discount, None, each.effects)._evidence(*known)
        for each, known in (
            (learner.inheritance, (Portion(*learner._history.kept()[:2], [*items]), learner.own)),
            (other.inheritance, (Portion(*other._history.kept()[:2]), None)),
        )
        if each is not None
    ]
    assert evidence[0] == pytest.approx(evidence[1], abs=1e-6)


@pytest.mark.parametrize("world", [1.0, -1.0])
def test_outcomes_decide_on_effects_as_on_columns(source: FabCost, world: float) -> None:
    X, y, items = impressions(450, seed=4)
    y = y if world > 0 else ~y
    learner = FabCost(inherited(source, None), own_variance=VARIANCE)
    other = FabCost(as_columns(source, None))
    learner.observe_many(X, y, items)
    other.observe_many(one_hot(X, items).astype(float), y)
    assert learner.inheritance is not None
    assert other.inheritance is not None
    assert learner.inheritance.discount == other.inheritance.discount
    assert (learner.inheritance.discount == 0.0) == (world < 0)
    np.testing.assert_allclose(joint(learner).mean, other.posterior.mean, atol=1e-3)


@pytest.mark.parametrize("half_life", [None, HalfLife(40)])
@pytest.mark.parametrize("seen", [0, 20, 150])
def test_a_saved_learner_goes_on_with_the_same_bits(
    source: FabCost, seen: int, half_life: HalfLife | None, tmp_path: Path
) -> None:
    X, y, items = impressions(250, seed=5)
    learner = FabCost(inherited(source, None), own_variance=VARIANCE, half_life=half_life)
    learner.observe_many(X[:seen], ~y[:seen], items[:seen])
    fabcost.save(learner, tmp_path / "learner")
    other = fabcost.load(tmp_path / "learner")
    for each in (learner, other):
        each.grow(1.0)
        each.replace_prior(Gaussian.isotropic(4, variance=3.0))
        wider = np.pad(X[seen:], ((0, 0), (0, 1)), constant_values=0.5)
        each.observe_many(wider, ~y[seen:], items[seen:])
    assert learner.own is not None
    assert other.own is not None
    np.testing.assert_array_equal(learner.posterior.root, other.posterior.root)
    np.testing.assert_array_equal(learner.own.rows, other.own.rows)
    assert learner.own.keys == other.own.keys


def test_weights_that_only_the_other_has_are_integrated_out_beside_each_item(
    source: FabCost,
) -> None:
    assert source.own is not None
    effects = InheritedEffects.of(source.own, source.posterior, [0, 2], VARIANCE)
    there = joint(source)
    for place, key in enumerate(effects.keys):
        d, h, *cross = effects.rows[place]
        kept = marginal(there, [0, 2, 3 + KEYS.index(key)])
        pair = marginal(source.posterior, [0, 2])
        variance = 1 / d + np.array(cross) @ pair.covariance @ np.array(cross) / d**2
        assert variance == pytest.approx(kept.covariance[2, 2])
        assert (h - np.array(cross) @ pair.mean) / d == pytest.approx(kept.mean[2])
        between = -pair.covariance @ np.array(cross) / d
        np.testing.assert_allclose(between, kept.covariance[2, :2], atol=1e-12)


def test_other_variances_of_effects_are_refused(source: FabCost) -> None:
    with pytest.raises(ValueError, match=r"own_variance is 0.0 but what is inherited"):
        FabCost(inherited(source, 1.0))


def test_a_file_that_says_nonsense_of_them_is_refused(source: FabCost) -> None:
    learner = FabCost(inherited(source, 1.0), own_variance=VARIANCE)
    settings, arrays = learner.state()
    wrong = arrays | {"inherited_own": arrays["inherited_own"] * 0.0}
    with pytest.raises(ValueError, match="an inherited precision is"):
        FabCost.restored(settings, wrong)
    settings["inheritance"]["own"]["keys"] = ["a", "a", "b", 7]
    with pytest.raises(ValueError, match="each once"):
        FabCost.restored(settings, arrays)
