"""The curves of a replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.intervals import Band, average, difference, per_cent
from fabcost.offline.methods import LOOK, Style, style_of
from fabcost.offline.pictures import Picture, Plot
from fabcost.offline.replay.runs import IntArray, Replays

_EARLIEST_SHARE = 100  # per cent before a hundredth of the rounds is noise that hides the rest


def draw_replays(found: Replays, path: Path, title: str = "") -> None:
    """Cumulative clicks, the paired difference in clicks, and in per cent, with 95 % bands."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        draw_panels(list(figure.subplots(1, 3)), found)
        figure.suptitle(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def replays_picture(found: Replays, what: str) -> Picture:
    """The same for a page, in clicks or in income."""
    plot = Plot(
        f"curves-{what}",
        lambda _: _drawn(found, what),
        f"Three panels against impressions shown: {what} of each policy, the difference to "
        f"{found.baseline}, and that in per cent.",
        f"Mean {what} over the seeds, with 95 % bands; in the middle and on the right beyond "
        f"{found.baseline}, seed by seed. When all impressions are shown, all policies are equal.",
    )
    return Picture.of(plot, None)


def _drawn(found: Replays, what: str) -> Figure:
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    draw_panels(list(figure.subplots(1, 3)), found, what)
    return figure


def draw_panels(panels: list[Axes], found: Replays, what: str = "clicks") -> None:
    """The three panels of one log."""
    base = found.clicks[found.baseline]
    styles = line_styles(found.clicks)
    for name, clicks in found.clicks.items():
        bands = (average(clicks), difference(clicks, base), per_cent(clicks, base))
        for axes, band in zip(panels, bands, strict=True):
            draw_band(axes, found.marks, band, name, styles[name])
    labels = (what, f"{what} beyond {found.baseline}", f"% beyond {found.baseline}")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_xlabel("impressions shown")
        axes.set_ylabel(label)
    panels[0].legend(frameon=False)
    _limit_per_cent(panels[2], found)


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The style of each contender; further scales of one learner are drawn wider."""
    met: Counter[Style] = Counter()
    styles = {}
    for name in names:
        style = style_of(name)
        styles[name] = {**style.line, "linewidth": 1.2 + 0.8 * met[style]}
        met[style] += 1
    return styles


def draw_band(axes: Axes, rounds: IntArray, band: Band, name: str, style: dict[str, Any]) -> None:
    """A mean with its interval."""
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
