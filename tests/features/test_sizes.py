"""A small document cannot become a large schema: columns are counted before they are made."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from fabcost import Categorical, Schema, Text
from fabcost.features.layout import MOST_COLUMNS

Document = dict[str, Any]
LEVELS = [str(level) for level in range(2_000)]


def categorical(levels: list[str], role: str = "item") -> Document:
    return {"kind": "categorical", "levels": levels, "role": role}


def crossed() -> Document:
    features = {"a": categorical(LEVELS), "b": categorical(LEVELS, "context")}
    return {"features": features, "crosses": [["a", "b"]]}


def grown() -> Document:
    features = {name: {"kind": "text"} for name in ("a", "b")}
    steps = [[name, f"{name}={level}"] for name in "ab" for level in LEVELS]
    return {"features": features, "crosses": [["a", "b"]], "grown": steps}


def met() -> Document:
    steps = [
        {"name": "a", **categorical(LEVELS, "context")},
        {"name": "b", **categorical(LEVELS)},
    ]
    return {"open": {}, "grown": steps}


def of_long_names() -> Document:
    return {"features": {100_000 * "x": categorical(LEVELS)}}


def of_a_long_level() -> Document:
    features = {"a": categorical(LEVELS), "b": categorical([100_000 * "x"])}
    return {"features": features, "crosses": [["a", "b"]]}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (crossed(), "the schema needs 4,004,001 columns but may have 100,000"),
        (grown(), "the schema needs 100,0.. columns but may have 100,000"),
        (met(), "the schema needs 4,004,001 columns but may have 100,000"),
        (of_long_names(), "columns need 200,00.,... characters but may have 50,000,000"),
        (of_a_long_level(), "columns need 200,...,... characters but may have 50,000,000"),
    ],
    ids=lambda each: "" if isinstance(each, str) else None,
)
def test_a_schema_that_is_too_large_is_refused_before_it_is_made(
    document: Document, complaint: str
) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=complaint):
            Schema.from_dict(document)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("most", [13, 12])
def test_the_count_is_that_of_the_columns(most: int) -> None:
    document: Document = {
        "features": {
            "make": categorical(["ford", "kia"]) | {"other": True, "missing": "weight"},
            "hour": {"kind": "numeric", "role": "context", "missing": "weight"},
        },
        "crosses": [["hour", "make"]],
        "bias": False,
        "grown": [],
    }
    schema = Schema.from_dict(document)
    made = sum(map(len, schema.columns))
    assert (schema.width, schema._layout.characters) == (14, made)
    with pytest.raises(ValueError, match=f"the schema needs 14 columns but may have {most}"):
        Schema.from_dict(document, most_columns=most)
    assert Schema.from_dict(document, most_columns=14).columns == schema.columns


def test_what_data_brings_is_limited_by_the_schema_alone() -> None:
    levels = tuple(str(level) for level in range(MOST_COLUMNS // 10))
    schema = Schema([Text("a"), Categorical("b", levels=levels)], crosses=[("a", "b")])
    schema.encode_items({k: {"a": str(k), "b": "0"} for k in range(10)})
    assert schema.width > MOST_COLUMNS
    assert schema.copy().columns == schema.columns
