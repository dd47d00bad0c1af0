"""Public data sets with two classes, in two halves: one to choose on, one to confirm on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

from fabcost.impressions import FloatArray
from studies.replays.logs import data_directory

_MADE_ROWS = 10_000


class Rows(NamedTuple):
    """Columns as they come, numbers and texts, and whether each row is positive."""

    frame: pd.DataFrame
    positive: FloatArray

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return list(self.frame.select_dtypes("number").columns)

    @property
    def categories(self) -> list[str]:
        """The columns of texts and truth values."""
        return [name for name in self.frame.columns if name not in self.numbers]


def _bundled(load: Callable[..., Any], positive: Callable[[FloatArray], Any]) -> Rows:
    bunch = load(as_frame=True)
    return Rows(bunch.data, np.asarray(positive(bunch.target.to_numpy()), dtype=np.float64))


def _diabetes(quantile: float) -> Rows:
    load = partial(datasets.load_diabetes, scaled=False)
    return _bundled(load, lambda target: target > np.quantile(target, quantile))


def _made(features: int, informative: int, rare: float, apart: float, seed: int) -> Rows:
    X, y = datasets.make_classification(
        _MADE_ROWS,
        features,
        n_informative=informative,
        weights=[1.0 - rare],
        class_sep=apart,
        flip_y=0.5 * min(rare, 0.1),
        random_state=seed,
    )
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(features)])
    return Rows(frame, y.astype(np.float64))


def _bank(data: Path) -> Rows:
    frame = pd.read_csv(data / "bank_marketing" / "bank-additional-full.csv.gz", sep=";")
    return Rows(frame.drop(columns=["y", "duration"]), _is(frame["y"], "yes"))


def _shoppers(data: Path) -> Rows:
    frame = pd.read_csv(data / "online_shoppers" / "online_shoppers_intention.csv.gz")
    codes = ["OperatingSystems", "Browser", "Region", "TrafficType"]
    frame[codes] = frame[codes].astype(str)
    return Rows(frame.drop(columns=["Revenue", "PageValues"]), _is(frame["Revenue"], True))


def _open_bandit(data: Path, campaign: str) -> Rows:
    folder = data / "open_bandit" / "random" / campaign
    shown = pd.read_csv(folder / f"{campaign}.csv.gz")
    items = pd.read_csv(folder / "item_context.csv").set_index("item_id")
    of_items = [name for name in items.columns if name.startswith("item_feature")]
    of_users = [name for name in shown.columns if name.startswith("user_feature")]
    frame = shown[[*of_users, "position"]].astype(str).join(items[of_items], on=shown["item_id"])
    return Rows(frame, shown["click"].to_numpy(dtype=np.float64))


def _dear_cars(data: Path) -> Rows:
    files = sorted((data / "uk_used_cars").glob("*.csv.gz"))
    frame = pd.concat(map(pd.read_csv, files), ignore_index=True)
    dear = frame["price"] > frame["price"].quantile(0.95)
    columns = ["make", "transmission", "fuelType", "year", "mileage", "mpg", "engineSize"]
    return Rows(frame[columns], dear.to_numpy(dtype=np.float64))


def _is(column: pd.Series[Any], value: object) -> FloatArray:
    return np.asarray(column == value, dtype=np.float64)


def _equals(value: int) -> Callable[[FloatArray], Any]:
    return lambda target: target == value


#: Written down before anything was measured: no data set is in both halves.
CHOOSING: dict[str, Callable[[], Rows]] = {
    "breast cancer": lambda: _bundled(datasets.load_breast_cancer, _equals(0)),
    "wine, class 1": lambda: _bundled(datasets.load_wine, _equals(1)),
    "diabetes, upper half": lambda: _diabetes(0.5),
    "diabetes, upper tenth": lambda: _diabetes(0.9),
    "made, 10 of 20 columns tell": lambda: _made(20, 10, 0.5, 0.7, 1),
    "made, 4 % positive": lambda: _made(20, 5, 0.04, 0.8, 2),
    "bank marketing": lambda: _bank(data_directory()),
    "open bandit, men": lambda: _open_bandit(data_directory(), "men"),
}
CONFIRMING: dict[str, Callable[[], Rows]] = {
    "digits, eights": lambda: _bundled(datasets.load_digits, _equals(8)),
    "digits, threes": lambda: _bundled(datasets.load_digits, _equals(3)),
    "iris, versicolor": lambda: _bundled(datasets.load_iris, _equals(1)),
    "iris, virginica": lambda: _bundled(datasets.load_iris, _equals(2)),
    "made, 10 of 100 columns tell": lambda: _made(100, 10, 0.5, 1.0, 3),
    "made, 2 % positive": lambda: _made(15, 4, 0.02, 1.0, 4),
    "online shoppers": lambda: _shoppers(data_directory()),
    "open bandit, women": lambda: _open_bandit(data_directory(), "women"),
    "open bandit, all": lambda: _open_bandit(data_directory(), "all"),
    "used cars, the dearest twentieth": lambda: _dear_cars(data_directory()),
}


#: Others of the kind of "made, 2 % positive", for what is tried after that has been seen.
RARE: dict[str, Callable[[], Rows]] = {
    f"made, 2 % positive, number {seed}": partial(_made, 15, 4, 0.02, 1.0, seed)
    for seed in range(11, 17)
}
#: And more of these, for what is tried after that.
FURTHER: dict[str, Callable[[], Rows]] = {
    f"made, 2 % positive, number {seed}": partial(_made, 15, 4, 0.02, 1.0, seed)
    for seed in range(21, 61)
}


@cache
def rows_of(title: str) -> Rows:
    """The rows of a set, read once."""
    return {**CHOOSING, **CONFIRMING, **RARE, **FURTHER}[title]()
