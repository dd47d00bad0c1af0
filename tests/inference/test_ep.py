from __future__ import annotations

import numpy as np
import pytest

from fabcost import FabCost, Gaussian, Refresh
from fabcost.inference import ep
from fabcost.inference.ep import sweep
from fabcost.inference.history import Carried, Sites
from fabcost.inference.logistic import product
from fabcost.inference.result import ConvergenceWarning
from fabcost.tilted import Moments, tilted
from tests.reference import grid_posterior, paper_ep
from tests.simulated import cold_start, correlated_prior

BOTH = pytest.mark.parametrize("moments", ["exact", "mackay"])


def test_equals_the_matrix_algorithm_of_the_paper() -> None:
    X, y = cold_start(40, 3)
    prior = correlated_prior(3)
    result = ep.fit(prior, X, y, moments="mackay", max_sweeps=4, tolerance=1e-300)
    mean, covariance = paper_ep(prior.mean, prior.covariance, X, y, sweeps=4)
    assert result.sweeps == 4
    np.testing.assert_allclose(result.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(result.posterior.covariance, covariance, atol=1e-9)


@BOTH
def test_at_the_fixed_point_every_tilted_moment_is_matched(moments: Moments) -> None:
    X, y = cold_start(120)
    prior = correlated_prior()
    result = ep.fit(prior, X, y, moments=moments)
    precision, shift = result.sites
    centre, variance = result.posterior.marginal(X)
    cavity_variance = 1 / (1 / variance - precision)
    cavity_mean = cavity_variance * (centre / variance - shift)
    site = tilted(cavity_mean, cavity_variance, y, moments=moments)
    np.testing.assert_allclose(cavity_mean + cavity_variance * site.slope, centre, atol=1e-8)
    np.testing.assert_allclose(
        cavity_variance * (1 - cavity_variance * site.curvature), variance, rtol=1e-8
    )


@BOTH
@pytest.mark.parametrize("rows", [30, 300])
def test_order_does_not_matter(moments: Moments, rows: int) -> None:
    X, y = cold_start(rows)
    prior = correlated_prior()
    reference = ep.fit(prior, X, y, moments=moments)
    for seed in range(3):
        shuffled = np.random.default_rng(seed).permutation(rows)
        result = ep.fit(prior, X[shuffled], y[shuffled], moments=moments)
        np.testing.assert_allclose(result.posterior.mean, reference.posterior.mean, atol=1e-8)
        np.testing.assert_allclose(
            result.posterior.covariance, reference.posterior.covariance, atol=1e-8
        )
        np.testing.assert_allclose(result.sites[0], reference.sites[0][shuffled], atol=1e-8)


@pytest.mark.parametrize("variance", [1.0, 100.0])
def test_order_does_not_matter_at_a_cold_start(variance: float) -> None:
    X, y = cold_start(100, 15, intercept=-4.0)
    prior = Gaussian.isotropic(15, variance=variance)
    first = ep.fit(prior, X, y).posterior
    second = ep.fit(prior, X[::-1], y[::-1]).posterior
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-8 * first.sd.max())
    np.testing.assert_allclose(first.sd, second.sd, rtol=1e-8)


@BOTH
def test_posterior_is_prior_times_sites(moments: Moments) -> None:
    X, y = cold_start(120)
    prior = correlated_prior()
    result = ep.fit(prior, X, y, moments=moments)
    rebuilt = product(prior, X, result.sites)
    np.testing.assert_allclose(result.posterior.mean, rebuilt.mean, atol=1e-9)
    np.testing.assert_allclose(result.posterior.covariance, rebuilt.covariance, atol=1e-9)


def test_close_to_the_true_posterior() -> None:
    X, y = cold_start(60, 2)
    prior = correlated_prior(2)
    result = ep.fit(prior, X, y)
    mean, covariance, evidence = grid_posterior(prior.mean, prior.covariance, X, y)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(result.posterior.mean - mean) < 0.01 * sd).all()
    assert (np.abs(result.posterior.sd / sd - 1) < 0.04).all()
    assert result.log_evidence == pytest.approx(evidence, abs=0.03)


