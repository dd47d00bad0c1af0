from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabcost import Boolean, Categorical, Numeric, Schema, Text
from tests.examples import examples
from tests.features.records import contexts, every_kind, items

Columns = dict[str, list[Any]]
PLAIN = {int: "Int64", float: "float64", bool: "boolean", str: "category"}
NULLABLE = {int: "category", float: "Float64", bool: "boolean", str: "string"}
DATA = os.environ.get("FABCOST_DATA")

words = st.sampled_from(["kia", "ford", "3", "", "véhicule"])
numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3)) | st.sampled_from([0.0, -0.0, 1e36])
plain = [numbers, st.integers(-5, 5), st.booleans(), words]
alike = st.sampled_from(plain + [each | st.none() for each in plain] + [st.none()])
twins = st.sampled_from([1, 1.0, True, "1", None, float("nan"), 1e39, 10**400])
mixed = st.sampled_from([st.one_of(*plain, twins), twins, words | st.none(), st.booleans()])


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[Any]) -> Columns:
    """Up to five columns, each with the cells of one draw of ``cells``."""
    rows = draw(st.integers(1, 7))
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1))
    return {name: draw(st.lists(draw(cells), min_size=rows, max_size=rows)) for name in names}


def records_of(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def forms_of(columns: Columns) -> dict[str, Any]:
    """The same columns in every form of a table that keeps their types."""
    arrow = pa.table({name: pa.array(values) for name, values in columns.items()})
    return {
        "lists": columns,
        "arrays": {name: array_of(values) for name, values in columns.items()},
        "frame": pd.DataFrame({name: series_of(values) for name, values in columns.items()}),
        "nullable": pd.DataFrame(
            {name: series_of(values, NULLABLE) for name, values in columns.items()}
        ),
        "objects": pd.DataFrame(columns, dtype=object),
        "arrow": arrow,
        "chunks": pa.concat_tables([arrow[:2], arrow[2:]]),
        "encoded": pa.table({name: encoded(arrow[name]) for name in columns}),
    }


def encoded(column: Any) -> Any:
    """With a dictionary in another order than that of the rows."""
    return column.combine_chunks()[::-1].dictionary_encode()[::-1]


def array_of(values: list[Any]) -> np.ndarray[Any, Any]:
    if any(value is None for value in values):
        return np.array(values, dtype=object)
    return np.array(values)


def series_of(values: list[Any], types: dict[type, str] = PLAIN) -> pd.Series:
    """With one of pandas' own types for such values and missing ones."""
    kinds = {type(value) for value in values} - {type(None)}
    return pd.Series(values, dtype=types[kinds.pop()] if len(kinds) == 1 else object)


def assert_same(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> None:
    """To the bit: the sign of zero included."""
    assert first.shape == second.shape
    assert first.tobytes() == second.tobytes()


def first_refusal(schema: Schema, records: list[dict[str, Any]], drop: list[str]) -> str | None:
    for row, record in enumerate(records, start=1):
        try:
            schema.design([record], drop=drop)
        except ValueError as error:
            return f"row {row}: {error}"
    return None


@settings(max_examples=examples(150), deadline=None)
@given(tables(alike), st.integers(2, 6), st.booleans())
@example({"a": [1, 1], "b": [None, None], "c": [2, 2]}, 2, False)
def test_an_open_schema_reads_tables_as_it_reads_records(
    columns: Columns, limit: int, crosses: bool
) -> None:
    records = records_of(columns)
    by_records = Schema.open(limit=limit, buckets=2, crosses=crosses)
    refusal = first_refusal(by_records.copy(), records, [])
    expected = None if refusal else by_records.design(records)
    for table in forms_of(columns).values():
        schema = Schema.open(limit=limit, buckets=2, crosses=crosses)
        if expected is None:
            with pytest.raises(ValueError, match=re.escape(str(refusal))):
                schema.design(table)
        else:
            assert_same(schema.design(table), expected)
        assert schema.to_dict() == by_records.to_dict()


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(contexts, items), min_size=1, max_size=8))
def test_every_kind_and_cross_reads_tables_as_it_reads_records(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    records = [context | item for context, item in pairs]
    columns = {name: [r.get(name) for r in records] for name in every_kind().features}
    by_records, by_table, by_arrays = every_kind(), every_kind(), every_kind()
    expected = by_records.design(records)
    assert_same(by_table.design(columns), expected)
    arrays = {name: np.array([*values, None], object)[:-1] for name, values in columns.items()}
    assert_same(by_arrays.design(arrays), expected)
    assert by_records.to_dict() == by_table.to_dict() == by_arrays.to_dict()
    for source in (records, columns):
        sparse = (schema := every_kind()).sparse_design(source)
        np.testing.assert_array_equal(sparse.dense(), expected)
        assert np.count_nonzero(sparse.values) == sparse.values.size
        assert schema.to_dict() == by_records.to_dict()


@settings(max_examples=examples(200), deadline=None)
@given(tables(mixed), st.booleans())
@example({"b": [1, 1.0, True], "d": [True, True, True]}, False)
@example({"d": [True, 1]}, True)
def test_the_error_is_that_of_the_first_bad_record(columns: Columns, is_open: bool) -> None:
    known = [Numeric("b", "context", "weight"), Text("a", "item", "zero"), Boolean("d")]
    make = Categorical("c", "context", "zero", levels=("kia", "3"))
    schema = Schema([*known, make] if not is_open else known)
    if is_open:
        schema = Schema.from_dict(schema.to_dict() | {"open": {"limit": 4}})
    before = schema.to_dict()
    drop = [] if is_open else [name for name in columns if name == "e"]
    records = records_of(columns)
    expected = first_refusal(schema.copy(), records, drop)
    if expected is None:
        by_records = schema.copy().design(records, drop=drop)
        assert_same(by_records, schema.design(columns, drop=drop))
        return
    with pytest.raises(ValueError, match="row") as caught:
        schema.design(columns, drop=drop)
    assert str(caught.value) == expected
    assert schema.to_dict() == before


def slow_feature(name: str, values: list[Any]) -> Any:
    present = [value for value in values if value is not None]
    missing = "error" if len(present) == len(values) else "weight"
    if all(isinstance(value, bool) for value in present):
        return Boolean(name, missing=missing)  # type: ignore[arg-type]
    if all(isinstance(value, str) for value in present):
        return Categorical(name, missing=missing, levels=tuple(sorted(set(present))))  # type: ignore[arg-type]
    mean, sd = float(np.mean(np.array(present, float))), float(np.std(np.array(present, float)))
    constant = sd <= 1e-12 * max(map(abs, present)) or sd < 1e-300
    return Numeric(name, missing=missing, mean=mean, scale=1.0 if constant else sd)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1), st.integers(0, 4))
