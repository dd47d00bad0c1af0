"""Reports: one HTML file with everything inside it, what it is made of, and the same as JSON."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np

import fabcost
from fabcost.offline.pictures import Picture

_MINUS = re.compile(r"(?<![\w.,-])-(?=\d)")
_UNITS = re.compile(r"(?<=\d) (?=(?:min|h|s|GB|sds)\b)|(?<=[\d)]) ?(?=%)")
_LARGEST_SVG = 600_000  # bytes; beyond it a PNG is the smaller one


def render(title: str, body: str) -> str:
    """The page as text; nothing it shows is anywhere else.

    Examples
    --------
    >>> "<title>A &lt; B</title>" in render("A < B", "<main></main>")
    True
    """
    style = file_of(__package__, "style.css").strip()
    return Template(file_of(__package__, "frame.html")).substitute(
        title=escape(title), style=style, body=body
    )


def report(
    kind: str, title: str, lead: str, tally: str, sections: Sequence[tuple[str, str, str]]
) -> str:
    """A page of sections, each with its name, title and content, below a few words.

    Examples
    --------
    >>> report("Replay", "A log", "A few words.", "", [("made", "How", "")]).count("<section")
    1
    """
    body = Template(file_of(__package__, "report.html")).substitute(
        kind=escape(kind),
        title=escape(title),
        lead=text(lead),
        tally=tally,
        links=links((name, heading) for name, heading, _ in sections),
        sections="\n".join(section(*each) for each in sections),
        version=escape(fabcost.__version__),
    )
    return render(f"{kind} by fabcost", body.strip())


def file_of(package: str, name: str) -> str:
    """A file that is installed beside a module.

    Examples
    --------
    >>> file_of("fabcost.offline", "frame.html")[:15]
    '<!DOCTYPE html>'
    """
    return (resources.files(package) / name).read_text(encoding="utf-8")


def text(words: str) -> str:
    """Words as they are shown.

    Examples
    --------
    >>> text("-1 < 2")
    '−1 &lt; 2'
    """
    return escape(typeset(words))


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    r"""Names and what they stand for.

    Examples
    --------
    >>> definitions([("Seed", "1")])
    '<dl>\n<dt>Seed</dt><dd>1</dd>\n</dl>'
    """
    lines = "\n".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in entries)
    return f"<dl>\n{lines}\n</dl>"


def given(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings that say something, as texts.

    Examples
    --------
    >>> given({"path": "log.csv", "context": ("age", "make"), "slot": None})
    [('Path', 'log.csv'), ('Context', 'age, make')]
    """
    shown = []
    for name, value in settings.items():
        words = ", ".join(value) if isinstance(value, (tuple, list)) else str(value)
        if words not in ("", "None", "False"):
            shown.append((name.replace("_", " ").capitalize(), words))
    return shown


def verdict(word: str, reason: str = "") -> str:
    """A word of judgement, which the style gives a colour and a sign, and why it is that one.

    Examples
    --------
    >>> verdict("cannot tell")
    '<span class="verdict cannot-tell">cannot tell</span>'
    """
    beside = f'<span class="reason">{text(reason)}</span>' if reason else ""
    return f'<span class="verdict {word.replace(" ", "-")}">{escape(word)}</span>{beside}'


def paragraphs(*words: str) -> str:
    """Text.

    Examples
    --------
    >>> paragraphs("One.", "Two.").count("<p>")
    2
    """
    return "\n".join(f"<p>{text(each)}</p>" for each in words)


def listed(lines: Sequence[str], subject: str) -> str:
    """What was found wrong with a subject, line by line.

    Examples
    --------
    >>> listed([], "the log")
    '<p>Nothing was found wrong with the log.</p>'
    """
    if not lines:
        return paragraphs(f"Nothing was found wrong with {subject}.")
    items = "\n".join(f"<li>{text(each)}</li>" for each in lines)
    return f"<ul>\n{items}\n</ul>"


def tally(verdicts: Iterable[str], order: Iterable[str], label: str) -> str:
    """How many there are of each.

    Examples
    --------
    >>> tally(["worse"], ["better", "worse"], "By verdict").count("<li>")
    1
    """
    counts = Counter(verdicts)
    items = [f"<li><b>{counts[each]}</b> {verdict(each)}</li>" for each in order if counts[each]]
    return f'<ul class="tally" aria-label="{escape(label)}">{"".join(items)}</ul>'


def table(caption: str, columns: Mapping[str, int], rows: Iterable[Sequence[str]]) -> str:
    """Texts in columns, of which each has its width in per cent.

    Examples
    --------
    >>> table("Sizes", {"Name": 50, "Size": 50}, [("a", "1")]).count("<td")
    1
    """
    lines = "\n".join(cells(text(first), map(text, rest), columns) for first, *rest in rows)
    return framed(caption, columns, f"<tbody>\n{lines}\n</tbody>")


