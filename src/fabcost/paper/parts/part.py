"""What a part of the reproduction consists of: its work, its claims, its pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable"]

_DOTS_PER_INCH = 150
_LOOK: dict[Any, Any] = {"font.size": 8.0, "axes.spines.top": False, "axes.spines.right": False}


class PaperClaim(NamedTuple):
    """What the paper says beside what was measured: a row of the table of claims."""

    where: str  # the section or figure of the paper
    claim: str  # in a sentence
    paper: str  # its own figure, or its words
    measured: str  # ours, with an interval where there is one
    verdict: Verdict  # by a rule on the numbers
    reason: str  # why the verdict is what it is
    seconds: float  # that the measurement took
    details: tuple[tuple[str, str], ...] = ()  # every case, by name, if too many for a row
    main: bool = False  # whether a short table has it


def verdict_of(held: int, cases: int) -> Verdict:
    """Whether a claim held in all cases, in some, or in none."""
    if held == cases:
        return "reproduced"
    return "partly" if held else "not reproduced"


def judged(*rules: tuple[bool, Verdict, str]) -> tuple[Verdict, str]:
    """Verdict and reason of the first rule that applies.

    Examples
    --------
    >>> judged((False, "reproduced", "it is so"), (True, "partly", "it is nearly so"))
    ('partly', 'it is nearly so')
    """
    return next((verdict, reason) for applies, verdict, reason in rules if applies)


class Change(NamedTuple):
    """Something that is done differently from the paper, with the numbers of this run."""

    subject: str
    ours: str
    measured: str


class Plot(NamedTuple):
    """How a figure is drawn from what a part measured, and what is said about it."""

    name: str  # of its files and of its place in the report
    draw: Callable[[Any], Figure]
    shows: str  # for those who cannot see it
    caption: str  # what to look for


class Part(NamedTuple):
    """A part: its units of work, what they add up to, and what is told about it."""

    name: str
    title: str
    introduction: str
    units: Callable[[Scale, int], list[Unit]]  # of a scale and a seed
    gather: Callable[[Scale, Mapping[str, Result]], Any]  # from the results of units by name
    claims: Callable[[Any], list[PaperClaim]]  # from what was gathered
    changes: Callable[[Any], list[Change]]  # likewise
    plots: Sequence[Plot]


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


def add_legend(figure: Figure, labelled: Axes, columns: int) -> None:
    """The legend of one panel above all of them."""
    handles, labels = labelled.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
