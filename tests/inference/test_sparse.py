"""Sparse rows with the full belief: the kernels beside their dense forms and plain twins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_matrix, csr_array

from fabcost import FabCost, Gaussian, Refresh, Tally, kernels
from fabcost.impressions import FloatArray, Outcomes, grouped, read_only
from fabcost.inference import adf, ep, laplace, passes
from fabcost.inference.history import Carried, History, Pass, Sites
from fabcost.inference.passes import Sweeping
from fabcost.inference.saved import file as learner_file
from fabcost.inference.sparse import memory
from fabcost.inference.sparse.covariance import CovarianceSweep, covariance_of
from fabcost.inference.sparse.memory import SparseStore
from fabcost.inference.sparse.parallel import sweep_sparse
from fabcost.kernels import NO_COUNTS, NO_ITEMS
from fabcost.sparse import as_sparse
from tests.inference import twins
from tests.inference.calls import PLAIN, swept
from tests.simulated import correlated_prior

#: Around the width of lanes, pairs of lanes and tiles, and of roots that are walked by rows.
WEIGHTS = (1, 7, 8, 17, 31, 130)
each_size = pytest.mark.parametrize("weights", WEIGHTS)
ROWS = 60


def data(weights: int, rows: int = ROWS, *, share: float = 0.3) -> tuple[FloatArray, FloatArray]:
    """Rows of which most numbers are zero, some with a sign, and one that is empty."""
    rng = np.random.default_rng(weights)
    X = rng.normal(size=(rows, weights)) * (rng.random((rows, weights)) < share)
    X[rows // 2] = 0.0
    X[0] = rng.normal(size=weights)
    X[1, 0] = -0.0
    return read_only(X), np.where(rng.random(rows) < 0.4, 1.0, -1.0)


def same_bits(a: Any, b: Any) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def counts_of(rows: int) -> FloatArray:
    return np.random.default_rng(3).integers(0, 5, size=(rows, 2)).astype(float)


@each_size
@pytest.mark.parametrize("exact", [True, False])
def test_adf_has_the_bits_of_dense_rows(weights: int, exact: bool) -> None:
    X, y = data(weights)
    prior = correlated_prior(weights)
    dense, sparse = Carried.of(prior), Carried.of(prior)
    sites, others = Sites.flat(ROWS), Sites.flat(ROWS)
    rows = as_sparse(X, weights)
    skipped = kernels.adf_pass(*dense, X, y, *sites, 3, ROWS, exact, *PLAIN)
    found = kernels.sparse_adf_pass(*sparse, *rows.arrays, y, *others, 3, ROWS, exact, NO_COUNTS)
    assert found == skipped
    assert same_bits((*dense, *sites), (*sparse, *others))
    some = 3 + np.flatnonzero(X[3:].any(axis=1))  # the twin divides by the variance of a row
    twin = twins.adf_pass(twins.State(prior.mean, prior.covariance), X[some], y[some], exact)
    np.testing.assert_allclose(sparse.mean, twin.mean, atol=1e-8)
    np.testing.assert_allclose(sparse.gaussian().covariance, twin.covariance, atol=1e-8)


@each_size
def test_other_passes_have_the_bits_of_dense_rows(weights: int) -> None:
    X, y = data(weights)
    prior, rows, counts = correlated_prior(weights), as_sparse(X, weights), counts_of(ROWS)
    rng = np.random.default_rng(5)
    known = Sites(rng.uniform(0, 0.25, ROWS), rng.normal(size=ROWS))
    dense, sparse = Carried.of(prior), Carried.of(prior)
    kernels.absorb(*dense, X, *known, 0, ROWS, *NO_ITEMS)
    kernels.sparse_absorb(*sparse, *rows.arrays, *known, 0, ROWS)
    assert same_bits(dense, sparse)
    sites, others = (Sites(*(each.copy() for each in known)) for _ in range(2))
    kernels.adf_pass(*dense, X, y, *sites, 0, ROWS, True, *NO_ITEMS, counts, None)
    kernels.sparse_adf_pass(*sparse, *rows.arrays, y, *others, 0, ROWS, True, counts)
    assert same_bits((*dense, *sites), (*sparse, *others))
    belief = dense.gaussian()
    assert same_bits(belief.marginal(X), belief.marginal(rows))
    assert same_bits([belief.predict(X)], [belief.predict(csr_array(X))])


@each_size
@pytest.mark.parametrize("exact", [True, False])
def test_sweep_by_covariance(weights: int, exact: bool) -> None:
    """Beside the twin, and the sweep that keeps a root; more rows than are pending at once."""
    X, y = data(weights, 100)
    prior, rows = correlated_prior(weights), as_sparse(X, weights)
    by_root, by_covariance = Carried.of(prior), Carried.of(prior)
    sites, others = Sites.flat(100), Sites.flat(100)
    twin = twins.State(prior.mean, prior.covariance)
    for _ in range(2):
        _, factors, move = swept(by_root, X, y, sites, exact)
        sweep = CovarianceSweep(by_covariance, others)
        assert sweep.go_on(by_covariance, Pass(rows, y, others, 0, 100), None, exact=exact)
        assert sweep.found is not None
        skipped, found, moved = sweep.found
        assert skipped == 0
        assert found == pytest.approx(factors, rel=1e-11)
        assert 0.1 * move < moved < 10.0 * move
        np.testing.assert_array_equal(by_covariance.root, np.tril(by_covariance.root))
    if weights < 20:
        filled = X.any(axis=1)  # the twin divides by the variance of a row
        flat = Sites.flat(int(filled.sum()))
        for _ in range(2):
            twin, _ = twins.ep_sweep(twin, X[filled], y[filled], flat, exact)
        np.testing.assert_allclose(by_covariance.mean, twin.mean, atol=1e-6)
    np.testing.assert_allclose(by_covariance.mean, by_root.mean, atol=1e-11)
    expected = by_root.gaussian().covariance
    np.testing.assert_allclose(by_covariance.gaussian().covariance, expected, atol=1e-11)
    np.testing.assert_allclose(others, sites, atol=1e-10)


@each_size
def test_covariance_and_its_factor_in_parts(weights: int) -> None:
    """Eights of rows and columns, in any parts, beside NumPy; with what they are solved for."""
    prior, rng = correlated_prior(weights), np.random.default_rng(weights)
    root = Carried.of(prior).root
    width = root.shape[1]
    panels, covariance = np.zeros((width, width)), np.zeros((width, width))
    parts = [*range(0, width, 16), width]
    for first, last in pairwise(parts):
        kernels.covariance_rows(root, panels, covariance, first, last)
    np.testing.assert_array_equal(covariance, covariance.T)
    np.testing.assert_allclose(covariance[:weights, :weights], root @ root.T, atol=1e-12)
    assert same_bits([covariance], [covariance_of(root)])
    away, moves = np.zeros(width), np.zeros(width)
    away[:weights] = rng.normal(size=weights)
    right = away[:weights].copy()
    for first, last in pairwise(parts):
        assert kernels.factor_columns(covariance, panels, away, moves, weights, first, last)
    low = np.linalg.cholesky(root @ root.T)
    np.testing.assert_allclose(moves[:weights], np.linalg.solve(low, right), atol=1e-8)
    for first, last in pairwise(parts):
        kernels.fill_rows(panels, root, first, last)
    np.testing.assert_allclose(root[:, :weights], low, atol=1e-10)
    assert not root[:, weights:].any()
    wrong = np.diag(np.where(np.arange(width) == weights - 1, -1.0, 1.0))
    assert not kernels.factor_columns(wrong, panels, away, moves, weights, 0, width)


@pytest.mark.parametrize("counts", [None, counts_of(100)])
def test_parts_of_a_sweep_are_the_whole(counts: FloatArray | None) -> None:
    """Whatever was done when: each visit, and all that comes before and after them."""
    weights, rows = 31, 100
    X, y = data(weights, rows)
    given, prior = as_sparse(X, weights), correlated_prior(weights)
    ends = []
    for size in (1, 7, 33, rows):
        belief, sites = Carried.of(prior), Sites.flat(rows)
        sweep = CovarianceSweep(belief, sites)
        for done in (*range(size, rows, size), rows):
            assert sweep.found is None
            over = Pass(given, y, sites, 0, done, None, counts)
            assert sweep.go_on(belief, over, None, exact=True)
        assert sweep.found is not None
        ends.append([*belief, *sites, np.array(sweep.found)])
    assert all(same_bits(ends[0], other) for other in ends[1:])


@each_size
def test_sums_over_rows(weights: int) -> None:
    X, _ = data(weights)
    rows, weight = as_sparse(X, weights), np.random.default_rng(1).normal(size=ROWS)
    gram = kernels.sparse_gram(*rows.arrays, weight, weights)
    np.testing.assert_allclose(gram, (X.T * weight) @ X, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(rows.sum(weight), X.T @ weight, atol=1e-12)


def one_hot(rows: int, blocks: int = 4, levels: int = 6) -> tuple[FloatArray, FloatArray]:
    """A constant and blocks of which each has one 1."""
    rng = np.random.default_rng(rows)
    X = np.zeros((rows, 1 + blocks * levels))
    X[:, 0] = 1.0
    for block in range(blocks):
        X[np.arange(rows), 1 + block * levels + rng.integers(levels, size=rows)] = 1.0
    return X, (rng.random(rows) < 0.3).astype(float)


def assert_near(found: Gaussian, expected: Gaussian, tolerance: float = 1e-10) -> None:
    """Means in sds, covariances as if all sds were one."""
    sd = expected.sd
    assert np.abs((found.mean - expected.mean) / sd).max() < tolerance
    assert np.abs((found.covariance - expected.covariance) / np.outer(sd, sd)).max() < tolerance


@pytest.mark.parametrize("weight", [None, 2.5])
def test_fits_are_those_of_dense_rows(weight: float | None) -> None:
    X, y = one_hot(300)
    prior = Gaussian.isotropic(X.shape[1], variance=2.0)
    for given in (csr_array(X), csc_matrix(X), as_sparse(X, X.shape[1])):
        filtered = adf.fit(prior, given, y, weight=weight).posterior
        assert same_bits([filtered.root], [adf.fit(prior, X, y, weight=weight).posterior.root])
        found, expected = (ep.fit(prior, rows, y, weight=weight) for rows in (given, X))
        assert_near(found.posterior, expected.posterior)
        assert found.converged
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)
        mode, dense_mode = (laplace.fit(prior, rows, y, weight=weight) for rows in (given, X))
        assert_near(mode.posterior, dense_mode.posterior)
        assert mode.log_evidence == pytest.approx(dense_mode.log_evidence, rel=1e-12)


def test_one_row_and_online_laplace() -> None:
    X, y = one_hot(20)
    belief = dense = Gaussian.isotropic(X.shape[1])
    for row, label in zip(X, y, strict=True):
        belief = laplace.update(belief, csr_array(row[None]), [label])
        dense = laplace.update(dense, row[None], [label])
    assert same_bits([belief.mean, belief.root], [dense.mean, dense.root])


def test_equal_rows_are_one() -> None:
    X, y = one_hot(200, blocks=2, levels=3)
    labels = np.where(y > 0, 1.0, -1.0)
    rows, outcomes, _ = grouped(as_sparse(X, X.shape[1]), Outcomes(labels))
    dense, expected, _ = grouped(X, Outcomes(labels))
    np.testing.assert_array_equal(np.asarray(rows), dense)
    np.testing.assert_array_equal(outcomes.counts, expected.counts)
    prior = Gaussian.isotropic(X.shape[1])
    found = ep.fit(prior, csr_array(X), y, group=True)
    assert found.sites.precision.size == 9
    assert_near(found.posterior, ep.fit(prior, X, y, group=True).posterior)


def test_where_rounding_would_show_the_root_is_kept() -> None:
    """Two columns that nearly cancel under a wide prior: the covariance has lost such variances."""
    rng = np.random.default_rng(1)
    X, y = np.ones((40, 2)), (rng.random(40) < 0.5).astype(float)
    X[:, 1] = -1.0 + 1e-6 * rng.normal(size=40)
    prior = Gaussian([0.0, 0.0], 1e8 * np.array([[1.0, 1.0 - 1e-10], [1.0 - 1e-10, 1.0]]))
    rows, labels = as_sparse(X, 2), np.where(y > 0, 1.0, -1.0)
    dense, sparse, sites, others = (
        Carried.of(prior),
        Carried.of(prior),
        *(Sites.flat(40) for _ in range(2)),
    )
    expected = swept(dense, read_only(X), labels, sites, True)
    sweeps = Sweeping(40, 8, tolerance=1e-10, max_sweeps=1)
    while sweeps.swept is None:
        sweeps.visit(sparse, Pass(rows, labels, others, sweeps.at, 40), exact=True)
    assert (0, sweeps.swept.log_factors, sweeps.moved) == expected
    assert same_bits((*dense, *sites), (*sparse, *others))
    assert sweeps.visits == 80


def test_sites_matched_at_once_end_where_visits_do() -> None:
    """And where parallel EP would not come to rest, visits go on one after the other."""
    X, y = one_hot(120)
    rows, labels = as_sparse(X, X.shape[1]), np.where(y > 0, 1.0, -1.0)
    for variance in (0.1, 1.0, 100.0, 1e6):
        prior = Gaussian.isotropic(X.shape[1], variance=variance)
        expected = ep.fit(prior, X, y)
        belief, sites = Carried.of(prior), Sites.flat(120)
        found = sweep_sparse(
            belief, rows, labels, sites, True, None, tolerance=1e-10, max_sweeps=300
        )
        assert found.converged == expected.converged
        assert_near(belief.gaussian(), expected.posterior, 3e-9)
        rebuilt = Carried.of(prior)
        kernels.absorb(*rebuilt, read_only(X), *sites, 0, 120, *NO_ITEMS)
        assert_near(rebuilt.gaussian(), belief.gaussian(), 1e-8)


def test_inverse() -> None:
    for weights in WEIGHTS:
        covariance = correlated_prior(weights).covariance.copy()
        low, _ = kernels.cholesky(covariance)
        solved, inverse = kernels.inverse_of(low)
        np.testing.assert_allclose(solved[:weights, :weights], np.linalg.inv(low), atol=1e-9)
        expected = np.linalg.inv(covariance)
        np.testing.assert_allclose(inverse[:weights, :weights], expected, rtol=1e-8, atol=1e-9)


@each_size
def test_match_is_a_sweep_that_leaves_the_belief(weights: int) -> None:
    X, y = data(weights)
    X = X[X.any(axis=1)]
    y, rows, belief = y[: len(X)], as_sparse(X, weights), correlated_prior(weights)
    sites, expected = Sites.flat(len(X)), Sites.flat(len(X))
    law = belief.mean.copy(), belief.covariance.copy()
    given = (*law, *rows.arrays, y, *sites, True, NO_COUNTS)
    assert kernels.sparse_match(*given)[0] == 0
    for i, row in enumerate(X):
        centre, variance = belief.marginal(row)
        _, slope, curvature = twins.site(float(y[i] * centre), float(variance), True)
        kept = 1.0 - variance * curvature
        expected.precision[i] = curvature / kept
        expected.shift[i] = (y[i] * slope + centre * curvature) / kept
    np.testing.assert_allclose(sites, expected, rtol=1e-5, atol=1e-6)


def learnt(X: FloatArray, y: FloatArray, batch: int, *, saved: bool = False, **how: Any) -> FabCost:
    learner = FabCost(Gaussian.isotropic(X.shape[1]), **how)
    for start in range(0, len(y), batch):
        part = slice(start, start + batch)
        learner.observe_many(csr_array(X[part]), y[part])
        if saved:
            learner = learner_file.from_bytes(learner_file.to_bytes(learner))
    return learner


@pytest.mark.parametrize(
    "how", [{}, {"most_kept": 70}, {"refresh": Refresh.never()}, {"half_life": 60.0}]
)
def test_learner_is_that_of_dense_rows(how: dict[str, Any]) -> None:
    """And has the same bits however rows come, saved and loaded in between or not."""
    X, y = one_hot(250)
    learner = learnt(X, y, 250, **how)
    dense = FabCost(Gaussian.isotropic(X.shape[1]), **how)
    dense.observe_many(X, y)
    assert_near(learner.posterior, dense.posterior)
    assert (learner.kept, learner.refreshes) == (dense.kept, dense.refreshes)
    np.testing.assert_allclose(learner.sites, dense.sites, atol=1e-11)
    for batch, saved in ((7, False), (1, False), (40, True)):
        other = learnt(X, y, batch, saved=saved, **how)
        assert learner_file.to_bytes(other) == learner_file.to_bytes(learner)


@pytest.mark.parametrize("least", [2, 10**9])
@pytest.mark.parametrize("most_work", [4 * 625, 20 * 625])
@pytest.mark.parametrize("how", [{}, {"most_kept": 60}, {"half_life": 400.0}])
def test_refreshes_are_spread(
    least: int, most_work: int, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When those of dense rows are; each as if it were made at once when it begins."""
    monkeypatch.setattr(passes, "LARGE", least)
    X, y = one_hot(250)
    learner = FabCost(Gaussian.isotropic(25), most_work=most_work, **how)
    dense = FabCost(Gaussian.isotropic(25), most_work=most_work, **how)
    begun, under_way = set(), 0
    for x, label in zip(X, y, strict=True):
        refreshes, was_under_way = learner.refreshes, learner.refreshing
        learner.observe(csr_array(x[None]), label)
        dense.observe(x, label)
        assert (learner.refreshing, learner.refreshes) == (dense.refreshing, dense.refreshes)
        if learner._refreshing is not None:
            begun.add(learner._refreshing.begun)
        elif not was_under_way and learner.refreshes > refreshes:
            begun.add(learner.seen)
        under_way += learner.refreshing
    assert under_way > 20
    assert_near(learner.posterior, dense.posterior)
    at_once = Refresh.at(*begun, 10**6, max_sweeps=1)
    whole = learnt(X, y, 1, refresh=at_once, most_work=None, **how)
    batches = learnt(X, y, 60, most_work=most_work, **how)
    saved = learnt(X, y, 40, saved=True, most_work=most_work, **how)
    for other in (batches, saved):
        assert other.refreshing == learner.refreshing
        assert same_bits(other.posterior.root, learner.posterior.root)
    for each in (learner, batches, saved):
        each.finish()
        assert same_bits([*each.posterior.root, *each.sites], [*whole.posterior.root, *whole.sites])


