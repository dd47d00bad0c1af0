"""Requests: what the caller gives arrives, whatever it is."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

import httpx
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost.client import FeedbackRequest
from fabcost.client.calls import LARGEST_BODY
from fabcost.client.exchange import encoded, path
from fabcost.wire.messages import Between, DecisionRequest, Items
from tests.client.recorder import call_of, calls_of

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | IDS
RECORDS = st.dictionaries(IDS, SCALARS | st.floats(allow_nan=False, allow_infinity=False))


@settings(deadline=None)
@given(parts=st.lists(IDS | st.sampled_from([".", "..", "a/../b", "%2F", "?#"]), min_size=1))
def test_each_part_of_a_path_arrives_as_it_is(parts: list[str]) -> None:
    sent = httpx.Request("GET", "http://server:1" + path(*parts)).url.raw_path.decode()
    assert [unquote(part) for part in sent.split("/")[1:]] == parts


def test_an_empty_id_is_refused_before_it_means_something_else() -> None:
    with pytest.raises(ValueError, match="must have at least one character"):
        call_of("delete_item", "news", "")


@settings(deadline=None)
@given(context=RECORDS, candidates=st.dictionaries(IDS, RECORDS, min_size=1), top_k=st.integers(1))
def test_a_decision_arrives_as_it_is(
    context: dict[str, Any], candidates: dict[str, dict[str, Any]], top_k: int
) -> None:
    call = call_of(
        "decide",
        "news",
        context=context,
        candidates=candidates,
        exclude=("x",),
        top_k=min(top_k, 10_000),
    )
    request = msgspec.json.decode(call.content or b"", type=DecisionRequest)
    assert request.context == context
    assert request.candidates == candidates
    assert (request.exclude, request.top_k) == (["x"], min(top_k, 10_000))


def test_a_filter_arrives_as_it_is() -> None:
    call = call_of(
        "decide", "news", context={}, filter={"age": Between(min=1.0), "make": ["kia", "ford"]}
    )
    request = msgspec.json.decode(call.content or b"", type=DecisionRequest)
    assert request.filter == {"age": Between(min=1.0), "make": ["kia", "ford"]}


def test_values_and_costs_arrive_as_they_are() -> None:
    call = call_of("decide", "news", values={"a": np.float32(2.5)}, costs={"b": -1, "a": 0})
    request = msgspec.json.decode(call.content or b"", type=DecisionRequest)
    assert (request.values, request.costs) == ({"a": 2.5}, {"b": -1.0, "a": 0.0})
    without = msgspec.json.decode(call_of("decide", "news").content or b"", type=DecisionRequest)
    assert (without.values, without.costs) == (None, None)
    for name in ("values", "costs"):
        for number in (math.inf, math.nan):
            with pytest.raises(ValueError, match=f"{name} has {number} for 'a' but must"):
                call_of("decide", "news", **{name: {"a": number}})


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True), "d": np.str_("x")}
    assert msgspec.json.decode(encoded(given)) == {"a": 0.1, "b": 3, "c": True, "d": "x"}
    given = {"a": np.float32(0.5), "b": np.longdouble(0.25), "c": np.array(7)}
    assert msgspec.json.decode(encoded(given)) == {"a": 0.5, "b": 0.25, "c": 7}


def test_what_is_no_scalar_is_refused() -> None:
    with pytest.raises(TypeError, match="is a object but must be text, a number or None"):
        encoded({"a": object()})


@pytest.mark.parametrize(
    "infinite",
    [
        math.inf,
        -math.inf,
        np.float64(math.inf),
        np.float32(-math.inf),
        np.float16(math.inf),
        np.longdouble("1e400"),
        np.array(math.inf),
    ],
    ids=lambda infinite: f"{type(infinite).__name__} {infinite}",
)
def test_infinity_is_refused_and_not_sent_as_missing(infinite: Any) -> None:
    with pytest.raises(ValueError, match="'age' of the context is -?inf"):
        call_of("decide", "news", context={"age": infinite})
    with pytest.raises(ValueError, match="'age' of candidate 'a' is -?inf"):
        call_of("decide", "news", context={}, candidates={"a": {"age": infinite}})
    with pytest.raises(ValueError, match="'age' of item 'a' is -?inf"):
        calls_of("put_items", "news", {"a": {"age": infinite}})


def test_a_large_catalogue_goes_in_several_bodies() -> None:
    items = {f"ad-{i}": {"text": "x" * 900, "place": i} for i in range(2_000)}
    sent = [call.content or b"" for call in calls_of("put_items", "news", items)]
    assert len(sent) > 1
    assert max(map(len, sent)) <= LARGEST_BODY + 100
    found: dict[str, Any] = {}
    for content in sent:
        found |= msgspec.json.decode(content, type=Items).items
    assert list(found.items()) == list(items.items())


def test_an_item_larger_than_a_body_goes_alone() -> None:
    items = {name: {"text": "x" * LARGEST_BODY} for name in "ab"}
    assert len(calls_of("put_items", "news", items)) == 2


def test_no_items_are_refused() -> None:
    with pytest.raises(ValueError, match="there are no items"):
        calls_of("put_items", "news", {})


def test_bulk_feedback_has_a_key_for_each_and_keeps_given_ones() -> None:
    given = [FeedbackRequest(decision_id="d", key="mine")] + [
        FeedbackRequest(decision_id=f"d-{i}", value=i / 10) for i in range(1_000)
    ]
    calls = calls_of("feedback_bulk", "news", given)
    sent = [
        each
        for call in calls
        for each in msgspec.json.decode(call.content or b"", type=dict[str, list[FeedbackRequest]])[
            "feedback"
        ]
    ]
    assert [(each.decision_id, each.value) for each in sent] == [
        (each.decision_id, each.value) for each in given
    ]
    assert sent[0].key == "mine"
    assert len({each.key for each in sent}) == 1_001
    assert len(calls) == 2
