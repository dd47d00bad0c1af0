"""The two data sets of the reproduction: the authors' simulated design and a day of car adverts.

A cold start, of normal features, is for shorter looks.  `write` makes Parquet files of them, which
``fabcost replay`` reads.

The day stands in for the log of Auto Trader, which was never published: a visitor searches, one
advert is shown, and is clicked or not.  Its covariates (numbers standardised over the catalogue
and limited to ±4):

===================== ==========================================================================
constant              1
log_price             logarithm of the price
age                   years
mileage               miles so far; grows with the age
litres                consumption for 100 km
engine                litres of the engine; zero if electric
tax                   a year; flat for young cars, by consumption for old ones
automatic             0/1: anything but a manual transmission, more often in dear cars
diesel                0/1: more often in large engines
mobile                0/1: the visitor's device
budget_low            0/1: the search asked for cheap cars, and mostly gets them
budget_high           0/1: likewise for dear cars
budget_low×log_price  visitors with little money mind the price
budget_high×log_price those with much take it as a sign of quality
mobile×log_price      dear cars are looked at on larger screens
===================== ==========================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy.optimize import brentq
from scipy.special import expit, ndtri

from fabcost import __version__
from fabcost.impressions import FloatArray
from fabcost.worlds.adverts import LITRES, Adverts, synthetic

#: As in the authors' simulation: an intercept and five covariates, uniform on [0, 1].
AUTHORS_WEIGHTS = (1.0, 0.2, 1.5, -1.0, -0.7, -0.2)
#: What the visitors like on average; each seed's visitors differ a little.
TASTES = {
    "log_price": -0.3,
    "age": -0.35,
    "mileage": -0.35,
    "litres": -0.3,
    "engine": 0.35,
    "tax": -0.1,
    "automatic": 0.3,
    "diesel": -0.3,
    "mobile": -0.2,
    "budget_low": -0.3,
    "budget_high": 0.2,
    "budget_low×log_price": -1.0,
    "budget_high×log_price": 0.7,
    "mobile×log_price": -0.3,
}
DAY_COLUMNS = ("constant", *TASTES)
CLICK_RATE = 0.03
ADVERTS = 4_000
REWARD = "clicked"

_ROWS_AT_ONCE = 65_536  # of a Parquet file
_TASTES_SD = 0.1
_INTERCEPT, _WEIGHT_SD = -4.0, 0.35  # of a cold start
_MOBILE = 0.55
_LOW_BUDGET, _HIGH_BUDGET = ndtri(0.4), ndtri(0.8)
_SEARCH = 0.6  # correlation of the visitor's wealth with the price of the advert that is shown


class Dataset(NamedTuple):
    """Covariates (the first is constant), clicks 0/1, the true weights and the columns' names."""

    X: FloatArray
    y: FloatArray
    theta: FloatArray
    columns: tuple[str, ...]


@lru_cache(maxsize=2)
def authors_design(rows: int, *, seed: int) -> Dataset:
    """An intercept, five uniform covariates and the weights 1.0, 0.2, 1.5, −1.0, −0.7, −0.2.

    Examples
    --------
    >>> design = authors_design(1000, seed=0)
    >>> design.X.shape, design.theta.tolist()
    ((1000, 6), [1.0, 0.2, 1.5, -1.0, -0.7, -0.2])
    """
    theta = np.array(AUTHORS_WEIGHTS)
    uniform = np.random.default_rng(seed).random((_positive(rows), theta.size))
    X = np.column_stack([np.ones(rows), uniform[:, 1:]])
    return _read_only(X, uniform[:, 0], theta, _numbered(theta.size))


@lru_cache(maxsize=2)
def day(rows: int, *, seed: int) -> Dataset:
    """Impressions of made-up car adverts with 15 covariates and about 3 % of clicks.

    Fewer rows of the same seed are the first rows of more.

    Examples
    --------
    >>> impressions = day(1000, seed=0)
    >>> impressions.X.shape, impressions.columns[1:4]
    ((1000, 15), ('log_price', 'age', 'mileage'))
    >>> bool((day(10, seed=0).X == impressions.X[:10]).all())
    True
    """
    return next(days(_positive(rows), seed=seed, at_once=rows))


def days(rows: int, *, seed: int, at_once: int) -> Iterator[Dataset]:
    """The rows of `day` in parts of ``at_once``, for as many as no memory holds.

    Examples
    --------
    >>> parts = list(days(5, seed=0, at_once=2))
    >>> bool((np.concatenate([part.X for part in parts]) == day(5, seed=0).X).all())
    True
    """
    world, calibration, shown = np.random.default_rng(seed).spawn(3)
    adverts = _encoded(synthetic(ADVERTS, rng=world))
    # A lognormal popularity: the best tenth gets four tenths of the impressions.
    shares = np.cumsum(world.lognormal(0.0, 1.0, ADVERTS))
    shares /= shares[-1]
    theta = _weights(_covariates(adverts, shares, calibration.random((20_000, 3))), world)
    for start in range(0, rows, at_once):
        # Row by row, hence the first rows do not depend on the last.
        uniform = shown.random((min(at_once, rows - start), 4))
        X = _covariates(adverts, shares, uniform[:, 1:])
        yield _read_only(X, uniform[:, 0], theta, DAY_COLUMNS)