def test_integers_as_text_grow_in_the_order_of_the_rows(numbers: list[int], limit: int) -> None:
    by_records = Schema([Text("a", limit=limit, buckets=2)])
    expected = by_records.design(records_of({"a": numbers}))
    for table in forms_of({"a": numbers}).values():
        schema = Schema([Text("a", limit=limit, buckets=2)])
        assert_same(schema.design(table), expected)
        assert schema.columns == by_records.columns


def test_long_tables_equal_their_records() -> None:
    rng = np.random.default_rng(0)
    table = {"age": rng.normal(size=5000), "make": rng.choice(["kia", "ford"], size=5000)}
    schema = Schema.infer(table, crosses=[("age", "make")])
    columns = {name: values.tolist() for name, values in table.items()}
    rows = schema.design(table)
    assert_same(rows, schema.design(records_of(columns)))
    is_kia, ages = table["make"] == "kia", table["age"]
    standardised = (ages - ages.mean()) / ages.std()
    expected = {"age": standardised, "make=kia": is_kia, "age × make=kia": standardised * is_kia}
    for name, column in expected.items():
        np.testing.assert_allclose(rows[:, schema.columns.index(name)], column, atol=1e-12)


@pytest.mark.filterwarnings("ignore::fabcost.features.inference.ColumnWarning")
@settings(max_examples=examples(100), deadline=None)
@given(tables(alike))
def test_inference_equals_the_slow_one(columns: Columns) -> None:
    empty = [name for name, values in columns.items() if set(values) == {None}]
    expected = {n: slow_feature(n, values) for n, values in columns.items() if n not in empty}
    for table in forms_of(columns).values():
        schema = Schema.infer(table, drop=empty)
        assert schema.features == expected
        assert_same(
            schema.design(table, drop=empty), schema.design(records_of(columns), drop=empty)
        )
        if empty:
            with pytest.raises(ValueError, match="has no values but needs some"):
                Schema.infer(table)


