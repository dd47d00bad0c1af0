from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from fabcost import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import laplace
from fabcost.inference.logistic import log_posterior
from tests.simulated import cold_start, correlated_prior


def negative_log_posterior(
    theta: FloatArray, prior: Gaussian, X: FloatArray, y: FloatArray
) -> float:
    away = theta - prior.mean
    quadratic = 0.5 * away @ np.linalg.solve(prior.covariance, away)
    return float(quadratic + np.logaddexp(0.0, -y * (X @ theta)).sum())


def test_mode_and_curvature_under_a_correlated_prior() -> None:
    X, y = cold_start(100)
    prior = correlated_prior()
    posterior = laplace.fit(prior, X, y).posterior
    found = minimize(negative_log_posterior, prior.mean, (prior, X, y), tol=1e-14)
    np.testing.assert_allclose(posterior.mean, found.x, atol=1e-5)
    p = 1 / (1 + np.exp(-X @ posterior.mean))
    hessian = np.linalg.inv(prior.covariance) + (X.T * (p * (1 - p))) @ X
    np.testing.assert_allclose(posterior.precision, hessian, rtol=1e-8, atol=1e-8)


def test_gradient_vanishes_at_the_mode() -> None:
    X, y = cold_start(2000, 15, intercept=-4.0)
    prior = Gaussian.isotropic(15, variance=100.0)
    mode = laplace.fit(prior, X, y).posterior
    gradient = log_posterior(prior, X, y, prior.whiten(mode.mean)).gradient
    assert np.abs(gradient).max() < 1e-9


def test_mode_agrees_with_scikit_learn() -> None:
    X, y = cold_start(500)
    theirs = LogisticRegression(C=100.0, fit_intercept=False, tol=1e-12, max_iter=10_000)
    theirs.fit(X, y)
    ours = laplace.fit(Gaussian.isotropic(5, variance=100.0), X, y).posterior
    np.testing.assert_allclose(ours.mean, theirs.coef_[0], atol=1e-5)


def test_separable_data_far_from_the_start_converge() -> None:
    X = np.array([[1e4, 1.0], [-1e4, 1.0]])
    prior = Gaussian.isotropic(2, variance=1e8)
    mode = laplace.fit(prior, X, [1, 0]).posterior
    labels = np.array([1.0, -1.0])
    gradient = log_posterior(prior, X, labels, prior.whiten(mode.mean)).gradient
    assert np.abs(gradient).max() < 1e-6


def test_online_with_one_batch_is_the_batch_fit() -> None:
    X, y = cold_start(50)
    assert (
        laplace.fit_online(correlated_prior(), X, y, batch=50).posterior
        == laplace.fit(correlated_prior(), X, y).posterior
    )


def test_online_full_is_a_chain_of_posteriors() -> None:
    X, y = cold_start(50)
    belief = laplace.update(correlated_prior(), X[:20], y[:20])
    belief = laplace.update(belief, X[20:40], y[20:40])
    belief = laplace.update(belief, X[40:], y[40:])
    assert laplace.fit_online(correlated_prior(), X, y, batch=20).posterior == belief


def test_online_diagonal_is_the_rule_of_chapelle_and_li() -> None:
    X, y = cold_start(30)
    prior = Gaussian.isotropic(5, variance=4.0)
    belief = laplace.update(prior, X, y, covariance="diagonal")
    p = 1 / (1 + np.exp(-X @ belief.mean))
    q = 1 / 4.0 + (X**2 * (p * (1 - p))[:, None]).sum(axis=0)
    np.testing.assert_allclose(belief.covariance, np.diag(1 / q), rtol=1e-10)


def test_as_published_counts_its_data_again_and_again() -> None:
    """Erratum 4: after T rounds the precision is that of about T/2 copies of the data."""
    X, y = cold_start(120, 3)
    prior = Gaussian.isotropic(3, variance=100.0)
    published = laplace.fit_as_published(prior, X, y).posterior
    correct = laplace.fit(prior, X, y).posterior
    excess = published.precision.diagonal() / correct.precision.diagonal()
    assert (excess > 20).all()
    assert np.linalg.norm(published.mean) < 0.6 * np.linalg.norm(correct.mean)


def test_as_published_leaves_the_newest_observation_out() -> None:
    """Erratum 7."""
    X, y = cold_start(15, 3)
    flipped = y.copy()
    flipped[-1] *= -1
    prior = Gaussian.isotropic(3, variance=100.0)
    published = [laplace.fit_as_published(prior, X, each).posterior for each in (y, flipped)]
    assert published[0] == published[1]


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="covariance is 'banded'"):
        laplace.update(correlated_prior(), np.zeros((1, 5)), [1], covariance="banded")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch is 0"):
        laplace.fit_online(correlated_prior(), np.zeros((1, 5)), [1], batch=0)


@pytest.mark.parametrize("variance", [1e-6, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_impression_is_the_batch_of_one(variance: float, label: float) -> None:
    belief = correlated_prior(4, scale=variance)
    row = np.array([[1.0, -2.0, 0.5, 3.0]])
    alone = laplace.update(belief, row, [label])
    batch = laplace.fit(belief, row, [label]).posterior
    np.testing.assert_allclose(alone.mean, batch.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(alone.covariance, batch.covariance, rtol=1e-7, atol=1e-12)


def test_the_mode_does_not_depend_on_where_the_search_starts() -> None:
    X, y = cold_start(80)
    prior = correlated_prior()
    fitted = laplace.fit(prior, X, y).posterior
    far = laplace.fit(prior, X, y, start=fitted.mean + 3.0).posterior
    np.testing.assert_allclose(far.mean, fitted.mean, atol=1e-7)
    np.testing.assert_allclose(far.covariance, fitted.covariance, atol=1e-7)
    with pytest.raises(ValueError, match="x has shape"):
        laplace.fit(prior, X, y, start=[1.0])