def test_learner_takes_sparse_rows_one_by_one_and_beside_dense_ones() -> None:
    X, y = one_hot(60)
    learner = FabCost(Gaussian.isotropic(X.shape[1]))
    learner.observe_many(X[:20], y[:20])
    for row, label in zip(X[20:40], y[20:40], strict=True):
        learner.observe(coo_array(row[None]), label)
    for row, label in zip(X[40:], y[40:], strict=True):
        learner.observe(row, label)
    learner.observe(as_sparse(X[:1], X.shape[1]), Tally(2, 3))
    learner.refresh()
    dense = FabCost(Gaussian.isotropic(X.shape[1]))
    dense.observe_many(X, y)
    dense.observe(X[0], Tally(2, 3))
    dense.refresh()
    assert_near(learner.posterior, dense.posterior)
    assert learner.kept == 61


def test_items_with_effects_have_dense_rows() -> None:
    X, y = one_hot(50)
    items = [k % 5 for k in range(50)]
    beliefs = []
    for rows in (X, csr_array(X)):
        learner = FabCost(Gaussian.isotropic(X.shape[1]), own_variance=1.0)
        learner.observe_many(rows, y, items)
        beliefs.append(learner.posterior)
        fitted = ep.fit(learner.prior, rows, y, items=items, own_variance=1.0)
        beliefs.append(fitted.posterior)
    assert same_bits([beliefs[0].root, beliefs[1].root], [beliefs[2].root, beliefs[3].root])


