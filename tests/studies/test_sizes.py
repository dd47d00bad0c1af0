"""The library stays small enough to be read, and the study of its sizes counts rightly."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.sizes import Sizes, kinds_of, measure, page

MOST_LINES, MOST_MODULES = 53_793, 215
MOST_IN_A_FOLDER, LONGEST_MODULE = 14, 350
LONGEST_MEDIAN = 8
MOST_REPEATED = 0


@pytest.fixture(scope="module")
def sizes() -> Sizes:
    return measure()


def test_the_whole_is_bounded(sizes: Sizes) -> None:
    assert sizes.lines <= MOST_LINES
    assert len(sizes.modules) <= MOST_MODULES


def test_no_folder_is_crowded_and_no_module_is_long(sizes: Sizes) -> None:
    crowded = {name: n for name, n in sizes.fullest.items() if n > MOST_IN_A_FOLDER}
    long = {name: n for name, n in sizes.longest.items() if n > LONGEST_MODULE}
    assert not crowded
    assert not long


def test_half_of_the_functions_are_short(sizes: Sizes) -> None:
    assert sizes.median_function <= LONGEST_MEDIAN


def test_a_class_has_a_name_of_its_own(sizes: Sizes) -> None:
    assert len(sizes.repeated) <= MOST_REPEATED, sizes.repeated


def test_a_small_tree_is_counted(tmp_path: Path) -> None:
    files = {
        "__init__.py": '"""A package."""\n',
        "one.py": "class A:\n    def f(self):\n        return 1\n",
        "inner/__init__.py": "",
        "inner/two.py": "class A:\n    pass\n\n\nclass _B:\n    pass\n",
        "inner/three.py": "class _B:\n    pass\n\n\ndef g():\n    pass\n",
        "kernels/loop.py": "\n" * 99,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = measure(tmp_path)
    assert (found.lines, len(found.modules)) == (115, 4)
    assert found.fullest == {"inner": 2, ".": 1, "kernels": 1}
    assert found.longest == {"inner/three.py": 6, "inner/two.py": 6, "one.py": 3}
    assert sorted(found.functions) == [2, 2]
    assert found.repeated == {"A": ["inner/two.py", "one.py"]}
    assert "| modules of `inner/` | 2 |" in page(found)
    (tmp_path / "inner" / "three.py").unlink()
    assert "| `inner/` | 12 | 6 | -6 |" in page(measure(tmp_path), found)


def test_each_line_is_of_one_kind() -> None:
    text = (
        '"""A module,\n\nin words."""\n\nimport math\nfrom os import (\n    path,\n)\n\n# Why.\n'
        '@path\ndef f(\n    x,  # so\n):\n    """Words."""\n    # So.\n\n    return math.pi\n'
    )
    found = {"statements": 1, "signatures": 4, "docstrings": 4, "imports": 4}
    assert kinds_of(text) == {**found, "comments": 2, "blank": 3}


def test_every_line_of_the_library_is_counted_once(sizes: Sizes) -> None:
    assert sum(kinds.total() for kinds in sizes.kinds.values()) == sizes.lines
