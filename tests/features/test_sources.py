from __future__ import annotations

import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from fabcost import Boolean, Categorical, Numeric, Schema, Text
from fabcost.features.inference import ColumnWarning

COLUMNS: dict[str, list[Any]] = {
    "device": ["mobile", "tv", "mobile", "tv"],
    "age": [1.0, 3.0, None, 5.0],
    "doors": [3, 5, 5, 3],
    "dealer": [True, False, True, True],
    "advert": ["a", "b", "c", "d"],
    "clicked": [0, 1, 0, 0],
}


def sources(folder: Path) -> dict[str, Any]:
    table = pa.table(COLUMNS)
    pyarrow.parquet.write_table(table, folder / "log.parquet")
    pyarrow.csv.write_csv(table, folder / "log.csv")
    return {
        "frame": pd.DataFrame(COLUMNS),
        "table": table,
        "parquet": folder / "log.parquet",
        "csv": str(folder / "log.csv"),
        "records": (
            dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)
        ),
    }


@pytest.mark.parametrize("kind", ["frame", "table", "parquet", "csv", "records"])
def test_every_source_gives_the_same_schema(tmp_path: Path, kind: str) -> None:
    schema = Schema.infer(
        sources(tmp_path)[kind],
        context=["device"],
        drop=["clicked"],
        most_levels=3,
        crosses=[("device", "age")],
    )
    scale = float(np.std([1.0, 3.0, 5.0]))
    assert list(schema.features.values()) == [
        Categorical("device", "context", levels=("mobile", "tv")),
        Numeric("age", missing="weight", mean=3.0, scale=scale),
        Numeric("doors", mean=4.0, scale=1.0),
        Boolean("dealer"),
        Text("advert"),
    ]
    assert "device=tv × age missing" in schema.columns


def test_text_and_other_can_be_asked_for() -> None:
    schema = Schema.infer(pd.DataFrame(COLUMNS), text=["doors"], drop=["age"], other=True)
    assert schema.features["doors"] == Text("doors")
    assert "device other" in schema.columns


def test_a_constant_column_keeps_its_scale() -> None:
    with pytest.warns(ColumnWarning, match="'price' in the table: one value; drop or mend"):
        schema = Schema.infer(pd.DataFrame({"price": [0.1] * 7}))
    price = schema.features["price"]
    assert isinstance(price, Numeric)
    assert price.mean == pytest.approx(0.1)
    assert price.scale == 1.0


def test_a_small_spread_beside_a_large_mean_is_no_constant() -> None:
    stamps = [1e15 + step for step in range(200)]
    schema = Schema.infer({"stamp": stamps})
    np.testing.assert_allclose(schema.design({"stamp": stamps})[:, 1].std(), 1.0, rtol=1e-3)
    with pytest.warns(ColumnWarning, match="one value"):
        Schema.infer({"price": [0.3, 0.1 + 0.2] * 40})


