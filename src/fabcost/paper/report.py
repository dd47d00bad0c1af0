"""The report: one HTML file with everything inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from typing import NamedTuple, get_args

from fabcost.offline import page
from fabcost.offline.pictures import Picture
from fabcost.paper.parts.part import Change, PaperClaim, Verdict

# Columns of the tables and their widths in per cent.
_CLAIMS = {"Claim": 18, "The paper says": 16, "Measured": 28, "Verdict and why": 28, "Time": 10}
ERRATUM = {"Erratum": 13, "Printed": 21, "Right": 21, "How it shows": 17, "What it changes": 28}
_CHANGES = {"Subject": 16, "Here": 38, "Measured": 46}


class Section(NamedTuple):
    """A part of the reproduction as it is shown."""

    name: str
    title: str
    introduction: str
    claims: Sequence[PaperClaim]
    pictures: Sequence[Picture]


@dataclass(frozen=True, eq=False)
class ReproductionReport:
    """Everything on the page: how it was asked for, what is known of the run, what was found."""

    scale: str
    seed: int
    command: str
    version: str
    settings: Mapping[str, str]
    sections: Sequence[Section]
    errata: Sequence[Sequence[str]]
    changes: Sequence[Change]

    @property
    def claims(self) -> list[PaperClaim]:
        """All of them, in the order of the parts."""
        return [claim for section in self.sections for claim in section.claims]


def render(report: ReproductionReport) -> str:
    """The page as text."""
    claims = "The paper’s claims beside what this run measured"
    errata = "What is printed, what is right, and what it changes"
    body = Template(page.file_of(__package__, "page.html")).substitute(
        command=escape(report.command),
        version=escape(report.version),
        tally=page.tally(
            (claim.verdict for claim in report.claims), get_args(Verdict), "Claims by verdict"
        ),
        links=page.links((each.name, each.title) for each in report.sections),
        settings=page.definitions(report.settings.items()),
        claims=page.framed(claims, _CLAIMS, "\n".join(map(_claims_of, report.sections))),
        sections="\n".join(map(_section, report.sections)),
        errata=page.table(errata, ERRATUM, report.errata),
        changes=page.table("Changes, and what they give in this run", _CHANGES, report.changes),
    )
    title = f"FAB-COST reproduced ({report.scale} scale, seed {report.seed})"
    return page.render(title, body.strip())


def _claims_of(section: Section) -> str:
    title = f'<tr><th class="part" scope="rowgroup" colspan="{len(_CLAIMS)}">'
    rows = "\n".join(map(_claim, section.claims))
    return f"<tbody>\n{title}{escape(section.title)}</th></tr>\n{rows}\n</tbody>"


def _claim(claim: PaperClaim) -> str:
    verdict = page.verdict(claim.verdict, claim.reason)
    cells = (
        page.text(claim.paper),
        page.text(claim.measured),
        verdict,
        page.text(duration(claim.seconds)),
    )
    where = f'<span class="where">{page.text(claim.where)}</span>'
    return page.cells(f"{page.text(claim.claim)}{where}", cells, _CLAIMS)


def _section(section: Section) -> str:
    figures = "\n".join(map(page.figure, section.pictures))
    cases = "\n".join(
        f"<h3>{page.text(claim.claim)}</h3>\n{page.definitions(claim.details)}"
        for claim in section.claims
        if claim.details
    )
    summary = "<summary>Every case behind these claims</summary>"
    folded = f"<details open>\n{summary}\n{cases}\n</details>" if cases else ""
    introduction = f"<p>{page.text(section.introduction)}</p>"
    return page.section(section.name, section.title, introduction, figures, folded)


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> [duration(each) for each in (0.004, 0.31, 9.96, 59.7, 200, 7199)]
    ['under 0.1 s', '0.3 s', '10 s', '1 min', '3 min 20 s', '2 h']
    """
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 3569.5:
        units, numbers = ("min", "s"), divmod(round(seconds), 60)
    else:
        units, numbers = ("h", "min"), divmod(round(seconds / 60), 60)
    return " ".join(f"{n} {unit}" for n, unit in zip(numbers, units, strict=True) if n)
