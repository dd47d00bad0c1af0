"""The report: one HTML file with everything inside it."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template
from typing import NamedTuple, get_args

from fabcost.paper.report.parts import Change, PaperClaim, Verdict
from fabcost.paper.report.pictures import Picture
from fabcost.paper.report.wording import duration, typeset

_LARGEST_SVG = 600_000  # bytes; beyond it a PNG is the smaller one
_CLAIMS = {"Claim": 18, "The paper says": 16, "Measured": 28, "Verdict and why": 28, "Time": 10}
_CASES = "Every case behind these claims"
_CHANGES = {"Subject": 16, "Here": 38, "Measured": 46}


class Section(NamedTuple):
    """A part of the reproduction as it is shown."""

    name: str
    title: str
    introduction: str
    claims: Sequence[PaperClaim]
    pictures: Sequence[Picture]


class TextTable(NamedTuple):
    """Rows of text under columns of a width in per cent; the first cell of each names the row.

    The caption is for those who hear the page; a heading above is for those who see it.
    """

    caption: str
    columns: Mapping[str, int]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class ReproductionReport:
    """Everything on the page: how it was asked for, what is known of the run, what was found."""

    scale: str
    seed: int
    command: str
    version: str
    settings: Mapping[str, str]
    sections: Sequence[Section]
    errata: TextTable
    changes: Sequence[Change]

    @property
    def claims(self) -> list[PaperClaim]:
        """All of them, in the order of the parts."""
        return [claim for section in self.sections for claim in section.claims]


def render(report: ReproductionReport) -> str:
    """The page as text."""
    changes = TextTable("Changes, and what they give in this run", _CHANGES, report.changes)
    return Template(_file("page.html")).substitute(
        style=_file("style.css").strip(),
        scale=escape(report.scale),
        seed=report.seed,
        command=escape(report.command),
        version=escape(report.version),
        tally=_tally(report.claims),
        links="\n".join(map(_link, report.sections)),
        settings="\n".join(_setting(*each) for each in report.settings.items()),
        claims=_claims(report.sections),
        sections="\n".join(map(_section, report.sections)),
        errata=_table(report.errata),
        changes=_table(changes),
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _link(section: Section) -> str:
    return f'<li><a href="#{escape(section.name)}">{escape(section.title)}</a></li>'


def _setting(name: str, value: str) -> str:
    return f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>"


def _text(text: str) -> str:
    return escape(typeset(text))


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _tally(claims: Iterable[PaperClaim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    items = [f"<li><b>{counts[v]}</b> {_verdict(v)}</li>" for v in get_args(Verdict) if counts[v]]
    return f'<ul class="tally" aria-label="Claims by verdict">{"".join(items)}</ul>'


def _verdict(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _claims(sections: Iterable[Section]) -> str:
    bodies = "\n".join(map(_claims_of, sections))
    return _framed("The paper’s claims beside what this run measured", _CLAIMS, bodies)


def _claims_of(section: Section) -> str:
    title = f'<tr><th class="part" scope="rowgroup" colspan="{len(_CLAIMS)}">'
    rows = "\n".join(map(_claim, section.claims))
    return f"<tbody>\n{title}{escape(section.title)}</th></tr>\n{rows}\n</tbody>"


def _claim(claim: PaperClaim) -> str:
    verdict = f'{_verdict(claim.verdict)}<span class="reason">{_text(claim.reason)}</span>'
    cells = (_text(claim.paper), _text(claim.measured), verdict, _text(duration(claim.seconds)))
    where = f'<span class="where">{_text(claim.where)}</span>'
    return _cells(f"{_text(claim.claim)}{where}", cells, _CLAIMS)


def _table(table: TextTable) -> str:
    rows = "\n".join(
        _cells(_text(first), map(_text, rest), table.columns) for first, *rest in table.rows
    )
    return _framed(table.caption, table.columns, f"<tbody>\n{rows}\n</tbody>")


def _cells(first: str, rest: Iterable[str], columns: Iterable[str]) -> str:
    """A row; narrow screens show the name of its column before each cell."""
    _, *names = columns
    cells = [
        f'<td data-column="{escape(name)}">{cell}</td>'
        for name, cell in zip(names, rest, strict=True)
    ]
    return f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>'


def _framed(caption: str, columns: Mapping[str, int], bodies: str) -> str:
    widths = "".join(f'<col style="width: {width}%">' for width in columns.values())
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<colgroup>{widths}</colgroup>\n<thead><tr>{cells}</tr></thead>\n"
        f"{bodies}\n</table>\n</div>"
    )


def _section(section: Section) -> str:
    name, figures = escape(section.name), "\n".join(map(_figure, section.pictures))
    cases = "\n".join(_cases(claim) for claim in section.claims if claim.details)
    folded = f"<details open>\n<summary>{_CASES}</summary>\n{cases}\n</details>\n"
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(section.title)}</h2>\n'
        f"{_paragraph(section.introduction)}\n{figures}\n{folded if cases else ''}</section>"
    )


def _cases(claim: PaperClaim) -> str:
    cases = "\n".join(_setting(*each) for each in claim.details)
    return f"<h3>{_text(claim.claim)}</h3>\n<dl>\n{cases}\n</dl>"


def _figure(picture: Picture) -> str:
    """As an image of its own, so that the names inside one drawing cannot meet another's."""
    lines, dots = ("svg+xml", picture.svg), ("png", picture.png)
    form, data = lines if len(picture.svg) <= _LARGEST_SVG else dots
    source = f"data:image/{form};base64,{base64.b64encode(data).decode()}"
    image = f'<img src="{source}" alt="{_text(picture.shows)}">'
    return (
        f'<figure id="{escape(picture.name)}">\n'
        f'<div class="picture" tabindex="0">{image}</div>\n'
        f"<figcaption>{_text(picture.caption)}</figcaption>\n</figure>"
    )
