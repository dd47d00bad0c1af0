from __future__ import annotations

import numpy as np
import pytest

from fabcost import Gaussian
from fabcost.inference import adf, compare, ep
from fabcost.tilted import Moments
from tests.reference import grid_posterior, paper_adf
from tests.simulated import cold_start, correlated_prior


@pytest.mark.parametrize("weights", [1, 3, 15])
def test_equals_the_matrix_formulas_of_the_paper(weights: int) -> None:
    X, y = cold_start(200, weights)
    prior = correlated_prior(weights)
    posterior = adf.fit(prior, X, y, moments="mackay").posterior
    mean, covariance = paper_adf(prior.mean, prior.covariance, X, y)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(posterior.covariance, covariance, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("moments", ["exact", "mackay"])
def test_one_impression_is_the_tilted_distribution(moments: Moments) -> None:
    """After one impression exact ADF has the exact moments, and so has EP."""
    prior = correlated_prior(2)
    X, y = np.array([[0.7, -1.2]]), np.array([1.0])
    posterior = adf.fit(prior, X, y, moments=moments).posterior
    mean, covariance, _ = grid_posterior(prior.mean, prior.covariance, X, y)
    tolerance = 1e-6 if moments == "exact" else 0.05
    np.testing.assert_allclose(posterior.mean, mean, atol=tolerance)
    np.testing.assert_allclose(posterior.covariance, covariance, atol=tolerance)
    once = ep.fit(prior, X, y, moments=moments).posterior
    np.testing.assert_allclose(once.mean, posterior.mean, atol=1e-9)


def test_two_halves_are_one_pass() -> None:
    X, y = cold_start(80)
    prior = correlated_prior()
    halves = adf.fit(adf.fit(prior, X[:40], y[:40]).posterior, X[40:], y[40:]).posterior
    assert halves == adf.fit(prior, X, y).posterior


def test_approaches_ep_as_the_data_grow() -> None:
    prior = Gaussian.isotropic(5, variance=100.0)
    errors = []
    for rows in (100, 10_000):
        X, y = cold_start(rows)
        reference = ep.fit(prior, X, y).posterior
        filtered = adf.fit(prior, X, y).posterior
        errors.append(compare.moment_error(filtered, reference.mean, reference.covariance).mean)
    assert errors[1] < errors[0] / 3
