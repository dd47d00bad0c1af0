from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from fabcost import Gaussian
from fabcost.inference import compare, ep, laplace, nuts
from tests.reference import grid_posterior
from tests.simulated import cold_start, correlated_prior

pytestmark = pytest.mark.skipif(find_spec("nutpie") is None, reason="nutpie is not installed")


def test_moments_are_those_of_the_posterior() -> None:
    """Six Monte Carlo standard errors on each mean: false-alarm rate below 1e-8, fixed seed."""
    X, y = cold_start(30, 2)
    prior = correlated_prior(2)
    result = nuts.fit(prior, X, y, draws=3000, chains=2, seed=3)
    mean, covariance, _ = grid_posterior(prior.mean, prior.covariance, X, y)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(result.mean - mean) < 6 * sd / np.sqrt(result.ess)).all()
    assert (np.abs(np.diag(result.covariance) / sd**2 - 1) < 0.2).all()
    assert (result.r_hat < 1.01).all()
    assert result.divergences == 0
    assert result.draws.shape == (6000, 2)


def test_same_seed_same_draws() -> None:
    X, y = cold_start(10, 2)
    first, second, other = (
        nuts.fit(correlated_prior(2), X, y, draws=50, seed=seed).draws for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_ep_is_far_closer_to_the_truth_than_laplace() -> None:
    X, y = cold_start(100, 5, intercept=-3.0)
    prior = Gaussian.isotropic(5, variance=100.0)
    truth = nuts.fit(prior, X, y, draws=8000, chains=2, seed=0)
    errors = [
        compare.moment_error(method, truth.mean, truth.covariance).mean
        for method in (ep.fit(prior, X, y).posterior, laplace.fit(prior, X, y).posterior)
    ]
    assert errors[0] < 0.02 + 2 / np.sqrt(truth.ess.min())
    assert errors[0] < errors[1] / 10


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(ImportError, match=r"pip install 'fabcost\[nuts\]'"):
        nuts.fit(Gaussian.isotropic(1), [[1.0]], [1])
