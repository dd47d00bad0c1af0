"""Effects of items' own: equal to weights of one-hot ids, which is the same model written out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, Refresh, kernels
from fabcost.impressions import FloatArray, read_only
from fabcost.inference import ep
from fabcost.inference.history import Carried, Sites
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.saved import file as learner_file
from fabcost.kernels import NO_COUNTS
from fabcost.tilted import Moments
from tests.inference import twins
from tests.inference.calls import PLAIN, swept
from tests.simulated import correlated_prior

ITEMS = 50
TAU_SQUARED = 1.7
MOMENTS = pytest.mark.parametrize("moments", ["exact", "mackay"])


class Shown(NamedTuple):
    X: FloatArray
    y: FloatArray
    items: list[str | None]


def shown(rows: int, weights: int = 9, items: int = ITEMS, seed: int = 0) -> Shown:
    """Impressions of items whose effects differ; one row in ten has no item."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, weights))
    X[:, 0] = 1.0
    which = rng.integers(items, size=rows)
    nobody = rng.random(rows) < 0.1
    effects = np.where(nobody, 0.0, rng.normal(size=items)[which])
    eta = X @ rng.normal(scale=0.5, size=weights) - 1.0 + effects
    y = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-eta)), 1.0, -1.0)
    return Shown(X, y, [None if no else f"ad-{k}" for k, no in zip(which, nobody, strict=True)])


def one_hot(given: Shown, items: int = ITEMS) -> FloatArray:
    ids = np.zeros((len(given.y), items))
    for i, item in enumerate(given.items):
        if item is not None:
            ids[i, int(item[3:])] = 1.0
    return np.hstack([given.X, ids])


def dense_prior(prior: Gaussian, items: int = ITEMS) -> Gaussian:
    weights = prior.dimension
    covariance = TAU_SQUARED * np.eye(weights + items)
    covariance[:weights, :weights] = prior.covariance
    return Gaussian(np.append(prior.mean, np.zeros(items)), covariance)


def names(items: int = ITEMS) -> list[str]:
    return [f"ad-{k}" for k in range(items)]


def assert_joint(
    belief: Gaussian, own: OwnEffects | None, dense: Gaussian, tolerance: float = 1e-8
) -> None:
    """Marginal of θ, and mean and variance of every effect and of some rows with their items."""
    assert own is not None
    weights = belief.dimension
    items = dense.dimension - weights
    np.testing.assert_allclose(belief.mean, dense.mean[:weights], atol=tolerance)
    np.testing.assert_allclose(
        belief.covariance, dense.covariance[:weights, :weights], atol=tolerance
    )
    mean, variance = own.effects(belief, names(items))
    np.testing.assert_allclose(mean, dense.mean[weights:], atol=tolerance)
    np.testing.assert_allclose(variance, np.diag(dense.covariance)[weights:], atol=tolerance)
    given = shown(40, weights, items, seed=9)
    expected = dense.marginal(one_hot(given, items))
    found = own.marginal(belief, given.X, given.items)
    np.testing.assert_allclose(found.mean, expected.mean, atol=tolerance)
    np.testing.assert_allclose(found.variance, expected.variance, atol=tolerance)


def learner(refresh: Refresh, **settings: object) -> FabCost:
    prior = correlated_prior(9)
    return FabCost(prior, refresh=refresh, own_variance=TAU_SQUARED, **settings)  # type: ignore[arg-type]


def bits(given: FabCost) -> bytes:
    assert given.own is not None
    belief = given.posterior
    return belief.mean.tobytes() + belief.root.tobytes() + given.own.rows.tobytes()


@MOMENTS
def test_ep_is_that_of_one_hot_ids(moments: Moments) -> None:
    given, prior = shown(400), correlated_prior(9)
    X, y, items = given
    found = ep.fit(prior, X, y, items=items, own_variance=TAU_SQUARED, moments=moments)
    dense = ep.fit(dense_prior(prior), one_hot(given), y, moments=moments)
    assert_joint(found.posterior, found.own, dense.posterior)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-8)
    assert found.converged == dense.converged
    assert abs(found.sweeps - dense.sweeps) <= 1
    np.testing.assert_allclose(found.sites, dense.sites, atol=1e-8)


