"""Rows of tables have as many cells as their heads: others are shown without the last ones."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest

from tests.docs.pages import DOCS

PAGES = sorted(DOCS.rglob("*.md"))
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NO_BORDER = re.compile(r"\\\||`[^`]*`")


def cells(line: str) -> int:
    return _NO_BORDER.sub("", line).strip().strip("|").count("|") + 1


def uneven(text: str) -> list[str]:
    """Rows with more or fewer cells than the first line of their table."""
    found = []
    for is_table, lines in groupby(_CODE.sub("", text).splitlines(), lambda line: line[:1] == "|"):
        if is_table:
            head, *rows = lines
            found += [row for row in rows if cells(row) != cells(head)]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_rows_have_the_cells_of_their_heads(page: Path) -> None:
    assert not uneven(page.read_text(encoding="utf-8"))


def test_what_is_uneven() -> None:
    assert uneven("| a |\n| --- |\n| 1 | 2 |\n") == ["| 1 | 2 |"]
    assert not uneven("| a | b |\n| --- | --- |\n| `x|y` | \\| |\n\n| a |\n")
