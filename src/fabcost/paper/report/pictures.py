"""Figures as bytes, the same for the same numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

_DOTS_PER_INCH = 150


class Picture(NamedTuple):
    """A drawn figure.

    Attributes
    ----------
    name
        Of its files and of its place in the report.
    shows
        What is drawn, for those who cannot see it.
    caption
        What to look for.
    """

    name: str
    shows: str
    caption: str
    svg: bytes
    png: bytes

    @classmethod
    def of(cls, figure: Figure, *, name: str, shows: str, caption: str) -> Picture:
        """Lay out once, and draw without date and with names inside the SVG that do not change.

        Examples
        --------
        >>> figure = Figure(figsize=(1, 1))
        >>> one, two = (Picture.of(figure, name="a", shows="b", caption="c") for _ in range(2))
        >>> one == two, one.png[1:4]
        (True, b'PNG')
        """
        png = _drawn(figure, "png", {"Software": None})
        figure.set_layout_engine(None)  # everything has its place now
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            svg = _drawn(figure, "svg", {"Date": None, "Title": name})
        return cls(name, shows, caption, svg, png)

    def write(self, directory: Path) -> None:
        """As PNG and SVG files."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.svg").write_bytes(self.svg)
        (directory / f"{self.name}.png").write_bytes(self.png)


def _drawn(figure: Figure, form: str, metadata: dict[str, str | None]) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format=form, dpi=_DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()
