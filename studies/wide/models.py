"""What learns from sparse rows: fabcost, Vowpal Wabbit and bayesianbandits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from bayesianbandits import BayesianGLM
from scipy.sparse import csc_array, csr_array
from vowpalwabbit import Workspace

from fabcost import FabCost, Gaussian, Refresh, WideFabCost
from fabcost.impressions import FloatArray
from fabcost.inference.wide.learner import VARIANCE
from fabcost.sparse import SparseRows
from studies.wide.streams import BITS, Stream

EVERY = 10  # rows between two updates where losses are compared
OURS, VOWPAL, BAYESIAN = "fabcost", "Vowpal Wabbit", "bayesianbandits, sparse"
VW = f"--loss_function=logistic --link=logistic -b {BITS} --noconstant --quiet"

#: A model of clicks: what it predicts of rows, and how it learns from them.
Predict = Callable[[SparseRows], FloatArray]
Learn = Callable[[SparseRows, FloatArray], object]
Make = Callable[[float, int], tuple[Predict, Learn]]


def ours(variance: float, weights: int) -> tuple[Predict, Learn]:
    learner = WideFabCost(weights, variance=variance)
    return learner.posterior.predict, learner.observe_many


def full(refresh: Refresh, weights: int) -> tuple[FabCost, Predict, Learn]:
    learner = FabCost(Gaussian.isotropic(weights, variance=VARIANCE), refresh=refresh)
    return (
        learner,
        lambda rows: learner.posterior.predict(rows.dense()),
        lambda rows, y: learner.observe_many(rows.dense(), y),
    )


def bayesian(variance: float, weights: int) -> tuple[Predict, Learn]:
    model = BayesianGLM(alpha=1.0 / variance, link="logit", sparse=True)

    def predict(rows: SparseRows) -> FloatArray:
        if not hasattr(model, "coef_"):
            return np.full(len(rows), 0.5)
        return np.asarray(model.predict(as_scipy(rows, weights)))

    return predict, lambda rows, y: model.partial_fit(as_scipy(rows, weights), y)


def vowpal(rate: float, weights: int) -> tuple[Predict, Learn]:  # noqa: ARG001
    model = Workspace(f"{VW} -l {rate}")

    def learn(rows: SparseRows, y: FloatArray) -> None:
        for text, label in zip(as_texts(rows), y, strict=True):
            model.learn(f"{1 if label else -1} {text}")

    return lambda rows: np.array([model.predict(each) for each in as_texts(rows)]), learn


#: Models with the settings that they are tried with, their default first.
MODELS: dict[str, tuple[Make, tuple[float, ...]]] = {
    OURS: (ours, (VARIANCE, 0.25)),
    VOWPAL: (vowpal, (0.5, 0.2, 1.0)),
    BAYESIAN: (bayesian, (1.0, 0.25)),
}


def as_scipy(rows: SparseRows, weights: int) -> Any:
    return csc_array(csr_array((rows.values, rows.columns, rows.starts), (len(rows), weights)))


def as_texts(rows: SparseRows) -> list[str]:
    numbers = [f"{j}:{x}" for j, x in zip(rows.columns, rows.values, strict=True)]
    return ["| " + " ".join(numbers[a:b]) for a, b in pairwise(rows.starts.tolist())]


def log_loss(stream: Stream, model: tuple[Predict, Learn], every: int = EVERY) -> float:
    """The mean log loss of rows that were predicted before they were learnt from."""
    predict, learn = model
    total = 0.0
    for start in range(0, len(stream.rows), every):
        part = np.arange(start, min(start + every, len(stream.rows)))
        rows, y = stream.rows[part], stream.y[part]
        p = np.clip(predict(rows), 1e-12, 1.0 - 1e-12)
        total -= float(np.log(np.where(y > 0, p, 1.0 - p)).sum())
        learn(rows, y)
    return total / len(stream.rows)
