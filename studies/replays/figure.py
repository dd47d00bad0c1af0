"""The picture of replays on several logs."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fabcost.offline.intervals import difference
from fabcost.offline.replay.page import draw_band, line_styles
from fabcost.offline.replay.runs import Replays


def draw_differences(found: dict[str, Replays], path: Path) -> None:
    """The paired difference in clicks, one panel for each log."""
    with mpl.rc_context({"font.size": 8.0, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(2.6 * len(found), 2.6), layout="constrained")
        panels = np.ravel(figure.subplots(1, len(found), squeeze=False))
        for axes, (title, each) in zip(panels, found.items(), strict=True):
            base = each.clicks[each.baseline]
            styles = line_styles(each.clicks)
            for name, clicks in each.clicks.items():
                draw_band(axes, each.marks, difference(clicks, base), name, styles[name])
            axes.set_title(title)
            axes.set_xlabel("impressions shown")
        panels[0].set_ylabel(f"clicks beyond {each.baseline}")
        panels[0].legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