def test_grown_learner_and_another_prior() -> None:
    X, y = one_hot(80)
    learner, dense = (FabCost(Gaussian.isotropic(X.shape[1])) for _ in range(2))
    wider = np.column_stack([X, np.arange(80.0) % 3])
    prior = Gaussian.isotropic(X.shape[1] + 1, variance=3.0)
    for each, first, then in (
        (learner, csr_array(X), csr_array(wider)),
        (dense, X, wider),
    ):
        each.observe_many(first, y)
        each.grow(1.0)
        each.observe_many(then, y)
        assert each.replace_prior(prior)
    assert_near(learner.posterior, dense.posterior)


def test_bad_rows_change_nothing() -> None:
    learner = FabCost(Gaussian.isotropic(3))
    learner.observe_many(csr_array(np.eye(3)), [1, 0, 1])
    before = learner_file.to_bytes(learner)
    with pytest.raises(ValueError, match="4 columns but the prior has 3"):
        learner.observe_many(csr_array(np.eye(4)), [1, 0, 1, 0])
    with pytest.raises(ValueError, match="a value is nan"):
        learner.observe_many(csr_array([[1.0, np.nan, 0.0]]), [1])
    with pytest.raises(ValueError, match=r"y has shape \(2,\) but X has 1 rows"):
        learner.observe_many(csr_array([[1.0, 0.0, 0.0]]), [1, 0])
    assert learner_file.to_bytes(learner) == before


