"""Nested features as flat records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost import Schema
from fabcost.wire.dsjson import DEEPEST_FEATURE, LONGEST_TEXT, MOST_FEATURES, flatten

names = st.text(st.characters(exclude_characters=".", codec="utf-8"), min_size=1, max_size=5)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(-1e6, 1e6)
    | st.text(max_size=5)
)
objects = st.recursive(
    st.dictionaries(names, leaves | st.lists(st.floats(-1e6, 1e6), max_size=3), max_size=4),
    lambda inner: st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


def test_namespaces_become_parts_of_a_name() -> None:
    given = [{"user": {"profileType": "new", "age": 3}}, {"env": {"mobile": True}}, {"hour": 1.5}]
    assert flatten("context", given) == {
        "context:user.profileType": "new",
        "context:user.age": 3,
        "context:env.mobile": True,
        "context:hour": 1.5,
    }


def test_what_begins_with_an_underscore_or_is_null_is_left_out() -> None:
    given = [{"_tag": "x", "_hidden": {"a": 1}, "user": {"_id": 1, "name": None}}, None]
    assert flatten("action", given) == {}


def test_context_and_action_may_have_the_same_names() -> None:
    schema = Schema.open()
    items = schema.encode_items({"tea": flatten("action", [{"type": "hot"}])})
    rows = schema.rows(flatten("context", [{"type": "new"}]), items)
    assert rows.tolist() == [[1.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([3], "Features are not in key value pair format: 3"),
        ([["a", "b"]], "key value pair"),
        ([{"": 1}], "empty string as an id"),
        ([{"user": {"": 1}}], "empty string as an id"),
        ([{"tags": ["red"]}], "array with non-number items: 'action:tags' has 'red'"),
        ([{"tags": [True]}], "array with non-number items"),
        ([{"tags": [None]}], "array with non-number items"),
        ([{"tags": [[1.0]]}], "array with non-number items"),
        ([{"tag": "red"}, {"tag": "blue"}], "'action:tag' is given twice"),
        ([{"a.b": 1, "a": {"b": 2}}], "'action:a.b' is given twice"),
        ([{"tag": "x" * (LONGEST_TEXT + 1)}], "a text of more than 1000 characters"),
        ([{"x" * 300: 1}], "a name of more than 256 characters"),
        ([{"x": -(10**38)}], "magnitude at most 1e\\+37"),
        ([{"numbers": [0.5] * (MOST_FEATURES + 1)}], "one too many: there may be 100"),
    ],
)
def test_other_features_are_refused(given: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flatten("action", given)


def test_nesting_is_bounded() -> None:
    deep: Any = 1
    for _ in range(DEEPEST_FEATURE):
        deep = {"a": deep}
    assert flatten("action", [deep]) == {"action:" + ".".join("a" * DEEPEST_FEATURE): 1}
    with pytest.raises(ValueError, match="nested in more than 8 objects"):
        flatten("action", [{"a": deep}])


def expected(given: Any, above: str) -> dict[str, Any]:
    """Another way to write it: whole dictionaries, from the inside out."""
    if isinstance(given, dict):
        kept = {name: value for name, value in given.items() if name[0] != "_"}
        parts = [expected(value, f"{above}.{name}") for name, value in kept.items()]
        return {name: value for part in parts for name, value in part.items()}
    if isinstance(given, list):
        return {f"{above}.{place}": value for place, value in enumerate(given)}
    return {} if given is None else {above: given}


@given(objects)
def test_flat_records_have_every_leaf(nested: dict[str, Any]) -> None:
    wanted = {f"action:{name[1:]}": value for name, value in expected(nested, "").items()}
    assert flatten("action", [nested]) == wanted
