"""What a part of the reproduction consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit
from fabcost.paper.report.claims import PaperClaim
from fabcost.paper.report.pictures import Picture


class Plot(NamedTuple):
    """How a figure is drawn from the results of a part, and what is said about it.

    Attributes
    ----------
    name
        Of its files.
    shows
        What is drawn, for those who cannot see it.
    caption
        What to look for.
    """

    name: str
    draw: Callable[[Any], Figure]
    shows: str
    caption: str

    def picture(self, part: Any) -> Picture:
        """The figure of these results, drawn."""
        return Picture.of(self.draw(part), name=self.name, shows=self.shows, caption=self.caption)


class Change(NamedTuple):
    """Something that is done differently from the paper, with the numbers of this run."""

    subject: str
    ours: str
    measured: str


class Part(NamedTuple):
    """A part: its units of work, what they add up to, and what is told about it.

    Attributes
    ----------
    units
        The work of a scale and a seed.
    gather
        Results of the units (by name, those of other parts among them) as one value.
    claims, changes
        Rows of the tables, from that value.
    """

    name: str
    title: str
    introduction: str
    units: Callable[[Scale, int], list[Unit]]
    gather: Callable[[Scale, Mapping[str, Result]], Any]
    claims: Callable[[Any], list[PaperClaim]]
    changes: Callable[[Any], list[Change]]
    plots: Sequence[Plot]
