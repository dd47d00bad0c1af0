"""Logs for the replay: formats, bad rows, and the choice of features."""

from __future__ import annotations

import gzip
import warnings
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost import Schema
from fabcost.features.tables import cells
from fabcost.features.tables.files import read_file
from fabcost.features.tables.sheet import BadRowsError, Sheet
from fabcost.offline.fit.fitting import LogSettings, fit_log
from fabcost.offline.logs.counted import one_by_one
from fabcost.offline.logs.impressions import encode, read_log, select

PLAIN = "age,make,new,click\n20,kia,true,1\n30,ford,false,0\n,kia,true,0\n50.5,,FALSE,1\n"


def written(path: Path, text: str) -> Path:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


def test_every_format_gives_the_same_log(tmp_path: Path) -> None:
    plain = read_log(written(tmp_path / "log.csv", PLAIN), "click")
    table = pa.table(
        {
            "age": [20, 30, None, 50.5],
            "make": pa.array(["kia", "ford", "kia", None]).dictionary_encode(),
            "new": [True, False, True, False],
            "click": [True, False, False, True],
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    words = PLAIN.replace(",1\n", ",Yes\n").replace(",0\n", ",no\n")
    others = [
        written(tmp_path / "semicolon.csv", PLAIN.replace(",", ";")),
        written(tmp_path / "tab.tsv", PLAIN.replace(",", "\t")),
        written(tmp_path / "log.csv.gz", "\ufeff" + PLAIN.replace("\n", "\r\n")),
        written(tmp_path / "words.csv", words.replace("20,", " +2e1 ,")),
        tmp_path / "log.parquet",
    ]
    assert plain.columns == (
        ("bias", "age", "age missing", "make=ford", "make=kia", "make missing", "new")
    )
    assert plain.y.tolist() == [1.0, 0.0, 0.0, 1.0]
    ages = np.array([20.0, 30.0, 50.5])
    expected = (ages - ages.mean()) / ages.std()
    np.testing.assert_allclose(plain.X[:, 1], [*expected[:2], 0.0, expected[2]])
    assert plain.X[:, 2:].tolist() == [
        [0, 0, 1, 0, 1],
        [0, 1, 0, 0, 0],
        [1, 0, 1, 0, 1],
        [0, 0, 0, 1, 0],
    ]
    for path in others:
        log = read_log(path, "click")
        assert log.columns == plain.columns
        np.testing.assert_allclose(log.X, plain.X, rtol=1e-12)
        np.testing.assert_array_equal(log.y, plain.y)


def test_column_without_a_name_is_no_feature(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", ",age,click\n0,5,1\n1,7,0\n")
    assert read_log(path, "click").columns == ("bias", "age")


BAD = [
    ("click", "2", "row 7: click is '2' but must be an outcome"),
    ("click", "", "row 7: click is missing but must be an outcome"),
    ("click", "maybe", "row 7: click is 'maybe' but must be an outcome"),
    ("age", "old", "row 7: age is 'old' but must be a finite number"),
    ("age", "inf", "row 7: age is 'inf' but must be a finite number"),
    ("age", "1e999", "row 7: age is '1e999' but must be a finite number"),
    ("age", "1_000", "row 7: age is '1_000' but must be a finite number"),
    ("age", "5,5", "row 7: the line has 4 cells but must have 3"),
]


@pytest.mark.parametrize(("column", "value", "complaint"), BAD)
def test_bad_row_is_named_or_skipped(
    tmp_path: Path, column: str, value: str, complaint: str
) -> None:
    rows = [{"age": str(20 + i), "make": "kia", "click": str(i % 2)} for i in range(12)]
    rows[6][column] = value
    text = "\n".join(["age,make,click", *(",".join(row.values()) for row in rows)])
    path = written(tmp_path / "log.csv", text)
    with pytest.raises(BadRowsError, match="has 1 bad row") as refused:
        read_log(path, "click")
    assert complaint in str(refused.value)
    log = read_log(path, "click", skip_bad_rows=True)
    assert (log.y.size, log.skipped.total()) == (11, 1)
    sound = [row for i, row in enumerate(rows) if i != 6]
    ages = np.array([float(row["age"]) for row in sound])
    np.testing.assert_allclose(log.X[:, 1], (ages - ages.mean()) / ages.std())
    assert log.y.tolist() == [float(row["click"]) for row in sound]


def test_rows_after_a_ragged_line_keep_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", 'a,click\n"x\ny",1\n\n1,2,3\nz,0\nz,9\n')
    with pytest.raises(BadRowsError) as refused:
        read_log(path, "click")
    assert [fault[:2] for fault in refused.value.faults] == [(2, "the line"), (4, "click")]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "null", "None", "?", "#N/A"])
def test_one_rule_says_what_is_missing(tmp_path: Path, word: str) -> None:
    text = f"age,make,click\n20,kia,1\n{word},ford,0\n40,{word},1\n"
    log = read_log(written(tmp_path / "log.csv", text), "click")
    assert log.columns == ("bias", "age", "age missing", "make=ford", "make=kia", "make missing")
    assert log.X[:, 2].tolist() == [0, 1, 0]
    schema = Schema.infer(tmp_path / "log.csv", drop=["click"])
    assert schema.columns == log.columns
    np.testing.assert_array_equal(schema.design(tmp_path / "log.csv", drop=["click"]), log.X)


def test_not_a_number_is_missing_in_parquet(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, np.nan, 3.0, np.inf], "click": [0, 1, 1, 0]})
    pq.write_table(table[:3], tmp_path / "a.parquet")
    assert read_log(tmp_path / "a.parquet", "click").columns == ("bias", "a", "a missing")
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(BadRowsError, match="1 bad row:\n.*row 4: a is inf but must be a finite"):
        read_log(tmp_path / "a.parquet", "click")


