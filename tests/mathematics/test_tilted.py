from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabcost.tilted import Moments, tilted
from tests.reference import mackay_gradients, tilted_by_quadrature

SDS = [
    1e-6,
    1e-3,
    0.1,
    0.249,
    0.251,
    0.429,
    0.431,
    1.0,
    2.0,
    4.0,
    6.99,
    7.01,
    9.0,
    15.0,
    60.0,
    300.0,
    1e3,
]
MARGINS = [-60.0, -44.0, -25.0, -9.0, -2.0, -0.3, 0.0, 0.7, 5.0, 18.0, 60.0]


#: In variances: about −½ the tilted density has two ends, σ's e^η on the left and 1 on the right.
TILTS = [-3.0, -0.75, -0.5, -0.4999, -0.01, 0.4, 0.6, 1.0]


@pytest.mark.parametrize("sd", SDS)
def test_exact_moments_match_quadrature(sd: float) -> None:
    every_second = slice(SDS.index(sd) % 2, None, 2)  # each with half of the widths
    tilts = [tilt * sd * sd for tilt in TILTS[every_second] if sd > 6.0]
    for margin in [*MARGINS[every_second], *tilts]:
        centre, variance, log_z = tilted_by_quadrature(margin, sd)
        s2 = mp.mpf(sd) ** 2
        for label in (-1, 1):
            site = tilted(label * margin, s2, label)
            our_centre = mp.mpf(margin) + s2 * mp.mpf(float(label * site.slope))
            our_variance = s2 * mp.mpf(float(site.kept))
            assert abs(our_centre - centre) / mp.sqrt(variance) < 1e-8
            assert abs(our_variance / variance - 1) < 1e-8
            assert abs(float(site.log_z) - log_z) < 1e-9 * (1 + abs(log_z))


@given(st.floats(-1e9, 1e9), st.floats(-12, 12), st.sampled_from([-1.0, 1.0]))
def test_exact_moments_keep_their_bounds(mean: float, log_sd: float, label: float) -> None:
    variance = 10.0 ** (2 * log_sd)
    site = tilted(mean, variance, label)
    assert site.log_z <= 1e-12
    assert 0.0 <= label * site.slope <= 1.0
    assert 0.0 <= site.curvature <= 1.0 / (4.0 + variance)
    precision = site.curvature / (1.0 - variance * site.curvature)
    assert 0.0 <= precision <= 0.25 * (1.0 + 1e-9)


@given(st.floats(-40, 40), st.floats(0.01, 30))
def test_both_outcomes_share_the_probability(mean: float, sd: float) -> None:
    click, none = (np.exp(tilted(mean, sd**2, label).log_z) for label in (1.0, -1.0))
    assert click + none == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("moments", ["exact", "mackay"])
@given(mean=st.floats(-8, 8), sd=st.floats(0.05, 20), label=st.sampled_from([-1.0, 1.0]))
@example(mean=-0.5, sd=1.0, label=1.0)
def test_slope_is_the_derivative_of_log_z(
    moments: Moments, mean: float, sd: float, label: float
) -> None:
    # Moments are good to 4e-10, so a difference over 2e-4 is good to 4e-6.
    step = 1e-4 * max(1.0, sd)
    ahead, behind = (tilted(mean + d, sd**2, label, moments=moments) for d in (step, -step))
    here = tilted(mean, sd**2, label, moments=moments)
    slope = (ahead.log_z - behind.log_z) / (2 * step)
    assert here.slope == pytest.approx(float(slope), abs=1e-5)
    if moments == "exact":
        curvature = -(ahead.slope - behind.slope) / (2 * step)
        assert here.curvature == pytest.approx(float(curvature), abs=1e-5)


def test_mackay_gradients_are_finite_differences_of_its_log_z() -> None:
    """α and B of the paper, with κ² (erratum: it prints 1/κ²)."""
    rng = np.random.default_rng(3)
    mean, x = rng.normal(size=4), rng.normal(size=4)
    mixing = rng.normal(size=(4, 4))
    covariance = mixing @ mixing.T + np.eye(4)

    def log_z(mu: np.ndarray, sigma: np.ndarray) -> float:
        return float(tilted(x @ mu, x @ sigma @ x, -1.0, moments="mackay").log_z)

    alpha, b = mackay_gradients(mean, covariance, x, -1.0)
    step = 1e-6
    for i in range(4):
        e = step * np.eye(4)[i]
        slope = (log_z(mean + e, covariance) - log_z(mean - e, covariance)) / (2 * step)
        assert alpha[i] == pytest.approx(slope, rel=1e-6)
        for j in range(4):
            bump = step * np.outer(np.eye(4)[i], np.eye(4)[j])
            up, down = log_z(mean, covariance + bump), log_z(mean, covariance - bump)
            assert b[i, j] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-9)


def test_mackay_curvature_reads_the_matrix_formula_along_the_row() -> None:
    rng = np.random.default_rng(4)
    mean, x = rng.normal(size=3), rng.normal(size=3)
    covariance = np.diag([1.0, 2.0, 3.0])
    alpha, b = mackay_gradients(mean, covariance, x, 1.0)
    site = tilted(x @ mean, x @ covariance @ x, moments="mackay")
    np.testing.assert_allclose(site.slope * x, alpha, rtol=1e-13)
    np.testing.assert_allclose(
        site.curvature * np.outer(x, x), np.outer(alpha, alpha) - 2 * b, atol=1e-13
    )


def test_mackay_widens_when_a_confident_prediction_is_wrong() -> None:
    assert tilted(-20.0, 4.0, moments="mackay").curvature < 0
    assert tilted(-20.0, 4.0, moments="exact").curvature >= 0


@pytest.mark.parametrize(
    ("mean", "variance", "label", "complaint"),
    [
        (0.0, 0.0, 1.0, "variance"),
        (0.0, -1.0, 1.0, "variance"),
        (np.nan, 1.0, 1.0, "finite"),
        (0.0, np.inf, 1.0, "finite"),
        (0.0, 1.0, 0.0, "label"),
    ],
)
def test_bad_input_is_named(mean: float, variance: float, label: float, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        tilted(mean, variance, label)


def test_unknown_moments_are_named() -> None:
    with pytest.raises(ValueError, match=r"moments is 'probit' but must be 'exact' or 'mackay'"):
        tilted(0.0, 1.0, moments="probit")  # type: ignore[arg-type]
