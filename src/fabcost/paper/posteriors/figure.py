"""The pictures of posterior marginals: EP beside ADF, and FAB-COST beside Laplace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.paper.methods import (
    ADF,
    ADF_MACKAY,
    EP,
    EP_MACKAY,
    FAB_COST,
    FAB_COST_PAPER,
    LAPLACE,
)
from fabcost.paper.posteriors.results import Marginals, Sampled
from fabcost.paper.report.wording import typeset

_CONDITIONAL = "Laplace, 1/√H"
# Dashes and widths tell the lines apart without colour.
_EP_AND_ADF: dict[str, dict[str, Any]] = {
    EP: {"color": "#000000", "linestyle": "-", "linewidth": 1.6},
    EP_MACKAY: {"color": "#e7298a", "linestyle": (0, (1, 1)), "linewidth": 1.6},
    ADF: {"color": "#7570b3", "linestyle": "-.", "linewidth": 1.4},
    ADF_MACKAY: {"color": "#666666", "linestyle": "--", "linewidth": 1.0},
}
_FAB_COST_AND_LAPLACE: dict[str, dict[str, Any]] = {
    FAB_COST: {"color": "#000000", "linestyle": "-", "linewidth": 1.6},
    FAB_COST_PAPER: {"color": "#1b9e77", "linestyle": "-.", "linewidth": 1.4},
    LAPLACE: {"color": "#d95f02", "linestyle": "--", "linewidth": 1.4},
    _CONDITIONAL: {"color": "#d95f02", "linestyle": (0, (1, 1)), "linewidth": 0.8},
}
_LOOK: dict[Any, Any] = {"font.size": 8.0, "axes.spines.top": False, "axes.spines.right": False}
_SHOWN_SDS = 4.5
_FARTHEST_SDS = 9.0


def draw_ep_and_adf(part: Marginals) -> Figure:
    """The intercept's marginal by EP and ADF at each size."""
    return _draw(part, _EP_AND_ADF)


def draw_fab_cost_and_laplace(part: Marginals) -> Figure:
    """The intercept's marginal by FAB-COST and Laplace, the latter with both of its widths."""
    return _draw(part, _FAB_COST_AND_LAPLACE)


def _draw(part: Marginals, styles: Mapping[str, dict[str, Any]]) -> Figure:
    with mpl.rc_context(_LOOK):
        columns = 2
        rows = -(-len(part.sizes) // columns)
        figure = Figure(figsize=(7.5, 0.6 + 2.2 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for place, axes in enumerate(panels):
            if place < len(part.sizes):
                _draw_panel(axes, part, place, styles)
            else:
                axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _draw_panel(
    axes: Axes, part: Marginals, size: int, styles: Mapping[str, dict[str, Any]]
) -> None:
    truth = part.truth[size]
    widths = np.diff(truth.edges)
    heights = truth.counts / (truth.counts.sum() * widths)
    axes.bar(
        truth.edges[:-1], heights, widths, align="edge", color="#dddddd", label="NUTS (reference)"
    )
    marginals = {name: _marginal(part, name, size) for name in styles}
    low, high = _span(truth, [marginals[name] for name in marginals])
    at = np.linspace(low, high, 600)
    for name, style in styles.items():
        mean, sd = marginals[name]
        density = np.exp(-0.5 * ((at - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi))
        axes.plot(at, density, label=name, **style)
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, 1.55 * float(1.0 / (truth.sd[0] * np.sqrt(2.0 * np.pi))))
    axes.set_title(f"{truth.rows:,} impressions, {truth.clicks:,} clicks")
    axes.set_xlabel("intercept")
    axes.set_yticks([])
    _point_outside(axes, marginals, low, high)


def _marginal(part: Marginals, name: str, size: int) -> tuple[float, float]:
    if name == _CONDITIONAL:
        place = part.methods.index(LAPLACE)
        return float(part.mean[place, size, 0]), float(part.conditional[size, 0])
    place = part.methods.index(name)
    return float(part.mean[place, size, 0]), float(part.sd[place, size, 0])


def _span(truth: Sampled, marginals: list[tuple[float, float]]) -> tuple[float, float]:
    """The posterior, and as much of the approximations as leaves it visible."""
    centre, sd = float(truth.mean[0]), float(truth.sd[0])
    low = min(mean - 2.5 * width for mean, width in marginals)
    high = max(mean + 2.5 * width for mean, width in marginals)
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