def test_lines_of_json_are_rows(tmp_path: Path) -> None:
    lines = [
        '{"age": 20, "make": "kia", "new": true, "click": 1}',
        '{"age": null, "make": "ford", "new": "no", "click": "no"}',
        '{"make": "kia", "click": true, "new": false, "age": 50.5}',
    ]
    text = "\n".join([*lines[:2], "", lines[2]])
    log = read_log(written(tmp_path / "log.jsonl.gz", text), "click")
    assert log.columns == ("bias", "age", "age missing", "make=ford", "make=kia", "new")
    assert log.y.tolist() == [1, 0, 1]
    assert log.X[:, 2:].tolist() == [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0]]
    bad = written(
        tmp_path / "bad.jsonl", "\n".join([lines[0], "[1]", "{", lines[2], '{"click": 2}'])
    )
    with pytest.raises(BadRowsError, match="3 bad rows") as refused:
        read_log(bad, "click")
    assert [fault[:2] for fault in refused.value.faults] == [
        (2, "the line"),
        (3, "the line"),
        (5, "click"),
    ]
    assert "row 3: the line is '{' but must be a JSON object" in str(refused.value)
    nested = written(tmp_path / "nested.jsonl", '{"a": [1], "click": 1}\n')
    with pytest.raises(ValueError, match="column 'a' has type list.* drop it"):
        read_log(nested, "click")


@pytest.mark.parametrize("day", ["2024-01-3{}", "2024-01-3{}T12:30:00Z"])
def test_dates_become_their_parts(tmp_path: Path, day: str) -> None:
    rows = "".join(f"{day.format(i % 2)},{i % 2}\n" for i in range(4))
    path = written(tmp_path / "log.csv", "day,click\n" + rows)
    schema = Schema.infer(path, drop=["click"])
    assert schema.columns[1:3] == ("day day", "day weekday=monday")
    log = read_log(path, "click")
    np.testing.assert_allclose(log.X[:, 1], [-1.0, 1.0, -1.0, 1.0])


def test_dates_in_other_words_are_named(tmp_path: Path) -> None:
    rows = "".join(f"3{i % 2}/01/2024,{i % 2}\n" for i in range(4))
    path = written(tmp_path / "log.csv", "day,click\n" + rows)
    complaint = (
        "column 'day' holds dates, such as 30/01/2024: write them all as in ISO 8601.*--date day"
    )
    with pytest.raises(ValueError, match=complaint):
        read_log(path, "click")
    with pytest.raises(ValueError, match=complaint):
        Schema.infer(path, drop=["click"])


