"""Clicks of bandits side by side: the same visitors for each, many seeds, paired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import numpy as np

from fabcost.bandit.bandit import Bandit
from fabcost.bandit.environments import Round
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.offline.methods import LEARNERS, Contender


class Environment(Protocol):
    """What an experiment asks of an environment."""

    def rounds(self, rng: np.random.Generator) -> Iterable[Round]:
        """A stream of visitors."""
        ...


@dataclass(frozen=True, eq=False)
class Course:
    """What happened to one contender with one seed, round by round.

    Attributes
    ----------
    expected
        True click probability of the choice.
    best
        The largest click probability among the candidates.
    average
        Their mean: what a random choice would have had.
    """

    expected: FloatArray
    best: FloatArray
    average: FloatArray

    @property
    def regret(self) -> FloatArray:
        """Expected clicks lost so far against the best choices."""
        return np.cumsum(self.best - self.expected)


def run(
    contender: Contender,
    environment: Environment,
    prior: Gaussian,
    *,
    rounds: int,
    seed: int,
) -> Course:
    """Let one bandit meet the first ``rounds`` visitors of the environment's stream ``seed``.

    Examples
    --------
    >>> from fabcost.bandit.environments import FreshCandidates
    >>> environment = FreshCandidates.random(4, candidates=5, rng=np.random.default_rng(0))
    >>> course = run(
    ...     Contender("ADF"), environment, Gaussian.isotropic(4), rounds=10, seed=0
    ... )
    >>> course.expected.shape
    (10,)
    """
    visitors, choices = np.random.default_rng(seed).spawn(2)
    bandit = Bandit(LEARNERS[contender.learner](prior), policy=contender.policy, seed=choices)
    seen = np.empty((3, rounds))
    for t, visitor in enumerate(islice(environment.rounds(visitors), rounds)):
        index = bandit.choose(visitor.rows).index
        bandit.learn(visitor.rows[index], visitor.clicked(index))
        p = visitor.probability
        seen[:, t] = p[index], p.max(), p.mean()
    return Course(*seen)
