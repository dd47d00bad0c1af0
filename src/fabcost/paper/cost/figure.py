"""The picture of the costs: one site in either form, EP sweep by sweep, and online updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from fabcost.offline.methods import STYLES
from fabcost.paper.cost.costs import TITLES, TOLERANCE, Costs
from fabcost.paper.cost.measure import FORMS
from fabcost.paper.statistics import median_interval

# Markers tell the data sets apart without colour.
_DESIGNS: dict[str, dict[str, Any]] = {
    "day": {"color": "#000000", "marker": "D"},
    "authors": {"color": "#d95f02", "marker": "s"},
}
_MARKERS = "os^vDP*X"
_SHOWN_SWEEPS = 10
_LEAST_ERROR = 1e-8


def draw_cost(part: Costs) -> Figure:
    """Three panels, side by side."""
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    forms, sweeps, online = figure.subplots(1, 3)
    _draw_forms(forms, part)
    _draw_sweeps(sweeps, part)
    _draw_online(online, part)
    return figure


def _draw_forms(axes: Axes, part: Costs) -> None:
    places = np.arange(len(FORMS))[::-1]
    for shift, (design, batch) in zip((0.12, -0.12), part.batches.items(), strict=True):
        found = 1e6 * np.array([median_interval(batch.seconds[form]) for form in FORMS])
        middle, low, high = found.T
        axes.errorbar(
            middle,
            places + shift,
            xerr=[middle - low, high - middle],
            linestyle="none",
            markersize=4,
            label=f"{TITLES[design]}, {batch.weights} weights",
            **_DESIGNS[design],
        )
    axes.set_xscale("log")
    axes.set_yticks(places, FORMS)
    axes.set_title("One update or visit")
    axes.set_xlabel("microseconds")
    axes.legend(frameon=False, fontsize=7)


def _draw_sweeps(axes: Axes, part: Costs) -> None:
    """Exact moments on the day's data; the median over streams."""
    sweeps = part.sweeps["day"]
    errors = np.median(sweeps.errors["exact"], axis=0)[:, :_SHOWN_SWEEPS]
    count = np.arange(1, errors.shape[1] + 1)
    for place, (size, line) in enumerate(zip(sweeps.sizes, errors, strict=True)):
        grey = str(0.7 * (1.0 - place / max(1, len(errors) - 1)))
        marker = _MARKERS[place % len(_MARKERS)]
        shown = np.where(line > _LEAST_ERROR, line, np.nan)
        axes.semilogy(count, shown, color=grey, marker=marker, markersize=3, label=f"{size:,}")
    axes.axhline(TOLERANCE, color="black", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_title("EP on the day, exact moments")
    axes.set_xlabel("sweeps")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("distance from its end, posterior sds")
    axes.legend(title="impressions", loc="lower left", fontsize=6, title_fontsize=6, frameon=False)


def _draw_online(axes: Axes, part: Costs) -> None:
    for form, rounds in part.online.seconds.items():
        milliseconds = 1e3 * np.median(rounds, axis=0)
        axes.loglog(
            part.online.sizes, milliseconds, label=form, markersize=4, **STYLES[form].points
        )
    ends = part.online.sizes[0], part.online.sizes[-1]
    axes.set_xticks(ends, [f"{size:,}" for size in ends])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("One online update")
    axes.set_xlabel("impressions in all, τ + m")
    axes.set_ylabel("milliseconds")
    axes.legend(frameon=False, fontsize=7)