@pytest.mark.parametrize("spoil", ["row_starts", "row_columns", "row_values"])
def test_spoilt_sparse_history_is_refused(spoil: str) -> None:
    X, y = one_hot(9)
    learner = learnt(X, y, 9)
    settings, arrays = learner.state()
    FabCost.restored(settings, arrays)
    with pytest.raises(ValueError, match=spoil):
        FabCost.restored(settings, {k: v for k, v in arrays.items() if k != spoil})
    wrong = arrays[spoil].copy()
    wrong[-1] = 10**6 if spoil != "row_values" else np.nan
    with pytest.raises(ValueError, match=r"starts|column|row_values"):
        FabCost.restored(settings, {**arrays, spoil: wrong})


def test_store_is_a_table_of_rows() -> None:
    """Random writes, moves and growth beside an array."""
    rng = np.random.default_rng(7)
    store, table = SparseStore(10), np.zeros((10, 5))
    for _ in range(300):
        many = int(rng.integers(1, 4))
        slot = int(rng.integers(0, len(table) - many + 1))
        rows = rng.normal(size=(many, 5)) * (rng.random((many, 5)) < 0.5)
        store.write(slot, as_sparse(rows, 5))
        table[slot : slot + many] = rows
        if rng.random() < 0.1:
            order = rng.permutation(len(table))[: rng.integers(1, len(table))]
            store.reorder(order, 5)
            table[: order.size], table[order.size :] = table[order], 0.0
        if rng.random() < 0.02:
            store.grow(len(table) + 3)
            table = np.concatenate([table, np.zeros((3, 5))])
        start = int(rng.integers(0, len(table)))
        np.testing.assert_array_equal(store.between(start, len(table), 5).dense(), table[start:])
    assert store.nbytes < 40_000


