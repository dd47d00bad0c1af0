from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit

from fabcost import Gaussian
from fabcost.paper.printed import Natural
from tests.simulated import correlated_prior


def test_marginal_is_the_quadratic_form() -> None:
    belief = correlated_prior(4)
    X = np.random.default_rng(0).normal(size=(6, 4))
    centre, variance = belief.marginal(X)
    np.testing.assert_allclose(centre, X @ belief.mean)
    np.testing.assert_allclose(variance, np.einsum("ij,jk,ik->i", X, belief.covariance, X))
    assert belief.marginal(X[2]).variance == pytest.approx(variance[2])


def test_sample_has_the_moments_of_the_belief() -> None:
    """False-alarm rate below 1e-6: six standard errors on 14 moments, fixed seed."""
    belief = correlated_prior(4)
    draws = belief.sample(np.random.default_rng(0), 200_000)
    error = belief.sd / np.sqrt(200_000)
    assert (np.abs(draws.mean(axis=0) - belief.mean) < 6 * error).all()
    scale = np.outer(belief.sd, belief.sd) * 6 * np.sqrt(2 / 200_000)
    assert (np.abs(np.cov(draws, rowvar=False) - belief.covariance) < scale).all()


def test_same_seed_same_bits() -> None:
    belief = correlated_prior(4)
    first, second = (belief.sample(np.random.default_rng(9), 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert belief.sample(np.random.default_rng(9)).shape == (4,)


def test_predict_integrates_the_uncertainty() -> None:
    belief = correlated_prior(3)
    X = np.random.default_rng(1).normal(size=(5, 3)) * 3
    for row, ours in zip(X, belief.predict(X), strict=True):
        centre, variance = (float(v) for v in belief.marginal(row))
        density = stats.norm(centre, np.sqrt(variance)).pdf
        span = 12 * np.sqrt(variance)
        theirs, _ = quad(
            lambda e, d=density: expit(e) * d(e), centre - span, centre + span, epsabs=1e-12
        )
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_predict_of_a_row_of_zeros_is_one_half() -> None:
    assert Gaussian.isotropic(3).predict(np.zeros((1, 3)))[0] == pytest.approx(0.5, abs=1e-12)


def test_predict_never_exceeds_one() -> None:
    belief = Gaussian([50.0], [[1e-6]])
    assert belief.predict([[1.0]])[0] <= 1.0


def test_log_density_agrees_with_scipy() -> None:
    belief = correlated_prior(3)
    theta = np.random.default_rng(2).normal(size=(7, 3))
    expected = stats.multivariate_normal(belief.mean, belief.covariance).logpdf(theta)
    np.testing.assert_allclose(belief.log_density(theta), expected, rtol=1e-10)


def test_precision_inverts_the_covariance() -> None:
    belief = correlated_prior(5)
    np.testing.assert_allclose(belief.precision @ belief.covariance, np.eye(5), atol=1e-10)


def test_covariance_beyond_float_resolution_is_still_positive_definite() -> None:
    """Directions known to 1e-12 and to 1e6: their ratio is below the rounding of their sum."""
    rotation = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
    belief = Gaussian.from_root([0.0, 0.0], rotation @ np.diag([1e-6, 1e3]))
    np.linalg.cholesky(belief.covariance)
    assert belief.marginal([1.0, 1.0]).variance == pytest.approx(2e-12, rel=1e-9)


def test_a_gaussian_is_a_value() -> None:
    belief = correlated_prior(2)
    with pytest.raises(AttributeError, match="mean cannot be set"):
        belief.mean = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        belief.mean[0] = 1.0
    copied = pickle.loads(pickle.dumps(belief))
    assert copied == Gaussian.from_root(belief.mean, belief.root)
    assert not copied.mean.flags.writeable


@pytest.mark.parametrize(
    ("mean", "covariance", "complaint"),
    [
        ([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]], r"not symmetric: \[0, 1\] is 0.5 but"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
        ([0.0, 0.0], np.eye(3), r"shape \(3, 3\) but the mean has 2"),
        ([0.0, np.nan], np.eye(2), "mean contains nan"),
        ([0.0], [[np.inf]], "covariance contains NaN or infinity"),
        ([0.0], [[0.0]], "a variance is 0.0"),
        ([0.0], [[-1.0]], "a variance is -1.0"),
        ([[0.0]], [[1.0]], r"mean has shape \(1, 1\)"),
        ([], np.empty((0, 0)), "at least one weight"),
    ],
)
def test_bad_parameters_are_named(mean: object, covariance: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Gaussian(mean, covariance)  # type: ignore[arg-type]


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match="the belief has 2 weights"):
        Gaussian.isotropic(2).marginal([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X has 3 columns but the prior has 2 weights"):
        Gaussian.isotropic(2).predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="dimension is 0"):
        Gaussian.isotropic(0)


def test_natural_parameters_multiply_and_divide() -> None:
    p, q = correlated_prior(3, seed=1), correlated_prior(3, seed=2)
    product = Natural.of(p) * Natural.of(q)
    back = (product / Natural.of(q)).gaussian()
    np.testing.assert_allclose(back.mean, p.mean, atol=1e-9)
    np.testing.assert_allclose(back.covariance, p.covariance, atol=1e-9)


def test_log_partition_normalises_the_density() -> None:
    """The product property: log ∫ p q = Φ(λ_p + λ_q) − Φ(λ_p) − Φ(λ_q)."""
    p, q = correlated_prior(3, seed=1), correlated_prior(3, seed=2)
    natural_p, natural_q = Natural.of(p), Natural.of(q)
    mass = (natural_p * natural_q).log_partition()
    mass -= natural_p.log_partition() + natural_q.log_partition()
    expected = Gaussian(q.mean, p.covariance + q.covariance).log_density(p.mean)
    assert mass == pytest.approx(float(expected), rel=1e-10)


def test_moments_are_the_gradient_of_the_log_partition() -> None:
    natural = Natural.of(correlated_prior(3))
    mean = natural.gaussian().mean
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        ahead, behind = (
            Natural(natural.shift + sign * step, natural.precision).log_partition()
            for sign in (1, -1)
        )
        assert (ahead - behind) / 2e-6 == pytest.approx(mean[j], rel=1e-6)


def test_a_site_alone_has_no_integral() -> None:
    with pytest.raises(ValueError, match="not positive definite"):
        Natural.site([1.0, 0.0], precision=1.0, shift=0.0).log_partition()


def test_a_root_without_numbers_has_no_covariance() -> None:
    belief = Gaussian.from_kernel(np.zeros(2), np.array([[np.nan, 0.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="root contains NaN"):
        _ = belief.covariance


def test_triangle_is_a_root_of_the_covariance() -> None:
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    belief = correlated_prior(4)
    other = Gaussian.from_root(belief.mean, belief.root @ turned)
    np.testing.assert_allclose(other.triangle @ other.triangle.T, belief.covariance, atol=1e-12)
    np.testing.assert_array_equal(np.triu(other.triangle, 1), 0.0)
    assert belief.triangle is belief.root
    assert other.log_determinant == pytest.approx(belief.log_determinant, rel=1e-12)
