"""Errors as the data grow: rates, costs, verdicts and the figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.offline.methods import (
    ADF,
    EP,
    FAB_COST,
    FAB_COST_PAPER,
    FAB_COST_TWICE,
    LAPLACE,
)
from fabcost.offline.pictures import Picture, Plot
from fabcost.paper.designs import day
from fabcost.paper.measures import convergence as measure
from fabcost.paper.measures.convergence import KINDS, Convergence, Curves
from fabcost.paper.parts.convergence import claims, draw_convergence, draw_costs
from fabcost.paper.snapshots import METHODS, take
from fabcost.paper.statistics import rate, ratio
from fabcost.paper.units import QUICK, Scale, UnitFolder

TINY = replace(
    QUICK, convergence_sizes=(50, 100, 200, 400), streams=2, truth_draws=2000, fitted_from=50
)


def _computed(scale: Scale, seed: int) -> Convergence:
    units = measure.units(scale, seed)
    return measure.gather(scale, {unit.name: unit.compute() for unit in units})


@pytest.fixture(scope="module")
def tiny() -> Convergence:
    return _computed(TINY, 0)


def test_a_known_power_law_is_found() -> None:
    rng = np.random.default_rng(0)
    sizes = (100, 300, 1000, 3000, 10_000)
    exact = 7.0 * np.asarray(sizes) ** -1.5
    errors = exact * np.exp(rng.normal(scale=0.1, size=(12, 5)))
    found = rate(sizes, errors, np.zeros((12, 5)), fitted_from=300)
    assert found is not None
    # The interval misses in one of twenty seeds; this one is fixed.
    assert found.low < -1.5 < found.high
    assert found.high - found.low < 0.15
    errors[:, 0] = 1.0  # below 300, which is not fitted
    assert rate(sizes, errors, np.zeros((12, 5)), fitted_from=300) == found


def test_a_floor_of_noise_is_not_fitted() -> None:
    sizes = (100, 1000, 10_000, 100_000)
    noise = np.full((3, 4), 1e-6)
    errors = np.sqrt(np.asarray(sizes, dtype=np.float64) ** -4 + noise**2)
    found = rate(sizes, errors, noise, fitted_from=100)
    assert found is None  # two of four points are left
    more, noise = (10, *sizes), np.full((3, 5), 1e-9)
    errors = np.sqrt(np.asarray(more, dtype=np.float64) ** -2 + noise**2)
    found = rate(more, errors, noise, fitted_from=100)
    assert found is not None
    assert found.value == pytest.approx(-1.0, abs=1e-6)
    with pytest.raises(ValueError, match="streams by 5 sizes"):
        rate(more, errors[:, 1:], noise[:, 1:], fitted_from=1)


def test_ratios_are_geometric() -> None:
    assert ratio(np.array([1.0, 4.0]), 1.0).value == pytest.approx(2.0)


def test_snapshots_are_the_learners_own() -> None:
    X, y, *_ = day(1000, seed=1)
    prior = Gaussian.isotropic(15, variance=100.0)
    for name, schedule in (
        (FAB_COST, Refresh.geometric()),
        (FAB_COST_TWICE, Refresh.at(100, 10_000)),
    ):
        learner = FabCost(prior, refresh=schedule)
        learner.observe_many(X, y)
        np.testing.assert_allclose(
            take(name, X, y, [150, 1000])[-1].posterior.mean, learner.posterior.mean, rtol=1e-9
        )
    filtered = take(ADF, X, y, [150, 1000])
    ours = adf.fit(prior, X[:150], y[:150]).posterior
    np.testing.assert_allclose(filtered[0].posterior.sd, ours.sd)
    geometric = take(FAB_COST, X, y, [150, 1000])
    assert 9 * 1000 < geometric[-1].visited < 12 * 1000  # n · growth / (growth − 1)
    with pytest.raises(ValueError, match="must rise"):
        take(ADF, X, y, [150, 100])


def test_ep_is_far_closer_than_laplace_and_the_truth_is_known(tiny: Convergence) -> None:
    curves = tiny.curves["design"]
    assert curves.errors["mean"].shape == (2, len(METHODS), 4)
    assert (curves.typical("mean_in_sds", EP) < 0.1 * curves.typical("mean_in_sds", LAPLACE)).all()
    assert (curves.floor("mean") < curves.typical("mean", LAPLACE)).all()
    for kind in KINDS:
        assert np.isfinite(curves.errors[kind]).all()


def _known(cost: FloatArray | None) -> FloatArray:
    assert cost is not None
    return cost


def test_costs_are_counted_as_the_paper_does() -> None:
    curves = Curves(
        name="day",
        sizes=(100, 250),
        fitted_from=1,
        dimension=3,
        methods=(LAPLACE, ADF, EP),
        errors={},
        noise={},
        filtered=np.array([[0.0, 0.0], [100.0, 250.0], [0.0, 0.0]]),
        visited=np.array([[0.0, 0.0], [0.0, 0.0], [400.0, 1000.0]]),
        elapsed=np.ones((3, 2)),
        ess=np.ones((1, 2)),
    )
    assert curves.cost("paper", LAPLACE, 100) is None
    np.testing.assert_allclose(_known(curves.cost("paper", ADF, 100)), [4 * 27 * 100, 4 * 27 * 250])
    # Four sweeps over 100 rows; then over 100, 200 and 250.
    visits = np.array([400.0, 4 * 550.0])
    np.testing.assert_allclose(_known(curves.cost("paper", EP, 100)), 38 / 3 * 27 * visits)
    np.testing.assert_allclose(_known(curves.cost("rank-one", EP, 100)), 6 * 9 * visits)


def test_seconds_of_batch_methods_add_up() -> None:
    result = measure.measure_seconds("design", [100, 400], batch=100, seed=0)
    assert result["elapsed"].shape == (len(METHODS), 2)
    assert (np.diff(result["elapsed"], axis=1) > 0).all()


def test_another_seed_gives_other_figures(tiny: Convergence) -> None:
    for unit, again, other in zip(*(measure.units(TINY, seed) for seed in (0, 0, 1)), strict=True):
        if unit.name.endswith("-0"):
            curves = tiny.curves[unit.arguments["name"]]
            np.testing.assert_array_equal(curves.errors["mean"][0], again.compute()["mean"])
            assert (curves.errors["mean"][0] != other.compute()["mean"]).all()


def test_results_survive_the_folder(tiny: Convergence, tmp_path: Path) -> None:
    unit = measure.units(TINY, 0)[0]
    folder, result = UnitFolder(tmp_path), unit.compute()
    folder.keep(unit, result)
    kept = folder.find(unit)
    assert kept is not None
    np.testing.assert_array_equal(kept["mean"], result["mean"])
    assert kept["methods"] == list(tiny.curves["design"].methods)


def _with_errors(part: Convergence, edit: Callable[[Curves, str], float]) -> Convergence:
    """Power laws of a given size for each method, in both data sets."""
    curves = {}
    for name, each in part.curves.items():
        sizes = np.asarray((1000, 3000, 10_000, 30_000), dtype=np.float64)
        rows = [edit(each, method) * sizes**-1.0 for method in each.methods]
        errors = {kind: np.array([rows, 1.01 * np.array(rows)]) for kind in KINDS}
        noise = {kind: np.full((2, 4), 1e-30) for kind in KINDS}
        curves[name] = replace(each, sizes=(1000, 3000, 10_000, 30_000), errors=errors, noise=noise)
    return replace(part, curves=curves)


def test_verdicts_follow_the_numbers(tiny: Convergence) -> None:
    good = _with_errors(tiny, lambda _, method: 0.1 if method == EP else 1.0)
    best, adf_rate, ep_rate, gained, switch = claims(good)
    assert best.verdict == adf_rate.verdict == switch.verdict == "reproduced"
    assert ep_rate.verdict == "not reproduced"  # 1/T is not 1/T²
    assert gained.verdict == "not reproduced"  # the mean gains as much
    assert "-1.00" in adf_rate.measured
    assert "8 of 8" in best.reason
    assert (len(best.details), len(gained.details), len(switch.details)) == (8, 4, 8)
    bad = _with_errors(tiny, lambda _, method: 1e4 if "FAB" in method or method == EP else 1.0)
    best, *_, switch = claims(bad)
    assert best.verdict == switch.verdict == "not reproduced"
    half = _with_errors(tiny, lambda _, method: 1e4 if method == FAB_COST_PAPER else 1.0)
    assert claims(half)[-1].verdict == "partly"
    mixed = _with_errors(tiny, lambda each, _: 0.1 if each.name == "design" else 3.0)
    worst = claims(mixed)[-1].measured
    assert "0.0001" in worst  # 3 of the day over its 30,000 impressions, not 0.1 of the design
    assert claims(tiny)[-1].verdict == "not testable"  # ends before 10,000


@pytest.mark.parametrize(
    "draw",
    [draw_convergence, partial(draw_costs, name="day"), partial(draw_costs, name="design")],
)
def test_figures_are_drawn(draw: Callable[[Convergence], Figure], tiny: Convergence) -> None:
    assert len(Picture.of(Plot("a", draw, "b", "c"), tiny).png) > 10_000
    figure = draw(tiny)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {LAPLACE, ADF, EP, FAB_COST} <= set(labels)
