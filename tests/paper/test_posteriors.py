"""Posterior marginals: the sampler, every method, verdicts and the figures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from fabcost.gaussian import Gaussian
from fabcost.inference import ep, laplace
from fabcost.offline.methods import ADF, ADF_MACKAY, EP, EP_MACKAY, LAPLACE
from fabcost.offline.pictures import Picture, Plot
from fabcost.paper.designs import day
from fabcost.paper.measures import posteriors as measure
from fabcost.paper.measures.posteriors import Marginals
from fabcost.paper.parts.posteriors import (
    EP_AND_ADF,
    FAB_COST_AND_LAPLACE,
    claims,
    draw_marginals,
)
from fabcost.paper.units import QUICK

pytestmark = pytest.mark.skipif(find_spec("nutpie") is None, reason="nutpie is not installed")

TINY = replace(QUICK, posterior_sizes=(500, 1500), draws=400)


def _computed(seed: int) -> Marginals:
    units = measure.units(TINY, seed)
    return measure.gather(TINY, {unit.name: unit.compute() for unit in units})


@pytest.fixture(scope="module")
def tiny() -> Marginals:
    return _computed(0)


def test_methods_are_fitted_to_the_first_impressions(tiny: Marginals) -> None:
    data = day(1500, seed=0)
    prior = Gaussian.isotropic(15, variance=100.0)
    belief = ep.fit(prior, data.X[:500], data.y[:500]).posterior
    place = tiny.methods.index(EP)
    np.testing.assert_allclose(tiny.mean[place, 0], belief.mean, rtol=1e-9)
    np.testing.assert_allclose(tiny.sd[place, 0], belief.sd, rtol=1e-9)
    curvature = laplace.fit(prior, data.X, data.y).posterior.precision
    np.testing.assert_allclose(tiny.conditional[1], curvature.diagonal() ** -0.5, rtol=1e-6)
    # Knowing all other weights cannot widen a marginal.
    assert (tiny.conditional < tiny.sd[tiny.methods.index(LAPLACE)]).all()


def test_the_sampler_agrees_with_ep_and_states_its_error(tiny: Marginals) -> None:
    for size, truth in enumerate(tiny.truth):
        assert truth.draws == 400
        assert truth.counts.sum() == 400
        assert truth.edges.size == truth.counts.size + 1
        assert truth.clicks == int(day(1500, seed=0).y[: truth.rows].sum())
        own = np.sqrt(np.mean((truth.mean_error / truth.sd) ** 2))
        # An rms over 15 weights of errors of this size; EP's own error is 0.03 at most.
        assert tiny.shift(EP, size) < 2.0 * own + 0.03
        assert tiny.shift(LAPLACE, size) > 0.0


def test_another_seed_gives_other_figures(tiny: Marginals) -> None:
    other = _computed(1)
    assert (tiny.mean != other.mean).all()
    assert (tiny.truth[0].mean != other.truth[0].mean).all()


def _moved(part: Marginals, shifts: dict[str, tuple[float, float]]) -> Marginals:
    """Each method so many sds from the truth at the two sizes, with its very widths."""
    truth_mean = np.array([each.mean for each in part.truth])
    truth_sd = np.array([each.sd for each in part.truth])
    mean = np.array(
        [
            truth_mean + np.array(shifts.get(name, (0.0, 0.0)))[:, None] * truth_sd
            for name in part.methods
        ]
    )
    sd = np.array([truth_sd for _ in part.methods])
    return replace(part, mean=mean, sd=sd, conditional=0.3 * truth_sd)


def test_verdicts_follow_the_numbers(tiny: Marginals) -> None:
    as_in_paper = _moved(tiny, {ADF: (2.0, 0.1), ADF_MACKAY: (5.0, 0.2)})
    adf, first, marginal, conditional = claims(as_in_paper)
    assert (adf.verdict, first.verdict) == ("reproduced", "reproduced")
    assert (marginal.verdict, conditional.verdict) == ("not reproduced", "reproduced")
    assert "by 2 and 0.1 sds (ADF), by 5 and 0.2 sds" in adf.measured
    assert adf.details[0][1].startswith("off by 2 after 500")
    assert "0.30" in conditional.measured
    otherwise = _moved(tiny, {ADF: (0.1, 0.1), ADF_MACKAY: (5.0, 0.2), EP_MACKAY: (3.0, 0.0)})
    adf, first, *_ = claims(otherwise)
    assert (adf.verdict, first.verdict) == ("partly", "partly")
    never = _moved(tiny, {EP: (3.0, 0.0), EP_MACKAY: (3.0, 0.0)})
    adf, first, *_ = claims(never)
    assert (adf.verdict, first.verdict) == ("not reproduced", "not reproduced")


@pytest.mark.parametrize("names", [EP_AND_ADF, FAB_COST_AND_LAPLACE])
def test_figures_are_drawn(names: tuple[str, ...], tiny: Marginals) -> None:
    draw = partial(draw_marginals, names=names)
    assert len(Picture.of(Plot("a", draw, "b", "c"), tiny).png) > 10_000
    figure = draw(tiny)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith("500 impressions")
    # A marginal that is too far away to be drawn is named.
    far = draw(_moved(tiny, {ADF_MACKAY: (99.0, 0.0), LAPLACE: (99.0, 0.0)}))
    assert any("outside" in text.get_text() for text in far.axes[0].texts)
