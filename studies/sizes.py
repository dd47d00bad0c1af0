"""How large the library is, and where: ``python -m studies.sizes``."""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from studies.documents import origin, write_page

SOURCES = Path(__file__).resolve().parents[1] / "src" / "fabcost"
KERNELS = "kernels"  # a compiled loop is one function, and a module of them is long

_SHOWN = 10
#: The first tree in which every room had its place.
BUILT = "57446ce2"
#: What a line is; those of one statement are all of its kind.
KINDS = ("statements", "signatures", "docstrings", "imports", "comments", "blank")
_DEEPER = ("service", "offline", "paper")  # rooms that are shown by their folders
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Sizes:
    """Of a tree of sources; a module is a file other than ``__init__``."""

    lines: int
    modules: dict[str, int]  # the lines of each
    folders: dict[str, int]  # the modules of each
    functions: list[int]  # lines, from the name to the end
    classes: dict[str, list[str]]  # the modules that have one of this name
    kinds: dict[str, Counter[str]]  # the lines of each room, by what they are

    @property
    def longest(self) -> dict[str, int]:
        """Modules apart from kernels, the longest first."""
        apart = {name: n for name, n in self.modules.items() if not name.startswith(KERNELS)}
        return _falling(apart)

    @property
    def fullest(self) -> dict[str, int]:
        """Folders, that with most modules first."""
        return _falling(self.folders)

    @property
    def median_function(self) -> float:
        """Lines of a function, its docstring among them."""
        return median(self.functions)

    @property
    def repeated(self) -> dict[str, list[str]]:
        """Names that several classes have; one with an underscore is its module's own."""
        several = {name: each for name, each in self.classes.items() if len(each) > 1}
        return {name: each for name, each in sorted(several.items()) if not name.startswith("_")}


def measure(sources: Path = SOURCES) -> Sizes:
    """The sizes of all Python files below ``sources``."""
    texts = {
        path.relative_to(sources): path.read_text(encoding="utf-8")
        for path in sorted(sources.rglob("*.py"))
    }
    counts = {path: len(text.splitlines()) for path, text in texts.items()}
    modules = {path: n for path, n in counts.items() if path.name != "__init__.py"}
    functions: list[int] = []
    classes: dict[str, list[str]] = {}
    kinds: dict[str, Counter[str]] = {}
    for path, text in texts.items():
        kinds.setdefault(room(path), Counter()).update(kinds_of(text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, _FUNCTIONS):
                functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
            elif isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(path.as_posix())
    return Sizes(
        lines=sum(counts.values()),
        modules={path.as_posix(): n for path, n in modules.items()},
        folders=dict(Counter(path.parent.as_posix() for path in modules)),
        functions=functions,
        classes=classes,
        kinds=kinds,
    )


def room(path: Path) -> str:
    """Where a reader looks for a module: its folder, and that one's room where it is large."""
    folders = path.parts[:-1]
    return "/".join(folders[: 2 if folders[:1] and folders[0] in _DEEPER else 1]) or "."


def kinds_of(text: str) -> Counter[str]:
    """How many lines of a source are of each kind."""
    lines = [line.strip() for line in text.splitlines()]
    kinds = [
        "comments" if line.startswith("#") else "statements" if line else "blank" for line in lines
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _FUNCTIONS):
            first = min(each.lineno for each in (node, *node.decorator_list))
            _mark(kinds, "signatures", first, max(node.lineno, node.body[0].lineno - 1))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            _mark(kinds, "imports", node.lineno, node.end_lineno or node.lineno)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS)) and ast.get_docstring(node):
            said = node.body[0]
            kinds[said.lineno - 1 : said.end_lineno] = ["docstrings"] * (
                (said.end_lineno or said.lineno) - said.lineno + 1
            )
    return Counter(kinds)


def _mark(kinds: list[str], kind: str, first: int, last: int) -> None:
    """Lines that are blank or comments stay so."""
    for place in range(first - 1, last):
        if kinds[place] == "statements":
            kinds[place] = kind


