"""Rows that stand for more or less than one impression, in ADF, EP and the online learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, Refresh, Tally, kernels
from fabcost.impressions import FloatArray, Outcomes, as_outcomes, grouped, read_only
from fabcost.inference import adf, ep
from fabcost.inference.history import Carried, Sites
from fabcost.inference.saved import file
from tests.inference import twins
from tests.reference import grid_posterior
from tests.simulated import cold_start, correlated_prior


def repeated(rows: int = 400, weights: int = 4, kinds: int = 12) -> tuple[FloatArray, FloatArray]:
    """Rows of which many are equal, and their labels."""
    X, y = cold_start(rows, weights)
    return X[np.arange(rows) ** 2 % kinds], y


def some_counts(rows: int) -> FloatArray:
    rng = np.random.default_rng(2)
    return np.round(rng.exponential(size=(rows, 2)) * (5.0, 40.0), 1)


def test_adf_pass_matches_its_twin() -> None:
    X, y = cold_start(40, 5)
    counts, prior = some_counts(40), correlated_prior(5)
    carried, sites = Carried.of(prior), Sites.flat(40)
    kernels.adf_pass(
        *carried, read_only(X), y, *sites, 0, 40, True, *kernels.NO_ITEMS, counts, None
    )
    mean, covariance = prior.mean, prior.covariance
    for row, (a, b) in zip(X, counts, strict=True):
        reach = covariance @ row
        _, slope, curvature = twins.counts_site(a, b, row @ mean, row @ reach)
        mean = mean + slope * reach
        covariance = covariance - curvature * np.outer(reach, reach)
    belief = carried.gaussian()
    np.testing.assert_allclose(belief.mean, mean, atol=1e-8)
    np.testing.assert_allclose(belief.covariance, covariance, atol=1e-8)
    rebuilt = twins.absorb(twins.State(prior.mean, prior.covariance), X, *sites)
    np.testing.assert_allclose(belief.mean, rebuilt.mean, atol=1e-7)


def test_counts_of_single_impressions_have_the_bits_of_labels() -> None:
    X, y = cold_start(120, 5)
    prior, single = correlated_prior(5), Tally(y > 0, np.ones(120))
    assert ep.fit(prior, X, y).posterior == ep.fit(prior, X, single).posterior
    assert adf.fit(prior, X, y).posterior == adf.fit(prior, X, single).posterior
    plain, counted = FabCost(prior, most_kept=50), FabCost(prior, most_kept=50)
    plain.observe_many(X, y)
    counted.observe_many(X, single)
    assert plain.posterior == counted.posterior


def test_weights_of_one_are_no_weights() -> None:
    X, y = cold_start(60, 3)
    plain, weighted = (FabCost(Gaussian.isotropic(3)) for _ in range(2))
    plain.observe_many(X, y)
    weighted.observe_many(X, y, weight=np.ones(60))
    assert file.to_bytes(plain) == file.to_bytes(weighted)


def test_groups_are_the_distinct_rows_with_their_counts() -> None:
    X, y = repeated()
    X[3] = -0.0 * X[3]  # rows of zeros of either sign are equal
    X[4] = 0.0
    rows, outcomes, _ = grouped(X, Outcomes(y))
    distinct, group = np.unique(X + 0.0, axis=0, return_inverse=True)
    assert outcomes.counts is not None
    expected = {
        row.tobytes(): (int(np.sum(y[group == k] > 0)), int(np.sum(y[group == k] < 0)))
        for k, row in enumerate(distinct)
    }
    found = {
        (row + 0.0).tobytes(): (int(a), int(b))
        for row, (a, b) in zip(np.asarray(rows), outcomes.counts, strict=True)
    }
    assert found == expected
    doubled = grouped(X, as_outcomes(y, 2.0, len(y)))[1].counts
    np.testing.assert_array_equal(doubled, 2.0 * outcomes.counts)


def test_one_group_alone_is_the_posterior_itself() -> None:
    """With one row only, EP's single visit is exact, where copies of a site are not."""
    prior = Gaussian([0.3, -0.2], [[2.0, 0.4], [0.4, 1.0]])
    X = np.tile([1.0, 0.5], (30, 1))
    y = np.where(np.arange(30) < 4, 1.0, -1.0)
    mean, covariance, evidence = grid_posterior(prior.mean, prior.covariance, X, y)
    found = ep.fit(prior, X, y, group=True)
    np.testing.assert_allclose(found.posterior.mean, mean, atol=1e-7)
    np.testing.assert_allclose(found.posterior.covariance, covariance, atol=1e-7)
    np.testing.assert_allclose(found.log_evidence, evidence, atol=1e-6)
    copies = ep.fit(prior, X, y)
    assert abs(copies.posterior.mean - mean).max() > 1e-4


