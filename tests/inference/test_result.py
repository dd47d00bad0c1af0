"""All ways to fit answer alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_expit

from fabcost import Gaussian
from fabcost.inference import adf, ep, laplace
from fabcost.inference.result import Fit

PRIOR = Gaussian([0.3], [[2.0]])
X, Y = np.array([[1.0], [2.0], [-0.5], [1.5]]), np.array([1.0, -1.0, 1.0, 1.0])


def log_evidence() -> float:
    """log ∫ p(y | X, θ) p(θ) dθ by quadrature."""

    def density(theta: float) -> float:
        log_likelihood = log_expit(Y * X[:, 0] * theta).sum()
        return math.exp(log_likelihood - (theta - 0.3) ** 2 / 4.0) / math.sqrt(4.0 * math.pi)

    return math.log(quad(density, -15.0, 15.0)[0])


@pytest.mark.parametrize(
    "fit", [adf.fit, ep.fit, laplace.fit, laplace.fit_online, laplace.fit_as_published]
)
def test_every_fit_says_how_it_went(fit: Callable[..., Fit]) -> None:
    found = fit(PRIOR, X, Y)
    assert isinstance(found.posterior, Gaussian)
    assert (found.converged, found.skipped) == (True, 0)
    assert found.iterations >= (fit is not laplace.fit_as_published)  # too few rows for it


@pytest.mark.parametrize(("fit", "within"), [(ep.fit, 0.002), (laplace.fit, 0.06)])
def test_evidence_is_that_of_quadrature(fit: Callable[..., Fit], within: float) -> None:
    assert fit(PRIOR, X, Y).log_evidence == pytest.approx(log_evidence(), abs=within)


def test_filtering_has_no_evidence() -> None:
    assert math.isnan(adf.fit(PRIOR, X, Y).log_evidence)


def test_newton_that_was_stopped_has_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "_MOST_STEPS", 1)
    found = laplace.fit(PRIOR, X, Y)
    assert (found.converged, found.iterations) == (False, 1)
    assert not laplace.fit_online(PRIOR, X, Y, batch=2).converged
