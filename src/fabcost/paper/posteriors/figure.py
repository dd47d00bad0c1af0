"""The pictures of posterior marginals: EP beside ADF, and FAB-COST beside Laplace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.methods import (
    ADF,
    ADF_MACKAY,
    EP,
    EP_MACKAY,
    FAB_COST,
    FAB_COST_PAPER,
    LAPLACE,
    STYLES,
)
from fabcost.paper.posteriors.measure import Marginals, NutsMoments
from fabcost.paper.report.pictures import add_legend
from fabcost.paper.report.wording import typeset

_CONDITIONAL = "Laplace, 1/√H"
EP_AND_ADF = (EP, EP_MACKAY, ADF, ADF_MACKAY)
FAB_COST_AND_LAPLACE = (FAB_COST, FAB_COST_PAPER, LAPLACE, _CONDITIONAL)
_THIN: dict[str, Any] = {"color": STYLES[LAPLACE].colour, "linestyle": ":", "linewidth": 0.8}
_SHOWN_SDS = 4.5
_FARTHEST_SDS = 9.0


def draw_marginals(part: Marginals, *, names: Iterable[str]) -> Figure:
    """The intercept's marginal by some of the methods at each size."""
    columns = 2
    rows = -(-len(part.sizes) // columns)
    figure = Figure(figsize=(7.5, 0.6 + 2.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for place, axes in enumerate(panels):
        if place < len(part.sizes):
            marginals = {name: _marginal(part, name, place) for name in names}
            _draw_panel(axes, part.truth[place], marginals)
        else:
            axes.set_visible(False)
    add_legend(figure, panels[0], columns=5)
    return figure


def _marginal(part: Marginals, name: str, size: int) -> tuple[float, float]:
    """Mean and sd of the intercept."""
    place = part.methods.index(LAPLACE if name == _CONDITIONAL else name)
    sd = part.conditional[size] if name == _CONDITIONAL else part.sd[place, size]
    return float(part.mean[place, size, 0]), float(sd[0])


def _draw_panel(
    axes: Axes, truth: NutsMoments, marginals: Mapping[str, tuple[float, float]]
) -> None:
    widths = np.diff(truth.edges)
    heights = truth.counts / (truth.counts.sum() * widths)
    axes.bar(
        truth.edges[:-1], heights, widths, align="edge", color="#dddddd", label="NUTS (reference)"
    )
    low, high = _span(truth, marginals.values())
    at = np.linspace(low, high, 600)
    for name, (mean, sd) in marginals.items():
        density = np.exp(-0.5 * ((at - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
        style = _THIN if name == _CONDITIONAL else {**STYLES[name].line, "linewidth": 1.4}
        axes.plot(at, density, label=name, **style)
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, 1.55 * float(1.0 / (truth.sd[0] * np.sqrt(2.0 * np.pi))))
    axes.set_title(f"{truth.rows:,} impressions, {truth.clicks:,} clicks")
    axes.set_xlabel("intercept")
    axes.set_yticks([])
    _point_outside(axes, marginals, low, high)


def _span(truth: NutsMoments, marginals: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The posterior, and as much of the approximations as leaves it visible."""
    centre, sd = float(truth.mean[0]), float(truth.sd[0])
    ends = np.array([(mean - 2.5 * width, mean + 2.5 * width) for mean, width in marginals])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    return (
        min(centre - _SHOWN_SDS * sd, max(low, centre - _FARTHEST_SDS * sd)),
        max(centre + _SHOWN_SDS * sd, min(high, centre + _FARTHEST_SDS * sd)),
    )


def _point_outside(
    axes: Axes, marginals: Mapping[str, tuple[float, float]], low: float, high: float
) -> None:
    """Say where a marginal is whose middle cannot be seen."""
    lines = [
        f"{name}: {mean:.1f} ± {sd:.1f}"
        for name, (mean, sd) in marginals.items()
        if not low < mean < high
    ]
    if lines:
        text = typeset("outside:\n" + "\n".join(lines))
        axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=7)