def test_groups_are_nearer_to_the_posterior_than_copies() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(5, 2))[rng.integers(5, size=60)]
    y = np.where(rng.random(60) < 0.2, 1.0, -1.0)
    prior = Gaussian.isotropic(2, variance=4.0)
    mean, covariance, evidence = grid_posterior(prior.mean, prior.covariance, X, y)
    copies, groups = ep.fit(prior, X, y), ep.fit(prior, X, y, group=True)
    for of in ("mean", "covariance"):
        truth = mean if of == "mean" else covariance
        away, further = (
            np.abs(getattr(found.posterior, of) - truth).max() for found in (groups, copies)
        )
        assert away < further
    assert abs(groups.log_evidence - evidence) < abs(copies.log_evidence - evidence)


def test_weights_counts_and_groups_are_one_thing() -> None:
    X, y = repeated()
    prior = correlated_prior(4)
    rows, outcomes, _ = grouped(X, Outcomes(y))
    counts = outcomes.counts
    assert counts is not None
    whole = ep.fit(prior, X, y, group=True)
    given = ep.fit(prior, rows, Tally(counts[:, 0], counts.sum(axis=1)))
    assert whole.posterior == given.posterior
    parts = ep.fit(prior, np.vstack([X, X]), np.append(y, y), weight=0.5, group=True)
    assert parts.posterior == whole.posterior
    assert whole.sites.precision.size == len(rows)


