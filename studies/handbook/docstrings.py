"""Whether what the reference documents has something to say."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

_DIRECTIVE = re.compile(r"^::: (\S+)$", re.MULTILINE)


def documented(markdown: str) -> list[str]:
    r"""The names that a page of the reference takes from docstrings.

    Examples
    --------
    >>> documented("# Page\n\n::: fabcost.FabCost\n")
    ['fabcost.FabCost']
    """
    return _DIRECTIVE.findall(markdown)


def missing(names: Iterable[str]) -> Iterator[str]:
    """Those of the names, and of the public members of classes, that have no docstring.

    Examples
    --------
    >>> list(missing(["fabcost.FabCost", "fabcost.save"]))
    []
    """
    for name in names:
        value = found(name)
        if not inspect.getdoc(value):
            yield name
        if inspect.isclass(value) and value.__module__.startswith("fabcost."):
            members = (each for each in vars(value).items() if _is_public(*each))
            yield from (f"{name}.{each}" for each, member in members if not inspect.getdoc(member))


def found(name: str) -> Any:
    """What a dotted name stands for.

    Examples
    --------
    >>> found("fabcost.inference.ep.fit").__name__
    'fit'
    """
    parts = name.split(".")
    value: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            importlib.import_module(".".join(parts[:depth]))
        value = getattr(value, part)
    return value


def _is_public(name: str, member: Any) -> bool:
    kinds = (property, classmethod, staticmethod)
    return not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
