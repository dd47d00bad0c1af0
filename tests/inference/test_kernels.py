from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from fabcost import Gaussian, kernels
from fabcost.inference.history import Carried, Sites
from fabcost.kernels import NO_ITEMS
from tests.inference import twins
from tests.inference.calls import PLAIN, swept
from tests.simulated import correlated_prior
from tests.simulated import given_rows as cold_start

EXACT = pytest.mark.parametrize("exact", [True, False])


def carried_and_twin(weights: int = 5) -> tuple[Carried, twins.State]:
    prior = correlated_prior(weights)
    return Carried.of(prior), twins.State(prior.mean, prior.covariance)


def assert_same(carried: Carried, twin: twins.State, tolerance: float = 1e-9) -> None:
    belief = carried.gaussian()
    np.testing.assert_allclose(belief.mean, twin.mean, atol=tolerance)
    np.testing.assert_allclose(belief.covariance, twin.covariance, atol=tolerance)


def largest_move(before: Gaussian, after: Gaussian) -> float:
    """Along the direction that moved most, in sds of ``after``, by eigenvalues."""
    ratio = np.linalg.solve(after.root, before.root)
    widths = np.linalg.eigvalsh(ratio @ ratio.T)
    return max(float(np.linalg.norm(after.whiten(before.mean))), 0.5 * float(abs(widths - 1).max()))


@EXACT
def test_sites_over_rows(exact: bool) -> None:
    margins = np.array([-30.0, -8.0, -1.0, 0.0, 2.0, 30.0])
    for sd in (0.01, 0.5, 3.0, 8.0, 20.0):
        rows = kernels.sites_over_rows(margins, np.full(6, sd**2), exact)
        expected = np.array([twins.site(m, sd**2, exact) for m in margins])
        np.testing.assert_allclose(rows[:, 0], expected[:, 0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(rows[:, 1], expected[:, 1], rtol=1e-7, atol=1e-9)
        # The twin loses the curvature of a narrow site to cancellation, as 1e-12/s².
        np.testing.assert_allclose(rows[:, 2], expected[:, 2], rtol=1e-6, atol=1e-11 / sd**2)
        np.testing.assert_allclose(rows[:, 3], 1.0 - sd**2 * rows[:, 2], atol=1e-12)


@EXACT
@pytest.mark.parametrize("weights", [1, 5, 8, 17])
def test_adf_pass(exact: bool, weights: int) -> None:
    X, y = cold_start(60, weights)
    carried, twin = carried_and_twin(weights)
    sites = Sites.flat(60)
    skipped = kernels.adf_pass(*carried, X, y, *sites, 0, 60, exact, *PLAIN)
    assert skipped == 0
    assert_same(carried, twins.adf_pass(twin, X, y, exact))
    rebuilt = twins.absorb(twin, X, *sites)
    assert_same(carried, rebuilt, 1e-8)


def test_absorb() -> None:
    X, _ = cold_start(40)
    rng = np.random.default_rng(5)
    sites = Sites(rng.uniform(0, 0.25, 40), rng.normal(size=40))
    carried, twin = carried_and_twin()
    assert kernels.absorb(*carried, X, *sites, 10, 40, *NO_ITEMS) == 0
    assert_same(carried, twins.absorb(twin, X[10:], sites.precision[10:], sites.shift[10:]))


def test_absorb_takes_out_what_it_put_in() -> None:
    X, _ = cold_start(40)
    carried, twin = carried_and_twin()
    precision, shift = np.full(40, 0.2), np.linspace(-1, 1, 40)
    kernels.absorb(*carried, X, precision, shift, 0, 40, *NO_ITEMS)
    kernels.absorb(*carried, X, -precision, -shift, 0, 40, *NO_ITEMS)
    assert_same(carried, twin)


def test_absorb_skips_what_would_leave_the_cone() -> None:
    X, _ = cold_start(1)
    carried, twin = carried_and_twin()
    assert kernels.absorb(*carried, X, np.array([-1e9]), np.zeros(1), 0, 1, *NO_ITEMS) == 1
    assert_same(carried, twin)


@EXACT
def test_ep_sweep(exact: bool) -> None:
    X, y = cold_start(50)
    carried, twin = carried_and_twin()
    sites, twin_sites = Sites.flat(50), Sites.flat(50)
    for _ in range(3):
        before = carried.gaussian()
        skipped, log_factors, moved = swept(carried, X, y, sites, exact)
        twin, twin_log_factors = twins.ep_sweep(twin, X, y, twin_sites, exact)
        assert skipped == 0
        assert log_factors == pytest.approx(twin_log_factors, rel=1e-8)
        largest = largest_move(before, carried.gaussian())
        # To first order: the last of three sweeps moves the belief by a thousandth of an sd.
        assert largest * (1.0 - 2.0 * min(moved, 0.5)) <= moved <= 40.0 * largest
    assert_same(carried, twin, 1e-7)
    np.testing.assert_allclose(sites, twin_sites, atol=1e-7)


def test_slow_compilation_is_announced(tmp_path: object) -> None:
    code = (
        "from fabcost import compilation; compilation.PATIENCE_SECONDS = 0.0\n"
        "import fabcost; fabcost.Gaussian([0.0], [[1.0]])\n"
    )
    cold = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], env=cold, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    )
    assert "compiling its numerical kernels" in first.stderr
    assert second.stderr == ""


