"""Results are found again as they were kept, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fabcost.paper import units
from fabcost.paper.units import Result, Unit, UnitFolder
from tests.paper import pieces

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | finite | st.text()
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
arrays = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.bool_]), hnp.array_shapes(min_dims=0, min_side=0)
)
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True).filter(lambda name: name != "file")
results = st.dictionaries(names, json_values | arrays, max_size=5)

UNIT = Unit("draw", pieces.draw, {"seed": 1})


def assert_same(found: Result | None, kept: Result) -> None:
    assert found is not None
    assert set(found) == set(kept)
    for name, value in kept.items():
        if isinstance(value, np.ndarray):
            assert found[name].dtype == value.dtype
            np.testing.assert_array_equal(found[name], value)
        else:
            assert found[name] == value


@settings(max_examples=40, deadline=None)
@given(result=results)
def test_what_is_kept_is_found(result: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        UnitFolder(Path(directory)).keep(UNIT, result)
        assert_same(UnitFolder(Path(directory)).find(UNIT), result)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_what_json_does_not_have_is_refused_and_not_found(tmp_path: Path, value: Any) -> None:
    folder = UnitFolder(tmp_path)
    folder.keep(UNIT, {"value": 1.0})
    with pytest.raises((ValueError, TypeError)):
        folder.keep(UNIT, {"value": value})
    assert folder.find(UNIT) is None


def test_fingerprint_changes_with_everything_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that changed has another digest; `test_fingerprint` says when."""
    prints = {
        UNIT.fingerprint,
        Unit("draw", pieces.draw, {"seed": 2}).fingerprint,
        Unit("draw", pieces.draw, {"seed": 1, "size": 3}).fingerprint,
        Unit("draw", pieces.fail, {"seed": 1}).fingerprint,
    }
    monkeypatch.setattr(units, "digest", "{} as of tomorrow".format)
    prints.add(UNIT.fingerprint)
    assert len(prints) == 5


def test_fingerprint_does_not_change_with_what_does_not_matter() -> None:
    arguments = {"size": 3, "seed": 1}
    other = Unit("draw", pieces.draw, arguments, weight=7.0, alone=True)
    assert other.fingerprint == Unit("x", pieces.draw, {"seed": 1, "size": 3}).fingerprint


def test_result_of_other_code_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = UnitFolder(tmp_path)
    folder.keep(UNIT, UNIT.compute())
    assert folder.find(UNIT) is not None
    monkeypatch.setattr(units, "digest", "{} as of tomorrow".format)
    assert folder.find(UNIT) is None


def test_result_of_other_arguments_is_not_found(tmp_path: Path) -> None:
    folder = UnitFolder(tmp_path)
    folder.keep(UNIT, UNIT.compute())
    other = Unit("draw", pieces.draw, {"seed": 2})
    assert folder.find(other) is None
    folder.keep(other, other.compute())
    assert folder.find(UNIT) is None
    assert_same(folder.find(other), {**pieces.draw(2), "seconds": folder.find(other)["seconds"]})  # type: ignore[index]


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "other"])
def test_damaged_files_count_as_missing(tmp_path: Path, suffix: str, damage: str) -> None:
    folder = UnitFolder(tmp_path)
    folder.keep(UNIT, {"curve": np.arange(100.0), "value": 1})
    path = tmp_path / f"draw{suffix}"
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "other": b"[]"}[damage])
    assert folder.find(UNIT) is None
    folder.keep(UNIT, {"value": 2})
    assert_same(folder.find(UNIT), {"value": 2})


@pytest.mark.parametrize("complete", [0, 1])
def test_interrupted_writing_leaves_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complete: int
) -> None:
    """Arrays of the new result must not be found with the values of the one before."""
    folder = UnitFolder(tmp_path)
    folder.keep(UNIT, {"value": 1, "curve": np.zeros(2)})
    left, replace = [None] * complete, os.replace

    def break_off(source: Path, target: Path) -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", break_off)
        with pytest.raises(KeyboardInterrupt):
            folder.keep(UNIT, {"value": 2, "curve": np.ones(2)})
    assert folder.find(UNIT) is None


def test_origin_is_what_the_store_was_told_when_it_kept(tmp_path: Path) -> None:
    UnitFolder(tmp_path, {"commit": "abc"}).keep(UNIT, {})
    origin = UnitFolder(tmp_path, {"commit": "def"}).origin(UNIT)
    assert origin["commit"] == "abc"
    assert origin["finished"].endswith("+00:00")
