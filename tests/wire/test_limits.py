"""Lines that no server of ours could have written are refused, and what is stored is shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fabcost.service.settings import Settings
from fabcost.service.transfer import limits_of
from fabcost.wire.formats import WRITERS, read_impressions
from fabcost.wire.line import LogLine

LIMITS = limits_of(Settings())
GOOD: dict[str, Any] = {"item": "a", "candidates": {"a": {"m": 1}}, "value": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": -1e300},
        {"time": 253_402_300_800.0},
        {"propensities": [-5.0]},
        {"propensities": [7e30]},
        {"value": 1e308},
        {"value": -2e9},
        {"context": {"m": "x" * 1_001}},
        {"context": {"m" * 257: 1}},
        {"context": {"": 1}},
        {"context": {f"f{i}": i for i in range(101)}},
        {"candidates": {"a": {"m": "x" * 1_001}}},
        {"candidates": {"a": {"m" * 257: 1}}},
        {"candidates": {"a": {f"f{i}": i for i in range(101)}}},
        {"candidates": {"a": {}, **{f"a{i}": {} for i in range(1_000)}}},
    ],
    ids=lambda wrong: f"{wrong}"[:40],
)
def test_a_line_over_a_limit_is_refused(wrong: dict[str, Any]) -> None:
    body = _lines(GOOD, GOOD | wrong)
    with pytest.raises(ValueError, match="^line 2: "):
        list(read_impressions(body, "jsonl", limits=LIMITS))


@pytest.mark.parametrize(
    "right",
    [
        {"time": -62_135_596_800.0},
        {"time": 253_402_300_799.0},
        {"propensities": [1.0 + 2**-52]},
        {"value": 3e6},
        {"context": {"m": "x" * 1_000, "n" * 256: 1}},
        {"candidates": {"a": {}, **{f"a{i}": {} for i in range(999)}}},
    ],
    ids=lambda right: f"{right}"[:40],
)
def test_a_line_at_a_limit_is_read(right: dict[str, Any]) -> None:
    assert len(list(read_impressions(_lines(GOOD | right), "jsonl", limits=LIMITS))) == 1


def test_as_many_candidates_as_the_catalogue_has_may_have_competed() -> None:
    line = GOOD | {"candidates": {"a": {}, **{f"a{i}": {} for i in range(1_499)}}}
    limits = limits_of(Settings(), catalogue=1_500)
    assert len(list(read_impressions(_lines(line), "jsonl", limits=limits))) == 1


@pytest.mark.parametrize("time", [-1e300, 1e300, -62_135_596_801.0, 253_402_300_800.0])
def test_a_time_without_a_date_that_is_stored_already_is_exported_without_one(time: float) -> None:
    line = LogLine(decision_id="d", time=time, candidates={"a": {}}, item="a")
    written = msgspec.json.decode(WRITERS["dsjson"]().page([line]))
    assert (written["Timestamp"], written["fabcost"]["time"]) == (None, time)


def test_dates_of_all_years_are_exported() -> None:
    for time, date in (
        (-62_135_596_800.0, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799.0, "9999-12-31T23:59:59.000Z"),
    ):
        line = LogLine(decision_id="d", time=time, candidates={"a": {}}, item="a")
        assert msgspec.json.decode(WRITERS["dsjson"]().page([line]))["Timestamp"] == date


def _lines(*lines: dict[str, Any]) -> bytes:
    return b"\n".join(map(msgspec.json.encode, lines))
