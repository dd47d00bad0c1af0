"""The picture of an evaluation: each policy by each estimator, with its interval."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.estimators import Estimate

# Markers tell the estimators apart without colour.
STYLES = {
    "replay": ("#999999", "s"),
    "ips": ("#d95f02", "v"),
    "snips": ("#7570b3", "^"),
    "dm": ("#e7298a", "x"),
    "dr": ("#1b9e77", "o"),
    "sndr": ("#000000", "D"),
}
_LABELS = {"dm": "dm (without the model's error)"}


def draw_evaluation(
    estimates: dict[tuple[str, str], Estimate], click_rate: Estimate, path: Path
) -> None:
    """Points with intervals, one band for each policy; the log's own click rate behind them."""
    policies = list(dict.fromkeys(policy for policy, _ in estimates))
    with mpl.rc_context({"font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(8, 1.4 + 0.7 * len(policies)), layout="constrained")
        axes = figure.subplots()
        axes.axvspan(click_rate.low, click_rate.high, color="#eeeeee", label="the log itself")
        axes.axvline(click_rate.value, color="#bbbbbb")
        _draw_points(axes, estimates, policies)
        axes.set_yticks(range(len(policies)), policies)
        axes.set_ylim(len(policies) - 0.5, -0.5)
        axes.set_xlabel(f"mean reward, with {click_rate.level:.0%} intervals")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.savefig(path, dpi=150)


def _draw_points(
    axes: Axes, estimates: dict[tuple[str, str], Estimate], policies: list[str]
) -> None:
    shown = [name for name in STYLES if any(name == estimator for _, estimator in estimates)]
    for offset, name in zip(np.linspace(-0.3, 0.3, len(shown)), shown, strict=True):
        colour, marker = STYLES[name]
        found = [(policies.index(p), e) for (p, each), e in estimates.items() if each == name]
        low = [e.value - e.low for _, e in found]
        high = [e.high - e.value for _, e in found]
        axes.errorbar(
            [e.value for _, e in found],
            [place + offset for place, _ in found],
            xerr=[low, high],
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=4,
            capsize=2,
            label=_LABELS.get(name, name),
        )
