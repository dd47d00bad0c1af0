"""Plots show the numbers that they are of, and draws follow the belief."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.stats import binomtest

import fabcost
from tests.notebook.test_summary import estimator, learner, recommender


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("made", [learner(), recommender(), estimator()])
def test_weights_stand_where_they_are(made: fabcost.FabCost) -> None:
    axes, found = fabcost.plot_weights(made, most=2), made.summary()
    (points, _, (bars,)) = axes.containers[0]
    shown = np.sort(found.strongest[:2])
    assert points.get_xdata().tolist() == found.mean[shown].tolist()
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([found.lower, found.upper])[shown])
    assert [label.get_text() for label in axes.get_yticklabels()] == [found.names[i] for i in shown]


def test_calibration_has_wilsons_intervals() -> None:
    rng = np.random.default_rng(3)
    said = rng.random(100)
    happened = rng.random(100) < said
    own = Figure().subplots()
    axes = fabcost.plot_calibration(np.column_stack([1 - said, said]), happened, bins=4, axes=own)
    assert axes is own
    (points, _, (bars,)) = axes.containers[0]
    order = np.argsort(said).reshape(4, 25)
    np.testing.assert_allclose(points.get_xdata(), said[order].mean(axis=1))
    for segment, part in zip(bars.get_segments(), order, strict=True):
        wilson = binomtest(int(happened[part].sum()), 25).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose(segment[:, 1], [wilson.low, wilson.high], atol=1e-12)


@pytest.mark.parametrize(
    ("said", "happened", "message"),
    [
        ([0.1, 0.2], [1], r"shape \(2,\) and outcomes \(1,\)"),
        ([1.1], [1], "between 0 and 1"),
        ([0.1], [2], "0 or 1"),
    ],
)
def test_bad_input_is_told(said: list[float], happened: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fabcost.plot_calibration(said, happened)


@pytest.mark.parametrize("made", [learner(), recommender(), estimator()])
def test_draws_follow_the_belief_under_its_names(made: fabcost.FabCost) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        data = fabcost.to_arviz(made, draws=2000, chains=2, rng=5)
    drawn, found = data.posterior["weight"], made.summary()
    assert tuple(drawn.coords["name"].values.tolist()) == found.names
    # Each of at most 8 means is beyond 4.5 standard errors with probability 7e-6.
    error = np.abs(drawn.mean(("chain", "draw")).values - found.mean) / found.sd
    assert (error < 4.5 / np.sqrt(4000)).all()
    assert (fabcost.to_arviz(made, draws=9, rng=5).posterior["weight"] == drawn[0, :9])[0].all()


def test_a_wide_belief_has_no_draws() -> None:
    with pytest.raises(ValueError, match="WideGaussian but draws are of a fabcost.Gaussian"):
        fabcost.to_arviz(fabcost.WideFabCost(8))
