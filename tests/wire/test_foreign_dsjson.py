"""Lines of others in Vowpal Wabbit's format: Azure's log mirror, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabcost.wire import dsjson
from fabcost.wire.formats import read_impressions
from fabcost.wire.line import LogLine

# The shape of a line of Azure Personalizer's log mirror, with seven digits of a second.
AZURE: dict[str, Any] = {
    "_label_cost": -0.5,
    "_label_probability": 0.05,
    "_label_Action": 3,
    "_labelIndex": 2,
    "o": [{"v": 0.5, "EventId": "e-1", "ActionTaken": False}],
    "Timestamp": "2021-02-04T16:31:29.2460000Z",
    "Version": "1",
    "EventId": "e-1",
    "a": [3, 1, 2],
    "c": {
        "FromUrl": [{"time": "noon", "user": {"tier": 2}}, {"rain": False, "wind": [1, 2.5]}],
        "Site": {"name": "home"},
        "_synthetic": False,
        "_multi": [
            {"_tag": "tea", "i": {"constant": 1, "id": "tea"}, "j": [{"hot": True}]},
            {"i": {"constant": 1, "id": "cold brew"}, "j": [{"hot": False}, {"strong": 1}]},
            {"_tag": "milk", "i": {"constant": 1, "id": "milk"}},
        ],
    },
    "p": [0.05, 0.9, 0.05],
    "VWState": {"m": "x/y"},
    "_original_label_cost": -0.5,
}


def foreign(**changes: Any) -> LogLine:
    given = {name: value for name, value in (AZURE | changes).items() if value is not ...}
    ((_, line),) = dsjson.read(json.dumps(given).encode())
    return line


def test_a_line_of_azure_is_understood() -> None:
    line = foreign()
    assert line.decision_id == "e-1"
    assert line.time == 1612456289.246
    assert line.context == {
        "context:time": "noon",
        "context:user.tier": 2,
        "context:rain": False,
        "context:wind.0": 1,
        "context:wind.1": 2.5,
        "context:Site.name": "home",
    }
    assert line.candidates == {
        "tea": {"action:hot": True},
        "cold brew": {"action:hot": False, "action:strong": 1},
        "milk": {},
    }
    assert (line.item, line.value) == ("milk", 0.5)
    assert line.propensities == [0.9, 0.05, 0.05]


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"_skipLearn": True}, None),
        ({"DeferredAction": True}, None),
        ({"DeferredAction": True, "o": [{"ActionTaken": True}]}, 0.5),
        ({"_label_cost": ...}, 0.5),
        ({"_label_cost": ..., "o": []}, None),
        ({"_label_cost": ..., "o": [{"v": {"x": 1}}, {"v": 2}, {"v": 3}]}, 2.0),
        ({"_label_cost": 1}, -1.0),
    ],
)
def test_the_outcome_of_a_foreign_line(changes: dict[str, Any], value: float | None) -> None:
    assert foreign(**changes).value == value


def test_what_was_chosen_is_found_in_three_ways() -> None:
    assert foreign(_label_Action=...).item == "milk"
    assert foreign(_label_Action=..., _labelIndex=...).item == "milk"


def test_actions_without_a_name_are_numbered() -> None:
    assert list(foreign(c={"_multi": [{}, {"A": {"x": 1}}, {}]}).candidates) == ["1", "2", "3"]


def test_lines_that_are_no_decisions_are_passed_over() -> None:
    reward = b'{"RewardValue":1.0,"EnqueuedTimeUtc":"2021-02-04T16:31:29Z","EventId":"e-0"}'
    body = b"\xef\xbb\xbf" + reward + b"\r\n\r\n" + json.dumps(AZURE).encode() + b"\r\n"
    assert [number for number, _ in dsjson.read(body)] == [3]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"c":{}}', "line 1: c._multi must be a list"),
        (b'{"c":{"_multi":[{}]}}', "line 1: neither _label_Action nor"),
        (b'{"c":{"_multi":[{}]},"_label_Action":2}', "line 1: action 2 was chosen"),
        (b'{"c":{"_multi":[{}]},"_label_Action":0}', "line 1: action 0 was chosen"),
        (b'{"c":{"_multi":[{}],"_slots":[{}]}}', "line 1: it decides on several"),
        (b'{"c":{"_multi":[3]},"_label_Action":1}', "line 1: action 1 of c._multi"),
        (
            b'\n{"c":{"_multi":[{"_tag":"a"},{"_tag":"a"}]},"_label_Action":1}',
            "line 2: two actions are 'a'",
        ),
        (
            b'{"c":{"_multi":[{}]},"_label_Action":1,"a":[1,2],"p":[1.0]}',
            "line 1: a is .1, 2. and p has 1 entries for 1 actions",
        ),
        (
            b'{"c":{"u":["x"],"_multi":[{}]},"_label_Action":1}',
            "line 1: Features should not contain array with non-number items",
        ),
        (
            b'{"c":{"_multi":[{}]},"_label_Action":1,"Timestamp":"soon"}',
            "line 1: Invalid isoformat string",
        ),
    ],
)
def test_an_error_names_the_line(body: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(read_impressions(body, "dsjson"))
