"""The code behind a function, as a short text that changes with it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import fabcost

PACKAGE = Path(fabcost.__file__).parent
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def digest(module: str, package: Path = PACKAGE) -> str:
    """Changes with the code of a module, and of all modules of the package that it can reach.

    Imports are followed wherever they stand, those of functions included.  Comments, docstrings
    and layout do not count, nor does code of other packages.

    Examples
    --------
    >>> digest("fabcost.gaussian") == digest("fabcost.paper.tour")
    False
    """
    reached: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name, package)
        if path is not None and name not in reached:
            reached[name], imports = _read(path, name)
            waiting += [*imports, name.rpartition(".")[0]]
    return hashlib.sha256(repr(sorted(reached.items())).encode()).hexdigest()


def _file(module: str, package: Path) -> Path | None:
    first, *inner = module.split(".")
    if first != package.name:
        return None
    place = package.joinpath(*inner)
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


@cache
def _read(path: Path, module: str) -> tuple[str, tuple[str, ...]]:
    """A hash of what the file says, and the modules that it may import."""
    tree = ast.parse(path.read_bytes())
    home = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imports = tuple(_imports(tree, home))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


def _imports(tree: ast.AST, home: str) -> Iterator[str]:
    """Names that are modules, or that may be."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), home)
            yield from (origin, *(f"{origin}.{each.name}" for each in node.names))
