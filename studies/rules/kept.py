"""What stands on pages, for games that are not at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from studies.documents import DOCS

PAGE, PEERS = "rules.md", "peers.md"
CHOSEN, CONFIRMED, GRID = "## To choose on", "## To confirm on", "## Rules, learners and priors"
LATE = "visitors before an outcome"  # the head of a column
_COMMIT = re.compile(r"commit `([^`]+)`")
_KEPT = re.compile(r"as it was, commit `([^`]+)`")
_RATIO = re.compile(r"\**([\d.]+) ± ([\d.]+)\**")


class Cell(NamedTuple):
    """Where a ratio stands: its world, the rule, and of late outcomes the visitors before one."""

    world: str
    delay: str
    rule: str


def standing(name: str = PAGE) -> str:
    """A page as it is; nothing before it was first written."""
    path = DOCS / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def ratios(text: str) -> dict[Cell, tuple[float, float]]:
    """Mean and half of the interval of every cell on the half to choose on."""
    found = {}
    for head, row in rows(part(text, CHOSEN)):
        late = head[1] == LATE
        for rule, cell in zip(head[1 + late :], row[1 + late :], strict=True):
            if ratio := _RATIO.fullmatch(cell):
                place = Cell(row[0], row[1] if late else "", rule)
                found[place] = float(ratio[1]), float(ratio[2])
    return found


def part(text: str, title: str) -> str:
    """From a title to the next of its level; nothing where there is none such."""
    _, found, after = text.partition(f"\n{title}")
    return (title + after.partition("\n## ")[0]).strip() if found else ""


def commit(text: str) -> str:
    """At which what was kept before was played; without such, the page."""
    found = _KEPT.search(text) or _COMMIT.search(text)
    return found[1] if found else "unknown"


def peers() -> tuple[str, list[list[str]]]:
    """What other libraries reach at the best of their grids, and the commit of that."""
    text = standing(PEERS)
    lines: list[list[str]] = []
    for head, row in rows(text):
        shares = [place for place, name in enumerate(head) if "best of grid" in name]
        if not shares:
            continue
        found = [row[place].rpartition("; ")[2] for place in shares]
        lines = lines or [["policy", *(head[place].partition(":")[0] for place in shares)]]
        if any(each != "–" for each in found):
            lines.append([row[0], *found])
    return commit(text), lines


def rows(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Every row of every table, after the head of its table."""
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            head = []
        elif not head:
            head = cells
        elif set(cells[0]) != {"-"}:
            yield head, cells
