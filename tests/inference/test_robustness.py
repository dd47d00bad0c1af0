"""Never a NaN, always symmetric and positive definite, whatever the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fabcost import FabCost, Gaussian, Refresh
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep, laplace
from fabcost.inference.result import Fit
from fabcost.tilted import Moments
from tests.examples import examples
from tests.simulated import cold_start

Method = Callable[[Gaussian, FloatArray, FloatArray], Gaussian]


pytestmark = pytest.mark.filterwarnings("ignore::fabcost.inference.result.ConvergenceWarning")


def learnt(refresh: Refresh, moments: Moments = "exact", window: int | None = None) -> Method:
    def fit(prior: Gaussian, X: FloatArray, y: FloatArray) -> Gaussian:
        learner = FabCost(prior, refresh=refresh, moments=moments, most_kept=window)
        learner.observe_many(X, y)
        return learner.posterior

    return fit


def fitted(fit: Callable[..., Fit], **settings: Any) -> Method:
    def posterior(prior: Gaussian, X: FloatArray, y: FloatArray) -> Gaussian:
        return fit(prior, X, y, **settings).posterior

    return posterior


METHODS: dict[str, Method] = {
    "laplace": fitted(laplace.fit),
    "laplace-online": fitted(laplace.fit_online),
    "laplace-diagonal": fitted(laplace.fit_online, covariance="diagonal"),
    "laplace-as-published": fitted(laplace.fit_as_published),
    "adf": fitted(adf.fit),
    "adf-mackay": fitted(adf.fit, moments="mackay"),
    "ep": fitted(ep.fit),
    "ep-mackay": fitted(ep.fit, moments="mackay", max_sweeps=20),
    "fab-cost": learnt(Refresh.geometric(1.1)),
    "fab-cost-window": learnt(Refresh.geometric(1.1), window=7),
    "fab-cost-paper": learnt(Refresh.at(10, 30), "mackay"),
    "fab-cost-always": learnt(Refresh.always(max_sweeps=3)),
}
EVERY_METHOD = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def assert_sound(belief: Gaussian) -> None:
    assert np.isfinite(belief.mean).all()
    covariance = belief.covariance
    np.testing.assert_array_equal(covariance, covariance.T)
    np.linalg.cholesky(covariance)
    assert (belief.sd > 0).all()


@st.composite
def awkward_data(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, float]:
    """Rows that are scaled, repeated, collinear, constant or zero, and a prior variance."""
    rows = draw(st.integers(0, 40))
    weights = draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(rows, weights))
    shape = draw(st.sampled_from(["plain", "repeated", "collinear", "constant", "zero", "scales"]))
    if shape == "repeated" and rows:
        X[:] = X[0]
    if shape == "collinear":
        X[:] = X[:, :1]
    if shape == "constant":
        X[:, : 1 + weights // 2] = 1.0
    if shape == "zero":
        X[: rows // 2] = 0.0
    if shape == "scales":
        X *= 10.0 ** rng.uniform(-6, 6, size=weights)
    X *= 10.0 ** draw(st.floats(-6, 6))
    outcome = draw(st.sampled_from(["separable", "random", "all", "none"]))
    click = {
        "separable": X @ rng.normal(size=weights) > 0,
        "random": rng.random(rows) < 0.5,
        "all": np.ones(rows, dtype=bool),
        "none": np.zeros(rows, dtype=bool),
    }[outcome]
    return X, np.where(click, 1.0, -1.0), 10.0 ** draw(st.floats(-6, 6))


@EVERY_METHOD
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=awkward_data())
@example((np.array([[1e12], [-1e12]]), np.array([1.0, 1.0]), 1e6))
@example((np.array([[1e11], [3e12]]), np.array([-1.0, 1.0]), 1e4))
def test_any_data_leave_a_sound_belief(
    method: Method, data: tuple[FloatArray, FloatArray, float]
) -> None:
    X, y, variance = data
    assert_sound(method(Gaussian.isotropic(X.shape[1], variance=variance), X, y))


@settings(max_examples=examples(60), deadline=None)
@given(data=awkward_data())
@example((1e5 * np.array([[3.0, 8.0], [3.0, 8.0]]), np.array([-1.0, 1.0]), 1e5))
def test_exact_ep_skips_nothing_and_converges(data: tuple[FloatArray, FloatArray, float]) -> None:
    X, y, variance = data
    result = ep.fit(Gaussian.isotropic(X.shape[1], variance=variance), X, y, max_sweeps=2000)
    assert result.skipped == 0
    # In posterior sds along a row, the mean is rounded to about ε times the prior's sd along it.
    reach = np.sqrt(variance) * np.linalg.norm(X, axis=1).max(initial=0.0)
    assert result.converged or np.finfo(float).eps * reach > ep.TOLERANCE
    assert (result.sites.precision >= 0).all()
    assert (result.sites.precision <= 0.2500001).all()


@pytest.mark.parametrize("moments", ["exact", "mackay"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_hundred_thousand_steps(moments: Moments, scale: float) -> None:
    X, y = cold_start(100_000, 6)
    for schedule in (Refresh.never(), Refresh.geometric(1.5)):
        learner = FabCost(
            Gaussian.isotropic(6, variance=100.0), refresh=schedule, moments=moments, most_kept=5000
        )
        learner.observe_many(scale * X, y)
        assert_sound(learner.posterior)


def test_exact_moments_never_widen_the_belief() -> None:
    X, y = cold_start(500, 15, intercept=-4.0)
    learner = FabCost(Gaussian.isotropic(15, variance=100.0), refresh=Refresh.never())
    volume = learner.posterior.log_determinant
    for row, label in zip(X, y, strict=True):
        learner.observe(row, label)
        assert learner.posterior.log_determinant <= volume + 1e-9
        volume = learner.posterior.log_determinant


def test_extreme_evidence_along_one_rotated_direction_is_not_lost() -> None:
    """Prior variance 1e6 and features of 1e6 along (1, 1): the covariance itself holds 1e-18."""
    X = np.tile([1e6, 1e6], (40, 1))
    y = np.tile([1.0, -1.0], 20)
    prior = Gaussian.isotropic(2, variance=1e6)
    scalar = ep.fit(Gaussian.isotropic(1, variance=2e18), np.ones((40, 1)), y).posterior
    for posterior in (ep.fit(prior, X, y).posterior, laplace.fit(prior, X, y).posterior):
        assert posterior.marginal([1.0, -1.0]).variance == pytest.approx(2e6, rel=1e-6)
    along = ep.fit(prior, X, y).posterior.marginal([1e6, 1e6]).variance
    assert along == pytest.approx(float(scalar.covariance[0, 0]), rel=1e-5)
