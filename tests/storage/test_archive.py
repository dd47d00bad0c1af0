from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fabcost
from fabcost import FabCost, Refresh
from fabcost.inference.saved.file import from_bytes, to_bytes
from tests.examples import examples
from tests.simulated import cold_start, correlated_prior

SCHEDULES = [Refresh.never(), Refresh.always(), Refresh.at(7, 90), Refresh.geometric(1.3)]


def some_learner() -> FabCost:
    learner = FabCost(correlated_prior())
    learner.observe_many(*cold_start(20))
    return learner


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.kind)
@pytest.mark.parametrize("window", [None, 16])
@pytest.mark.parametrize("stop", [0, 5, 64, 77])
def test_going_on_after_loading_gives_the_same_bits(
    tmp_path: Path, schedule: Refresh, window: int | None, stop: int
) -> None:
    X, y = cold_start(120)
    unbroken, broken = (
        FabCost(correlated_prior(), refresh=schedule, most_kept=window) for _ in range(2)
    )
    unbroken.observe_many(X, y)
    broken.observe_many(X[:stop], y[:stop])
    fabcost.save(broken, tmp_path / "learner")
    loaded = fabcost.load(tmp_path / "learner")
    loaded.observe_many(X[stop:], y[stop:])
    np.testing.assert_array_equal(loaded.posterior.mean, unbroken.posterior.mean)
    np.testing.assert_array_equal(loaded.posterior.root, unbroken.posterior.root)
    np.testing.assert_array_equal(loaded.sites, unbroken.sites)
    assert to_bytes(loaded) == to_bytes(unbroken)
    assert [path.name for path in tmp_path.iterdir()] == ["learner"]


def test_settings_survive(tmp_path: Path) -> None:
    learner = FabCost(correlated_prior(), moments="mackay", most_kept=9, tolerance=1e-5)
    fabcost.save(learner, tmp_path / "learner")
    loaded = fabcost.load(tmp_path / "learner")
    assert (loaded.moments, loaded.most_kept, loaded.tolerance) == ("mackay", 9, 1e-5)
    assert loaded.refresh_schedule == learner.refresh_schedule


CONTENT = to_bytes(some_learner())


@settings(max_examples=examples(200))
@example(16, 1)
@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_any_altered_byte_is_noticed(position: int, flip: int) -> None:
    altered = bytearray(CONTENT)
    altered[position] ^= flip
    with pytest.raises(ValueError, match="altered|not a saved learner|format version"):
        from_bytes(bytes(altered))


@given(st.integers(0, len(CONTENT) - 1))
def test_any_truncation_is_noticed(length: int) -> None:
    with pytest.raises(ValueError, match="truncated|not a saved learner"):
        from_bytes(CONTENT[:length])


def test_a_newer_file_asks_for_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "learner"
    path.write_bytes(CONTENT.replace(b"fabcost-learner 1 ", b"fabcost-learner 8 ", 1))
    with pytest.raises(ValueError, match=r"version 8 but this fabcost reads up to 7: upgrade"):
        fabcost.load(path)


def test_another_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(ValueError, match=r"notes.txt is nothing that fabcost.save writes"):
        fabcost.load(path)


def test_a_function_cannot_be_saved() -> None:
    learner = FabCost(correlated_prior(), refresh=lambda seen: seen == 3)
    with pytest.raises(ValueError, match="schedule is a function cannot be saved"):
        to_bytes(learner)
