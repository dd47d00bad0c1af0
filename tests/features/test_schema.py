from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabcost import Boolean, Categorical, Numeric, Schema, Text
from tests.examples import examples
from tests.features.records import contexts, every_kind, items, slow_row

Records = list[dict[str, Any]]
some_contexts = st.lists(contexts, min_size=1, max_size=4)
some_items = st.lists(items, min_size=1, max_size=8)


@settings(max_examples=examples(150), deadline=None)
@given(some_contexts, some_items, some_items)
def test_rows_equal_the_slow_encoding(seen: Records, first: Records, second: Records) -> None:
    schema = every_kind()
    catalogues = [(each, schema.encode_items(dict(enumerate(each)))) for each in (first, second)]
    for context in seen + seen[:1]:
        for records, encoded in catalogues:
            rows = schema.rows(context, encoded)
            np.testing.assert_array_equal(
                rows, [slow_row(schema, context, item) for item in records]
            )


@settings(max_examples=50, deadline=None)
@given(some_contexts, some_items)
def test_flat_records_give_the_same_rows(seen: Records, adverts: Records) -> None:
    schema = every_kind()
    flat = [context | item for context in seen for item in adverts]
    design = schema.design(flat)
    encoded = schema.encode_items(dict(enumerate(adverts)))
    rows = np.concatenate([schema.rows(context, encoded) for context in seen])
    np.testing.assert_array_equal(design, rows)


@settings(max_examples=50, deadline=None)
@given(some_contexts, some_items)
def test_a_grown_schema_survives_json(seen: Records, adverts: Records) -> None:
    schema = every_kind(limit=2)
    schema.design([context | item for context in seen for item in adverts])
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again.columns == schema.columns
    assert again.to_dict() == schema.to_dict()
    assert again.features == schema.features
    flat = [{"device": "tv", "user": "new"} | {"advert": f"w{i}"} for i in range(9)]
    np.testing.assert_array_equal(again.design(flat), schema.design(flat))
    assert again.columns == schema.columns


@settings(max_examples=50, deadline=None)
@given(some_contexts, some_items)
def test_columns_never_move(seen: Records, adverts: Records) -> None:
    schema = every_kind()
    for context in seen:
        for item in adverts:
            before = schema.columns
            schema.design([context | item])
            assert schema.columns[: len(before)] == before


def test_strings_past_the_limit_share_the_buckets() -> None:
    schema = Schema([Text("advert", limit=3, buckets=2)])
    rows = schema.design([{"advert": f"a{i}"} for i in range(50)])
    assert schema.columns[:4] == ("bias", "advert=a0", "advert=a1", "advert=a2")
    assert set(schema.columns[4:]) == {"advert#0", "advert#1"}
    np.testing.assert_array_equal(rows.sum(axis=1), 2.0)
    np.testing.assert_array_equal(rows, schema.design([{"advert": f"a{i}"} for i in range(50)]))


def test_the_hash_is_the_same_everywhere() -> None:
    text = Text("advert", limit=0, buckets=1000)
    assert [text.shared(f"advert=a{i}") for i in range(3)] == [
        "advert#83",
        "advert#566",
        "advert#188",
    ]


def test_an_open_schema_learns_its_features() -> None:
    schema = Schema.open(limit=3, scaled=False)
    encoded = schema.encode_items({1: {"make": "kia", "age": 3}, 2: {"make": "ford"}})
    rows = schema.rows({"mobile": True}, encoded)
    named = [dict(zip(schema.columns, row, strict=True)) for row in rows.tolist()]
    assert named[0] == {
        "bias": 1, "make=kia": 1, "make=ford": 0, "age": 3, "mobile": 1,
        "mobile × make=kia": 1, "mobile × make=ford": 0, "mobile × age": 3,
    }  # fmt: skip
    assert named[1]["age"] == named[1]["mobile × age"] == 0
    assert isinstance(schema.features["age"], Numeric)
    assert isinstance(schema.features["mobile"], Boolean)
    assert Schema.from_dict(schema.to_dict()).columns == schema.columns


