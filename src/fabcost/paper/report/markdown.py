"""The reproduction in the documentation: a page, and a few of its claims for the README."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from fabcost.paper import contents
from fabcost.paper.engine.parts import Plot
from fabcost.paper.engine.scales import PAPER
from fabcost.paper.report.claims import PaperClaim, Verdict
from fabcost.paper.report.wording import typeset

#: The figures that the documentation shows.
SHOWN = ("convergence", "clicks")
BEGIN, END = "<!-- reproduction -->", "<!-- /reproduction -->"

_HEADING = ("Claim", "The paper says", "Measured", "Verdict")
_INTRODUCTION = """\
# The paper's claims, reproduced

What McKenzie, Appleby, House and Walton claim of FAB-COST, and what one run of

    {command}

measured. The report that the command writes has all figures and times, and explains the method.
{words} Intervals are at the 95 % level.

The command keeps every piece of work in DIR/units and finds it there when it is asked again. A
piece is done anew if its arguments have changed, or code of fabcost that it can reach by imports;
comments and docstrings do not count, nor does what only tells or draws the results. Versions of
other packages do not count either: take a new DIR after changing them.

This page is written by `python -m fabcost.paper.report.docs` from
[reproduction/results.json](reproduction/results.json), which has the curves of both figures, too.
Do not edit it by hand.
"""
_WORDS = (
    "*Day* is a simulated day of car adverts with 15 weights, in place of the paper's log, which "
    "is not public; *design* is the authors' own simulation with six. Sds are the posterior's."
)
_SMALL = """
**This run has the {scale} scale**, which is smaller than the paper's: {rows:,} impressions in a day
instead of {papers:,}. Intervals are wider for it. `--scale paper` has the paper's sizes.
"""


def page(content: Mapping[str, Any]) -> str:
    """The text of docs/measurements/reproduction.md, from the content of results.json."""
    claims = read_claims(content)
    parts = [
        _INTRODUCTION.format(command=content["command"], words=_WORDS) + _remark(content["scale"]),
        _table(("The run", ""), content["settings"].items()),
        f"## Claims\n\n{_tally(claims)}\n",
        _table(_HEADING, map(_row, claims)),
        *(f"## {title}\n\n{_figure(plot, '../images')}\n" for title, plot in _plots()),
        "## Every case behind the claims\n",
        *(_cases(claim) for claim in claims if claim.details),
    ]
    return "\n".join(parts)


def _remark(scale: Mapping[str, Any]) -> str:
    if scale["name"] == PAPER.name:
        return ""
    return _SMALL.format(scale=scale["name"], rows=scale["day_rows"], papers=PAPER.day_rows)


def block(content: Mapping[str, Any]) -> str:
    """The main claims and the figures, between the marks that `put` looks for."""
    rows = [
        (each.claim, each.paper, each.measured, f"**{each.verdict}**")
        for each in read_claims(content)
        if each.main
    ]
    settings = content["settings"]
    run = (
        f"*The main claims, {settings['Scale']} scale, seed {settings['Seed']}, commit "
        f"{settings['Commit']}, {settings['Finished']}; all are in "
        f"[reproduction.md](docs/measurements/reproduction.md).* {_WORDS}"
    )
    figures = "\n".join(_image(plot, "docs/images") for _, plot in _plots())
    return "\n".join([BEGIN, figures, "", _table(_HEADING, rows), run, END])


def put(readme: str, text: str) -> str:
    r"""The README with the block between its marks replaced.

    Examples
    --------
    >>> put(f"# A\n\n{BEGIN}\nold\n{END}\nB\n", f"{BEGIN}\nnew\n{END}").splitlines()[3:]
    ['new', '<!-- /reproduction -->', 'B']
    """
    between = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", flags=re.DOTALL)
    if len(between.findall(readme)) != 1:
        raise ValueError(f"the README must have {BEGIN} and, after it, {END}")
    return between.sub(lambda _: text, readme)


def read_claims(content: Mapping[str, Any]) -> list[PaperClaim]:
    """The claims of results.json as they were.

    Examples
    --------
    >>> claim = PaperClaim("I", "fast", "75", "40", "partly", "so", 1.0, (("day", "40"),))
    >>> import json
    >>> read_claims(json.loads(json.dumps({"claims": [claim._asdict()]}))) == [claim]
    True
    """
    return [
        PaperClaim(**{**each, "details": tuple((name, text) for name, text in each["details"])})
        for each in content["claims"]
    ]


def _tally(claims: Iterable[PaperClaim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{counts[each]} {each}" for each in get_args(Verdict) if counts[each]) + "."


def _row(claim: PaperClaim) -> tuple[str, ...]:
    return claim.claim, claim.paper, claim.measured, f"**{claim.verdict}**: {claim.reason}"


def _table(heading: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *(map(escape, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def escape(text: str) -> str:
    r"""As a cell of a table shows it: no column, element or code begins; ``**`` is meant.

    Examples
    --------
    >>> escape("a|b of x_1")
    'a\\|b of x\\_1'
    """
    return re.sub(r"([\\|<`_])", r"\\\1", typeset(text))


def shown_parts() -> list[str]:
    """Names of the parts whose figures are shown.

    Examples
    --------
    >>> shown_parts()
    ['convergence', 'bandits']
    """
    return [part.name for part in contents.PARTS if any(each.name in SHOWN for each in part.plots)]


def _plots() -> list[tuple[str, Plot]]:
    return [
        (part.title, plot) for part in contents.PARTS for plot in part.plots if plot.name in SHOWN
    ]


def _image(plot: Plot, directory: str) -> str:
    return f"![{plot.shows}]({directory}/reproduction-{plot.name}.png)"


def _figure(plot: Plot, directory: str) -> str:
    return f"{_image(plot, directory)}\n\n{plot.caption}"


def _cases(claim: PaperClaim) -> str:
    return f"### {escape(claim.claim)}\n\n{_table(('Case', 'Measured'), claim.details)}"
