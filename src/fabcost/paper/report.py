"""The report: one HTML file with everything inside it."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from string import Template
from typing import NamedTuple, get_args

from fabcost.paper.parts.part import Change, PaperClaim, Picture, Verdict

_MINUS = re.compile(r"(?<![\w.,-])-(?=\d)")
_UNITS = re.compile(r"(?<=\d) (?=(?:min|h|s|GB|sds)\b)|(?<=[\d)]) ?(?=%)")
_LARGEST_SVG = 600_000  # bytes; beyond it a PNG is the smaller one
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
    return Template(_file("page.html")).substitute(
        style=_file("style.css").strip(),
        scale=escape(report.scale),
        seed=report.seed,
        command=escape(report.command),
        version=escape(report.version),
        tally=_tally(report.claims),
        links="\n".join(
            f'<li><a href="#{escape(each.name)}">{escape(each.title)}</a></li>'
            for each in report.sections
        ),
        settings=_list(report.settings.items()),
        claims=_framed(claims, _CLAIMS, "\n".join(map(_claims_of, report.sections))),
        sections="\n".join(map(_section, report.sections)),
        errata=_table(errata, ERRATUM, report.errata),
        changes=_table("Changes, and what they give in this run", _CHANGES, report.changes),
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(typeset(text))


def _list(entries: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in entries)


def _tally(claims: Iterable[PaperClaim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    items = [f"<li><b>{counts[v]}</b> {_verdict(v)}</li>" for v in get_args(Verdict) if counts[v]]
    return f'<ul class="tally" aria-label="Claims by verdict">{"".join(items)}</ul>'


def _verdict(verdict: Verdict) -> str:
    return f'<span class="verdict {verdict.replace(" ", "-")}">{escape(verdict)}</span>'


def _claims_of(section: Section) -> str:
    title = f'<tr><th class="part" scope="rowgroup" colspan="{len(_CLAIMS)}">'
    rows = "\n".join(map(_claim, section.claims))
    return f"<tbody>\n{title}{escape(section.title)}</th></tr>\n{rows}\n</tbody>"


def _claim(claim: PaperClaim) -> str:
    verdict = f'{_verdict(claim.verdict)}<span class="reason">{_text(claim.reason)}</span>'
    cells = (_text(claim.paper), _text(claim.measured), verdict, _text(duration(claim.seconds)))
    where = f'<span class="where">{_text(claim.where)}</span>'
    return _cells(f"{_text(claim.claim)}{where}", cells, _CLAIMS)


def _table(caption: str, columns: Mapping[str, int], rows: Iterable[Sequence[str]]) -> str:
    cells = "\n".join(_cells(_text(first), map(_text, rest), columns) for first, *rest in rows)
    return _framed(caption, columns, f"<tbody>\n{cells}\n</tbody>")


def _cells(first: str, rest: Iterable[str], columns: Iterable[str]) -> str:
    """A row; narrow screens show the name of its column before each cell."""
    _, *names = columns
    cells = [
        f'<td data-column="{escape(name)}">{cell}</td>'
        for name, cell in zip(names, rest, strict=True)
    ]
    return f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>'


def _framed(caption: str, columns: Mapping[str, int], bodies: str) -> str:
    """A table; its caption is for those who hear the page, who do not see the heading above."""
    widths = "".join(f'<col style="width: {width}%">' for width in columns.values())
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<colgroup>{widths}</colgroup>\n<thead><tr>{cells}</tr></thead>\n"
        f"{bodies}\n</table>\n</div>"
    )


def _section(section: Section) -> str:
    name, figures = escape(section.name), "\n".join(map(_figure, section.pictures))
    cases = "\n".join(
        f"<h3>{_text(claim.claim)}</h3>\n<dl>\n{_list(claim.details)}\n</dl>"
        for claim in section.claims
        if claim.details
    )
    summary = "<summary>Every case behind these claims</summary>"
    folded = f"<details open>\n{summary}\n{cases}\n</details>\n" if cases else ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(section.title)}</h2>\n'
        f"<p>{_text(section.introduction)}</p>\n{figures}\n{folded}</section>"
    )


def _figure(picture: Picture) -> str:
    """As an image of its own, so that the names inside one drawing cannot meet another's."""
    is_small = len(picture.svg) <= _LARGEST_SVG
    form, data = ("svg+xml", picture.svg) if is_small else ("png", picture.png)
    source = f"data:image/{form};base64,{base64.b64encode(data).decode()}"
    image = f'<img src="{source}" alt="{_text(picture.plot.shows)}">'
    return (
        f'<figure id="{escape(picture.plot.name)}">\n'
        f'<div class="picture" tabindex="0">{image}</div>\n'
        f"<figcaption>{_text(picture.plot.caption)}</figcaption>\n</figure>"
    )


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


def typeset(text: str) -> str:
    r"""Minus signs before numbers, and no line break between a number and its unit.

    Examples
    --------
    >>> typeset("-5.2% (-27.3 to +16.8), 2020-01-31")
    '−5.2\xa0% (−27.3 to +16.8), 2020-01-31'
    """
    return _UNITS.sub("\N{NO-BREAK SPACE}", _MINUS.sub("\N{MINUS SIGN}", text))