def test_order_and_zero_weights_do_not_matter_to_ep() -> None:
    X, y = cold_start(80, 4)
    prior, weight = correlated_prior(4), np.arange(80) % 5 * 0.7
    whole, kept = ep.fit(prior, X, y, weight=weight), weight > 0
    some = ep.fit(prior, X[kept][::-1], y[kept][::-1], weight=weight[kept][::-1])
    np.testing.assert_allclose(whole.posterior.mean, some.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(whole.posterior.covariance, some.posterior.covariance, atol=1e-9)
    np.testing.assert_allclose(whole.log_evidence, some.log_evidence, atol=1e-8)


@pytest.mark.parametrize("own_variance", [0.0, 1.5])
def test_batches_single_rows_and_files_have_the_same_bits(own_variance: float) -> None:
    X, _ = cold_start(90, 3)
    counts = some_counts(90)
    items = [f"ad-{k % 7}" for k in range(90)] if own_variance else [None] * 90

    def learner() -> FabCost:
        return FabCost(Gaussian.isotropic(3), most_kept=40, own_variance=own_variance)

    def given(part: slice) -> tuple[Any, Tally, Any]:
        return X[part], Tally(counts[part, 0], counts[part].sum(axis=1)), items[part]

    at_once, in_sevens, one_by_one = learner(), learner(), learner()
    at_once.observe_many(*given(slice(None)))
    for start in range(0, 90, 7):
        in_sevens.observe_many(*given(slice(start, start + 7)))
        in_sevens = file.from_bytes(file.to_bytes(in_sevens))
    for i in range(90):
        one_by_one.observe(X[i], Tally(counts[i, 0], counts[i].sum()), items[i])
    assert file.to_bytes(at_once) == file.to_bytes(in_sevens) == file.to_bytes(one_by_one)


def test_a_refreshed_learner_is_ep() -> None:
    X, y = cold_start(90, 3)
    weight = some_counts(90)[:, 0] + 0.1
    learner = FabCost(correlated_prior(3), refresh=Refresh.at(10**6))
    learner.observe_many(X[:30], y[:30])  # single impressions first
    learner.observe_many(X[30:], y[30:], weight=weight[30:])
    learner.refresh()
    weight[:30] = 1.0
    expected = ep.fit(correlated_prior(3), X, y, weight=weight)
    np.testing.assert_allclose(learner.posterior.mean, expected.posterior.mean, atol=1e-9)
    np.testing.assert_allclose(
        learner.posterior.covariance, expected.posterior.covariance, atol=1e-9
    )


def test_own_effects_take_counts() -> None:
    """Items as indicators in the rows, with the effects' variance as prior: the same model."""
    X, y = cold_start(80, 2)
    items = [f"ad-{k % 4}" for k in range(80)]
    wide = np.column_stack([X, np.eye(4)[np.arange(80) % 4]])
    weight = some_counts(80)[:, 1]
    prior = Gaussian.isotropic(2, variance=4.0)
    joint = Gaussian(np.zeros(6), np.diag([4.0, 4.0, 1.5, 1.5, 1.5, 1.5]))
    own = ep.fit(prior, X, y, weight=weight, items=items, own_variance=1.5)
    expected = ep.fit(joint, wide, y, weight=weight)
    np.testing.assert_allclose(own.posterior.mean, expected.posterior.mean[:2], atol=1e-8)
    np.testing.assert_allclose(own.log_evidence, expected.log_evidence, atol=1e-7)
    merged = ep.fit(
        prior,
        np.vstack([X, X]),
        np.append(y, y),
        weight=np.append(weight, weight) / 2,
        items=items * 2,
        own_variance=1.5,
        group=True,
    )
    np.testing.assert_allclose(merged.posterior.mean, own.posterior.mean, atol=1e-8)
    assert merged.sites.shift.size == 80


def test_forgotten_items_take_their_counts_with_them() -> None:
    X, y = cold_start(30, 2)
    learner = FabCost(Gaussian.isotropic(2), own_variance=1.0)
    items = [f"ad-{k % 3}" for k in range(30)]
    learner.observe_many(X, y, items, weight=np.arange(30) + 1.0)
    learner.forget(["ad-1"])
    _, arrays = learner.state()
    np.testing.assert_array_equal(
        arrays["counts"].sum(axis=1), [k + 1 for k in range(30) if k % 3 != 1]
    )
    learner.refresh()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"weight": [1.0, -1.0]}, r"weight contains -1.0 but must be from 0 to 1e\+09"),
        ({"weight": [1.0, np.nan]}, "weight contains nan"),
        ({"weight": [1.0]}, r"weight has shape \(1,\) but X has 2 rows"),
        ({"y": Tally([1, 3], [2, 2])}, "row 1 has 3.0 clicks .* its 2.0 impressions"),
        ({"y": Tally([1], [2, 2])}, "clicks has shape"),
        ({"weight": "heavy"}, "weight must contain numbers only"),
    ],
)
def test_bad_weights_are_named_and_change_nothing(given: dict[str, Any], complaint: str) -> None:
    X, prior = np.eye(2), Gaussian.isotropic(2)
    given = {"y": [0, 1], **given}
    learner = FabCost(prior)
    for learn in (learner.observe_many, lambda X, **g: ep.fit(prior, X, **g)):
        with pytest.raises(ValueError, match=complaint):
            learn(X, **given)
    assert learner.seen == 0
    assert learner.posterior == prior


def test_the_papers_moments_refuse_weights() -> None:
    prior = Gaussian.isotropic(2)
    learner = FabCost(prior, moments="mackay")
    for learn in (
        lambda: learner.observe([1.0, 0.0], 1, weight=2.0),
        lambda: ep.fit(prior, np.eye(2), [0, 1], weight=2.0, moments="mackay"),
        lambda: adf.fit(prior, np.eye(2), [0, 1], weight=2.0, moments="mackay"),
        lambda: ep.fit(prior, np.eye(2), [0, 1], group=True, moments="mackay"),
    ):
        with pytest.raises(ValueError, match="need 'exact'"):
            learn()
    assert learner.seen == 0


def test_a_damaged_file_is_refused() -> None:
    learner = FabCost(Gaussian.isotropic(1))
    learner.observe([1.0], 1, weight=3.0)
    settings, arrays = learner.state()
    with pytest.raises(ValueError, match="counts contains -3.0"):
        FabCost.restored(settings, {**arrays, "counts": -arrays["counts"]})
    with pytest.raises(ValueError, match="counts has shape"):
        FabCost.restored(settings, {**arrays, "counts": arrays["counts"][:, :1]})