def test_evidence_of_one_impression_is_exact() -> None:
    prior = correlated_prior(2)
    X, y = np.array([[1.0, -0.5]]), np.array([1.0])
    result = ep.fit(prior, X, y)
    _, _, evidence = grid_posterior(prior.mean, prior.covariance, X, y)
    assert result.log_evidence == pytest.approx(evidence, abs=1e-6)
    assert result.log_evidence == pytest.approx(float(np.log(prior.predict(X))[0]), abs=1e-10)


def test_exact_sites_have_precision_between_zero_and_a_quarter() -> None:
    X, y = cold_start(300, 15, intercept=-4.0)
    precision, _ = ep.fit(Gaussian.isotropic(15, variance=100.0), X, y).sites
    assert precision.min() >= 0.0
    assert precision.max() <= 0.25


def test_says_when_it_did_not_converge() -> None:
    X, y = cold_start(100)
    result = ep.fit(correlated_prior(), X, y, max_sweeps=1)
    assert not result.converged
    assert result.sweeps == 1


def test_mackay_counts_what_it_skips() -> None:
    """Few clicks under a vague prior: negative sites crowd cavities out of the cone."""
    X, y = cold_start(300, 15, intercept=-4.0)
    prior = Gaussian.isotropic(15, variance=100.0)
    result = ep.fit(prior, X, y, moments="mackay", max_sweeps=20)
    assert result.skipped > 0
    assert not result.converged
    assert np.isfinite(result.posterior.mean).all()
    np.linalg.cholesky(result.posterior.covariance)
    learner = FabCost(prior, refresh=Refresh.at(300, max_sweeps=20), moments="mackay")
    with pytest.warns(ConvergenceWarning, match="impression 300 still moves after 20 sweeps"):
        learner.observe_many(X, y)
    assert learner.skipped > 0
    assert learner.unconverged == 1
    exact = ep.fit(prior, X, y)
    assert exact.converged
    assert exact.skipped == 0


def test_evidence_that_lacks_a_factor_is_no_number() -> None:
    """Negative sites of a first sweep leave no cavity for some visits of the next."""
    X, y = cold_start(150, 15, intercept=-4.0)
    prior = Gaussian.isotropic(15, variance=100.0)
    belief, sites, skipped = Carried.of(prior), Sites.flat(150), []
    for sweeps in range(1, 6):
        last = sweep(belief, X, y, sites, exact=False, tolerance=1e-10, max_sweeps=1)
        skipped.append(last.skipped)
        result = ep.fit(prior, X, y, moments="mackay", max_sweeps=sweeps)
        assert result.skipped == sum(skipped)
        assert np.isnan(result.log_evidence) == (last.skipped > 0)
    assert skipped[0] == 0
    assert max(skipped) > 0


def test_a_refresh_makes_at_least_one_sweep() -> None:
    learner = FabCost(Gaussian.isotropic(1))
    learner.observe([1.0], 1)
    with pytest.raises(ValueError, match="max_sweeps is 0 but must be at least 1"):
        learner.refresh(max_sweeps=0)
    assert learner.refreshes == 1


def test_no_data_leave_the_prior() -> None:
    prior = correlated_prior()
    result = ep.fit(prior, np.empty((0, 5)), [])
    np.testing.assert_allclose(result.posterior.mean, prior.mean, atol=1e-12)
    np.testing.assert_allclose(result.posterior.covariance, prior.covariance, atol=1e-12)
    assert result.log_evidence == pytest.approx(0.0, abs=1e-12)
    assert result.converged


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"tolerance": 0.0}, "tolerance is 0.0 but must be above zero"),
        ({"max_sweeps": 0}, "max_sweeps is 0 but must be at least 1"),
        ({"moments": "probit"}, "moments is 'probit'"),
    ],
)
def test_bad_settings_are_named(setting: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ep.fit(correlated_prior(), np.zeros((1, 5)), [1], **setting)  # type: ignore[arg-type]