def test_many_bad_rows_are_counted_and_the_first_named() -> None:
    source = Sheet.of(pa.table({"a": range(40), "click": ["!"] * 30 + ["0"] * 10}), "log")
    with pytest.raises(BadRowsError, match="30 bad rows(.|\n)*row 10: (.|\n)*and 20 more"):
        encode(source, "click")
    with pytest.raises(ValueError, match="no sound row .30 bad"):
        encode(Sheet.of(source.table.slice(0, 30), "log"), "click", skip_bad_rows=True)


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("a,b\n1,2\n", {"reward": "c"}, "has no column 'c'; it has a, b"),
        ("a,b\n1,0\n", {"reward": "b", "drop": ["c"]}, "has no column 'c'; it has a, b"),
        ("a,b\n1,0\n", {"reward": "b", "drop": ["a"]}, "no column left to learn from"),
        ("a,a,b\n1,2,0\n", {"reward": "b"}, "'a' twice in its heading"),
        ("", {"reward": "b"}, "is empty, or has no names"),
        ("a,b\n", {"reward": "b"}, "has no rows"),
        ("a,b\n,0\n,1\n", {"reward": "b"}, "column 'a' has no values"),
        (
            "a,b\n" + "".join(f"x{i},0\n" for i in range(1001)),
            {"reward": "b"},
            "column 'a' of .* has more than 1,000 different texts",
        ),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, text: str, options: dict[str, str], complaint: str
) -> None:
    path = written(tmp_path / "log.csv", text)
    with pytest.raises(ValueError, match=complaint):
        read_log(path, **options)  # type: ignore[arg-type]


