"""How large the library is, and where: ``python -m studies.sizes``."""

from __future__ import annotations

import argparse
import ast
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


@dataclass(frozen=True)
class Sizes:
    """Of a tree of sources; a module is a file other than ``__init__``."""

    lines: int
    modules: dict[str, int]  # the lines of each
    folders: dict[str, int]  # the modules of each
    functions: list[int]  # lines, from the name to the end
    classes: dict[str, list[str]]  # the modules that have one of this name

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
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
            elif isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(path.as_posix())
    return Sizes(
        lines=sum(counts.values()),
        modules={path.as_posix(): n for path, n in modules.items()},
        folders=dict(Counter(path.parent.as_posix() for path in modules)),
        functions=functions,
        classes=classes,
    )


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


def page(sizes: Sizes) -> str:
    """The text of docs/measurements/sizes.md."""
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
    if given.docs:
        console.print(f"wrote {write_page('sizes.md', page(sizes))}")


if __name__ == "__main__":
    main()
