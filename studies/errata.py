"""The page of the paper's errata, with the numbers of their demonstrations: ``studies.errata``."""

from __future__ import annotations

import re
from pathlib import Path

from fabcost.offline.page import typeset
from fabcost.paper.errata import demonstrate, rows
from fabcost.paper.reproduction import ERRATUM
from studies.documents import write_page

ROOT = Path(__file__).resolve().parents[1]
TESTS = "tests/paper/test_errata.py"

_INTRODUCTION = f"""\
# Errata

These points concern the text of the paper (FAB-COST; McKenzie, Appleby, House, Walton) and the
notebooks published with it. None touches its main idea, to combine ADF with EP, which is sound and
is what this library builds on. Each erratum has a test that demonstrates it by running. The tests
are in `{TESTS}`.

Errata 1 and 2 are in the text. Errata 3 to 7 are in the notebooks, whose computations are repeated
here in code of this library; the notebooks themselves are not part of it and are not run.

This page is written by `python -m studies.errata`, numbers included. Do not edit it by hand.
"""


def page() -> str:
    """The text of docs/explanation/errata.md."""
    tests = re.findall(r"def (test_erratum_\w+)", (ROOT / TESTS).read_text(encoding="utf-8"))
    return typeset("\n".join([_INTRODUCTION, *map(_section, rows(demonstrate()), tests)]))


def _section(row: tuple[str, ...], test: str) -> str:
    title, *cells = row
    _, *names = ERRATUM
    body = "\n".join(f"- **{name}.** {cell}" for name, cell in zip(names, cells, strict=True))
    return f"## {title}\n\n{body}\n- **Test.** `{test}`\n"


if __name__ == "__main__":
    print(f"Written: {write_page('../explanation/errata.md', page())}")
