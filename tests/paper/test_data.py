"""The data of the reproduction, their file, and the command that writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from scipy.special import expit
from typer.testing import CliRunner, Result

import fabcost
from fabcost.cli import application
from fabcost.offline.logs.impressions import read_log
from fabcost.paper.designs import (
    DAY_COLUMNS,
    DESIGNS,
    TASTES,
    authors_design,
    day,
    write,
)

FALSE_ALARM = "the thresholds below are five standard errors: once in 1.7 million seeds"


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application, [str(each) for each in arguments])


def origin_in(path: Path) -> dict[str, Any]:
    """What the schema says of where the file comes from."""
    origin: dict[str, Any] = json.loads(pq.read_schema(path).metadata[b"fabcost"])
    return origin


@pytest.mark.parametrize("design", DESIGNS)
def test_fewer_rows_are_the_first_rows_of_more(design: str) -> None:
    few, more = (DESIGNS[design](rows, seed=3) for rows in (700, 5_000))
    np.testing.assert_array_equal(few.X, more.X[:700])
    np.testing.assert_array_equal(few.y, more.y[:700])
    np.testing.assert_array_equal(few.theta, more.theta)


@pytest.mark.parametrize("design", DESIGNS)
def test_data_follow_the_seed(design: str) -> None:
    make = getattr(DESIGNS[design], "__wrapped__")  # noqa: B009 - the function below its cache
    one, again, other = (make(500, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.X, again.X)
    np.testing.assert_array_equal(one.y, again.y)
    assert (one.X != other.X).any()


@pytest.mark.parametrize("design", DESIGNS)
def test_arrays_are_kept_and_read_only(design: str) -> None:
    data = DESIGNS[design](100, seed=0)
    assert DESIGNS[design](100, seed=0) is data
    assert (data.X[:, 0] == 1.0).all()
    assert set(data.y) <= {0.0, 1.0}
    for array in (data.X, data.y, data.theta):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0
    with pytest.raises(ValueError, match="rows is 0 but must be at least 1"):
        DESIGNS[design](0, seed=0)


def test_authors_design_is_as_published() -> None:
    data = authors_design(100_000, seed=5)
    assert data.theta.tolist() == [1.0, 0.2, 1.5, -1.0, -0.7, -0.2]
    uniform = data.X[:, 1:]
    assert (uniform >= 0.0).all()
    assert (uniform <= 1.0).all()
    five_errors = 5 / np.sqrt(12 * len(uniform))
    np.testing.assert_allclose(uniform.mean(axis=0), 0.5, atol=five_errors, err_msg=FALSE_ALARM)
    assert np.abs(np.corrcoef(uniform.T) - np.eye(5)).max() < 5 / np.sqrt(len(uniform))


@pytest.mark.parametrize("design", DESIGNS)
def test_clicks_follow_the_true_weights(design: str) -> None:
    """Σ (y − p) x is zero within five standard errors for every column."""
    data = DESIGNS[design](60_000, seed=8)
    p = expit(data.X @ data.theta)
    scores = data.X.T @ (data.y - p)
    errors = np.sqrt((data.X**2).T @ (p * (1.0 - p)))
    assert np.abs(scores / errors).max() < 5, FALSE_ALARM


@pytest.mark.parametrize("seed", range(4))
def test_day_looks_like_a_day_of_adverts(seed: int) -> None:
    data = day(40_000, seed=seed)
    assert data.columns == DAY_COLUMNS
    assert len(data.columns) == data.X.shape[1] == 15
    p = expit(data.X @ data.theta)
    assert 0.027 < data.y.mean() < 0.033
    assert np.sort(p)[-4_000:].mean() > 2.5 * p.mean()
    assert np.abs(data.X).max() <= 4.0
    assert 0.3 < data.X[:, 1:].std(axis=0).min() < data.X[:, 1:].std(axis=0).max() < 1.5
    assert np.abs(data.theta[1:] - [*TASTES.values()]).max() < 0.5


def test_day_is_correlated_as_adverts_are() -> None:
    data = day(40_000, seed=0)
    column = dict(zip(DAY_COLUMNS, data.X.T, strict=True))

    def between(one: str, other: str) -> float:
        return float(stats.pearsonr(column[one], column[other]).statistic)

    assert between("age", "mileage") > 0.6
    assert between("age", "log_price") < -0.4
    assert between("engine", "litres") > 0.5
    assert between("budget_high", "log_price") > 0.3
    assert abs(between("mobile", "age")) < 5 / np.sqrt(len(data.X))
    assert np.linalg.eigvalsh(data.X.T @ data.X / len(data.X)).min() > 0.01


def test_popularity_is_uneven() -> None:
    _, shown = np.unique(day(40_000, seed=0).X[:, 1:7], axis=0, return_counts=True)
    assert np.sort(shown)[-400:].sum() > 0.3 * shown.sum()


def test_file_holds_the_impressions_and_their_origin(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "day.parquet"
    rows: list[int] = []
    data = day(70_000, seed=2)
    write(data, path, design="day", seed=2, advance=rows.append)
    table = pq.read_table(path)
    assert table.column_names == [*data.columns[1:], "clicked"]
    np.testing.assert_array_equal(
        np.column_stack([table[name].to_numpy() for name in data.columns[1:]]), data.X[:, 1:]
    )
    np.testing.assert_array_equal(table["clicked"].to_numpy(), data.y == 1.0)
    origin = origin_in(path)
    assert (origin["design"], origin["seed"]) == ("day", 2)
    assert origin["version"] == fabcost.__version__
    assert origin["weights"] == dict(zip(data.columns, data.theta.tolist(), strict=True))
    assert (sum(rows), len(rows) > 1) == (70_000, True)
    assert [each.name for each in path.parent.iterdir()] == ["day.parquet"]


def test_interrupted_file_does_not_appear(tmp_path: Path) -> None:
    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(day(100, seed=0), tmp_path / "day.parquet", design="day", seed=0, advance=stop)
    assert not list(tmp_path.iterdir())


def test_simulated_log_is_replayed(tmp_path: Path) -> None:
    path, out = tmp_path / "day.parquet", tmp_path / "out"
    made = command("simulate", "--rows", "600", "--seed", "1", "--out", path)
    assert made.exit_code == 0, made.output
    assert f"600 impressions, {day(600, seed=1).y.sum():.0f} clicks" in made.output
    log = read_log(path, "clicked")
    assert log.columns == ("bias", *DAY_COLUMNS[1:])
    np.testing.assert_array_equal(log.y, day(600, seed=1).y)
    settings = ("--seeds", "1", "--rounds", "50", "--jobs", "1", "--policy", "fabcost")
    played = command("replay", path, "--reward", "clicked", *settings, "--out", out)
    assert played.exit_code == 0, played.output
    summary = json.loads((out / "replay.json").read_text(encoding="utf-8"))
    assert (summary["rows"], summary["positives"]) == (600, log.y.sum())


def test_simulate_overwrites_only_when_forced(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("precious", encoding="utf-8")
    options = ("simulate", "--rows", "50", "--design", "authors", "--out", path)
    refused = command(*options)
    assert refused.exit_code == 2
    assert "exists but is only overwritten with --force" in " ".join(refused.output.split())
    assert path.read_text(encoding="utf-8") == "precious"
    assert command(*options, "--force").exit_code == 0
    assert origin_in(path)["design"] == "authors"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--out", "log.csv"), "log.csv must end in .parquet"),
        (("--out", "log.parquet", "--design", "year"), "design is 'year' but must be one of day"),
        (("--out", "log.parquet", "--rows", "0"), "rows is 0 but must be at least 1"),
    ],
)
def test_wrong_settings_are_named(
    arguments: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("simulate", *arguments)
    assert result.exit_code == 2
    assert complaint in " ".join(result.output.split())
    assert not list(tmp_path.iterdir())
