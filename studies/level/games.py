"""One guess, one condition: what is changed of a replay, for both learners alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from fabcost import Gaussian, Prior
from fabcost.bandit.bandit import Bandit, Learner
from fabcost.impressions import FloatArray
from fabcost.offline.methods import EP, FAB_COST, LAPLACE, LEARNERS
from studies.priors.sets import rows_of
from studies.rules.games import lines, policy_of
from studies.rules.worlds import Logged, trees

SETS = (
    "bank marketing",
    "online shoppers",
    "used cars, the dearest twentieth",
    "open bandit, all",
)
ROUNDS, SEEDS = 1_000, range(3_000, 3_040)
#: Of one learner the mean, of the other the covariance.
MEAN_OF_EP, MEAN_OF_LAPLACE = "EP's mean, Laplace's covariance", "Laplace's mean, EP's covariance"

Data = tuple[FloatArray, FloatArray]
Change = Callable[[str, FloatArray, FloatArray, np.random.Generator], Data]


def as_logged(_: str, X: FloatArray, y: FloatArray, __: np.random.Generator) -> Data:
    """What was logged."""
    return X, y


def from_a_line(title: str, X: FloatArray, _: FloatArray, rng: np.random.Generator) -> Data:
    """Outcomes drawn from the logistic regression that fits the log: the model is right."""
    return X, (rng.random(len(X)) < fitted(title)).astype(float)


def from_trees(title: str, X: FloatArray, _: FloatArray, rng: np.random.Generator) -> Data:
    """Outcomes drawn from boosted trees that fit the log: the model is wrong."""
    return X, (rng.random(len(X)) < trees(title)[1]).astype(float)


def rarer(_: str, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Data:
    """Three of four positives are left out."""
    kept = (y == 0.0) | (rng.random(len(y)) < 0.25)
    return X[kept], y[kept]


def commoner(_: str, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Data:
    """As many negatives as positives."""
    kept = (y == 1.0) | (rng.random(len(y)) < y.mean() / (1.0 - y.mean()))
    return X[kept], y[kept]


def few_columns(_: str, X: FloatArray, y: FloatArray, __: np.random.Generator) -> Data:
    """Only the constant and the four columns that go best with the outcome."""
    return np.ascontiguousarray(X[:, :5]), y


def noisy_columns(_: str, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Data:
    """Fifteen more columns, which have nothing to do with the outcome."""
    return np.hstack([X, rng.standard_normal((len(X), 15))]), y


class Condition(NamedTuple):
    """What is changed."""

    name: str
    change: Change = as_logged
    variance: float = 10.0
    rule: str = "thompson"
    ours: str = FAB_COST


AS_IS = Condition("as it is")
GUESSES: dict[str, tuple[Condition, ...]] = {
    "": (AS_IS,),
    "FAB-COST is not EP": (Condition("EP to convergence after every impression", ours=EP),),
    "the model is wrong": (
        Condition("outcomes of a logistic regression", from_a_line),
        Condition("outcomes of boosted trees", from_trees),
    ),
    "positives are rare": (
        Condition("a quarter of the positives", rarer),
        Condition("as many negatives as positives", commoner),
    ),
    "the prior": (
        Condition("prior variance 1", variance=1.0),
        Condition("prior variance 100", variance=100.0),
    ),
    "exploration": (
        Condition("Thompson sampling of scale 0.5", rule="thompson:0.5"),
        Condition("no exploration", rule="greedy"),
    ),
    "directions that do not matter": (
        Condition("the constant and four columns", few_columns),
        Condition("fifteen columns of noise", noisy_columns),
    ),
    "mean or covariance": (
        Condition(MEAN_OF_EP, ours=MEAN_OF_EP),
        Condition(MEAN_OF_LAPLACE, ours=MEAN_OF_LAPLACE),
    ),
}
CONDITIONS = tuple(condition for each in GUESSES.values() for condition in each)


class Mixed:
    """A learner with the mean of one and the covariance of another."""

    def __init__(self, mean: Learner, covariance: Learner) -> None:
        self.mean, self.covariance = mean, covariance

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        covariance: Gaussian = self.covariance.posterior
        return Gaussian.from_root(self.mean.posterior.mean, covariance.triangle)

    def observe(self, x: Any, y: Any) -> None:
        """Learn from one impression."""
        self.mean.observe(x, y)
        self.covariance.observe(x, y)


MIXED = {MEAN_OF_EP: (FAB_COST, LAPLACE), MEAN_OF_LAPLACE: (LAPLACE, FAB_COST)}


class Game(NamedTuple):
    """A learner meets the visitors of one seed; conditions that differ in learners share some."""

    change: str
    variance: float
    rule: str
    title: str
    learner: str
    seed: int


@cache
def fitted(title: str) -> FloatArray:
    """Click probabilities of the logistic regression that fits a set."""
    X, y = trees(title)[0], rows_of(title).positive
    found = LogisticRegression(C=1e4, max_iter=2_000).fit(X[:, 1:], y)
    probability: FloatArray = found.predict_proba(X[:, 1:])[:, 1]
    return probability


def prior_of(weights: int, variance: float) -> Gaussian:
    """One variance for all."""
    kinds = ["constant", *["numbers"] * (weights - 1)]
    belief: Gaussian = Prior.same(variance).belief(kinds)  # type: ignore[arg-type]
    return belief


def learner_of(name: str, weights: int, variance: float) -> Learner:
    """A learner by its name."""
    belief = prior_of(weights, variance)
    if name in MIXED:
        return Mixed(*(LEARNERS[each](belief) for each in MIXED[name]))
    return LEARNERS[name](belief)


def play(change: Change, game: Game) -> float:
    """Clicks among the rows shown."""
    changing, visitors, choices = np.random.default_rng(game.seed).spawn(3)
    given = trees(game.title)[0], rows_of(game.title).positive
    X, y = change(game.title, *given, changing)
    learner = learner_of(game.learner, X.shape[1], game.variance)
    bandit = Bandit(learner, policy=policy_of(game.rule), seed=choices)
    rounds = Logged(X, y).rounds(visitors)
    clicks, visitor = 0.0, rounds.send(None)
    for _ in range(ROUNDS):
        index = bandit.choose(visitor.rows).index
        clicks += float(visitor.probability[index])
        bandit.learn(visitor.rows[index], bool(visitor.probability[index]))
        try:
            visitor = rounds.send(index)
        except StopIteration:
            break
    return clicks


def game_of(condition: Condition, title: str, learner: str, seed: int) -> Game:
    """One side of a comparison."""
    change = condition.change.__name__
    return Game(change, condition.variance, condition.rule, title, learner, seed)


def read(path: Path) -> dict[Game, float]:
    """Games that were finished before."""
    return {Game(*game): clicks for *game, clicks in lines(path)}


def played(path: Path, seeds: Sequence[int]) -> Iterator[int]:
    """Play what is left, seed by seed, and write down each game as it ends."""
    finished = read(path)
    with path.open("a") as file, threadpool_limits(1):
        for seed in seeds:
            for condition, title in product(CONDITIONS, SETS):
                for learner in (condition.ours, LAPLACE):
                    game = game_of(condition, title, learner, seed)
                    if game not in finished:
                        finished[game] = play(condition.change, game)
                        file.write(json.dumps([*game, finished[game]]) + "\n")
                        file.flush()
            yield seed
