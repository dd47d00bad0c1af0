"""Log loss on held-out rows: our prior, scikit-learn's default, and the constant alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Gaussian, Prior
from fabcost.impressions import FloatArray
from studies.priors.sets import Rows, rows_of

SIZES = (50, 200, 1000)
LEAST_HELD_OUT, MOST_HELD_OUT = 50, 4000
SCIKIT, CONSTANT = "scikit-learn", "constant"
#: Of rows of one class alone, no classifier can be fitted; such a draw is repeated.
_MOST_DRAWS = 1000


class Design(NamedTuple):
    """Rows without a constant column, and which of their columns stand for categories."""

    X: FloatArray
    is_category: npt.NDArray[np.bool_]


class Split(NamedTuple):
    """Rows to learn from and rows to predict, encoded by the former."""

    X: FloatArray
    y: FloatArray
    held_out: FloatArray
    outcomes: FloatArray
    is_category: npt.NDArray[np.bool_]


class Task(NamedTuple):
    """One data set, so many rows to learn from, and the seed of the split."""

    title: str
    size: int
    seed: int


def split_of(task: Task) -> Split:
    """Training rows drawn at random, with numbers standardised and categories one-hot by them."""
    rows = rows_of(task.title)
    order = _drawn(rows, task)
    train, rest = order[: task.size], order[task.size :][:MOST_HELD_OUT]
    encoder = ColumnTransformer(
        [
            ("numbers", StandardScaler(), rows.numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), rows.categories),
        ],
        sparse_threshold=0.0,
    )
    X = encoder.fit_transform(rows.frame.iloc[train])
    is_category = np.arange(X.shape[1]) >= len(rows.numbers)
    held_out = encoder.transform(rows.frame.iloc[rest])
    return Split(X, rows.positive[train], held_out, rows.positive[rest], is_category)


def _drawn(rows: Rows, task: Task) -> npt.NDArray[np.intp]:
    rng = np.random.default_rng([task.seed, task.size])
    for _ in range(_MOST_DRAWS):
        order = rng.permutation(rows.positive.size)
        if np.unique(rows.positive[order[: task.size]]).size == 2:
            return order
    raise ValueError(f"{task} has rows of one class alone in {_MOST_DRAWS:,} draws")


def is_large_enough(title: str, size: int) -> bool:
    """Whether there are rows left to predict."""
    return rows_of(title).positive.size >= size + LEAST_HELD_OUT


def ours(prior: Prior, split: Split) -> float:
    """Log loss of the estimator's default inference under a prior."""
    variances = np.where(split.is_category, prior.categories, prior.numbers)
    variances = np.append(variances, prior.constant)
    learner = FabCost(Gaussian(np.zeros(variances.size), np.diag(variances)))
    learner.observe_many(_with_constant(split.X), split.y)
    return loss_of(split, learner.posterior.predict(_with_constant(split.held_out)))


def scikit_learn(split: Split) -> float:
    """Log loss of ``LogisticRegression()``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression().fit(split.X, split.y)
    return loss_of(split, model.predict_proba(split.held_out)[:, 1])


def constant(split: Split) -> float:
    """Log loss of the share of positives among the training rows."""
    return loss_of(split, np.full(split.outcomes.size, split.y.mean()))


def _with_constant(X: FloatArray) -> FloatArray:
    return np.column_stack([X, np.ones(X.shape[0])])


def loss_of(split: Split, probability: FloatArray) -> float:
    """Log loss of probabilities for the rows to predict."""
    return float(log_loss(split.outcomes, probability, labels=[0.0, 1.0]))


def losses_of(task: Task, priors: Sequence[Prior]) -> dict[Any, float]:
    """Log loss of every competitor on one split."""
    with threadpool_limits(1):
        split = split_of(task)
        found: dict[Any, float] = {prior: ours(prior, split) for prior in priors}
        return {**found, SCIKIT: scikit_learn(split), CONSTANT: constant(split)}


class Losses(NamedTuple):
    """Log losses of every competitor on one set at one size, split by split."""

    title: str
    size: int
    by_competitor: dict[Any, FloatArray]


def measured(
    titles: Iterable[str], priors: Sequence[Prior], *, splits: int, sizes: Sequence[int] = SIZES
) -> Iterator[Losses]:
    """Every set at every size that leaves rows to predict."""
    cells = [(t, n) for t in titles for n in sizes if is_large_enough(t, n)]
    with ProcessPoolExecutor() as pool:
        running = {
            cell: [pool.submit(losses_of, Task(*cell, seed), priors) for seed in range(splits)]
            for cell in cells
        }
        for (title, size), futures in running.items():
            each = [future.result() for future in futures]
            yield Losses(title, size, {name: np.array([e[name] for e in each]) for name in each[0]})
