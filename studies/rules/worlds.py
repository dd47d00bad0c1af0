"""Worlds in which rules meet visitors: a constant first, then columns of about unit scale."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fabcost.bandit.environments import FreshCandidates, Round
from fabcost.impressions import FloatArray
from fabcost.offline.logs.impressions import chosen
from studies.clicks.worlds import WORLDS as CLICK_WORLDS
from studies.priors.sets import RARE, rows_of
from studies.replays.logs import data_directory
from studies.replays.public_logs import LOGS

ROUNDS = 1_000
WEIGHTS, CANDIDATES, ITEMS = 15, 20, 200
DRIFT = "20 fresh candidates, weights that change"

Visitors = Generator[Round, int | None, None]


class World(Protocol):
    """Where visitors come from; a generator of theirs is told which row was shown."""

    def rounds(self, rng: np.random.Generator) -> Visitors:
        """An endless stream of visitors."""
        ...


@dataclass(frozen=True, eq=False)
class Drifting:
    """Fresh candidates; each weight but the constant's forgets itself, at the same spread."""

    theta: FloatArray
    memory: float = 250.0  # rounds after which a weight and itself before have correlation 1/e

    def rounds(self, rng: np.random.Generator) -> Visitors:
        """Weights take a small step before every visitor."""
        theta, kept = self.theta.copy(), np.exp(-1.0 / self.memory)
        step = 0.5 * np.sqrt(1.0 - kept * kept)
        while True:
            rows = rng.standard_normal((CANDIDATES, theta.size))
            rows[:, 0] = 1.0
            yield Round(rows, expit(rows @ theta), float(rng.random()))
            theta[1:] = kept * theta[1:] + step * rng.standard_normal(theta.size - 1)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of a data set with click probabilities: some at random for each visitor, or the same."""

    rows: FloatArray
    probability: FloatArray
    fixed: npt.NDArray[np.int64] | None = None

    def rounds(self, rng: np.random.Generator) -> Visitors:
        """An endless stream of visitors."""
        while True:
            places = rng.integers(len(self.rows), size=CANDIDATES)
            if self.fixed is not None:
                places = self.fixed
            yield Round(self.rows[places], self.probability[places], float(rng.random()))


@dataclass(frozen=True, eq=False)
class Logged:
    """A log: some of its rows at random for each visitor; what was shown is taken out."""

    rows: FloatArray
    clicked: FloatArray

    def rounds(self, rng: np.random.Generator) -> Visitors:
        """As many visitors as the log has rows for."""
        left, many = np.arange(self.clicked.size), self.clicked.size
        while many >= CANDIDATES:
            places = rng.choice(many, CANDIDATES, replace=False)
            shown = yield Round(self.rows[left[places]], self.clicked[left[places]], 0.5)
            if shown is not None:
                many -= 1
                left[places[shown]] = left[many]


@cache
def trees(title: str) -> tuple[FloatArray, FloatArray]:
    """Rows of a data set, and click probabilities of boosted trees that were fitted to it.

    Of numbers, standardised, and one-hot categories those columns are taken that go best with the
    outcome, one by one.
    """
    given = rows_of(title)
    parts = []
    if given.numbers:
        parts.append(StandardScaler().fit_transform(given.frame[given.numbers]))
    if given.categories:
        encoder = OneHotEncoder(sparse_output=False, min_frequency=0.01)
        parts.append(encoder.fit_transform(given.frame[given.categories].astype(str)))
    X = np.hstack(parts)
    X = X[:, X.std(axis=0) > 0.0]
    relation = np.abs(np.corrcoef(X.T, given.positive)[-1, :-1])
    X = X[:, np.argsort(-relation, kind="stable")[: WEIGHTS - 1]]
    model = HistGradientBoostingClassifier(random_state=0, max_iter=60)
    probability = model.fit(X, given.positive).predict_proba(X)[:, 1]
    return np.column_stack([np.ones(len(X)), X]), probability


@cache
def log_of(title: str) -> tuple[FloatArray, FloatArray]:
    """Features that a forest chose on a tenth of the rows, and the outcomes of the others."""
    _, left = chosen(LOGS[title](data_directory()), WEIGHTS, seed=0)
    return left.X, left.y


def _drifting(rng: np.random.Generator) -> Drifting:
    return Drifting(FreshCandidates.random(WEIGHTS, candidates=CANDIDATES, rng=rng).theta)


def _sampled(title: str, fixed: bool, rng: np.random.Generator) -> Sampled:
    rows, probability = trees(title)
    items = rng.choice(len(rows), min(ITEMS, len(rows)), replace=False) if fixed else None
    return Sampled(rows, probability, items)


def _logged(title: str, _: np.random.Generator) -> Logged:
    return Logged(*log_of(title))


MakeWorld = Callable[[np.random.Generator], World]
# Their visitors are a generator's: it may be told what was shown, and does not listen.
CLICKS: dict[str, MakeWorld] = {
    title: cast("MakeWorld", make) for title, make in CLICK_WORLDS.items()
}
CHANGING: dict[str, MakeWorld] = {DRIFT: _drifting}


def _of_trees(*titles: str) -> dict[str, MakeWorld]:
    kinds = {"fresh": False, "fixed": True}
    return {
        f"trees, {kind}: {title}": partial(_sampled, title, fixed)
        for title in titles
        for kind, fixed in kinds.items()
    }


#: Which half a set belongs to was written down before any rule had met it.
TREES_CHOOSING = _of_trees("bank marketing", "made, 4 % positive", "diabetes, upper tenth")
TREES_CONFIRMING = _of_trees(
    "online shoppers",
    "used cars, the dearest twentieth",
    "made, 2 % positive",
    "digits, eights",
)
#: In which rules before the default had lost to Thompson sampling.
LOST = "trees, fixed: made, 2 % positive"
#: Where a rule was mended that had lost in one of those to confirm on.
TREES_RARE = {title: make for title, make in _of_trees(*RARE).items() if "fixed" in title}


def _of_logs(*titles: str) -> dict[str, MakeWorld]:
    return {f"log: {title}": partial(_logged, title) for title in titles}


LOGS_CHOOSING = _of_logs("bank marketing", "open bandit, men")
LOGS_CONFIRMING = _of_logs("online shoppers", "open bandit, all", "open bandit, women")
WORLDS: dict[str, MakeWorld] = {
    **CLICKS,
    **CHANGING,
    **TREES_CHOOSING,
    **TREES_CONFIRMING,
    **TREES_RARE,
    **LOGS_CHOOSING,
    **LOGS_CONFIRMING,
}
