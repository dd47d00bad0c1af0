"""The documentation's copy of a finished run: ``python -m studies.reproduction DIR``.

Takes results and figures from a directory that `fabcost reproduce` wrote; without DIR, the page and
a few claims in the README are written anew from the results that are there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from fabcost.offline.page import typeset
from fabcost.offline.pictures import Plot
from fabcost.paper.parts.part import PaperClaim, Verdict
from fabcost.paper.reproduction import PARTS
from fabcost.paper.units import PAPER

RESULTS = Path("docs/measurements/reproduction/results.json")
PAGE = Path("docs/measurements/reproduction.md")
IMAGES = Path("docs/images")
README = Path("README.md")

#: The figures that the documentation shows.
SHOWN = ("convergence", "clicks")
BEGIN, END = "<!-- reproduction -->", "<!-- /reproduction -->"

_NEEDED = ("command", "settings", "claims", "parts", "scale")
_LONGEST = 40  # entries of a list
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

This page is written by `python -m studies.reproduction` from
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


def take(run: Path, root: Path, *, memory: str | None = None) -> None:
    """Copy results and figures of the run to the checkout at ``root``.

    Parameters
    ----------
    memory
        The most that all processes of the run had at a time, if somebody looked.
    """
    content = digest(_read(run / "results.json"), shown_parts())
    drawn = {name: (run / "figures" / f"{name}.png").read_bytes() for name in SHOWN}
    if memory is not None:
        content["settings"]["Peak memory"] = memory
    (root / RESULTS).parent.mkdir(parents=True, exist_ok=True)
    (root / RESULTS).write_text(_lines(content), encoding="utf-8")
    (root / IMAGES).mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        (root / IMAGES / f"reproduction-{name}.png").write_bytes(figure)


def write(root: Path) -> None:
    """Write the page and the README's block from the results at ``root``."""
    content = _read(root / RESULTS)
    readme = (root / README).read_text(encoding="utf-8")
    changed = put(readme, block(content))
    (root / PAGE).write_text(page(content), encoding="utf-8")
    (root / README).write_text(changed, encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    missing = [name for name in _NEEDED if name not in content]
    if missing:
        raise ValueError(
            f"{path} has no {', '.join(missing)}: it was written by another version; "
            "fabcost reproduce writes it anew, from the units that it finds"
        )
    return content


def _lines(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry, so that changes can be read."""
    entries = [f"{json.dumps(name)}: {_entry(each)}" for name, each in content.items()]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _entry(value: Any) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(_dumped, value)) + "\n]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def digest(content: Mapping[str, Any], parts: Collection[str]) -> dict[str, Any]:
    """What is small enough for the documentation: no units, and the curves of ``parts``, thinned.

    Examples
    --------
    >>> digest({"seed": 0, "units": {}, "parts": {"a": [1 / 3], "b": [1]}}, ["a"])
    {'seed': 0, 'parts': {'a': [0.3333]}}
    """
    kept = {name: each for name, each in content.items() if name != "units"}
    return {**kept, "parts": {name: thinned(content["parts"][name]) for name in parts}}


def thinned(value: Any) -> Any:
    """Numbers to four digits; a list of more than forty keeps so many, evenly spread over it.

    Lists of one length keep the same places, so that curves still belong to their abscissa.

    Examples
    --------
    >>> curve = thinned(list(range(100)))
    >>> len(curve), curve[0], curve[-1]
    (40, 0, 99)
    """
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: thinned(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) <= _LONGEST:
        return [thinned(each) for each in value]
    places = np.linspace(0, len(value) - 1, _LONGEST).round().astype(int)
    return [thinned(value[place]) for place in places]


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
    return [part.name for part in PARTS if any(each.name in SHOWN for each in part.plots)]


def _plots() -> list[tuple[str, Plot]]:
    return [(part.title, plot) for part in PARTS for plot in part.plots if plot.name in SHOWN]


def _image(plot: Plot, directory: str) -> str:
    return f"![{plot.shows}]({directory}/reproduction-{plot.name}.png)"


def _figure(plot: Plot, directory: str) -> str:
    return f"{_image(plot, directory)}\n\n{plot.caption}"


def _cases(claim: PaperClaim) -> str:
    return f"### {escape(claim.claim)}\n\n{_table(('Case', 'Measured'), claim.details)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the root of a checkout."""
    parser = argparse.ArgumentParser(prog="python -m studies.reproduction", description=__doc__)
    parser.add_argument("run", type=Path, nargs="?", help="what fabcost reproduce --out wrote")
    parser.add_argument("--memory", help="the run's peak of memory, as in '1.5 GB'")
    given = parser.parse_args(arguments)
    try:
        if given.run is not None:
            take(given.run, Path(), memory=given.memory)
        write(Path())
    except (OSError, ValueError) as error:
        parser.error(str(error))
    sys.stdout.write(f"Written: {PAGE}, {README}\n")


if __name__ == "__main__":
    main()
