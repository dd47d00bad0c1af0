"""However a schema is fed, it stays within its limit, and reads what it would read without one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Boolean, Numeric, Schema, Text
from fabcost.impressions import FloatArray
from tests.examples import examples

Record = dict[str, Any]

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-9, 9),
    st.sampled_from(["a", "b", "c", "d"]),
)
CONTEXTS = st.dictionaries(st.sampled_from([f"c{i}" for i in range(5)]), VALUES, min_size=2)
ITEMS = st.dictionaries(st.sampled_from([f"i{i}" for i in range(5)]), VALUES, min_size=2)
SCENES = st.lists(st.tuples(CONTEXTS, st.lists(ITEMS, min_size=1, max_size=3)), max_size=6)
OPENNESS = {"limit": 9, "buckets": 2}
DECLARED = {
    "c0": {"kind": "numeric", "role": "context", "missing": "weight"},
    "i0": {"kind": "text", "missing": "zero", "limit": 2, "buckets": 2},
    "i1": {"kind": "boolean", "missing": "zero"},
}
DOCUMENTS: list[Record] = [
    {"open": OPENNESS},
    {"open": OPENNESS | {"crosses": False}, "bias": False},
    {"open": OPENNESS, "features": DECLARED, "crosses": [["c0", "i0"], ["i0", "i1"]]},
]


def read(schema: Schema, context: Record, items: list[Record]) -> FloatArray | str:
    """The rows, or why there are none."""
    try:
        return schema.rows(context, schema.encode_items(dict(enumerate(items))))
    except ValueError as error:
        return str(error)


def by_column(schema: Schema, rows: FloatArray) -> dict[str, list[float]]:
    return dict(zip(schema.columns, rows.T.tolist(), strict=True))


def numbers(letter: str, count: int) -> Record:
    return {f"{letter}{i}": i + 1 for i in range(count)}


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(DOCUMENTS), st.integers(1, 40), SCENES)
def test_a_limit_bounds_the_columns_and_refuses_no_record(
    document: Record, most: int, scenes: list[tuple[Record, list[Record]]]
) -> None:
    limited, free = Schema.from_dict(document), Schema.from_dict(document)
    allowed = max(most, limited.width)
    limited.limit_columns(most)
    for context, items in scenes:
        rows, expected = (read(schema, context, items) for schema in (limited, free))
        assert limited.width <= allowed
        if isinstance(rows, str) or isinstance(expected, str):
            assert rows == expected
        else:
            assert by_column(limited, rows).items() <= by_column(free, expected).items()


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(DOCUMENTS), st.integers(1, 40), SCENES, st.integers(0, 6))
def test_a_schema_that_is_grown_again_goes_on_alike(
    document: Record, most: int, scenes: list[tuple[Record, list[Record]]], stop: int
) -> None:
    unbroken, broken = Schema.from_dict(document), Schema.from_dict(document)
    for schema in (unbroken, broken):
        schema.limit_columns(most)
    for place, (context, items) in enumerate(scenes):
        if place == stop:
            steps = json.loads(json.dumps(broken.steps_since(0)))
            broken = Schema.from_dict(document)
            broken.regrow(steps)
            broken.limit_columns(most)
        rows, expected = (read(schema, context, items) for schema in (broken, unbroken))
        np.testing.assert_array_equal(rows, expected)
        assert broken.columns == unbroken.columns
    assert broken.to_dict() == unbroken.to_dict() == Schema.from_dict(unbroken.to_dict()).to_dict()


@pytest.mark.parametrize(("most", "width"), [(1, 1), (11, 11), (21, 11), (22, 22), (121, 121)])
def test_numbers_count_with_all_their_crosses(most: int, width: int) -> None:
    schema = Schema.open()
    schema.limit_columns(most)
    rows = schema.rows(numbers("c", 10), schema.encode_items({"a": numbers("i", 10)}))
    assert rows.shape == (1, width)
    assert len(schema.features) == 20


def test_many_numbers_after_many_strings() -> None:
    schema = Schema.open()
    schema.limit_columns(1000)
    for i in range(100):
        schema.folded({"s": f"v{i}"}, schema.encode_items({"a": {"x": 1}}))
    assert schema.width == 202
    schema.encode_items({"a": numbers("a", 40)})
    assert schema.width == 202 + 7 * 101


def test_a_table_is_limited_like_its_records() -> None:
    table = {"age": [1.0, 2.0], "new": [True, False], "make": ["kia", "ford"], "km": [3.0, 4.0]}
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    one, other = Schema.open(), Schema.open()
    for schema in (one, other):
        schema.limit_columns(3)
    np.testing.assert_array_equal(one.design(table), other.design(records))
    assert one.columns == other.columns == ("bias", "age", "new")


def test_a_feature_without_columns_still_checks_its_values() -> None:
    schema = Schema.open()
    schema.limit_columns(1)
    schema.design([{"age": 3}])
    with pytest.raises(ValueError, match="item feature 'age' is 'old' but must be a number"):
        schema.design([{"age": "old"}])


def test_what_grew_before_the_limit_stays_and_only_growth_ends() -> None:
    first = Schema.open()
    items = {"a": numbers("i", 5)}
    before = first.rows(numbers("c", 5), first.encode_items(items))
    assert "columns" not in json.dumps(first.steps_since(0))
    again = Schema.open()
    again.limit_columns(10)
    again.regrow(first.steps_since(0))
    encoded = again.encode_items(items)
    np.testing.assert_array_equal(again.rows(numbers("c", 5), encoded), before)
    again.rows(numbers("c", 6) | {"device": "tv"}, encoded)
    assert again.columns == first.columns


def test_a_declared_schema_keeps_its_columns_and_crosses() -> None:
    schema = Schema(
        [Numeric("hour", "context"), Boolean("new"), Text("make", missing="zero")],
        crosses=[("hour", "new"), ("hour", "make")],
    )
    schema.limit_columns(2)
    rows = schema.rows({"hour": 2}, schema.encode_items({"a": {"new": True, "make": "kia"}}))
    np.testing.assert_array_equal(rows, [[1.0, 2.0, 1.0, 2.0]])


@pytest.mark.parametrize("scaled", [True, False])
def test_strings_of_one_feature_leave_room_for_others(scaled: bool) -> None:
    schema = Schema.open(scaled=scaled)
    schema.limit_columns(600)
    items = schema.encode_items({k: {"make": f"make {k}", "km": k} for k in range(4)})
    for k in range(200):
        schema.folded({"user": f"user {k}"}, items)
    of_users = sum("user" in column for column in schema.columns)
    assert (of_users <= 0.4 * 600) == scaled
    schema.folded({"city": "york"}, items)
    assert ("city=york × km" in schema.columns) == scaled
    told = {"user": "shared"} if scaled else {"user": "left out", "city": "left out"}
    assert schema.squeezed == told
    again = Schema.open(scaled=scaled)
    again.regrow(schema.steps_since(0))
    assert again.columns == schema.columns
