"""What a part of the reproduction consists of: its work, its claims, its pictures.

Sentences are in texts.toml, with braces for the numbers; rules and numbers are in the parts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.pictures import Plot
from fabcost.paper.units import Result, Scale, Unit

Verdict = Literal["reproduced", "partly", "not reproduced", "not testable"]


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


def judged(*, reproduced: bool, partly: bool = False) -> Verdict:
    """The first that applies, or neither."""
    return "reproduced" if reproduced else "partly" if partly else "not reproduced"


class Change(NamedTuple):
    """Something that is done differently from the paper, with the numbers of this run."""

    subject: str
    ours: str
    measured: str


@cache
def texts(name: str) -> Mapping[str, Any]:
    """The table ``name`` of texts.toml, in which line breaks do not count.

    Examples
    --------
    >>> texts("cost")["claims"]["sweeps"]["claim"]
    'EP usually converges after 3 to 4 sweeps'
    """
    path = resources.files("fabcost.paper") / "texts.toml"
    found: Mapping[str, Any] = _folded(tomllib.loads(path.read_text(encoding="utf-8"))[name])
    return found


def _folded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _folded(each) for name, each in value.items()}
    return " ".join(value.split()) if isinstance(value, str) else value


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


@dataclass(frozen=True)
class Told:
    """What texts.toml tells of the part ``name``, its braces filled with the ``words`` of a run.

    Examples
    --------
    >>> words = {"logged": 3, "end": 100, "totals": "ADF 3"}
    >>> claim = Told("bandits").claim("equal_totals", "reproduced", 1.0, words)
    >>> claim.measured, claim.reason
    ('3 clicks in 100 impressions: ADF 3', 'true of every policy that shows each impression once')
    """

    name: str

    def claim(
        self,
        name: str,
        verdict: Verdict,
        seconds: float,
        words: Mapping[str, object],
        details: Iterable[tuple[str, str]] = (),
    ) -> PaperClaim:
        """With its one reason, or that of the verdict."""
        own = dict(texts(self.name)["claims"][name])
        if not isinstance(own["reason"], str):
            own["reason"] = own["reason"][verdict]
        own |= {each: own[each].format(**words) for each in ("claim", "measured", "reason")}
        return PaperClaim(**own, verdict=verdict, seconds=seconds, details=tuple(details))

    def change(self, name: str, words: Mapping[str, object]) -> Change:
        """What is done differently."""
        subject, ours, measured = texts(self.name)["changes"][name].values()
        return Change(subject, ours, measured.format(**words))

    def part(
        self,
        units: Callable[[Scale, int], list[Unit]],
        gather: Callable[[Scale, Mapping[str, Result]], Any],
        claims: Callable[[Any], list[PaperClaim]],
        changes: Callable[[Any], list[Change]],
        drawn: Mapping[str, Callable[[Any], Figure]],
    ) -> Part:
        """The part; figures are ``drawn`` by name."""
        own = texts(self.name)
        plots = [Plot(each, draw, **own["figures"][each]) for each, draw in drawn.items()]
        words = (self.name, own["title"], own["introduction"])
        return Part(*words, units, gather, claims, changes, plots)


def add_legend(figure: Figure, labelled: Axes, columns: int) -> None:
    """The legend of one panel above all of them."""
    handles, labels = labelled.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
