"""The pictures of convergence: errors as the data grow, and what an error costs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.impressions import FloatArray
from fabcost.offline.methods import (
    ADF,
    EP,
    FAB_COST,
    FAB_COST_PAPER,
    FAB_COST_TWICE,
    LAPLACE,
    STYLES,
)
from fabcost.paper.convergence.measure import Convergence, Cost, Curves, Kind
from fabcost.paper.report.pictures import add_legend

_SHOWN = (LAPLACE, ADF, EP, FAB_COST, FAB_COST_TWICE, FAB_COST_PAPER)
_TITLES = {"design": "the authors' design", "day": "the day of car adverts"}
_KINDS: dict[Kind, str] = {"mean": "error of the mean", "variance": "error of the variance"}
_COSTS: dict[Cost, str] = {
    "paper": "flops as the paper counts",
    "rank-one": "flops of the rank-one form",
    "seconds": "seconds",
}


def draw_convergence(part: Convergence) -> Figure:
    """Errors against impressions, data sets side by side."""
    figure = Figure(figsize=(7.5, 6.0), layout="constrained")
    panels = figure.subplots(2, len(part.curves), sharex="col", squeeze=False)
    for column, curves in zip(panels.T, part.curves.values(), strict=True):
        for axes, kind in zip(column, _KINDS, strict=True):
            _draw_errors(axes, curves, kind)
        column[0].set_title(_TITLES[curves.name])
        column[-1].set_xlabel("impressions T")
    add_legend(figure, panels[0, 0], columns=4)
    return figure


def draw_costs(part: Convergence, *, name: str) -> Figure:
    """Errors against cumulated costs on the data set ``name``."""
    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    panels = figure.subplots(2, len(_COSTS), sharex="col", sharey="row")
    curves = part.curves[name]
    for column, counted in zip(panels.T, _COSTS, strict=True):
        for axes, kind in zip(column, _KINDS, strict=True):
            _draw_cost(axes, curves, kind, counted, part.batch)
        column[-1].set_xlabel(_COSTS[counted])
    for axes, label in zip(panels[:, 0], _KINDS.values(), strict=True):
        axes.set_ylabel(label)
    add_legend(figure, panels[0, -1], columns=4)
    return figure


def _draw_errors(axes: Axes, curves: Curves, kind: Kind) -> None:
    lowest = float(curves.floor(kind).min())
    axes.fill_between(
        curves.sizes, lowest / 3.0, curves.floor(kind), color="#e8e8e8", label="noise of the truth"
    )
    _draw_guides(axes, curves, kind)
    for method in _SHOWN:
        _draw_line(axes, curves.sizes, curves.typical(kind, method), method)
    axes.text(0.03, 0.04, _slopes(curves, kind), transform=axes.transAxes, fontsize=7)
    axes.set_ylim(bottom=lowest / 3.0)
    axes.set_ylabel(_KINDS[kind])


def _slopes(curves: Curves, kind: Kind) -> str:
    rates = {method: curves.rate(kind, method) for method in (LAPLACE, ADF, EP)}
    texts = [f"{method} {rate:.2f}".replace("-", "−") for method, rate in rates.items() if rate]
    return "\n".join([f"slopes from {curves.fitted_from:,} on", *texts])


def _draw_guides(axes: Axes, curves: Curves, kind: Kind) -> None:
    """1/T and 1/T² through the first error of Laplace."""
    sizes = np.asarray(curves.sizes, dtype=np.float64)
    first = float(curves.typical(kind, LAPLACE)[0])
    for power in (1, 2):
        guide = first * (sizes / sizes[0]) ** -power
        axes.loglog(sizes, guide, color="#aaaaaa", linewidth=0.8, zorder=1)
        text = "1/T" if power == 1 else "1/T²"
        axes.annotate(
            text,
            (sizes[-1], guide[-1]),
            xytext=(5, 0),
            textcoords="offset points",
            color="#777777",
            va="center",
        )


def _draw_cost(axes: Axes, curves: Curves, kind: Kind, counted: Cost, batch: int) -> None:
    for method in _SHOWN:
        cost = curves.cost(counted, method, batch)
        if cost is not None:
            _draw_line(axes, cost, curves.typical(kind, method), method)


def _draw_line(axes: Axes, at: npt.ArrayLike, errors: FloatArray, method: str) -> None:
    axes.loglog(at, errors, label=method, markersize=3.5, linewidth=1.2, **STYLES[method].points)
