"""Every erratum demonstrated by running, and the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from studies.errata import TESTS, page

from fabcost import Gaussian
from fabcost.inference import ep, laplace
from fabcost.paper import errata
from fabcost.paper.designs import authors_design
from fabcost.paper.printed import density_filtering
from tests.reference import mackay_gradients

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "errata.md"


@pytest.mark.parametrize(("margin", "variance"), [(1.5, 4.0), (-2.0, 1.0), (0.3, 50.0)])
def test_erratum_1_the_derivative_has_kappa_squared(margin: float, variance: float) -> None:
    found = errata.factor_in_b(margin, variance)
    assert found["right"] == pytest.approx(found["numerical"], rel=1e-6)
    # The matrix form of equation 16, with κ², in one dimension.
    _, b = mackay_gradients(np.array([margin]), np.array([[variance]]), np.ones(1), 1.0)
    assert found["right"] == pytest.approx(float(b[0, 0]), rel=1e-12)
    # 1/κ² is (1 + πs²/8)² times as large.
    assert found["printed"] / found["numerical"] == pytest.approx(
        (1.0 + np.pi * variance / 8.0) ** 2, rel=1e-6
    )
    if margin > 1:
        assert found["variance_printed"] < 0 < found["variance_right"] < variance


def test_erratum_2_zeros_tell_nothing() -> None:
    X, none = np.array([[1.0, 2.0], [1.0, -1.0]]), np.zeros(2)
    mean, covariance = density_filtering(np.array([0.5, -1.0]), np.eye(2), X, none)
    np.testing.assert_array_equal(mean, [0.5, -1.0])
    np.testing.assert_array_equal(covariance, np.eye(2))
    found = errata.labels()
    assert abs(found["predicted"] - found["clicked"]) < 0.01
    assert found["predicted_from_zeros"] > 0.9


def test_erratum_3_a_prior_spread_over_the_sites_vanishes() -> None:
    found = errata.prior_in_ep()
    assert found["spread"] < 1e-9
    assert found["kept"] > 1.0
    # What is left is EP without a prior, which is the limit of ever wider ones.
    data = authors_design(60, seed=1)
    X, y = data.X[:, :2], 2.0 * data.y - 1.0
    spread = errata.prior_spread_over_sites(Gaussian.isotropic(2, variance=0.1), X, y)
    flat = ep.fit(Gaussian.isotropic(2, variance=1e9), X, y).posterior
    np.testing.assert_allclose(spread.mean, flat.mean, rtol=1e-6)
    np.testing.assert_allclose(spread.covariance, flat.covariance, rtol=1e-6)


def test_erratum_4_the_published_precision_runs_away() -> None:
    found = errata.runaway()
    assert 1.85 < found["growth_published"] < 2.15
    assert 0.85 < found["growth_correct"] < 1.15
    # Σₜ t = n²/2 rows counted instead of n, each at the curvature ¼ of vanishing weights.
    assert found["excess"] > 400 / 2
    assert found["weights_left"] < 0.01


def test_erratum_5_conditional_widths_are_too_small() -> None:
    found = errata.widths()
    assert found["smallest"] < 0.5
    assert found["largest"] < 1.0
    # Two weights of correlation ρ: the conditional width is √(1 − ρ²) of the marginal one.
    belief = Gaussian([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]])
    np.testing.assert_allclose(1.0 / np.sqrt(belief.precision.diagonal()), 0.6 * belief.sd)


def test_erratum_6_ties_on_a_sorted_log_leak_the_labels() -> None:
    """Features tell nothing: 100 of 1,000 rows, 30 % clicks, so more than 55 or fewer than 10
    clicks have probability below 1e-7."""
    found = errata.ties()
    assert found["expected"] == pytest.approx(30.0)
    assert found["lowest"] > 90
    assert 10 <= found["at_random"] <= 55


def test_erratum_7_the_newest_outcome_is_left_out() -> None:
    found = errata.newest()
    assert found["published"] == 0.0
    assert found["correct"] > 0.1
    # The first fit is that of all rows but the newest.
    data, prior = authors_design(11, seed=0), Gaussian.isotropic(6)
    first = laplace.fit_as_published(prior, data.X, data.y).posterior
    behind = laplace.fit(prior, data.X[:-1], data.y[:-1]).posterior
    np.testing.assert_allclose(first.mean, behind.mean, rtol=1e-8)
    np.testing.assert_allclose(first.covariance, behind.covariance, rtol=1e-8)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_page_names_exactly_the_tests_that_exist() -> None:
    named = re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    existing = [name for name in globals() if name.startswith("test_erratum_")]
    assert named == existing
    assert (ROOT / TESTS).samefile(__file__)


def test_errata_are_numbered_from_one() -> None:
    rows, tests = (
        errata.rows(errata.demonstrate()),
        [name for name in globals() if name.startswith("test_erratum_")],
    )
    assert len(rows) == len(tests) == 7
    for number, (row, test) in enumerate(zip(rows, tests, strict=True), start=1):
        assert row[0].startswith(f"{number}. ")
        assert test.startswith(f"test_erratum_{number}_")