@MOMENTS
def test_adf_is_that_of_one_hot_ids(moments: Moments) -> None:
    given = shown(400)
    own, dense = learner(Refresh.never(), moments=moments), dense_prior(correlated_prior(9))
    own.observe_many(*given)
    wide = FabCost(dense, refresh=Refresh.never(), moments=moments)
    wide.observe_many(one_hot(given), given.y)
    assert_joint(own.posterior, own.own, wide.posterior)


@pytest.mark.parametrize("window", [None, 60])
@pytest.mark.parametrize("schedule", [Refresh.geometric(1.3), Refresh.at(150, 390)])
def test_online_is_that_of_one_hot_ids(schedule: Refresh, window: int | None) -> None:
    given = shown(400)
    own = learner(schedule, most_kept=window)
    own.observe_many(*given)
    wide = FabCost(dense_prior(correlated_prior(9)), refresh=schedule, most_kept=window)
    wide.observe_many(one_hot(given), given.y)
    assert own.refreshes == wide.refreshes
    assert_joint(own.posterior, own.own, wide.posterior)


def test_kernels_and_their_twins() -> None:
    """The twins have no table: they are given one-hot ids."""
    given, prior = shown(60, 7, 4), correlated_prior(7)
    own = OwnEffects(7, TAU_SQUARED)
    owned = own.written(own.enter([*names(4), *given.items])[4:])
    X, wide = read_only(given.X), read_only(one_hot(given, 4))
    carried, sites = Carried.of(prior), Sites.flat(60)
    twin = twins.State(*(getattr(dense_prior(prior, 4), name) for name in ("mean", "covariance")))
    kernels.adf_pass(*carried, X, given.y, *sites, 0, 60, True, *owned, NO_COUNTS, None)
    twin = twins.adf_pass(twin, wide, given.y, True)
    assert_joint(carried.gaussian(), own, Gaussian(*twin), 1e-7)
    twin_sites = Sites(*(each.copy() for each in sites))
    for _ in range(2):
        skipped, factors, moved = swept(carried, X, given.y, sites, True, owned)
        twin, twin_factors = twins.ep_sweep(twin, wide, given.y, twin_sites, True)
        assert skipped == 0
        assert factors == pytest.approx(twin_factors, rel=1e-7)
    assert_joint(carried.gaussian(), own, Gaussian(*twin), 1e-6)
    dense, dense_sites = Carried.of(dense_prior(prior, 4)), Sites.flat(60)
    kernels.adf_pass(*dense, wide, given.y, *dense_sites, 0, 60, True, *PLAIN)
    for _ in range(2):
        *_, dense_moved = swept(dense, wide, given.y, dense_sites, True)
    assert moved == pytest.approx(dense_moved, rel=1e-6)
    kernels.absorb(*carried, X, -sites.precision, -sites.shift, 0, 60, *owned)
    assert_joint(carried.gaussian(), own, dense_prior(prior, 4), 1e-9)


def test_draws_have_the_joint_law() -> None:
    """θ, then each effect given θ: covariance of the scores that this gives, in closed form."""
    given, prior = shown(400), correlated_prior(9)
    found = ep.fit(prior, given.X, given.y, items=given.items, own_variance=TAU_SQUARED)
    dense = ep.fit(dense_prior(prior), one_hot(given), given.y).posterior
    assert found.own is not None
    rows, items = given.X[:ITEMS], names()
    law = found.own.law(items)
    along = (rows - law.tilt) @ found.posterior.root
    wide = np.hstack([rows, np.eye(ITEMS)])
    np.testing.assert_allclose(
        (rows - law.tilt) @ found.posterior.mean + law.offset, wide @ dense.mean, atol=1e-8
    )
    np.testing.assert_allclose(
        along @ along.T + np.diag(law.noise**2), wide @ dense.covariance @ wide.T, atol=1e-8
    )


@pytest.mark.parametrize("window", [None, 10, 64])
@pytest.mark.parametrize(
    "schedule", [Refresh.never(), Refresh.geometric(1.3), Refresh.at(7, 31)], ids=lambda s: s.kind
)
def test_one_by_one_in_batches_and_saved_between_give_the_same_bits(
    schedule: Refresh, window: int | None
) -> None:
    X, y, items = shown(150)
    single, batch, parts = (learner(schedule, most_kept=window) for _ in range(3))
    for row, label, item in zip(X, y, items, strict=True):
        single.observe(row, label, item)
    batch.observe_many(X, y, items)
    for part in np.array_split(np.arange(150), 7):
        parts.observe_many(X[part], y[part], [items[i] for i in part])
        parts = learner_file.from_bytes(learner_file.to_bytes(parts))
    assert bits(single) == bits(batch) == bits(parts)
    assert learner_file.to_bytes(single) == learner_file.to_bytes(parts)


