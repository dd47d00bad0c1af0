"""Kept results end with the code that computed them, and with no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabcost.paper.reproduction import PARTS
from fabcost.paper.units import PACKAGE, PAPER, digest

FILES = {
    "__init__.py": "VERSION = 1\n",
    "start.py": "import json\nimport p.inner.near\n\n\ndef f():\n    import p.late\n",
    "inner/__init__.py": "",
    "inner/near.py": "from .far import g\n",
    "inner/far.py": 'def g():\n    """Six."""\n    return 6\n',
    "late.py": "X = 1\n",
    "apart.py": "from p import start\n",
}


def written(place: Path, **changed: str) -> Path:
    """A package p with some of its files changed, in a directory of its own."""
    package = Path(place, str(len(list(place.iterdir()))), "p")
    for name, text in {**FILES, **changed}.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("__init__.py", "VERSION = 2\n"),
        ("start.py", FILES["start.py"] + "Y = 2\n"),
        ("inner/__init__.py", "Z = 3\n"),
        ("inner/near.py", "from p.inner.far import g\n"),
        ("inner/far.py", FILES["inner/far.py"].replace("return 6", "return 7")),
        ("late.py", "X = 2\n"),
    ],
)
def test_every_module_within_reach_counts(tmp_path: Path, name: str, text: str) -> None:
    before, after = written(tmp_path), written(tmp_path, **{name: text})
    assert digest("p.start", after) != digest("p.start", before)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apart.py", "X = 1\n"),
        ("new.py", "X = 1\n"),
        ("late.py", "# One.\nX = (1)\n"),
        ("inner/far.py", FILES["inner/far.py"].replace("Six", "Half a dozen")),
    ],
)
def test_what_cannot_change_a_result_does_not_count(tmp_path: Path, name: str, text: str) -> None:
    before, after = written(tmp_path), written(tmp_path, **{name: text})
    assert digest("p.start", after) == digest("p.start", before)


def changed_units(place: Path, file: str) -> set[str]:
    """The kinds of units that would be computed anew if this file of fabcost were changed."""
    after = place / "fabcost"
    shutil.copytree(PACKAGE, after, ignore=shutil.ignore_patterns("__pycache__", "service"))
    with (after / file).open("a", encoding="utf-8") as source:
        source.write("\nADDED = 1\n")
    units = [unit for part in PARTS for unit in part.units(PAPER, 0)]
    modules = {unit.name.split("-")[0]: unit.function.__module__ for unit in units}
    return {name for name, each in modules.items() if digest(each) != digest(each, after)}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("kernels/beliefs.py", {"bandits", "convergence", "cost", "posteriors"}),
        ("bandit/pool/pool.py", {"bandits"}),
        ("paper/printed.py", {"cost"}),
        ("paper/measures/convergence.py", {"convergence"}),
        ("paper/parts/convergence.py", set()),
        ("paper/reproduction.py", set()),
    ],
)
def test_a_change_costs_what_it_may_have_changed(
    tmp_path: Path, file: str, expected: set[str]
) -> None:
    assert changed_units(tmp_path, file) == expected
