"""Logs of every kind to models: what is read, what is refused, and what goes on from it."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet
import pytest
from rich.console import Console
from typer.testing import CliRunner

import fabcost
from fabcost.cli import application
from fabcost.features.tables.files import read_file
from fabcost.impressions import Tally
from fabcost.inference import adf, ep, laplace
from fabcost.offline.fit import blocks, encoding, fitting, partitions
from fabcost.offline.fit.engines import Alone
from fabcost.offline.fit.fitting import FittedLog, LogSettings, fit_log
from fabcost.recommend.ledger import Feedback
from fabcost.service.learning.recovery import from_base
from fabcost.service.models.load import from_file, from_start
from fabcost.wire.settings import ModelSettings

ROWS = 300
EP = LogSettings("click", group=False)


def log(rows: int = ROWS, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age, make = rng.normal(40.0, 9.0, rows), rng.choice(["kia", "ford", "audi"], rows)
    odds = 0.1 * (age - 40.0) + (make == "kia") - 0.5
    click = rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))
    return pa.table({"age": age, "make": make, "new": age > 45.0, "click": click})


def repeated(rows: int = ROWS) -> pa.Table:
    """Of which many are equal."""
    rng = np.random.default_rng(1)
    return pa.table({"age": rng.integers(1, 6, rows), "click": rng.integers(0, 2, rows)})


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=64)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(each)}\n" for each in table.to_pylist()))
    elif path.suffix == ".gz":
        plain = path.with_suffix("")
        pyarrow.csv.write_csv(table, plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    else:
        pyarrow.csv.write_csv(table, path)
    return path


def posterior_of(fitted: FittedLog) -> tuple[Any, Any]:
    return fitted.fit.posterior.mean, fitted.fit.posterior.covariance


def check_same(one: FittedLog, other: FittedLog, rtol: float = 1e-6) -> None:
    for ours, theirs in zip(posterior_of(one), posterior_of(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


@pytest.fixture(scope="module")
def expected() -> FittedLog:
    return fit_log(log(), EP)


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "jsonl"])
def test_a_log_means_the_same_in_every_kind_of_file(
    tmp_path: Path, expected: FittedLog, ending: str
) -> None:
    table = log()
    for start in (0, 100, 150):
        stop = {0: 100, 100: 150, 150: ROWS}[start]
        write(table.slice(start, stop - start), tmp_path / f"part-{start:03}.{ending}")
    (tmp_path / "_SUCCESS").touch()
    found = fit_log(tmp_path, EP)
    check_same(found, expected)
    assert found.rows == ROWS


@pytest.mark.parametrize("scheme", ["file", "fsspec+memory"])
def test_logs_and_work_can_be_at_any_address_that_arrow_knows(
    tmp_path: Path, expected: FittedLog, scheme: str
) -> None:
    place = f"{scheme}://{tmp_path}"
    files, path = pyarrow.fs.FileSystem.from_uri(place)
    files.create_dir(f"{path}/logs", recursive=True)
    for start in (0, 100):
        some, name = log().slice(start, 100 + start), f"{path}/logs/part-{start}.parquet"
        pyarrow.parquet.write_table(some, name, filesystem=files, row_group_size=64)
    found = fit_log(f"{place}/logs", EP, work=f"{place}/work")
    check_same(found, expected)
    assert found.rows == ROWS
    assert "checkpoint" in {each.base_name for each in _all(files, f"{path}/work")}


def _all(files: pyarrow.fs.FileSystem, path: str) -> list[pyarrow.fs.FileInfo]:
    return list(files.get_file_info(pyarrow.fs.FileSelector(path, recursive=True)))


def test_what_is_fitted_is_what_ep_laplace_and_adf_find_on_the_same_rows(
    expected: FittedLog,
) -> None:
    schema = expected.recommender.schema
    X, y = schema.design(log().drop_columns(["click"])), log()["click"].to_numpy()
    prior = schema.prior(fabcost.Prior())
    reference = ep.fit(prior, X, y)
    np.testing.assert_allclose(expected.fit.posterior.mean, reference.posterior.mean, atol=1e-6)
    assert expected.fit.log_evidence == pytest.approx(reference.log_evidence, abs=1e-6)
    for method, found in (
        ("laplace", laplace.fit(prior, X, y).posterior),
        ("adf", adf.fit(prior, X, y).posterior),
    ):
        fitted = fit_log(log(), LogSettings("click", method, group=False))  # type: ignore[arg-type]
        np.testing.assert_allclose(fitted.fit.posterior.mean, found.mean, atol=1e-9)


def test_a_filter_learns_equal_rows_in_their_order(tmp_path: Path) -> None:
    said: list[str] = []
    table = repeated()
    path = write(table, tmp_path / "log.parquet")
    fitted = fit_log(path, LogSettings("click", "adf"), say=said.append)
    schema = fitted.recommender.schema
    X, y = schema.design(table.drop_columns(["click"])), table["click"].to_numpy()
    found = adf.fit(schema.prior(fabcost.Prior()), X, y).posterior
    np.testing.assert_allclose(fitted.fit.posterior.mean, found.mean, atol=1e-9)
    assert said[0] == "every row is kept: adf learns them in their order"


def test_equal_rows_become_one_before_a_small_fit(tmp_path: Path) -> None:
    said: list[str] = []
    table = repeated()
    for start in (0, 120):
        write(table.slice(start, 120 if not start else ROWS), tmp_path / f"{start}.parquet")
    fitted = fit_log(tmp_path, LogSettings("click"), say=said.append)
    schema = fitted.recommender.schema
    X = schema.design(table.drop_columns(["click"]))
    y = table["click"].to_numpy()
    reference = ep.fit(schema.prior(fabcost.Prior()), X, y, group=True)
    np.testing.assert_allclose(fitted.fit.posterior.mean, reference.posterior.mean, atol=1e-9)
    assert "equal rows are made one: of the first 300 rows only 5 differ" in said[0]
    assert said[-1] == "5 distinct rows are fitted at once, in this process"


def test_too_many_distinct_rows_are_one_within_partitions_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "_BYTES_TOGETHER", 100)
    said: list[str] = []
    fitted = fit_log(repeated(), LogSettings("click"), say=said.append)
    check_same(fitted, fit_log(repeated(), LogSettings("click", group=True)), rtol=1e-3)
    assert any("within each partition only" in each for each in said)


def in_folders(folder: Path, ending: str) -> pa.Table:
    """A log of three days, which only the names of folders tell; with them as a column."""
    table = log()
    for day in range(3):
        for part in (0, 50):
            inside = folder / f"day=2024-01-0{day + 1}" / f"hour={9 + part}"
            inside.mkdir(parents=True)
            write(table.slice(100 * day + part, 50), inside / f"part.{ending}")
    days = [f"2024-01-0{each // 100 + 1}" for each in range(ROWS)]
    table = table.append_column("day", pa.array(days))
    return table.append_column(
        "hour", pa.array([9 + each % 100 // 50 * 50 for each in range(ROWS)])
    )


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_what_names_of_folders_tell_are_columns(tmp_path: Path, ending: str) -> None:
    settings = dataclasses.replace(EP, context=("day",))
    table = in_folders(tmp_path, ending)
    found, whole = fit_log(tmp_path, settings), fit_log(table, settings)
    assert found.recommender.schema.columns == whole.recommender.schema.columns
    assert {"day day", "hour"} < set(found.recommender.schema.columns)
    check_same(found, whole)
    dropped = fit_log(tmp_path, dataclasses.replace(EP, drop=("day", "hour")))
    check_same(dropped, fit_log(log(), EP))
    write(log(20), tmp_path / f"more.{ending}")
    with pytest.raises(ValueError, match=f"more.{ending} has no column 'day'"):
        fit_log(tmp_path, settings)


def test_values_of_folders_are_unquoted_and_may_be_missing() -> None:
    folders = ["a%3Db=1%2F2", "plain", "=x", "make=__HIVE_DEFAULT_PARTITION__", "empty="]
    expected = [("a=b", "1/2"), ("make", None), ("empty", "")]
    assert list(partitions._named_by(folders)) == expected


class Refreshing(Alone):
    """Draws whenever it is told of rows, and not when it is time."""

    def told(self, rows: int) -> None:
        super().told(rows)
        self._bars.refresh()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "stream"])
def test_rows_are_counted_as_they_are_read_and_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(blocks, "AT_ONCE", dict.fromkeys((True, False), 10))
    stream, drawn = log().to_reader(max_chunksize=50), io.StringIO()
    source = stream if kind == "stream" else write(log(), tmp_path / f"log.{kind}")
    engine = Refreshing(Console(file=drawn, force_terminal=True, width=120))
    fit_log(source, LogSettings("click", "adf", group=False), engine=engine)
    reading, _, learning = drawn.getvalue().partition("learning")
    seen = {int(each) for each in re.findall(r"(\d+) rows", reading)}
    assert len(seen) > 3
    assert max(seen) == ROWS
    assert f"{ROWS} rows" in learning


def test_blocks_have_a_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BYTES", 1)
    monkeypatch.setattr(blocks, "_LEAST_ROWS", 70)
    monkeypatch.setattr(partitions, "ROWS_OF_A_PART", 100)
    write(log(), tmp_path / "log.parquet")
    said: list[str] = []
    found = fit_log(tmp_path / "log.parquet", EP, say=said.append)
    assert said[-2:] == ["partitions: 3, of one file", "rounds over 5 blocks"]
    check_same(found, fit_log(log(), EP))


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("method", ["ep", "laplace", "adf", "fab-cost"])
def test_many_one_hot_columns_are_kept_without_their_zeros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: fitting.Method, group: bool
) -> None:
    rng, levels = np.random.default_rng(3), 60
    names = np.array([f"level {each}" for each in range(levels)])
    columns = {f"column {k}": names[rng.integers(0, levels, 900)] for k in range(5)}
    table = pa.table({**columns, "click": rng.random(900) < 0.3})
    settings = LogSettings("click", method=method, group=group)
    found = fit_log(table, settings, work=tmp_path / "sparse")
    size = lambda folder: sum(each.stat().st_size for each in folder.rglob("*rows*"))  # noqa: E731
    monkeypatch.setattr(encoding, "LARGE", 10**9)
    check_same(found, fit_log(table, settings, work=tmp_path / "dense"))
    assert 10 * size(tmp_path / "sparse") < size(tmp_path / "dense")


def test_counts_of_clicks_and_weights_are_two_exponents(expected: FittedLog) -> None:
    schema = fabcost.Schema([fabcost.Numeric("age", mean=3.0, scale=2.0)])
    table = pa.table({"age": [1, 3, 5], "clicks": [2, 0, 7], "shown": [5, 4, 9], "w": [1, 0.5, 2]})
    settings = LogSettings("clicks", impressions="shown", weight="w", schema=schema)
    found = fit_log(table, settings)
    X = schema.design(table.select(["age"]))
    tally = Tally(table["clicks"].to_numpy(), table["shown"].to_numpy())
    reference = ep.fit(schema.prior(fabcost.Prior()), X, tally, weight=table["w"].to_numpy())
    np.testing.assert_allclose(found.fit.posterior.mean, reference.posterior.mean, atol=1e-6)


def test_a_relation_of_duckdb_and_a_stream_are_logs(expected: FittedLog) -> None:
    shown = log()
    check_same(fit_log(duckdb.sql("SELECT * FROM shown"), EP), expected)
    check_same(fit_log(shown.to_reader(max_chunksize=50), EP), expected)


def test_a_filter_keeps_what_it_can_refine() -> None:
    fitted = fit_log(log(), LogSettings("click", "fab-cost", group=False))
    learner = fitted.recommender.learner
    assert isinstance(learner, fabcost.FabCost)
    assert learner.seen == learner.kept == ROWS


def test_a_model_file_is_gone_on_with_and_a_server_starts_from_it(tmp_path: Path) -> None:
    write(log(), tmp_path / "log.csv")
    out = tmp_path / "model.fabcost"
    asked = ["fit", str(tmp_path / "log.csv"), "--reward", "click", "--out", str(out)]
    result = CliRunner().invoke(application, [*asked, "--context", "new"])
    assert result.exit_code == 0, result.output
    assert f"{ROWS} rows, 7 weights, ep converged" in result.output
    assert not Path(f"{out}.work").exists()
    recommender = fabcost.Recommender.load(out)
    context, items = {"new": True}, {"a": {"age": 30, "make": "kia"}}
    decision = recommender.recommend(context, items)
    assert recommender.feedback(decision.id, clicked=True) is Feedback.APPLIED
    again = CliRunner().invoke(application, asked)
    assert again.exit_code == 2
    assert "exists; --force overwrites it" in again.output


def test_a_server_has_it_as_a_model_or_as_the_start_of_one(expected: FittedLog) -> None:
    content = expected.recommender.to_bytes()
    for made in (from_file(content, None), from_start(content, ModelSettings(), 1.0)):
        learner = from_base(made.base)
        assert isinstance(learner, fabcost.FabCost)
        np.testing.assert_allclose(
            learner.posterior.mean, expected.fit.posterior.mean, rtol=1e-6, atol=1e-6
        )


ITEMS = LogSettings("click", group=False, item="ad")


def shown(rows: int = ROWS, seed: int = 0) -> pa.Table:
    """With an advert in each row, of which the first is clicked more often."""
    table, rng = log(rows, seed), np.random.default_rng(seed)
    ad = rng.integers(0, 12, rows)
    click = table["click"].to_numpy() | ((ad == 0) & (rng.random(rows) < 0.6))
    table = table.set_column(3, "click", pa.array(click))
    return table.append_column("ad", pa.array([f"ad-{each}" for each in ad]))


def test_effects_of_items_are_those_of_ep_and_go_on_in_every_model(tmp_path: Path) -> None:
    table = shown()
    for start in (0, 100):
        write(table.slice(start, 100 if not start else ROWS), tmp_path / f"{start}.csv")
    fitted = fit_log(tmp_path, ITEMS)
    schema, prior = fitted.recommender.schema, fabcost.Prior()
    assert not any("ad" in column for column in schema.columns)
    X, y = schema.design(table.drop_columns(["click", "ad"])), table["click"].to_numpy()
    ads = table["ad"].to_pylist()
    reference = ep.fit(schema.prior(prior), X, y, items=ads, own_variance=prior.items)
    keys = sorted(set(ads))
    assert reference.own is not None
    expected = reference.own.effects(reference.posterior, keys)
    assert expected.mean.max() > 0.3
    content = fitted.recommender.to_bytes()
    for made in (from_file(content, None), from_start(content, ModelSettings(), 1.0)):
        learner = from_base(made.base)
        assert isinstance(learner, fabcost.FabCost)
        assert learner.own is not None
        found = learner.own.effects(learner.posterior, keys)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-6)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-6)
        learner.observe(X[0], 1, "ad-0")
        assert learner.own.effects(learner.posterior, ["ad-0"]).mean > found.mean[0]
    together = fit_log(tmp_path, dataclasses.replace(ITEMS, group=True))
    assert together.fit.own is not None
    np.testing.assert_allclose(
        together.fit.own.effects(together.fit.posterior, keys).mean, expected.mean, atol=1e-6
    )


@pytest.mark.parametrize("method", ["laplace", "adf", "fab-cost"])
def test_other_methods_have_effects_too_and_rows_of_one_item_only_are_made_one(
    method: Any,
) -> None:
    table = repeated().append_column("ad", pa.array(["a", "b", "b"] * (ROWS // 3)))
    fitted = fit_log(table, LogSettings("click", method, item="ad", group=True))
    assert fitted.fit.own is not None
    assert (fitted.fit.own.keys, fitted.sites) == (("a", "b"), 10)
    with pytest.raises(ValueError, match="have no effects of their own by this prior"):
        LogSettings("click", item="ad", prior=fabcost.Prior.same(1.0))


BAD = {
    "wrong columns": ("has no column 'click'", lambda: shown(20).drop_columns(["click"])),
    "no such feature": ("has no column 'make'", lambda: shown(20).drop_columns(["make"])),
    "another kind": (
        "has text in column 'age', where",
        lambda: shown(20).set_column(0, "age", pa.array(["old"] * 20)),
    ),
    "a label": (
        "row 3: click is 7 but must be an outcome",
        lambda: shown(20).set_column(3, "click", pa.array([0, 1, 7, *[0] * 17])),
    ),
    "no item": ("has no column 'ad'", lambda: shown(20).drop_columns(["ad"])),
    "numbers for items": (
        "has numbers in column 'ad', where",
        lambda: shown(20).set_column(4, "ad", pa.array([7] * 20)),
    ),
    "an item": (
        "row 2: ad is 'nan' but must have a value",
        lambda: shown(20).set_column(4, "ad", pa.array(["a", "nan", *["b"] * 18])),
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_told_of_before_the_fit_or_left_out(tmp_path: Path, kind: str) -> None:
    words, table = BAD[kind]
    write(shown(), tmp_path / "a.parquet")
    write(table(), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=words) as told:
        fit_log(tmp_path, ITEMS)
    assert "b.parquet" in str(told.value)
    found = fit_log(tmp_path, dataclasses.replace(ITEMS, skip_bad=True))
    left = 19 if kind in ("a label", "an item") else 0
    assert (found.rows, len(found.bad_files)) == (ROWS + left, 0 if left else 1)
    assert found.skipped.total() == (1 if left else 0)


@pytest.mark.parametrize("how", ["footer", "page", "nothing left"])
def test_a_damaged_file_is_told_of(tmp_path: Path, how: str) -> None:
    write(log(), tmp_path / "a.parquet")
    path = write(log(2000), tmp_path / "b.parquet")
    content = bytearray(path.read_bytes())
    if how == "footer":
        content = content[: len(content) // 2]
    elif how == "nothing left":
        content.clear()
    else:
        content[4:400] = bytes(396)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.parquet cannot be read"):
        fit_log(tmp_path, EP)
    found = fit_log(tmp_path, LogSettings("click", group=False, skip_bad=True))
    assert len(found.bad_files) == 1


def test_rows_of_text_are_named_by_their_numbers(tmp_path: Path) -> None:
    path = write(log(), tmp_path / "log.csv")
    lines = path.read_text().splitlines()
    lines[5] += ",9"
    lines[9] = lines[9].replace('"ford"', '"kia"').rsplit(",", 1)[0] + ",maybe"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=r"(?s)row 5: the line has 5 cells.*row 9: click is 'may"):
        fit_log(path, EP)
    found = fit_log(path, LogSettings("click", group=True, skip_bad=True))
    assert found.rows == ROWS - 2
    assert "the line must have 4 cells" in found.skipped


def test_damage_that_can_be_read_is_told_of_where_pages_have_checksums(tmp_path: Path) -> None:
    simulated = CliRunner().invoke(
        application, ["simulate", "--rows", "2000", "--partitions", "2", "--out", str(tmp_path)]
    )
    assert simulated.exit_code == 0, simulated.output
    first, second = sorted(tmp_path.glob("*.parquet"))
    settings = LogSettings("clicked")
    assert fit_log(tmp_path, settings).rows == 2000
    content = bytearray(second.read_bytes())
    column = pyarrow.parquet.ParquetFile(second).metadata.row_group(0).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    end = start + column.total_compressed_size
    content[end - 1] ^= 1
    second.write_bytes(content)
    with pytest.raises(ValueError, match=f"{second.name} cannot be read: .*CRC") as told:
        fit_log(tmp_path, settings)
    assert first.name not in str(told.value)
    with pytest.raises(ValueError, match=f"{second.name} cannot be read: .*CRC"):
        read_file(second)


def test_values_that_were_not_looked_at_first_are_others_or_refused(tmp_path: Path) -> None:
    schema = fabcost.Schema.infer(log().drop_columns(["click"]), other=True)
    settings = LogSettings("click", schema=schema, group=False)
    table = log(10)
    unseen = table.set_column(1, "make", pa.array(["lada"] * 10))
    assert fit_log(unseen, settings).rows == 10
    missing = table.set_column(0, "age", pa.array([None, *range(9)], pa.float64()))
    with pytest.raises(ValueError, match="row 1: age is missing but must be a number"):
        fit_log(missing, settings)


def test_an_open_schema_or_no_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs one with fixed columns"):
        fit_log(log(), LogSettings("click", schema=fabcost.Schema.open()))
    write(log(0), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no rows to learn from"):
        fit_log(tmp_path, EP)
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        fit_log(tmp_path / "none", EP)
    assert isinstance(fit_log(log(), EP).recommender, fabcost.Recommender)