def test_features_met_later_leave_old_catalogues_valid() -> None:
    schema = Schema.open()
    old = schema.encode_items({1: {"make": "kia"}})
    schema.encode_items({2: {"make": "ford", "age": 3}})
    rows = schema.rows({"device": "tv"}, old)
    row = dict(zip(schema.columns, rows[0], strict=True))
    assert {name for name, value in row.items() if value} == {
        "bias", "make=kia", "device=tv", "device=tv × make=kia"
    }  # fmt: skip


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        """
        crosses = [["device", "age"]]
        [features.device]
        kind = "categorical"
        role = "context"
        levels = ["mobile", "desktop"]
        [features.age]
        kind = "numeric"
        mean = 3
        scale = 2
        """
    )
    schema = Schema.from_toml(path)
    assert schema.columns[1:4] == ("device=mobile", "device=desktop", "age")
    assert schema.features["age"] == Numeric("age", mean=3, scale=2)
    path.write_text("crosses = ")
    with pytest.raises(ValueError, match="schema.toml is not TOML"):
        Schema.from_toml(path)


AGE = {"name": "age", "kind": "numeric"}
MAKE = {"name": "m", "kind": "text"}
BAD_DOCUMENTS: list[tuple[Any, str]] = [
    ([], "the schema is .* but must be a dictionary"),
    ({"feature": {}}, "has a key 'feature' but its keys are features, crosses"),
    ({"features": []}, "features of the schema is .* but must be a mapping"),
    ({"features": {"a": 3}}, "feature 'a' is 3 but must be a dictionary of options"),
    ({"features": {"a": {}}}, "kind of feature 'a' is None but must be numeric, boolean"),
    ({"features": {"a": {"kind": "text", "levels": []}}}, "has an option 'levels' but those of"),
    ({"features": {"a": {"kind": "text", "limit": -1}}}, "limit of feature 'a' is -1 but must"),
    ({"features": {"a": {"kind": "text", "buckets": 0}}}, "buckets of feature 'a' is 0 but must"),
    ({"features": {"a": {"kind": "numeric", "scale": 0}}}, "scale of feature 'a' is 0 but must"),
    ({"features": {"a": {"kind": "numeric", "mean": "x"}}}, "mean of feature 'a' is 'x' but must"),
    ({"features": {"a": {"kind": "boolean", "role": "x"}}}, "role of feature 'a' is 'x' but must"),
    ({"features": {"a": {"kind": "boolean", "missing": 1}}}, "missing of feature 'a' is 1 but"),
    ({"features": {"": {"kind": "boolean"}}}, "a feature's name is '' but must be a string"),
    ({"features": {"a": {"kind": "categorical", "levels": "xy"}}}, "are 'xy' but must be strings"),
    ({"features": {"a": {"kind": "categorical", "levels": []}}}, "but must be distinct"),
    ({"features": {"a": {"kind": "categorical", "levels": [1, "1"]}}}, "but must be distinct"),
    ({"crosses": [["a", "b"]]}, "a cross is .* but must be two different names among none"),
    ({"features": {"a": {"kind": "boolean"}}, "crosses": [["a", "a"]]}, "two different names"),
    ({"bias": "yes"}, "bias of the schema is 'yes' but must be a bool"),
    ({"open": {"limit": 0}}, "limit is 0 but must be an integer of at least 1"),
    ({"open": {"crosses": 3}}, "crosses is 3 but must be True or False"),
    ({"open": {"most": 3}}, "has an option 'most' but those are limit, buckets, crosses"),
    ({"features": {"a": {"kind": ["text"]}}}, "kind of feature 'a' is .* but must be numeric"),
    ({"features": {"a": {"kind": "categorical", "levels": 3}}}, "are 3 but must be strings"),
    ({"crosses": [1]}, "a cross is 1 but must be a list of two names"),
    ({"crosses": [[["a"], "b"]]}, "a cross is .* but must be a list of two names"),
    ({"grown": [1]}, "a step of what has grown is 1 but must be a feature with its name"),
    ({"grown": [["a"]]}, "a step of what has grown is .* but must be a feature"),
    ({"grown": [["a", 3]]}, "a step of what has grown is .* but must be a feature"),
    ({"grown": [{"kind": "text"}]}, "a step of what has grown is .* but must be a feature"),
    ({"grown": [["a", "a=1"]]}, "the label 'a=1' must be new to a text feature, not to 'a'"),
    ({"grown": [AGE, ["age", "age=1"]]}, "must be new to a text feature, not to 'age'"),
    ({"grown": [AGE, AGE]}, "feature 'age' is given twice but names must be distinct"),
    ({"grown": [AGE | {"columns": 0}]}, "columns of feature 'age' is 0 but must be True or False"),
    ({"grown": [MAKE, ["m", "m=kia"], ["m", "m=kia"]]}, "the label 'm=kia' must be new"),
]