def test_unknown_columns_are_refused_or_dropped() -> None:
    schema = Schema([Numeric("age")])
    table = {"age": np.array([3.0, 5.0]), "clicked": np.array([0, 1])}
    with pytest.raises(ValueError, match="has a column 'clicked' but the features are 'age'"):
        schema.design(table)
    np.testing.assert_array_equal(schema.design(table, drop=["clicked"]), [[1, 3], [1, 5]])
    with pytest.raises(ValueError, match="there is no column 'day': the table has 'age', 'clic"):
        schema.design(table, drop=["day"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"age": np.zeros((2, 2))}, r"column 'age' has shape \(2, 2\) but must be a vector"),
        ({"age": [1.0, 2.0], "b": [1]}, "column 'b' has 1 rows but the table has 2"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "Duplicate column names found: .*'age'"),
        (pa.table([[1], [2]], names=["age", "age"]), "there are two columns 'age'"),
        (pd.DataFrame({"age": [3, "old"]}), "DataFrame cannot be read as a table: .* column age"),
        ({"age": np.array(["2020-01-01"], "M8[ns]")}, "row 1: .* 'age' is the date 2020-01-01"),
        ({"age": [3, []]}, r"row 2: item feature 'age' is \[\] but must be a number"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schema([Numeric("age")]).design(table)


@pytest.mark.parametrize(
    "table", [{}, {"age": []}, pd.DataFrame({"age": np.zeros(0)}), pa.table({"age": [1]})[:0]]
)
def test_a_table_without_rows_has_a_design_without_rows(table: Any) -> None:
    assert Schema([Numeric("age")]).design(table).shape == (0, 2)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str, ending: str) -> None:
    table = pa.table({"last, first": ["a;b", 'say "x"'], "age": [3, 5], "new": [True, False]})
    path = tmp_path / f"log{ending}"
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    with pa.output_stream(path, compression="gzip" if ending.endswith("gz") else None) as stream:
        pyarrow.csv.write_csv(table, stream, options)
    schema = Schema.infer(path)
    assert schema.columns == ("bias", "last, first=a;b", 'last, first=say "x"', "age", "new")
    assert_same(schema.design(path), schema.design(table.to_pylist()))


def test_only_arrays_need_no_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    columns: Columns = {"age": [3.0, 5.0], "make": ["kia", None]}
    frame = pd.DataFrame(columns)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert Schema.infer(columns).design(columns).shape == (2, 4)
    for source, what in ((frame, "a DataFrame"), ("log.parquet", "log.parquet")):
        with pytest.raises(ImportError, match=rf"{what} needs pyarrow: pip install 'fabcost\["):
            Schema.infer(source)


@pytest.mark.skipif(not DATA, reason="FABCOST_DATA names no data directory")
@pytest.mark.parametrize(
    ("name", "dropped", "width"),
    [
        ("bank_marketing/bank-additional-full.csv.gz", ["duration", "y"], 63),
        ("uk_used_cars/ford.csv.gz", ["price"], None),
    ],
)
def test_real_tables_equal_their_records(name: str, dropped: list[str], width: int | None) -> None:
    path = Path(str(DATA)) / name
    schema = Schema.infer(path, drop=dropped)
    frame = pd.read_csv(path, sep=None, engine="python", nrows=3000, keep_default_na=False)
    # Words of a file have no spaces around them: some files write " Fiesta".
    frame = frame.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    by_records = schema.copy()
    rows = schema.design(path, drop=dropped)
    assert width is None or rows.shape == (41_188, width)
    expected = by_records.design(frame.drop(columns=dropped).to_dict("records"))
    np.testing.assert_array_equal(rows[: len(frame), : expected.shape[1]], expected)
    assert not rows[: len(frame), expected.shape[1] :].any()
    standardised = [rows[:, schema.columns.index(n)] for n in ("age", "mileage") if n in frame]
    np.testing.assert_allclose([column.std() for column in standardised], 1.0)