def test_records_may_lack_keys_and_have_those_for_people() -> None:
    records = [{"age": 3.0, "_name": "one"}, {"make": "kia"}, {"age": 5.0, "make": "kia"}]
    schema = Schema.infer(records)
    assert schema.columns == ("bias", "age", "age missing", "make=kia", "make missing")
    np.testing.assert_array_equal(schema.design(records)[:, 1], [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("bound", [None, 3.0])
def test_decimals_are_numbers_in_records_and_tables(bound: float | None) -> None:
    amounts = [Decimal("19.90"), None, Decimal("NaN"), Decimal(5)]
    schema = Schema([Numeric("price", missing="weight", mean=5.0, scale=2.0, bound=bound)])
    rows = schema.design([{"price": amount} for amount in amounts])
    np.testing.assert_array_equal(rows, schema.design({"price": amounts}))
    floats = [None if each is None else float(each) for each in amounts]
    np.testing.assert_array_equal(rows, schema.design({"price": floats}))
    opened = Schema.open().design([{"price": amount} for amount in amounts])
    np.testing.assert_array_equal(opened, Schema.open().design({"price": floats}))
    with pytest.raises(ValueError, match="'price' is Decimal.'Infinity'. but must be"):
        schema.design([{"price": Decimal("Infinity")}])


def test_skewed_columns_are_bounded_and_others_standardised() -> None:
    rng = np.random.default_rng(0)
    table = {"price": rng.lognormal(9.0, 1.5, 500), "age": rng.normal(5.0, 2.0, 500)}
    inferred = Schema.infer(table)
    declared = Schema([Numeric("price"), Numeric("age")]).fitted(table)
    for schema in (inferred, declared):
        price, age = schema.features["price"], schema.features["age"]
        assert isinstance(price, Numeric)
        assert isinstance(age, Numeric)
        assert (price.mean, price.bound) == (np.median(table["price"]), 3.0)
        assert (age.mean, age.scale, age.bound) == (
            table["age"].mean(),
            table["age"].std(),
            None,
        )
        rows = schema.design(table)
        assert np.abs(rows[:, 1]).max() < 12.0
        assert schema.copy().features == schema.features


def test_wild_columns_are_named() -> None:
    ages = [*range(40), 10**12]
    with pytest.warns(ColumnWarning, match="'age' in the table: values far from all others"):
        schema = Schema.infer({"age": ages})
    assert np.abs(schema.design({"age": ages})[:-1, 1]).max() < 2.0


def test_dates_are_inferred_as_their_parts() -> None:
    days = [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 3)]
    schema = Schema.infer({"built": days}, context=["built"])
    assert [each.kind for each in schema.features.values()] == ["date", "numeric", "categorical"]
    assert all(each.role == "context" for each in schema.features.values())
    rows = schema.design({"built": days})
    assert schema.columns[:4] == ("bias", "built missing", "built day", "built weekday=monday")
    np.testing.assert_allclose(rows[:, 1:3], [[0, -1], [1, 0], [0, 1]])
    again = Schema.from_dict(schema.to_dict())
    np.testing.assert_array_equal(again.design([{"built": each} for each in days]), rows)


def test_constants_are_learnt() -> None:
    schema = Schema(
        [Numeric("age", missing="zero"), Boolean("dealer")], crosses=[("age", "dealer")]
    )
    fitted = schema.fitted(pd.DataFrame(COLUMNS))
    assert fitted.columns == schema.columns
    rows = fitted.design([{"age": age, "dealer": True} for age in (1.0, 3.0, 5.0)])
    np.testing.assert_allclose(rows[:, 1].mean(), 0.0, atol=1e-15)
    np.testing.assert_allclose(rows[:, 1].std(), 1.0)
    with pytest.raises(ValueError, match="no column 'age': the table has 'dealer'"):
        schema.fitted(pd.DataFrame({"dealer": [True]}))


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ([1, 2], {}, "source has a int but must be a DataFrame or another table with Arrow"),
        ("log.txt", {}, "log.txt must end in .csv, .tsv or .jsonl"),
        ({"a": [None, None]}, {}, "column 'a' has no values"),
        ({"a": ["x", 1]}, {}, "column 'a' is neither all numbers, all strings nor all booleans"),
        (
            {"a": ["30/01/2020"]},
            {},
            "column 'a' holds dates, such as 30/01/2020: write them all as in ISO 8601",
        ),
        (
            {"a": np.array([1, 2], dtype="m8[s]")},
            {},
            "'a' is np.timedelta64.* but must be a number",
        ),
        ({"a": 3}, {}, r"column 'a' has shape \(\) but must be a vector"),
        ({"a": "kia"}, {}, r"column 'a' has shape \(\) but must be a vector"),
        (pd.DataFrame({"a": [10**30]}), {}, "the DataFrame cannot be read as a table: .*too large"),
        (pd.DataFrame({"a": [1j]}), {}, "the DataFrame cannot be read as a table: .*column a"),
        (pd.DataFrame({"a": [0.0]}, dtype="Sparse"), {}, "read as a table: .*column a"),
        ({"a": [1]}, {"context": ["b"]}, "there is no column 'b': the table has 'a'"),
        ({"a": [1]}, {"drop": ["b"]}, "there is no column 'b': the table has 'a'"),
    ],
)
def test_what_cannot_be_inferred_is_named(source: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schema.infer(source, **options)


def test_an_infinite_number_is_told_as_a_number() -> None:
    with pytest.raises(ValueError, match="item feature 'a' is inf but must be finite"):
        Schema.open().design([{"a": np.inf}])


def test_what_pandas_has_for_missing_is_missing() -> None:
    rows = pd.DataFrame({"age": pd.array([3, None], dtype="Int64"), "make": ["kia", "ford"]})
    records = [row._asdict() for row in rows.itertuples(index=False)]
    assert records[1]["age"] is pd.NA
    found = Schema.open(crosses=False).design(records)
    np.testing.assert_array_equal(found, Schema.open(crosses=False).design(rows))


def arrow_sources() -> dict[str, Any]:
    """The same table from every library that hands out Arrow data and is there."""
    table = pa.table(COLUMNS)
    found = {"reader": table.to_reader, "batch": lambda: table.to_batches()[0]}
    for name, make in {
        "polars": lambda polars: polars.DataFrame(COLUMNS, strict=False),
        "categories": lambda polars: polars.DataFrame(COLUMNS, strict=False).with_columns(
            polars.col("device", "advert").cast(polars.Categorical)
        ),
        "duckdb": lambda duckdb: duckdb.sql("SELECT * FROM table_of_columns"),
        "decimals": lambda duckdb: duckdb.sql(
            "SELECT * REPLACE (age::DECIMAL(9, 2) AS age) FROM table_of_columns"
        ),
    }.items():
        library = {"categories": "polars", "decimals": "duckdb"}.get(name, name)
        found[name] = partial(_made, library, make, table)
    return found


def _made(library: str, make: Any, table: Any) -> Any:
    module = pytest.importorskip(library)
    if library == "duckdb":
        module.register("table_of_columns", table)
    return make(module)


@pytest.mark.parametrize("kind", arrow_sources())
def test_whatever_hands_out_arrow_data_is_a_table(kind: str) -> None:
    expected = Schema.infer(pa.table(COLUMNS), drop=["clicked"])
    make = arrow_sources()[kind]
    assert Schema.infer(make(), drop=["clicked"]).to_dict() == expected.to_dict()
    rows = expected.design(make(), drop=["clicked"])
    np.testing.assert_array_equal(rows, expected.design(COLUMNS, drop=["clicked"]))


def test_the_index_of_a_frame_is_no_feature() -> None:
    frame = pd.DataFrame(COLUMNS, index=[9, 7, 5, 3])
    expected = Schema.infer(pa.table(COLUMNS)).columns
    assert Schema.infer(frame).columns == expected
    assert Schema.infer(frame.set_index(pd.Index(list("wxyz"), name="id"))).columns == expected
