"""The click figure: clicks, difference and per cent, against either Laplace bandit."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.impressions import FloatArray
from fabcost.offline.comparisons import Band, average, difference, per_cent
from fabcost.offline.methods import STYLES
from fabcost.paper.clicks.claims import PAPERS_GAIN
from fabcost.paper.clicks.measure import CORRECT, OURS, PAPERS, PUBLISHED, RANDOM, Bandits
from fabcost.paper.report.pictures import add_legend

_LABELS = {
    OURS: "FAB-COST, our default",
    PAPERS: "FAB-COST, as in the paper",
    CORRECT: "Laplace, correct",
    PUBLISHED: "Laplace, as published",
    RANDOM: "at random",
}
_EARLIEST_SHARE = 10  # per cent before a tenth of the rounds is noise that hides the rest
_FIRST_SHOWN = 10  # rounds; no policy has learned anything before


def draw_bandits(part: Bandits) -> Figure:
    """Six panels, with 95 % bands over the days."""
    figure = Figure(figsize=(8.5, 5.4), layout="constrained")
    panels = figure.subplots(2, 3)
    _draw_clicks(panels[0, 0], part)
    _draw_whole_day(panels[1, 0], part)
    for row, baseline in enumerate((PUBLISHED, CORRECT)):
        _draw_leads(panels[row, 1], part, baseline)
        _draw_gains(panels[row, 2], part, baseline)
    for axes in panels.flat:
        axes.set_xlabel("impressions shown")
    add_legend(figure, panels[0, 0], columns=5)
    return figure


def _draw_clicks(axes: Axes, part: Bandits) -> None:
    for policy in _LABELS:
        _draw_band(axes, part, average(part.replays.clicks[policy]), policy)
    axes.set_title(f"All policies, {part.days} days")
    axes.set_ylabel("clicks so far")


def _draw_leads(axes: Axes, part: Bandits, baseline: str) -> None:
    clicks = part.replays.clicks
    for policy in (OURS, PAPERS):
        band = difference(clicks[policy], clicks[baseline])
        _draw_band(axes, part, band, policy)
        _draw_edges(axes, part, band, policy)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set_title(f"Beyond {_LABELS[baseline]}")
    axes.set_ylabel("difference in clicks")


def _draw_gains(axes: Axes, part: Bandits, baseline: str) -> None:
    clicks = part.replays.clicks
    bands = {policy: per_cent(clicks[policy], clicks[baseline]) for policy in (OURS, PAPERS)}
    for policy, band in bands.items():
        _draw_band(axes, part, band, policy)
        _draw_edges(axes, part, band, policy)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.axhline(PAPERS_GAIN, color="black", linewidth=0.8, linestyle=(0, (1, 2)))
    late = part.replays.marks >= part.rounds / _EARLIEST_SHARE
    _limit(axes, np.concatenate([np.ravel([b.low[late], b.high[late]]) for b in bands.values()]))
    axes.annotate(
        f"the paper: {PAPERS_GAIN} %",
        (0.99, PAPERS_GAIN),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
    )
    axes.set_title(f"Beyond {_LABELS[baseline]}")
    axes.set_ylabel("difference in per cent")


def _draw_whole_day(axes: Axes, part: Bandits) -> None:
    """The figure of the paper to its end, with either baseline's line."""
    clicks, last = part.whole.clicks, int(part.whole.marks[-1])
    for baseline in (PUBLISHED, CORRECT):
        lead = clicks[PAPERS][0] - clicks[baseline][0]
        axes.plot(part.whole.marks, lead, **STYLES[baseline].line)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set_xscale("log")
    axes.set_xlim(min(_FIRST_SHOWN, last // 2), last)
    axes.set_title(f"One day, all {last:,} impressions")
    axes.set_ylabel("lead of the paper's FAB-COST")


def _draw_band(axes: Axes, part: Bandits, band: Band, policy: str) -> None:
    style, at = STYLES[policy], part.replays.marks
    axes.plot(at, band.mean, label=_LABELS[policy], linewidth=1.4, **style.line)
    axes.fill_between(at, band.low, band.high, color=style.colour, alpha=0.15, linewidth=0)


def _draw_edges(axes: Axes, part: Bandits, band: Band, policy: str) -> None:
    """Where shades overlap, the edges say whose they are."""
    for edge in (band.low, band.high):
        axes.plot(part.replays.marks, edge, linewidth=0.5, **STYLES[policy].line)


def _limit(axes: Axes, values: FloatArray) -> None:
    shown = np.append(values[np.isfinite(values)], [0.0, PAPERS_GAIN])
    margin = 0.08 * float(np.ptp(shown))
    axes.set_ylim(float(shown.min()) - margin, float(shown.max()) + margin)
