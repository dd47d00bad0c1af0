"""What a part of the reproduction consists of: its work, its claims, its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from matplotlib.figure import Figure

from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable"]


class PaperClaim(NamedTuple):
    """What the paper says beside what was measured: a row of the table of claims.

    Attributes
    ----------
    where
        The section or figure of the paper.
    claim
        What is claimed, in a sentence.
    paper
        The paper's own figure, or its words.
    measured
        Ours, with an interval where there is one.
    verdict
        By a rule on the numbers.
    reason
        Why the verdict is what it is.
    seconds
        How long the measurement took.
    details
        Every case behind ``measured``, by name, where there are too many for a row.
    main
        Whether a short table has it.
    """

    where: str
    claim: str
    paper: str
    measured: str
    verdict: Verdict
    reason: str
    seconds: float
    details: tuple[tuple[str, str], ...] = ()
    main: bool = False


def verdict_of(held: int, cases: int) -> Verdict:
    """Whether a claim held in all cases, in some, or in none."""
    if held == cases:
        return "reproduced"
    return "partly" if held else "not reproduced"


class Change(NamedTuple):
    """Something that is done differently from the paper, with the numbers of this run."""

    subject: str
    ours: str
    measured: str


class Plot(NamedTuple):
    """How a figure is drawn from what a part measured, and what is said about it.

    ``shows`` is for those who cannot see it, ``caption`` says what to look for.
    """

    name: str
    draw: Callable[[Any], Figure]
    shows: str
    caption: str


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