def cells(first: str, rest: Iterable[str], columns: Iterable[str]) -> str:
    """A row; narrow screens show the name of its column before each cell.

    Examples
    --------
    >>> cells("a", ["1"], ["Name", "Size"])
    '<tr><th scope="row">a</th><td data-column="Size">1</td></tr>'
    """
    _, *names = columns
    found = [
        f'<td data-column="{escape(name)}">{cell}</td>'
        for name, cell in zip(names, rest, strict=True)
    ]
    return f'<tr><th scope="row">{first}</th>{"".join(found)}</tr>'


def framed(caption: str, columns: Mapping[str, int], bodies: str) -> str:
    """A table; its caption is for those who hear the page, who do not see the heading above.

    Examples
    --------
    >>> "<caption>Sizes</caption>" in framed("Sizes", {"Name": 100}, "")
    True
    """
    widths = "".join(f'<col style="width: {width}%">' for width in columns.values())
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<colgroup>{widths}</colgroup>\n"
        f"<thead><tr>{heads}</tr></thead>\n{bodies}\n</table>\n</div>"
    )


def section(name: str, title: str, *parts: str) -> str:
    """A part of the page under a heading, to which links lead by ``name``.

    Examples
    --------
    >>> print(section("made", "How"))
    <section id="made" aria-labelledby="made-title">
    <h2 id="made-title">How</h2>
    </section>
    """
    head = f'<h2 id="{escape(name)}-title">{escape(title)}</h2>'
    start = f'<section id="{escape(name)}" aria-labelledby="{escape(name)}-title">'
    return "\n".join([start, head, *(each for each in parts if each), "</section>"])


def links(sections: Iterable[tuple[str, str]]) -> str:
    """The contents of the page.

    Examples
    --------
    >>> links([("made", "How")])
    '<li><a href="#made">How</a></li>'
    """
    return "\n".join(
        f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in sections
    )


def figure(picture: Picture) -> str:
    r"""As an image of its own, so that the names inside one drawing cannot meet another's.

    Examples
    --------
    >>> from fabcost.offline.pictures import Plot
    >>> figure(Picture(Plot("a", None, "b", "c"), b"<svg/>", b""))[:18]
    '<figure id="a">\n<d'
    """
    is_small = len(picture.svg) <= _LARGEST_SVG
    form, data = ("svg+xml", picture.svg) if is_small else ("png", picture.png)
    source = f"data:image/{form};base64,{base64.b64encode(data).decode()}"
    image = f'<img src="{source}" alt="{text(picture.plot.shows)}">'
    return (
        f'<figure id="{escape(picture.plot.name)}">\n'
        f'<div class="picture" tabindex="0">{image}</div>\n'
        f"<figcaption>{text(picture.plot.caption)}</figcaption>\n</figure>"
    )


def spelled(value: float, low: float, high: float, *, sign: str = "", unit: str = "") -> str:
    """A number with its interval, to two digits of half the interval's width.

    Examples
    --------
    >>> spelled(9.5171, 8.61, 10.42, unit=" %"), spelled(0.5, -0.25, 1.25, sign="+")
    ('9.52 % (8.61 to 10.42)', '+0.50 (-0.25 to +1.25)')
    """
    half = (high - low) / 2.0
    digits = max(1 - math.floor(math.log10(half)), 0) if 0.0 < half < math.inf else 2
    number, *ends = (f"{each:{sign},.{digits}f}" for each in (value, low, high))
    return f"{number}{unit} ({ends[0]} to {ends[1]})"


def typeset(text: str) -> str:
    r"""Minus signs before numbers, and no line break between a number and its unit.

    Examples
    --------
    >>> typeset("-5.2% (-27.3 to +16.8), 2020-01-31")
    '−5.2\xa0% (−27.3 to +16.8), 2020-01-31'
    """
    return _UNITS.sub("\N{NO-BREAK SPACE}", _MINUS.sub("\N{MINUS SIGN}", text))


def plain(value: Any) -> Any:
    """Named tuples, dataclasses and arrays as JSON values; NaN and ±∞ are null.

    Examples
    --------
    >>> plain({"curve": np.array([1.0, np.nan]), 2: (True, "x")})
    {'curve': [1.0, None], '2': [True, 'x']}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def json_text(content: Any) -> str:
    r"""Everything that was measured, for programs.

    Examples
    --------
    >>> json_text(float("nan"))
    'null\n'
    """
    return json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