@pytest.mark.parametrize("weights", [1, 2, 7, 8, 9, 15, 16, 17, 33, 130])
def test_products(weights: int) -> None:
    rng = np.random.default_rng(weights)
    a, b = rng.normal(size=(weights, weights + 3)), rng.normal(size=weights + 3)
    np.testing.assert_allclose(kernels.times(a, b), a @ b, atol=1e-12)
    one_by_one = [kernels.inner(row, b) for row in a]
    np.testing.assert_array_equal(kernels.times(a, b), one_by_one)
    np.testing.assert_allclose(kernels.inner(b, b), b @ b, rtol=1e-13)
    square = kernels.times_own_transpose(a)
    np.testing.assert_allclose(square, a @ a.T, atol=1e-12)
    np.testing.assert_array_equal(square, square.T)
    low, sound = kernels.cholesky(square)
    assert sound
    np.testing.assert_allclose(low, np.linalg.cholesky(square), atol=1e-9)
    np.testing.assert_allclose(low @ kernels.solve_lower(low, b[:weights]), b[:weights], atol=1e-9)
    assert not kernels.cholesky(square - 2.0 * np.trace(square) * np.eye(weights))[1]


@pytest.mark.parametrize("weights", [1, 5, 8, 17, 129])
def test_marginals_and_draws(weights: int) -> None:
    belief, rng = correlated_prior(weights), np.random.default_rng(weights)
    rows, normals = rng.normal(size=(14, weights)), rng.normal(size=(4, weights))
    rows[6:] *= rng.random((8, weights)) < 0.2  # fours that all, some and none of the rows have
    rows[9] = 0.0
    centres, variances = kernels.marginals(rows, belief.mean, belief.root)
    np.testing.assert_allclose(centres, rows @ belief.mean, atol=1e-11)
    expected = np.einsum("ij,jk,ik->i", rows, belief.covariance, rows)
    np.testing.assert_allclose(variances, expected, rtol=1e-11)
    alone = [kernels.marginals(row[None, :], belief.mean, belief.root)[1][0] for row in rows]
    np.testing.assert_array_equal(variances, alone)
    draws = kernels.drawn(belief.mean, belief.root, normals)
    np.testing.assert_allclose(draws, belief.mean + normals @ belief.root.T, atol=1e-11)


def test_predictions() -> None:
    centres, variances = np.array([-800.0, -3.0, 0.0, 2.0]), np.array([1.0, 0.5, 400.0, 9.0])
    found = kernels.predictions(centres, variances, True)
    expected = np.exp([twins.exact_site(*each)[0] for each in zip(centres, variances, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_no_flag_lets_the_compiler_order_a_sum() -> None:
    """The two that have one find a largest number, which is the same in any order."""
    flagged = set()
    for file in Path(kernels.__file__).parent.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        flagged |= set(re.findall(r"@(?:kernel|helper)\([^)]*fastmath[^)]*\)\s+def (\w+)", source))
        found = re.findall(r"@(?:kernel|helper)\([^)]*fastmath", source)
        assert source.count("fastmath") == len(found)
    assert flagged == {"largest", "_score_block"}


def test_pointers_are_to_numbers_in_c_order() -> None:
    with pytest.raises(TypingError, match="float64 numbers in C order"):
        kernels.times(np.ones((3, 3)).T[:, :2], np.ones(2))
