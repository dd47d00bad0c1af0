"""A schema with every kind of feature, records for it, and a slow encoding to compare with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fabcost import Boolean, Categorical, Numeric, Schema, Text

MAKES = ("ford", "kia", "audi")
CROSSES = [("device", "make"), ("hour", "age"), ("advert", "device"), ("make", "age")]
CROSSES += [("device", "hour"), ("user", "advert")]


def every_kind(limit: int = 4) -> Schema:
    return Schema(
        [
            Categorical("device", "context", levels=("mobile", "desktop"), other=True),
            Numeric("hour", "context", "weight", mean=12.0, scale=6.0),
            Text("user", "context", "zero", limit=limit, buckets=2),
            Categorical("make", "item", "weight", levels=MAKES),
            Numeric("age", "item", "zero", mean=3.0),
            Boolean("dealer", "item", "weight"),
            Text("advert", "item", limit=limit, buckets=3),
        ],
        crosses=CROSSES,
    )


missing = st.sampled_from([None, float("nan")])
numbers = st.floats(-100, 100) | st.integers(-100, 100)
words = st.sampled_from([f"w{i}" for i in range(9)])
contexts = st.fixed_dictionaries(
    {"device": st.sampled_from(["mobile", "desktop", "tv", "watch"])},
    optional={"hour": numbers | missing, "user": words | st.integers(0, 3) | missing},
)
items = st.fixed_dictionaries(
    {"advert": words},
    optional={
        "make": st.sampled_from(MAKES) | missing,
        "age": numbers | missing,
        "dealer": st.booleans() | missing,
    },
)


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def of_context(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    """For each feature what it contributes, by label, before hashing."""
    device, hour, user = (record.get(key) for key in ("device", "hour", "user"))
    return {
        "device": {f"device={device}" if device in ("mobile", "desktop") else "device other": 1.0},
        "hour": {"hour missing": 1.0} if is_missing(hour) else {"hour": (hour - 12.0) / 6.0},  # type: ignore[operator]
        "user": {} if is_missing(user) else {f"user={user}": 1.0},
    }


def of_item(record: dict[str, Any]) -> dict[str, dict[str, float]]:
    make, age, dealer = (record.get(key) for key in ("make", "age", "dealer"))
    return {
        "make": {"make missing" if is_missing(make) else f"make={make}": 1.0},
        "age": {} if is_missing(age) else {"age": age - 3.0},  # type: ignore[operator]
        "dealer": {"dealer missing": 1.0} if is_missing(dealer) else {"dealer": float(dealer)},  # type: ignore[arg-type]
        "advert": {f"advert={record['advert']}": 1.0},
    }


def slow_row(
    schema: Schema, context: dict[str, Any], item: dict[str, Any]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Label by label, with strings past the limit found by their bucket."""
    parts = of_context(context) | of_item(item)
    for name in ("user", "advert"):
        feature = schema.features[name]
        assert isinstance(feature, Text)
        parts[name] = {
            label if label in schema.columns else feature.shared(label): number
            for label, number in parts[name].items()
        }
    values = {"bias": 1.0}
    for labels in parts.values():
        values |= labels
    for first, second in CROSSES:
        for a, x in parts[first].items():
            values |= {f"{a} × {b}": x * y for b, y in parts[second].items()}
    assert values.keys() <= set(schema.columns)
    return np.array([values.get(column, 0.0) for column in schema.columns])