def _falling(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def rows(sizes: Sizes) -> Iterator[tuple[str, str]]:
    yield "lines", f"{sizes.lines:,}"
    yield "modules", f"{len(sizes.modules):,}"
    yield "functions", f"{len(sizes.functions):,}"
    yield "lines of a function, median", f"{sizes.median_function:g}"
    yield "classes", f"{sum(map(len, sizes.classes.values())):,}"
    yield "names that several classes have", ", ".join(sizes.repeated) or "none"
    for name, count in list(sizes.fullest.items())[:_SHOWN]:
        yield f"modules of `{name}/`", str(count)
    for name, count in list(sizes.longest.items())[:_SHOWN]:
        yield f"lines of `{name}`", str(count)


def rooms(sizes: Sizes) -> Iterator[tuple[str, ...]]:
    """The lines of all rooms by kind, then of each, the largest first."""
    whole = sum(sizes.kinds.values(), Counter[str]())
    falling = sorted(sizes.kinds.items(), key=lambda each: -each[1].total())
    for name, kinds in [("all", whole), *((f"`{name}/`", kinds) for name, kinds in falling)]:
        yield name, f"{kinds.total():,}", *(f"{kinds[kind]:,}" for kind in KINDS)


def before(commit: str) -> Sizes:
    """The sizes of the tree of a commit, which must be in this repository."""
    found = subprocess.run(  # noqa: S603
        ["git", "archive", "--format=tar", commit, "src/fabcost"],  # noqa: S607
        capture_output=True,
        check=True,
        cwd=SOURCES.parents[1],
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(fileobj=io.BytesIO(found.stdout)) as tar,
    ):
        tar.extractall(folder, filter="data")
        return measure(Path(folder) / "src" / "fabcost")


def grown(then: Sizes, now: Sizes) -> Iterator[tuple[str, ...]]:
    """Lines of both by room, that which grew most first."""
    rooms = {
        name: [each.kinds.get(name, Counter()).total() for each in (then, now)]
        for name in then.kinds | now.kinds
    }
    yield "all", f"{then.lines:,}", f"{now.lines:,}", f"{now.lines - then.lines:+,}"
    for name, (old, new) in sorted(rooms.items(), key=lambda each: each[1][0] - each[1][1]):
        yield f"`{name}/`", f"{old:,}", f"{new:,}", f"{new - old:+,}"


def page(sizes: Sizes, then: Sizes | None = None) -> str:
    """The text of docs/measurements/sizes.md; with what came since another tree."""
    lines = [
        "# How large it is",
        "",
        origin("python -m studies.sizes --docs"),
        "",
        "All of `src/fabcost`, comments and docstrings included. A module is a file other than "
        "`__init__.py`; the longest are named without the kernels. These numbers have bounds in "
        "`tests/studies/test_sizes.py`.",
        "",
        "| | |",
        "|---|---:|",
        *(f"| {name} | {value} |" for name, value in rows(sizes)),
        "",
        "## What the lines are",
        "",
        "Of each room. Statements are what runs when a module or a function does, with all lines "
        "they are written on; examples in docstrings run as tests.",
        "",
        "| | lines | " + " | ".join(KINDS) + " |",
        "|---|---:" + "|---:" * len(KINDS) + "|",
        *(f"| {' | '.join(row)} |" for row in rooms(sizes)),
    ]
    if then is not None:
        lines += [
            "",
            "## What came since the rooms were built",
            "",
            f"At commit `{BUILT}` every room had its place, and the library as it was then had "
            f"{len(then.modules)} modules. Lines then and now:",
            "",
            "| | then | now | more |",
            "|---|---:|---:|---:|",
            *(f"| {' | '.join(row)} |" for row in grown(then, sizes)),
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.sizes", description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write docs/measurements/sizes.md")
    given = parser.parse_args()
    sizes, console = measure(), Console()
    table = Table("src/fabcost", "")
    for row in rows(sizes):
        table.add_row(*row)
    console.print(table)
    by_kind = Table("room", "lines", *KINDS)
    for each in rooms(sizes):
        by_kind.add_row(*each)
    console.print(by_kind)
    if given.docs:
        console.print(f"wrote {write_page('sizes.md', page(sizes, before(BUILT)))}")


if __name__ == "__main__":
    main()
