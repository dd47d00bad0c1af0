"""Figures as bytes, the same for the same numbers, and the look that they share."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.paper.report.parts import Plot

_DOTS_PER_INCH = 150
_LOOK: dict[Any, Any] = {"font.size": 8.0, "axes.spines.top": False, "axes.spines.right": False}


class Picture(NamedTuple):
    """A drawn figure; ``name`` is that of its files and of its place in the report."""

    name: str
    shows: str
    caption: str
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
        return cls(plot.name, plot.shows, plot.caption, svg, png)

    def write(self, directory: Path) -> None:
        """As PNG and SVG files."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.svg").write_bytes(self.svg)
        (directory / f"{self.name}.png").write_bytes(self.png)


def _drawn(figure: Figure, form: str, metadata: dict[str, str | None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def add_legend(figure: Figure, labelled: Axes, columns: int) -> None:
    """The legend of one panel above all of them."""
    handles, labels = labelled.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
