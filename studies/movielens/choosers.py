"""Everybody who chooses in the rounds: fabcost's ways, and other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from bayesianbandits import BayesianGLM

from fabcost import Bandit, BetaBernoulli, FabCost, Gaussian, Thompson
from fabcost.prior import Prior
from studies.movielens.rounds import WIDTH, Round

#: Of items' effects.
VARIANCES = (0.1, 0.3, 1.0)
MOST_FILMS = 1_682
SCALES = (0.3, 0.1)
PRECISIONS = (0.1, 1.0, 10.0)
COUNTS = ((1.0, 1.0), (1.0, 4.0), (2.0, 8.0))
#: Policies of Mab2Rec: its name, its settings, and whether it looks at the person.
POLICIES: tuple[tuple[str, dict[str, float], bool], ...] = (
    ("ThompsonSampling", {}, False),
    ("LinGreedy", {"epsilon": 0.05}, True),
    *(("LinTS", {"alpha": alpha}, True) for alpha in (0.1, 0.3, 1.0)),
    *(("LinUCB", {"alpha": alpha}, True) for alpha in (0.1, 0.3, 1.0)),
)


class Chooser(Protocol):
    """Somebody who chooses and learns."""

    def choose(self, given: Round) -> int:
        """The place of a film."""
        ...

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """What became of it."""
        ...


class Ours:
    """FAB-COST with Thompson sampling, on features, on effects of the films, or on both."""

    def __init__(self, seed: int, *, features: bool, variance: float, scale: float = 1.0) -> None:
        self.columns = slice(None) if features else slice(0, 1)
        prior, width = Prior(), WIDTH if features else 1
        sds = np.sqrt(np.where(np.arange(width) == 0, prior.constant, prior.numbers))
        learner = FabCost(Gaussian.from_root(np.zeros(width), np.diag(sds)), own_variance=variance)
        self.bandit = Bandit(learner, policy=Thompson(scale), seed=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of weights and effects."""
        return self.bandit.choose(given.rows[:, self.columns], items=given.films).index

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One impression."""
        self.bandit.learn(given.rows[chosen, self.columns], clicked, given.films[chosen])


class Counting:
    """A Beta belief for each film."""

    def __init__(self, seed: int, *, prior: tuple[float, float]) -> None:
        self.bandit = BetaBernoulli(prior, seed=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of click rates."""
        return self.bandit.choose(given.films).index

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One count more."""
        self.bandit.learn(given.films[chosen], clicked)


class LogisticPeer:
    """The logistic model of bayesianbandits on the same features."""

    def __init__(self, seed: int, *, precision: float) -> None:
        self.model = BayesianGLM(alpha=precision, random_state=seed)

    def choose(self, given: Round) -> int:
        """Under one draw of its weights."""
        return int(self.model.sample(given.rows)[0].argmax())

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One impression."""
        with warnings.catch_warnings():
            # It says at nearly every impression that its approximation did not converge.
            warnings.simplefilter("ignore")
            self.model.partial_fit(given.rows[chosen : chosen + 1], np.array([float(clicked)]))


class RecommenderPeer:
    """A policy of Mab2Rec: the films are its arms, the person is its context.

    Its arms are narrowed to those of a round, which leaves their scores as they are, but that ties
    go to any of them, and takes a hundredth of the time: it copies and scores all arms each time.
    """

    def __init__(self, seed: int, *, policy: str, settings: dict[str, float], looks: bool) -> None:
        library: Any = import_module("mab2rec")
        made = getattr(library.LearningPolicy, policy)(**settings)
        self.recommender = library.BanditRecommender(made, top_k=1, seed=seed)
        self.looks = looks

    def choose(self, given: Round) -> int:
        """The first of its recommendations; the first film, before anything is learnt."""
        if self.recommender.mab is None:
            return 0
        self._narrow(given.films)
        nobody = np.ones((1, 1))
        found = self.recommender.recommend(given.person[None, :] if self.looks else nobody)
        return given.films.index(found[0])

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """One impression; the first call has to be its fit."""
        film, context = given.films[chosen], given.person[None, :] if self.looks else None
        if self.recommender.mab is None:
            self.recommender.set_arms(list(range(MOST_FILMS)))
            self.recommender.fit([film], [int(clicked)], context)
            return
        self._narrow([film])
        self.recommender.partial_fit([film], [int(clicked)], context)

    def _narrow(self, films: list[int]) -> None:
        inner = self.recommender.mab._imp
        self.recommender.mab.arms = inner.arms = films
        inner.arm_to_expectation = dict.fromkeys(films, 0.0)


class AtRandom:
    """Any film."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def choose(self, given: Round) -> int:
        """Any of them."""
        return int(self.rng.integers(len(given.films)))

    def learn(self, given: Round, chosen: int, clicked: bool) -> None:
        """Nothing."""


Make = Callable[[int], Chooser]


def choosers() -> dict[str, dict[str, Make]]:
    """Everybody who is compared; Mab2Rec, if it is installed."""
    ours = {f"τ² = {each:g}": each for each in VARIANCES}
    found: dict[str, dict[str, Make]] = {
        "features": {"features": partial(Ours, features=True, variance=0.0)},
        "ids": {name: partial(Ours, features=False, variance=each) for name, each in ours.items()},
        "both": {name: partial(Ours, features=True, variance=each) for name, each in ours.items()},
        "both, narrow": {
            f"τ² = {variance:g}, scale {scale:g}": partial(
                Ours, features=True, variance=variance, scale=scale
            )
            for variance in VARIANCES[:2]
            for scale in SCALES
        },
        "counts": {f"Beta{each}": partial(Counting, prior=each) for each in COUNTS},
        "bayesianbandits": {
            f"precision {each:g}": partial(LogisticPeer, precision=each) for each in PRECISIONS
        },
        "at random": {"at random": AtRandom},
    }
    return found | ({"Mab2Rec": _of_mab2rec()} if find_spec("mab2rec") else {})


def _of_mab2rec() -> dict[str, Make]:
    return {
        " ".join([policy, *(f"{each:g}" for each in settings.values())]): partial(
            RecommenderPeer, policy=policy, settings=settings, looks=looks
        )
        for policy, settings, looks in POLICIES
    }