def cold_start(
    rows: int, weights: int = 15, *, rng: np.random.Generator, weight_sd: float = _WEIGHT_SD
) -> Dataset:
    """Standard normal features beside a constant one, and 3 to 4 % of clicks.

    With the same seed, fewer rows are the first rows of more.

    Examples
    --------
    >>> data = cold_start(100_000, rng=np.random.default_rng(0))
    >>> bool(0.025 < data.y.mean() < 0.045)
    True
    """
    of_weights, of_rows, of_clicks = rng.spawn(3)
    theta = of_weights.normal(scale=weight_sd, size=weights)
    theta[0] = _INTERCEPT
    X = of_rows.standard_normal((rows, weights))
    X[:, 0] = 1.0
    return _read_only(X, of_clicks.random(rows), theta, _numbered(weights))


def _numbered(weights: int) -> tuple[str, ...]:
    return ("constant", *(f"x{k}" for k in range(1, weights)))


def _positive(rows: int) -> int:
    if rows < 1:
        raise ValueError(f"rows is {rows} but must be at least 1")
    return rows


def _read_only(
    X: FloatArray, uniform: FloatArray, theta: FloatArray, columns: tuple[str, ...]
) -> Dataset:
    y = (uniform < expit(X @ theta)).astype(float)
    for array in (X, y, theta):
        array.setflags(write=False)
    return Dataset(X, y, theta, columns)


def _encoded(adverts: Adverts) -> FloatArray:
    """A row for each advert: the columns from `log_price` to `diesel`."""
    numbers = np.array(
        [
            (car.price, car.year, car.mileage, car.mpg, car.engineSize, car.tax)
            for car in adverts.rows
        ]
    )
    price, year, mileage, mpg = numbers.T[:4]
    numbers[:, :4] = np.transpose([np.log(price), year.max() - year, mileage, LITRES / mpg])
    standardised = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    indicators = [(car.transmission != "Manual", car.fuelType == "Diesel") for car in adverts.rows]
    return np.column_stack([np.clip(standardised, -4.0, 4.0), np.array(indicators, dtype=float)])


def _covariates(adverts: FloatArray, shares: FloatArray, uniform: FloatArray) -> FloatArray:
    """Rows from three uniform numbers each: the advert, the visitor's device and wealth.

    ``shares`` of the impressions that adverts get are cumulated.  Searches bring dear cars to the
    wealthy.
    """
    shown = adverts[np.searchsorted(shares, uniform[:, 0], side="right")]
    price = shown[:, 0]
    wealth = _SEARCH * price + np.sqrt(1.0 - _SEARCH**2) * ndtri(uniform[:, 2])
    visitor = (uniform[:, 1] < _MOBILE, wealth < _LOW_BUDGET, wealth > _HIGH_BUDGET)
    mobile, low, high = np.array(visitor, dtype=float)
    crosses = (low * price, high * price, mobile * price)
    return np.column_stack([np.ones(len(uniform)), shown, mobile, low, high, *crosses])


def _weights(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Tastes near `TASTES`, and the intercept that makes clicks as frequent as `CLICK_RATE`."""
    tastes = np.array([*TASTES.values()]) + rng.normal(0.0, _TASTES_SD, len(TASTES))
    log_odds = X[:, 1:] @ tastes

    def excess(intercept: float) -> float:
        return float(expit(intercept + log_odds).mean() - CLICK_RATE)

    return np.array([brentq(excess, -60.0, 60.0), *tastes])


#: Each data set by its name on the command line.
DESIGNS: dict[str, Callable[..., Dataset]] = {"day": day, "authors": authors_design}


def simulate(design: str, rows: int, seed: int) -> Dataset:
    """The impressions of a design by its name."""
    if design not in DESIGNS:
        raise ValueError(f"design is {design!r} but must be one of {', '.join(DESIGNS)}")
    return DESIGNS[design](rows, seed=seed)


def simulate_parts(design: str, rows: int, seed: int, many: int) -> Iterator[Dataset]:
    """The impressions of a design in ``many`` parts of about equal size, one after another."""
    if not 1 <= many <= _positive(rows):
        raise ValueError(f"partitions is {many} but must be from 1 to the number of rows, {rows}")
    at_once = -(-rows // many)
    if design == "day":
        yield from days(rows, seed=seed, at_once=at_once)
        return
    whole = simulate(design, rows, seed)
    for start in range(0, rows, at_once):
        some = slice(start, start + at_once)
        yield whole._replace(X=whole.X[some], y=whole.y[some])


def write(
    impressions: Dataset,
    path: Path,
    *,
    design: str,
    seed: int,
    force: bool = False,
    advance: Callable[[int], None] | None = None,
) -> None:
    """One column for each covariate and ``clicked``; the rest under "fabcost" in the schema.

    The constant is left out, because every reader adds its own.  The file appears when it is
    complete, and an existing one is only replaced by ``force``; ``advance`` is told of the rows.
    """
    check_new(path, force=force)
    weights = dict(zip(impressions.columns, impressions.theta.tolist(), strict=True))
    origin = {"design": design, "seed": seed, "version": __version__, "weights": weights}
    fields = [(name, pa.float64()) for name in impressions.columns[1:]] + [(REWARD, pa.bool_())]
    schema = pa.schema(fields, metadata={"fabcost": json.dumps(origin)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pyarrow.parquet.ParquetWriter(unfinished, schema, write_page_checksum=True) as file:
            for start in range(0, impressions.y.size, _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                columns = [*impressions.X[rows, 1:].T, impressions.y[rows] == 1.0]
                table = pa.table([pa.array(each) for each in columns], schema=schema)
                file.write_table(table)
                if advance is not None:
                    advance(table.num_rows)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def check_new(path: Path, *, force: bool = False) -> None:
    """Refuse a name that `write` would refuse."""
    if path.suffix != ".parquet":
        raise ValueError(f"{path} must end in .parquet")
    if path.exists() and not force:
        raise ValueError(f"{path} exists but is only overwritten with --force")