def test_memory_is_that_of_non_zeros() -> None:
    """Of 401 numbers 21 are not zero, and each of these needs 16 bytes."""
    X, y = one_hot(1000, blocks=20, levels=20)
    history = History(X.shape[1], None)
    for start in range(0, 1000, 8):
        history.room()
        history.append(as_sparse(X[start : start + 8], X.shape[1]), y[start : start + 8], 8)
    assert history.rows.sparse is not None
    assert history.rows.X.nbytes == 0
    assert 21 * 16 * 1000 < history.rows.sparse.nbytes < 3 * 21 * 16 * 1000
    np.testing.assert_array_equal(np.asarray(history.kept()[0]), X)


def lived(least: int, how: dict[str, Any], *, sparse: bool = False) -> FabCost:
    """A learner with a past of all kinds, whose rows leave their zeros from some width on."""
    rng = np.random.default_rng(2)
    X = np.eye(30)[rng.integers(0, 30, 400)] + np.eye(30)[rng.integers(0, 30, 400)]
    y, items = rng.random(400) < 0.4, rng.integers(0, 9, 400).tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LARGE", least)
        learner = FabCost(Gaussian.isotropic(24, variance=4.0), **how)
        X[:150, 24:] = 0.0
        learner.observe_many(X[:70, :24], y[:70], items[:70])
        for row, click, item in zip(X[70:90, :24], y[70:90], items[70:90], strict=True):
            learner.observe(as_sparse(row, 24) if sparse else row, click, item)
        learner.observe_many(X[90:150, :24], y[90:150], items[90:150], weight=rng.random(60))
        learner.grow(2.0, 6)
        learner.forget([3])
        learner.observe_many(X[150:300], y[150:300], items[150:300])
        learner.replace_prior(Gaussian.isotropic(30, variance=9.0))
        learner = FabCost.restored(*learner.state())
        learner.observe_many(as_sparse(X[300:], 30) if sparse else X[300:], y[300:], items[300:])
        learner.refresh(max_sweeps=2)
    return learner


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"own_variance": 1.0},
        {"own_variance": 1.0, "most_kept": 100},
        {"half_life": 2000.0, "own_variance": 0.5},
        {"most_work": 20_000},
    ],
    ids=str,
)
def test_rows_that_leave_their_zeros_are_learnt_with_the_same_bits(how: dict[str, Any]) -> None:
    thin, full = lived(8, how), lived(10**9, how)
    assert thin._history.rows.X.nbytes == 0 < full._history.rows.X.nbytes
    assert same_bits(thin._belief, full._belief)
    assert same_bits(thin.sites, full.sites)
    if thin.own is not None and full.own is not None:
        assert same_bits([thin.own.rows], [full.own.rows])
        given_sparse = lived(10**9, how, sparse=True)
        assert given_sparse._history.rows.X.nbytes == 0
        assert same_bits((*given_sparse._belief, *given_sparse.sites), (*full._belief, *full.sites))


def test_effects_of_items_are_fitted_on_sparse_rows() -> None:
    X, y = one_hot(700, blocks=2, levels=9)
    items, given = [f"ad-{i % 7}" for i in range(700)], Gaussian.isotropic(X.shape[1])
    dense = ep.fit(given, X, y, items=items, own_variance=1.0)
    sparse = ep.fit(given, csr_array(X), y, items=items, own_variance=1.0)
    assert same_bits(*((each.posterior.mean, each.posterior.root) for each in (dense, sparse)))
    assert sparse.log_evidence == pytest.approx(dense.log_evidence, abs=1e-9)
