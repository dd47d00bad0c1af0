"""The picture of replays: clicks, and how far each policy is ahead of the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.comparisons import Band, average, difference, per_cent
from fabcost.offline.methods import Style, style_of
from fabcost.offline.replay.runs import IntArray, Replays

_EARLIEST_SHARE = 100  # per cent before a hundredth of the rounds is noise that hides the rest


def draw_replays(found: Replays, path: Path, title: str = "") -> None:
    """Cumulative clicks, the paired difference in clicks, and in per cent, with 95 % bands."""
    with mpl.rc_context({"font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        draw_panels(list(figure.subplots(1, 3)), found)
        figure.suptitle(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def draw_differences(found: dict[str, Replays], path: Path) -> None:
    """The paired difference in clicks, one panel for each log."""
    with mpl.rc_context({"font.size": 8.0, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(2.6 * len(found), 2.6), layout="constrained")
        panels = np.ravel(figure.subplots(1, len(found), squeeze=False))
        for axes, (title, each) in zip(panels, found.items(), strict=True):
            base = each.clicks[each.baseline]
            styles = _styles(each.clicks)
            for name, clicks in each.clicks.items():
                _draw_band(axes, each.marks, difference(clicks, base), name, styles[name])
            axes.set_title(title)
            axes.set_xlabel("impressions shown")
        panels[0].set_ylabel(f"clicks beyond {each.baseline}")
        panels[0].legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)


def draw_panels(panels: list[Axes], found: Replays) -> None:
    """The three panels of one log."""
    base = found.clicks[found.baseline]
    styles = _styles(found.clicks)
    for name, clicks in found.clicks.items():
        bands = (average(clicks), difference(clicks, base), per_cent(clicks, base))
        for axes, band in zip(panels, bands, strict=True):
            _draw_band(axes, found.marks, band, name, styles[name])
    labels = ("clicks", f"clicks beyond {found.baseline}", f"% beyond {found.baseline}")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_xlabel("impressions shown")
        axes.set_ylabel(label)
    panels[0].legend(frameon=False)
    _limit_per_cent(panels[2], found)


def _styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The style of each contender; further scales of one learner are drawn wider."""
    met: Counter[Style] = Counter()
    styles = {}
    for name in names:
        style = style_of(name)
        styles[name] = {**style.line, "linewidth": 1.2 + 0.8 * met[style]}
        met[style] += 1
    return styles


def _draw_band(axes: Axes, rounds: IntArray, band: Band, name: str, style: dict[str, Any]) -> None:
    axes.plot(rounds, band.mean, label=name, **style)
    axes.fill_between(rounds, band.low, band.high, color=style["color"], alpha=0.15, linewidth=0)


def _limit_per_cent(axes: Axes, found: Replays) -> None:
    """Scale by what comes after the first hundredth of the rounds."""
    base = found.clicks[found.baseline]
    late = found.marks >= found.marks[-1] / _EARLIEST_SHARE
    shown = [per_cent(clicks, base).mean[late] for clicks in found.clicks.values()]
    values = np.concatenate(shown)
    finite = values[np.isfinite(values)]
    if finite.size and np.ptp(finite) > 0:
        margin = 0.1 * np.ptp(finite)
        axes.set_ylim(finite.min() - margin, finite.max() + margin)
