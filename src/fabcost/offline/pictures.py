"""Figures of reports: how each is drawn and what is said about it, and the drawing as bytes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from fabcost.offline.methods import LOOK

_DOTS_PER_INCH = 150
_LOOK = {**LOOK, "font.size": 8.0}


class Plot(NamedTuple):
    """How a figure is drawn from what was measured, and what is said about it."""

    name: str  # of its files and of its place in the report
    draw: Callable[[Any], Figure]
    shows: str  # for those who cannot see it
    caption: str  # what to look for


class Picture(NamedTuple):
    """A drawn figure as bytes, the same for the same numbers."""

    plot: Plot
    svg: bytes
    png: bytes

    @classmethod
    def of(cls, plot: Plot, measured: Any) -> Picture:
        """Lay out once, and draw without date and with names inside the SVG that do not change.

        Examples
        --------
        >>> plot = Plot("a", lambda width: Figure(figsize=(width, 1)), "b", "c")
        >>> one, two = (Picture.of(plot, 1) for _ in range(2))
        >>> one == two, one.png[1:4]
        (True, b'PNG')
        """
        with mpl.rc_context(_LOOK):
            figure = plot.draw(measured)
        png = _drawn(figure, "png", {"Software": None})
        figure.set_layout_engine(None)  # everything has its place now
        with mpl.rc_context({"svg.hashsalt": plot.name, "svg.fonttype": "path"}):
            svg = _drawn(figure, "svg", {"Date": None, "Title": plot.name})
        return cls(plot, svg, png)

    def write(self, directory: Path) -> None:
        """As PNG and SVG files."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.plot.name}.svg").write_bytes(self.svg)
        (directory / f"{self.plot.name}.png").write_bytes(self.png)


def _drawn(figure: Figure, form: str, metadata: dict[str, str | None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()
