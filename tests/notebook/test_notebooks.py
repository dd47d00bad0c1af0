"""Notebooks of examples/ run from top to bottom, and what their cells end with can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(code: str, names: dict[str, Any]) -> object:
    """What a cell ends with, if that is an expression that is not kept back by a semicolon."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr) or code.rstrip().endswith(";"):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "<cell>", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
def test_a_notebook_runs(book: Path) -> None:
    pyplot.switch_backend("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = 0
    for cell in json.loads(book.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "outputs are not kept"
            found = run("".join(cell["source"]), names)
            show = getattr(found, "_repr_html_", None)
            shown += bool(found is not None and (show() if show else repr(found)))
    pyplot.close("all")
    assert shown


def test_there_are_three() -> None:
    assert len(BOOKS) >= 3