def test_broken_files_are_said(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,click\n" + b"".join(b"%d,1\n" % i for i in range(9999)))
    (tmp_path / "log.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "log.parquet").write_bytes(b"not parquet")
    (tmp_path / "neither.csv").write_bytes(b"a,click\n\x81,1\n")
    for name in ("log.csv.gz", "log.parquet", "neither.csv"):
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            read_file(tmp_path / name)


def test_nested_columns_are_refused() -> None:
    source = Sheet.of(pa.table({"a": [[1], [2]], "click": [0, 1]}))
    with pytest.raises(ValueError, match="column 'a' has type list.* drop it"):
        encode(source, "click")


def test_one_kind_of_outcome_is_said() -> None:
    for value in (0, 1):
        log = encode(Sheet.of(pa.table({"a": [1, 2], "click": [value, value]})), "click")
        assert f"every outcome is {value}" in str(log.warning)
    assert encode(Sheet.of(pa.table({"a": [1, 2], "click": [0, 1]})), "click").warning is None


@given(st.lists(st.one_of(st.floats(), st.text(max_size=6), st.just("")), min_size=1))
def test_cells_agree_with_python(values: list[float | str]) -> None:
    """The vectorised reading of a column against float(), cell by cell."""
    texts = [str(value) for value in values]
    present = [text for text in texts if _is_present(text)]
    numeric = [text for text in present if _is_float(text)]
    clean = cells.clean("a", pa.array(texts))
    if 2 * len(numeric) > len(present):
        sound = [_is_present(t) and _is_float(t) and abs(float(t)) <= 1e37 for t in texts]
        wrong = [_is_present(t) and not good for t, good in zip(texts, sound, strict=True)]
        expected = [float(t) if good else None for t, good in zip(texts, sound, strict=True)]
        assert clean.wrong.tolist() == wrong
        assert clean.values.to_pylist() == expected
    else:
        assert not clean.wrong.any()


def _is_present(text: str) -> bool:
    return text.strip().lower() not in ("", "na", "n/a", "#n/a", "nan", "null", "none", "?")


def _is_float(text: str) -> bool:
    """Whether Python reads a number, without its underscores and foreign digits."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and text.strip().isascii()


def test_forest_finds_what_matters_and_names_the_rows_it_saw() -> None:
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(4000), rng.normal(size=(4000, 20))])
    clicked = rng.random(4000) < 1.0 / (1.0 + np.exp(2.0 - 2.0 * X[:, 4] + 2.0 * X[:, 17]))
    y = clicked.astype(np.float64)
    found = select(X, y, 2, rng=np.random.default_rng(0))
    assert found.columns.tolist() == [0, 4, 17]
    assert found.rows.size == np.unique(found.rows).size == 400
    # What the forest did not see does not matter.
    unseen = np.delete(np.arange(4000), found.rows)
    other = y.copy()
    other[unseen] = 1.0 - other[unseen]
    again = select(X, other, 2, rng=np.random.default_rng(0), jobs=2)
    for ours, theirs in zip(found, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_choice_that_cannot_be_made_is_said() -> None:
    X, rng = np.ones((100, 3)), np.random.default_rng(0)
    with pytest.raises(ValueError, match="select is 3 but there are 2 features"):
        select(X, np.ones(100), 3, rng=rng)
    with pytest.raises(ValueError, match="the 10 rows kept .* 10 positive outcomes"):
        select(X, np.ones(100), 1, rng=rng)


COUNTED = "age,make,clicks,shown\n20,kia,2,3\n30,ford,0,2\n40,kia,0,0\n50.5,kia,1,1\n"
ONE_BY_ONE = "age,make,clicks\n20,kia,1\n20,kia,1\n20,kia,0\n30,ford,0\n30,ford,0\n50.5,kia,1\n"


def test_a_row_that_counts_impressions_is_as_many(tmp_path: Path) -> None:
    counted = read_log(written(tmp_path / "counted.csv", COUNTED), "clicks", impressions="shown")
    single = read_log(written(tmp_path / "single.csv", ONE_BY_ONE), "clicks")
    assert counted.columns == single.columns
    np.testing.assert_array_equal(counted.X, single.X)
    np.testing.assert_array_equal(counted.y, single.y)


def test_bad_counts_are_named_by_their_rows_or_skipped(tmp_path: Path) -> None:
    bad = COUNTED.replace("0,2\n", "3,2\n").replace("0,0\n", "0,1.5\n")
    path = written(tmp_path / "bad.csv", bad)
    with pytest.raises(BadRowsError, match=r"(?s)row 2.*clicks.*'shown'.*row 3.*shown.*whole"):
        read_log(path, "clicks", impressions="shown")
    log = read_log(path, "clicks", impressions="shown", skip_bad_rows=True)
    assert log.y.tolist() == [1.0, 1.0, 0.0, 1.0]
    assert sum(log.skipped.values()) == 2


def test_too_many_impressions_are_refused() -> None:
    sheet = Sheet.of(pa.table({"age": [1], "clicks": [0], "shown": [10**12]}))
    with pytest.raises(ValueError, match="1,000,000,000,000 impressions but at most"):
        one_by_one(sheet, "clicks", "shown")


def test_outcomes_gaps_and_decimal_commas_are_read_as_they_are_written(tmp_path: Path) -> None:
    text = "price;age;click\n1,5;20;Y\n2;<NA>;n\n0,125;-;N\n1,234;40;y\n"
    log = read_log(written(tmp_path / "log.csv", text), "click")
    assert log.y.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert log.columns == ("bias", "price", "age", "age missing")
    price = np.array([1.5, 2.0, 0.125, 1.234])
    np.testing.assert_allclose(log.X[:, 1], (price - price.mean()) / price.std())


def test_commas_that_may_stand_between_thousands_are_no_decimals() -> None:
    assert cells.clean("n", pa.array(["1,234", "2,500"])).values.to_pylist() == ["1,234", "2,500"]
    assert cells.clean("n", pa.array(["x", "1,5", "y"])).values.to_pylist() == ["x", "1,5", "y"]


def test_a_zip_with_one_file_is_read(tmp_path: Path) -> None:
    plain = read_file(written(tmp_path / "log.csv", PLAIN))
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as packed:
        packed.write(tmp_path / "log.csv", "folder/log.csv")
    found = read_file(tmp_path / "log.zip")
    assert found.table == plain.table
    assert found.name == str(tmp_path / "log.zip")
    with zipfile.ZipFile(tmp_path / "log.zip", "a") as packed:
        packed.writestr("more.csv", "a\n1\n")
    with pytest.raises(ValueError, match=r"log.zip has 2 files but must have one"):
        read_file(tmp_path / "log.zip")
    (tmp_path / "no.zip").write_bytes(b"PK?")
    with pytest.raises(ValueError, match=r"no.zip cannot be read"):
        read_file(tmp_path / "no.zip")


@pytest.mark.parametrize("where", ["heading", "body"])
def test_latin_1_is_read_and_told(tmp_path: Path, where: str) -> None:
    text = "größe,click\n1,1\n2,0\n" if where == "heading" else "make,click\nCitroën,1\nkia,0\n"
    (tmp_path / "log.csv").write_bytes(text.encode("latin-1"))
    with pytest.warns(UserWarning, match=r"log.csv is not UTF-8 and was read as Latin-1"):
        read = read_log(tmp_path / "log.csv", "click")
    written(tmp_path / "same.csv", text)
    assert read.columns == read_log(tmp_path / "same.csv", "click").columns
    with pytest.warns(UserWarning, match=r"log.csv is not UTF-8 and was read as Latin-1"):
        fitted = fit_log(tmp_path / "log.csv", LogSettings("click"))
    same = fit_log(tmp_path / "same.csv", LogSettings("click"))
    assert fitted.recommender.schema.columns == same.recommender.schema.columns
    assert fitted.fit.posterior == same.fit.posterior


ODD = {
    "utf-16": ("make;click\nCitroën;1\nkia;0\n".encode("utf-16"), None),
    "mark": (b"\xef\xbb\xbfmake,click\nkia,1\nford,0\n", None),
    "empty": (b"", "is empty, or has no names of columns|no rows"),
    "blank": (b"\n\n", "is empty, or has no names of columns"),
    "heading": (b"make,click\n", "has no rows"),
    "twice": (b"click,click\n1,0\n", "'click' twice in its heading"),
    "quote": (
        b'make,click\n"kia,1\nford,0\n',
        "row 1: the line opens a quote that is never closed",
    ),
    "later": (b'make,click\nkia,1\n"' + b"ford,0\n" * 400_000, "(row|line) [23].* never closed"),
    "damaged": ("größe,click\n1,1\n".encode() + b"\xff,0\n", "line 3 is no text in UTF-8"),
    "named": (b'"make,click\nkia,1\n', "a quote in its heading"),
    "one": (b"click\n1\n0\n", "no column left"),
    "binary": (bytes(range(256)) * 3, "no text in|no column 'click'"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_read_or_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    """Whole, and block by block; what is wrong is told in a sentence."""
    content, complaint = ODD[name]
    (tmp_path / "log.csv").write_bytes(content)
    expected = nullcontext() if complaint is None else pytest.raises(ValueError, match=complaint)
    with expected, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read_log(tmp_path / "log.csv", "click")
    with expected, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_log(tmp_path / "log.csv", LogSettings("click"))


def test_columns_are_what_one_says_they_are(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", "shop,age,click\n1,x,1\n2,y,0\n1,3,0\n")
    told = read_log(path, "click", kinds={"shop": "category"})
    assert told.columns == ("bias", "shop=1", "shop=2", "age=3", "age=x", "age=y")
    with pytest.raises(BadRowsError, match="row 1: age is 'x' but must be a finite number"):
        read_log(path, "click", kinds={"age": "number"})
    with pytest.raises(ValueError, match="has no column 'size'"):
        read_log(path, "click", kinds={"size": "number"})


def test_dates_are_those_that_are_meant(tmp_path: Path) -> None:
    forms = ("2026-01-05,0", "05.01.2026,1", "20260106,0", "1767571200,1", "1767571200000,0", "-,1")
    path = written(tmp_path / "log.csv", "day,click\n" + "\n".join(forms) + "\n")
    found, wrong = replace(read_file(path), kinds={"day": "date"}).clean(["day"])
    days = [None if each is None else each.date().isoformat() for each in found["day"].to_pylist()]
    fifth = "2026-01-05"
    assert days == [fifth, fifth, "2026-01-06", fifth, fifth, None]
    assert not wrong[0].rows.any()
    log = read_log(path, "click", kinds={"day": "date"})
    assert any("weekday" in name for name in log.columns), log.columns
    path = written(tmp_path / "bad.csv", "day,click\n2026-01-05,0\n31/31/2026,1\n")
    with pytest.raises(BadRowsError, match="row 2: day is '31/31/2026' but must be a date"):
        read_log(path, "click", kinds={"day": "date"})


def test_a_column_is_of_one_kind() -> None:
    with pytest.raises(ValueError, match="'a' is told to be a category and a number"):
        cells.kinds_of(category=["a"], number=["a"])
