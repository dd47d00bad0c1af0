from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from fabcost import Gaussian, kernels
from fabcost.inference.sites import Carried, Sites
from tests.inference import twins
from tests.simulated import cold_start, correlated_prior

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
    skipped = kernels.adf_pass(*carried, X, y, *sites, 0, 60, exact)
    assert skipped == 0
    assert_same(carried, twins.adf_pass(twin, X, y, exact))
    rebuilt = twins.absorb(twin, X, *sites)
    assert_same(carried, rebuilt, 1e-8)


def test_absorb() -> None:
    X, _ = cold_start(40)
    rng = np.random.default_rng(5)
    sites = Sites(rng.uniform(0, 0.25, 40), rng.normal(size=40))
    carried, twin = carried_and_twin()
    assert kernels.absorb(*carried, X, *sites, 10, 40) == 0
    assert_same(carried, twins.absorb(twin, X[10:], sites.precision[10:], sites.shift[10:]))


def test_absorb_takes_out_what_it_put_in() -> None:
    X, _ = cold_start(40)
    carried, twin = carried_and_twin()
    precision, shift = np.full(40, 0.2), np.linspace(-1, 1, 40)
    kernels.absorb(*carried, X, precision, shift, 0, 40)
    kernels.absorb(*carried, X, -precision, -shift, 0, 40)
    assert_same(carried, twin)


def test_absorb_skips_what_would_leave_the_cone() -> None:
    X, _ = cold_start(1)
    carried, twin = carried_and_twin()
    assert kernels.absorb(*carried, X, np.array([-1e9]), np.zeros(1), 0, 1) == 1
    assert_same(carried, twin)


@EXACT
def test_ep_sweep(exact: bool) -> None:
    X, y = cold_start(50)
    carried, twin = carried_and_twin()
    sites, twin_sites = Sites.flat(50), Sites.flat(50)
    for _ in range(3):
        before = carried.gaussian()
        skipped, log_factors, moved = kernels.ep_sweep(*carried, X, y, *sites, exact)
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
        "import fabcost; from fabcost.inference import adf\n"
        "adf.fit(fabcost.Gaussian.isotropic(1), [[1.0]], [1])\n"
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
