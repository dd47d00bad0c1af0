"""Our own lines in Vowpal Wabbit's format, read by us and by Vowpal Wabbit."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from msgspec import UNSET

from fabcost.wire import dsjson
from fabcost.wire.formats import WRITERS
from fabcost.wire.line import LogLine, impression_of
from tests.wire.logs import PAGES, written


def known(record: dict[str, Any]) -> dict[str, Any]:
    """What Vowpal Wabbit's format can say of a record."""
    return {n: v for n, v in record.items() if v is not None and not n.startswith("_")}


@settings(deadline=None, max_examples=40)
@given(pages=PAGES)
def test_dsjson_keeps_what_is_learnt(pages: list[list[LogLine]]) -> None:
    lines = [line for page in pages for line in page]
    found = [line for _, line in dsjson.read(written(pages, "dsjson"))]
    for line, wanted in zip(map(impression_of, found), map(impression_of, lines), strict=True):
        plain = msgspec.structs.replace(
            wanted,
            context=known(wanted.context),
            candidates={item: known(record) for item, record in wanted.candidates.items()},
            click_value=UNSET,  # of which nothing is learnt
            cost=UNSET,
        )
        assert line == plain


def test_dsjson_says_what_vowpal_wabbit_needs() -> None:
    line = LogLine(
        decision_id="d-1",
        time=1_600_000_000.5,
        context={"device": "tv", "_secret": 1, "hour": None},
        candidates={"a": {"x": 1}, "b": {"x": 2}, "c": {}},
        item="b",
        propensities=[0.1, 0.7, 0.2],
        value=0.5,
        outcome="feedback",
        active=False,
        deferred=True,
    )
    found = json.loads(WRITERS["dsjson"]().page([line]))
    assert (found["_label_cost"], found["_label_probability"]) == (-0.5, 0.7)
    assert (found["_label_Action"], found["_labelIndex"]) == (2, 1)
    assert (found["a"], found["p"]) == ([2, 1, 3], [0.7, 0.1, 0.2])
    assert found["c"]["context"] == {"device": "tv"}
    assert [each["_tag"] for each in found["c"]["_multi"]] == ["a", "b", "c"]
    assert found["o"] == [{"v": 0.5, "EventId": "d-1", "ActionTaken": False}]
    assert found["Timestamp"] == "2020-09-13T12:26:40.500Z"
    assert found["_skipLearn"] is True


def test_vowpal_wabbit_learns_from_every_line() -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the extra bench is not installed")
    rng = np.random.default_rng(3)
    lines = []
    for i in range(300):
        item = "ab"[rng.integers(2)]
        device = ("tv", "phone")[rng.integers(2)]
        liked = (item == "a") == (device == "tv")
        line = LogLine(
            decision_id=f"d-{i}",
            time=float(i),
            context={"device": device, "hour": int(rng.integers(24))},
            candidates={"a": {"kind": "news", "new": True}, "b": {"kind": "sport", "new": False}},
            item=item,
            propensities=[0.5, 0.5],
            value=float(liked),
            outcome="feedback",
        )
        lines.append(line)
    workspace = vowpalwabbit.Workspace("--dsjson --cb_explore_adf -q ci --quiet")
    for text in WRITERS["dsjson"]().page(lines).splitlines():
        examples = workspace.parse(text.decode())
        workspace.learn(examples)
        workspace.finish_example(examples)
    assert workspace.get_weighted_examples() == 300
    # The estimated cost of what was learnt: a random policy would have -0.5 in the mean.
    assert math.isfinite(workspace.get_sum_loss())
    assert workspace.get_sum_loss() / 300 < -0.7
    workspace.finish()