@pytest.mark.parametrize(("given_", "message"), BAD_DOCUMENTS)
def test_a_bad_document_is_refused(given_: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schema.from_dict(given_)


def test_names_are_distinct_and_features_are_features() -> None:
    with pytest.raises(ValueError, match="feature 'a' is given twice"):
        Schema([Boolean("a"), Numeric("a")])
    with pytest.raises(ValueError, match="a feature is 'a' but must be one of the feature kinds"):
        Schema(["a"])  # type: ignore[list-item]


BAD_ITEMS: list[tuple[Any, str]] = [
    ({}, "there are no items but there must be at least one"),
    ([1], r"items are \[1\] but must map ids to records"),
    ({"x": 3}, "item 'x': the item record is 3 but must map names to values"),
    ({"x": {"advert": "a", "colour": 1}}, "item 'x': the item record has a key 'colour' but its "),
    ({"x": {"advert": "a", "device": "tv"}}, "has a key 'device' but its features are 'make'"),
    ({"x": {"make": "kia"}}, "'advert' is None but must be a string or an integer; missing values"),
    ({"x": {"advert": 1.5}}, "item feature 'advert' is 1.5 but must be a string or an integer"),
    ({"x": {"advert": True}}, "item feature 'advert' is True but must be a string"),
    ({"x": {"advert": "a", "make": "vw"}}, "'make' is 'vw' but must be one of 'ford', 'kia'"),
    ({"x": {"advert": "a", "make": 1.0}}, "item feature 'make' is 1.0 but must be one of"),
    ({"x": {"advert": "a", "age": "3"}}, "item feature 'age' is '3' but must be a number"),
    ({"x": {"advert": "a", "age": True}}, "item feature 'age' is True but must be a number"),
    ({"x": {"advert": "a", "age": float("inf")}}, "'age' is inf but must be finite"),
    ({"x": {"advert": "a", "age": 10**400}}, "'age' is 1000.* but must be finite"),
    ({"x": {"advert": "a", "dealer": "yes"}}, "'dealer' is 'yes' but must be True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "message"), BAD_ITEMS)
def test_bad_items_are_refused_and_nothing_grows(bad: Any, message: str) -> None:
    schema = every_kind()
    before = schema.to_dict()
    if isinstance(bad, dict) and bad:
        bad = {"good": {"advert": "new"}} | bad
    with pytest.raises(ValueError, match=message):
        schema.encode_items(bad)
    assert schema.to_dict() == before


def test_nan_is_an_error_where_missing_was_not_declared() -> None:
    schema = Schema([Numeric("age"), Boolean("dealer"), Categorical("make", levels=("kia",))])
    record = {"age": 1.0, "dealer": True, "make": "kia"}
    for name, expected in (("age", "a number"), ("dealer", "True or"), ("make", "one of 'kia'")):
        with pytest.raises(ValueError, match=f"'{name}' is .*nan.* but must be {expected}"):
            schema.design([record | {name: np.float32("nan")}])


def test_open_schemas_have_limits_too() -> None:
    schema = Schema.open(limit=2)
    encoded = schema.encode_items({1: {"a": 1, "b": 2}})
    before = schema.to_dict()
    with pytest.raises(ValueError, match="a new key 'c' but the schema is open to 2 features only"):
        schema.encode_items({1: {"c": 1}})
    with pytest.raises(ValueError, match="has a key 'a' but it belongs to the item"):
        schema.rows({"a": 1}, encoded)
    with pytest.raises(ValueError, match="item feature 'a' is 'x' but must be a number"):
        schema.encode_items({1: {"a": "x"}})
    with pytest.raises(ValueError, match=r"is \[\] but must be a string or an integer"):
        Schema.open().encode_items({1: {"a": []}})
    assert schema.to_dict() == before


def test_items_of_another_schema_are_refused() -> None:
    encoded = every_kind().encode_items({1: {"advert": "a"}})
    with pytest.raises(ValueError, match="encoded by another schema"):
        every_kind().rows({"device": "tv"}, encoded)


def test_rows_are_the_callers_own() -> None:
    schema = every_kind()
    encoded = schema.encode_items({1: {"advert": "a"}})
    first = schema.rows({"device": "mobile"}, encoded)
    kept = first.copy()
    second = schema.rows({"device": "tv"}, encoded)
    np.testing.assert_array_equal(first, kept)
    assert not np.array_equal(first, second)
