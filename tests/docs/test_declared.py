"""Whatever our programs import is declared in pyproject.toml, not there by chance."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "studies", "examples")
OURS = {"fabcost", "tests", "studies", "examples"}
SAMPLE = """
import os, yaml
import azure.core.credentials as known
from httpx import Client
from . import sibling
module = pytest.importorskip("vowpalwabbit")
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> set[str]:
    """The distributions that pyproject.toml names, whatever for."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = written["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    lists += written["dependency-groups"].values()
    return {normal(re.split(r"[^\w.-]", each)[0]) for one in lists for each in one}


def modules(source: str) -> Iterator[str]:
    """The modules of others that a source text imports, with ``import`` or ``importorskip``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("importorskip"):
            names = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
        else:
            continue
        theirs = sys.stdlib_module_names | OURS
        yield from (each for each in names if each.partition(".")[0] not in theirs)


@cache
def owners() -> dict[str, str]:
    """The distribution of each Python file that is installed."""
    found: dict[str, str] = {}
    for each in distributions():
        name = normal(each.metadata["Name"])
        lines = (each.read_text("RECORD") or "").splitlines()
        found |= {line.partition(",")[0]: name for line in lines}
    return found


def owner(module: str) -> str | None:
    path = module.replace(".", "/")
    return owners().get(f"{path}/__init__.py") or owners().get(f"{path}.py")


def imported(folder: str) -> set[str]:
    files = (ROOT / folder).rglob("*.py")
    return {name for each in files for name in modules(each.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_are_declared(folder: str) -> None:
    known = declared()
    found = {name: owner(name) for name in imported(folder)}
    assert {name: whose for name, whose in found.items() if whose not in known} == {}


def test_what_is_said_of_python_is_what_is_claimed() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    classified = re.findall(r"Python :: (3\.\d+)", " ".join(written["project"]["classifiers"]))
    assert written["project"]["requires-python"] == f">={classified[0]}"
    for page in ("README.md", "docs/tutorial/index.md", "docs/how-to/web-shop.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert f"Python {' or '.join(classified)}" in text, page
    (image,) = set(re.findall(r"^FROM python:(3\.\d+)", (ROOT / "Dockerfile").read_text(), re.M))
    assert image in classified


def test_imports_are_found() -> None:
    assert set(modules(SAMPLE)) == {"yaml", "azure.core.credentials", "httpx", "vowpalwabbit"}
    assert owner("azure.core.credentials") == "azure-core"
    assert owner("yaml") == "pyyaml"
    assert owner("nowhere.at.all") is None
