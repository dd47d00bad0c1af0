"""Whatever takes a frame of pandas takes one of polars, and finds the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fabcost
from fabcost.inference import adf, ep, laplace
from fabcost.offline.fit.fitting import LogSettings, fit_log

mpl.use("Agg")

RNG = np.random.default_rng(0)
NUMBERS = {name: RNG.standard_normal(40).tolist() for name in ("age", "price")}
CLICKS = [int(age > 0.2) for age in NUMBERS["age"]]
RECORDS = {"make": ["kia", "ford", None, "kia"] * 10, **NUMBERS, "click": CLICKS}
PRIOR = fabcost.Gaussian.isotropic(2)


class Frames:
    """The same data as a library has them."""

    def __init__(self, library: Any) -> None:
        self.X, self.y = library.DataFrame(NUMBERS), library.Series(CLICKS)
        self.records = library.DataFrame(RECORDS)
        self.weight = library.Series([1.0, 2.0] * 20)

    def model(self, **more: Any) -> Any:
        return fabcost.BayesianLogisticRegression().fit(self.X, self.y, **more)


def learnt(learner: Any, given: Frames) -> Any:
    learner.observe_many(given.X, given.y)
    return learner.posterior.predict(given.X)


def partly(given: Frames) -> Any:
    model = fabcost.BayesianLogisticRegression()
    return model.partial_fit(given.X, given.y, classes=[0, 1], sample_weight=given.weight).coef_


ENTRANCES: dict[str, Callable[[Frames], Any]] = {
    "fit": lambda given: given.model(sample_weight=given.weight).coef_,
    "partial_fit": partly,
    "names": lambda given: given.model().summary().names,
    "predict_proba": lambda given: given.model().predict_proba(given.X),
    "predict_interval": lambda given: given.model().predict_interval(given.X),
    "score": lambda given: given.model().score(given.X, given.y),
    "adf": lambda given: adf.fit(PRIOR, given.X, given.y, weight=given.weight).posterior.mean,
    "ep": lambda given: ep.fit(PRIOR, given.X, given.y, weight=given.weight).posterior.mean,
    "laplace": lambda given: laplace.fit(PRIOR, given.X, given.y).posterior.mean,
    "observe_many": lambda given: learnt(fabcost.FabCost(PRIOR), given),
    "wide": lambda given: learnt(fabcost.WideFabCost(2), given),
    "choose": lambda given: fabcost.Bandit(fabcost.FabCost(PRIOR), seed=1).choose(given.X).ranking,
    "infer": lambda given: fabcost.Schema.infer(given.records, drop=["click"]).columns,
    "design": lambda given: fabcost.Schema.open().design(given.records, drop=["click"]),
    "fit_log": lambda given: fit_log(given.records, LogSettings("click")).fit.posterior.mean,
    "calibration": lambda given: (
        fabcost.plot_calibration(given.model().predict_proba(given.X), given.y).dataLim.bounds
    ),
}


@pytest.mark.parametrize("name", ENTRANCES)
def test_an_entrance_for_pandas_is_one_for_polars(name: str) -> None:
    found = [np.asarray(ENTRANCES[name](Frames(library))) for library in (pd, pl)]
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_items_is_refused_with_what_makes_items_of_it(library: Any) -> None:
    table = library({"id": ["a", "b"], "age": [3, 4]})
    recommender = fabcost.Recommender(fabcost.Schema.open())
    with pytest.raises(ValueError, match="items are a table of") as refused:
        recommender.catalogue(table)
    advice = str(refused.value).partition("of which ")[2].partition(" makes")[0]
    assert recommender.catalogue(eval(advice)).names == ("a", "b")  # noqa: S307
