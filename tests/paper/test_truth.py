"""The reference posterior against quadrature and against NUTS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_expit

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import ep, nuts
from fabcost.paper.designs import authors_design, day
from fabcost.paper.truth import LogRatio, sample


def _pair_of_weights(rows: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(rows), rng.normal(size=rows)])
    y = (rng.random(rows) < expit(X @ [-1.5, 0.8])).astype(np.float64)
    return X, y


def _quadrature(prior: Gaussian, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums over a grid of ±9 sds of EP: exact to rounding for a smooth density."""
    q = ep.fit(prior, X, y).posterior
    line = np.linspace(-9.0, 9.0, 241)
    z = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    theta = q.mean + z @ q.root.T
    log_density = prior.log_density(theta) + log_expit((2 * y - 1) * (theta @ X.T)).sum(axis=1)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = weight @ theta
    return mean, (theta - mean).T @ (weight[:, None] * (theta - mean))


@pytest.mark.parametrize("rows", [20, 300])
def test_moments_are_those_of_quadrature(rows: int) -> None:
    prior = Gaussian.isotropic(2, variance=100.0)
    X, y = _pair_of_weights(rows)
    mean, covariance = _quadrature(prior, X, y)
    truth = sample(prior, X, y, draws=60_000, rng=np.random.default_rng(1))
    # Four standard errors: four z-tests, false alarm in 3 of 10,000 seeds.
    assert (np.abs(truth.mean - mean) < 4 * truth.mean_error).all()
    variance = covariance.diagonal()
    assert (np.abs(truth.covariance.diagonal() - variance) < 4 * truth.variance_error).all()
    np.testing.assert_allclose(truth.covariance, covariance, rtol=0.02)


def test_standard_errors_tell_the_spread_over_seeds() -> None:
    prior = Gaussian.isotropic(6, variance=100.0)
    X, y, *_ = authors_design(400, seed=3)
    truths = [sample(prior, X, y, draws=2000, rng=np.random.default_rng(s)) for s in range(40)]
    for values, errors in (
        ([each.mean for each in truths], [each.mean_error for each in truths]),
        ([each.covariance.diagonal() for each in truths], [each.variance_error for each in truths]),
    ):
        spread = np.sqrt(np.var(values, axis=0, ddof=1).mean())
        stated = np.sqrt(np.mean(np.square(errors)))
        # An sd from 6 × 40 values is known to 8 % even if the weights were only half independent.
        assert 0.7 < spread / stated < 1.4


def test_control_variates_remove_most_of_the_noise() -> None:
    prior = Gaussian.isotropic(6, variance=100.0)
    X, y, *_ = authors_design(3000, seed=3)
    truth = sample(prior, X, y, draws=2000, rng=np.random.default_rng(0))
    sd = np.sqrt(truth.covariance.diagonal())
    assert truth.ess > 1000
    assert (truth.mean_error / sd).max() < 0.001 / np.sqrt(truth.ess)
    assert (truth.variance_error / sd**2).max() < 0.05 * np.sqrt(2.0 / truth.ess)


def test_expectations_of_the_ratio_are_those_of_draws() -> None:
    prior = Gaussian.isotropic(2, variance=100.0)
    X, y = _pair_of_weights(20)
    q = Gaussian([-1.0, 0.5], [[0.4, 0.1], [0.1, 0.5]])
    ratio = LogRatio.of(prior, X, 2.0 * y - 1.0, q)
    z = np.random.default_rng(2).standard_normal((100_000, 2))
    values = ratio.at_pairs(z)
    theta = q.mean + z @ q.root.T
    likelihood = log_expit((2 * y - 1) * (theta @ X.T)).sum(axis=1)
    direct = likelihood + prior.log_density(theta) - q.log_density(theta)
    np.testing.assert_allclose(np.ptp(values[0] - direct), 0.0, atol=1e-9)
    both, signed = values.ravel(), np.concatenate([z, -z])
    centred = both - both.mean()
    deviation = centred.std() / np.sqrt(both.size)
    # Each bound is more than five standard errors of its average.
    assert abs(both.mean() - ratio.mean) < 6 * deviation
    assert np.abs(centred @ signed / both.size - ratio.slope).max() < 12 * deviation
    outer = (signed * centred[:, None]).T @ signed / both.size
    assert np.abs(outer - ratio.curvature).max() < 30 * deviation


def test_far_margins_do_not_overflow() -> None:
    q = Gaussian.isotropic(1)
    ratio = LogRatio.of(q, np.full((9, 1), 500.0), np.ones(9), q)
    np.testing.assert_allclose(ratio.at_pairs(np.array([[2.0]])), [[0.0], [-9000.0]], atol=1e-9)


def test_moments_are_those_of_nuts() -> None:
    pytest.importorskip("nutpie")
    data = day(1500, seed=2)
    prior = Gaussian.isotropic(15, variance=100.0)
    truth = sample(prior, data.X, data.y, draws=20_000, rng=np.random.default_rng(0))
    drawn = nuts.fit(prior, data.X, data.y, draws=1000, chains=2, tune=300, seed=4)
    sd = np.sqrt(truth.covariance.diagonal())
    own = np.sqrt(1.0 / drawn.ess + (truth.mean_error / sd) ** 2)
    # 15 z-tests at 4.5 sds each: a false alarm in one of 10,000 seeds.
    assert (np.abs(drawn.mean - truth.mean) / sd < 4.5 * own).all()
    assert (np.abs(drawn.covariance.diagonal() / sd**2 - 1.0) < 0.3).all()


def test_too_few_draws_are_refused() -> None:
    prior = Gaussian.isotropic(1)
    with pytest.raises(ValueError, match="draws is 10 but must be at least 200"):
        sample(prior, np.ones((1, 1)), np.ones(1), draws=10, rng=np.random.default_rng(0))
