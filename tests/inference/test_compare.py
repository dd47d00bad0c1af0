from __future__ import annotations

import numpy as np
import pytest

from fabcost import Gaussian
from fabcost.inference import compare
from tests.simulated import correlated_prior


def test_moment_errors_are_in_units_of_the_truth() -> None:
    error = compare.moment_error(
        Gaussian([1.0, 0.0], np.diag([2.0, 9.0])), np.zeros(2), np.diag([4.0, 9.0])
    )
    assert error.mean == pytest.approx(0.5 / np.sqrt(2))
    assert error.worst_mean == pytest.approx(0.5)
    assert error.variance == pytest.approx(0.5 / np.sqrt(2))
    assert error.worst_variance == pytest.approx(0.5)


def test_kl_is_the_expected_log_ratio() -> None:
    """Five standard errors of 200,000 draws: false-alarm rate below 1e-6, fixed seed."""
    p, q = correlated_prior(3, seed=1), correlated_prior(3, seed=2)
    draws = p.sample(np.random.default_rng(0), 200_000)
    ratios = p.log_density(draws) - q.log_density(draws)
    error = ratios.std() / np.sqrt(ratios.size)
    assert compare.kl_divergence(p, q) == pytest.approx(ratios.mean(), abs=5 * error)
    assert compare.kl_divergence(p, p) == pytest.approx(0.0, abs=1e-12)
    assert compare.kl_divergence(q, p) != pytest.approx(compare.kl_divergence(p, q))


def test_calibration_is_small_for_the_truth_and_large_for_a_wrong_width() -> None:
    """1.95/√n is exceeded by chance once in a thousand for each weight; fixed seed."""
    truth = correlated_prior(3)
    draws = truth.sample(np.random.default_rng(0), 10_000)
    assert (compare.calibration(truth, draws) < 0.0195).all()
    too_narrow = Gaussian(truth.mean, truth.covariance / 4)
    assert (compare.calibration(too_narrow, draws) > 0.1).all()


def test_wrong_shapes_are_named() -> None:
    belief = correlated_prior(3)
    with pytest.raises(ValueError, match="the approximation has 3 weights"):
        compare.moment_error(belief, np.zeros(2), np.eye(2))
    with pytest.raises(ValueError, match="p has 3 weights but q has 2"):
        compare.kl_divergence(belief, Gaussian.isotropic(2))
    with pytest.raises(ValueError, match="rows of 3 weights"):
        compare.calibration(belief, np.zeros((5, 2)))