def test_no_variance_is_a_learner_without_effects() -> None:
    X, y, items = shown(100)
    plain, asked = FabCost(correlated_prior(9)), FabCost(correlated_prior(9), own_variance=0.0)
    plain.observe_many(X, y)
    asked.observe_many(X, y, items)
    assert asked.own is None
    assert learner_file.to_bytes(plain) == learner_file.to_bytes(asked)
    assert learner_file.to_bytes(plain).startswith(b"fabcost-learner 1 ")


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("window", [None, 60])
def test_growth_is_zeros_before(block: bool, window: int | None) -> None:
    X, y, items = shown(300, 9)
    prior = correlated_prior(9)
    small, new = correlated_prior(5), correlated_prior(4, seed=8)
    fresh = new if block else Gaussian.isotropic(4, variance=2.0)
    covariance = np.zeros((9, 9))
    covariance[:5, :5], covariance[5:, 5:] = small.covariance, fresh.covariance
    prior = Gaussian(np.append(small.mean, fresh.mean), covariance)
    schedule = Refresh.geometric(1.2)
    grown = FabCost(small, refresh=schedule, own_variance=1.0, most_kept=window)
    wide = FabCost(prior, refresh=schedule, own_variance=1.0, most_kept=window)
    before = X[:100].copy()
    before[:, 5:] = 0.0
    grown.observe_many(X[:100, :5], y[:100], items[:100])
    if block:
        grown.grow(new)
    else:
        for _ in range(4):
            grown.grow(2.0)
    wide.observe_many(before, y[:100], items[:100])
    for each in (grown, wide):
        each.observe_many(X[100:], y[100:], items[100:])
    assert grown.own is not None
    assert wide.own is not None
    np.testing.assert_allclose(grown.posterior.mean, wide.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(grown.posterior.covariance, wide.posterior.covariance, atol=1e-9)
    np.testing.assert_allclose(grown.own.rows, wide.own.rows, atol=1e-9)


@pytest.mark.parametrize("window", [None, 60])
def test_forgetting_integrates_items_out(window: int | None) -> None:
    """θ and the others keep their law; afterwards it is as if a fixed factor had been there."""
    given = shown(200, 9, 6)
    forgetful = learner(Refresh.at(200, 260), most_kept=window)
    forgetful.observe_many(*given)
    before, own = forgetful.posterior, forgetful.own
    assert own is not None
    others = ["ad-1", "ad-3"]
    effects = own.effects(before, others)
    forgetful.forget(["ad-0", "ad-2", "ad-2", "never shown"])
    assert forgetful.posterior == before
    for now, then in zip(own.effects(before, others), effects, strict=True):
        np.testing.assert_array_equal(now, then)
    assert own.effects(before, ["ad-0"]).variance == pytest.approx(TAU_SQUARED)
    assert len(own) == 4
    left = sum(item not in ("ad-0", "ad-2") for item in given.items[-(window or 200) :])
    assert forgetful.sites.precision.size == left


def test_after_forgetting_a_refresh_is_ep_around_what_was_forgotten() -> None:
    """A dense computation with the forgotten items' sites as a factor of the prior."""
    given = shown(120, 9, 5)
    forgetful = learner(Refresh.at(120, 1000))
    forgetful.observe_many(*given)
    gone = np.array([item in ("ad-0", "ad-4") for item in given.items])
    prior, wide, sites = dense_prior(correlated_prior(9), 5), one_hot(given, 5), forgetful.sites
    precision = prior.precision + (wide[gone].T * sites.precision[gone]) @ wide[gone]
    shift = prior.precision @ prior.mean + wide[gone].T @ sites.shift[gone]
    kept = [*range(9), 10, 11, 12]
    covariance = np.linalg.inv(precision)
    marginal = Gaussian((covariance @ shift)[kept], covariance[np.ix_(kept, kept)])
    forgetful.forget(["ad-0", "ad-4"])
    more = shown(60, 9, 5, seed=4)
    staying = np.array([item in (None, "ad-1", "ad-2", "ad-3") for item in more.items])
    items = [item for item, stays in zip(more.items, staying, strict=True) if stays]
    forgetful.observe_many(more.X[staying], more.y[staying], items)
    forgetful.refresh()
    rows = np.vstack([wide[~gone], one_hot(more, 5)[staying]])[:, kept]
    dense = ep.fit(marginal, rows, np.append(given.y[~gone], more.y[staying])).posterior
    assert forgetful.own is not None
    np.testing.assert_allclose(forgetful.posterior.mean, dense.mean[:9], atol=1e-8)
    np.testing.assert_allclose(forgetful.posterior.covariance, dense.covariance[:9, :9], atol=1e-8)
    mean, variance = forgetful.own.effects(forgetful.posterior, ["ad-1", "ad-2", "ad-3"])
    np.testing.assert_allclose(mean, dense.mean[9:], atol=1e-8)
    np.testing.assert_allclose(variance, np.diag(dense.covariance)[9:], atol=1e-8)


@pytest.mark.parametrize("window", [None, 30])
def test_a_forgetful_learner_goes_on_after_loading(window: int | None) -> None:
    first, second = shown(100, 9, 6), shown(100, 9, 8, seed=2)
    unbroken = learner(Refresh.geometric(1.2), most_kept=window)
    unbroken.observe_many(*first)
    unbroken.forget(["ad-1", "ad-5"])
    broken = learner_file.from_bytes(learner_file.to_bytes(unbroken))
    for each in (unbroken, broken):
        each.observe_many(*second)
        each.refresh()
    assert bits(unbroken) == bits(broken)
    assert unbroken.own is not None
    assert broken.own is not None
    assert unbroken.own.keys == broken.own.keys
    assert set(unbroken.own.keys[:6]) >= {"ad-0", "ad-2", "ad-3", "ad-4"}


@pytest.mark.parametrize("own_variance", [0.0, TAU_SQUARED])
def test_another_prior_is_a_fresh_fit(own_variance: float) -> None:
    X, y, items = shown(200)
    changed = FabCost(correlated_prior(9), refresh=Refresh.at(150, 1000), own_variance=own_variance)
    changed.observe_many(X, y, items)
    other = correlated_prior(9, seed=6, scale=0.7)
    twice = learner_file.from_bytes(learner_file.to_bytes(changed))
    assert changed.replace_prior(other)
    assert twice.replace_prior(other)
    assert changed.posterior.root.tobytes() == twice.posterior.root.tobytes()
    assert changed.prior == other
    changed.refresh()
    fresh = ep.fit(other, X, y, items=items, own_variance=own_variance)
    np.testing.assert_allclose(changed.posterior.mean, fresh.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(changed.posterior.covariance, fresh.posterior.covariance, atol=1e-9)
    if changed.own is not None and fresh.own is not None:
        np.testing.assert_allclose(changed.own.rows, fresh.own.rows, atol=1e-8)


@pytest.mark.parametrize("case", ["window", "never", "forgotten"])
def test_another_prior_needs_all_impressions(case: str) -> None:
    schedule = Refresh.never() if case == "never" else Refresh.geometric()
    kept = learner(schedule, most_kept=50 if case == "window" else None)
    kept.observe_many(*shown(100))
    if case == "forgotten":
        kept.forget(["ad-3"])
    before = bits(kept)
    assert not kept.replace_prior(Gaussian.isotropic(9))
    assert bits(kept) == before
    assert kept.prior == correlated_prior(9)


def test_another_prior_that_sites_do_not_fit_changes_nothing() -> None:
    """MacKay's sites may have negative precisions, which a wide prior does not bear."""
    own = learner(Refresh.at(10_000), moments="mackay")
    own.observe_many(np.eye(1, 9).repeat(9, axis=0) * 3.0, [1] * 8 + [0], ["a"] * 9)
    assert own.sites.precision.min() < 0.0
    before = bits(own)
    precision = own._history.sites.precision
    precision[precision > 0.0] = 0.0
    assert not own.replace_prior(Gaussian.isotropic(9, variance=1e4))
    assert bits(own) == before


def test_a_reader_follows_change_by_change() -> None:
    X, y, items = shown(300, 9, 8)
    writing = learner(Refresh.at(250))
    own = writing.own
    assert own is not None
    reader = own.copy()
    sizes = []
    for row, label, item in zip(X, y, items, strict=True):
        writing.observe(row, label, item)
        changes = own.changes(reader.version)
        sizes.append(0 if changes.slots is None else changes.slots.size)
        reader.follow(changes)
        assert reader.keys == own.keys
        assert reader.rows.tobytes() == own.rows.tobytes()
    assert max(sizes[:249]) == 1
    assert sizes[249] == 8
    writing.grow(1.0)
    writing.forget(["ad-2"])
    writing.observe(np.ones(10), 1, "new")
    reader.follow(own.changes(reader.version))
    assert reader.keys == own.keys
    assert reader.rows.tobytes() == own.rows.tobytes()
    assert "ad-2" not in reader
    assert "new" in reader


def test_the_law_of_a_tuple_follows_what_is_learnt() -> None:
    """It is kept and corrected; that of a list is made anew."""
    rng = np.random.default_rng(3)
    learner = FabCost(Gaussian.isotropic(3), own_variance=1.0, refresh=Refresh.at(40, 99))
    own = learner.own
    assert own is not None
    asked = ("a", "b", "c", "a", None, "never shown")
    reader = own.copy()
    for k in range(80):
        for _ in range(int(rng.integers(1, 12))):
            item = (*asked[:4], "other", f"new {k}", None)[rng.integers(7)]
            learner.observe(rng.standard_normal(3 + (k > 50)), rng.random() < 0.3, item)
        if k == 50:
            learner.grow(1.0)
        if k == 30:
            learner.forget(["b"])
        for kept, made in zip(own.law(asked), own.law([*asked]), strict=True):
            assert kept.tobytes() == made.tobytes()
        reader.follow(own.changes(reader.version))
        for read, made in zip(reader.law(asked), own.law([*asked]), strict=True):
            assert read.tobytes() == made.tobytes()


def test_a_reader_that_is_far_behind_takes_all() -> None:
    writing = learner(Refresh.never())
    own = writing.own
    assert own is not None
    reader = own.copy()
    for seed in range(3):
        writing.observe_many(*shown(2000, seed=seed))
    changes = own.changes(reader.version)
    assert changes.slots is None
    reader.follow(changes)
    assert reader.rows.tobytes() == own.rows.tobytes()
    np.testing.assert_array_equal(reader.law(names()).tilt, own.law(names()).tilt)


def test_a_million_items_take_what_is_said() -> None:
    own = OwnEffects(15, 1.0)
    own.enter(range(1 << 20))
    assert own.rows.nbytes == len(own) * 8 * 17 == (1 << 20) * 8 * 17


@pytest.mark.parametrize("item", [1.5, True, b"ad", ("a", 1)])
def test_what_can_be_no_item_changes_nothing(item: object) -> None:
    given = shown(20)
    own = learner(Refresh.geometric())
    own.observe_many(*given)
    before = learner_file.to_bytes(own)
    with pytest.raises(ValueError, match="must be a string or an integer"):
        own.observe(given.X[0], 1, item)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be a string or an integer"):
        own.observe_many(given.X[:2], [0, 1], ["entered?", item])
    with pytest.raises(ValueError, match="there are 3 items but 2 rows"):
        own.observe_many(given.X[:2], [0, 1], ["a", "b", "c"])
    with pytest.raises(ValueError, match="y is 7"):
        own.observe(given.X[0], 7, "entered?")
    assert learner_file.to_bytes(own) == before


@pytest.mark.parametrize("variance", [-1.0, np.nan, np.inf, 1e-80])
def test_what_can_be_no_variance_is_named(variance: float) -> None:
    with pytest.raises(ValueError, match="variance of items' own effects is"):
        FabCost(Gaussian.isotropic(2), own_variance=variance)


def test_the_last_refresh_can_be_seen() -> None:
    own = learner(Refresh.at(100, 1000))
    assert own.last_refresh is None
    own.observe_many(*shown(100))
    assert own.last_refresh is not None
    assert own.last_refresh.converged
    assert own.last_refresh.sweeps > 1
    own.refresh(max_sweeps=1)
    assert own.last_refresh.sweeps == 1
