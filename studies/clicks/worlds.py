"""Bandits that meet the same visitors, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fabcost import Gaussian, Thompson
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.environments import FixedCatalogue, FreshCandidates
from fabcost.impressions import FloatArray
from fabcost.offline.methods import LEARNERS, PRIOR_VARIANCE

WEIGHTS = 15
CHECKPOINTS = (100, 300, 1000)

Environment = FreshCandidates | FixedCatalogue


def _fresh(rng: np.random.Generator) -> Environment:
    return FreshCandidates.random(WEIGHTS, candidates=20, rng=rng)


def _fixed(rng: np.random.Generator) -> Environment:
    return FixedCatalogue.random(items=200, item_features=4, contexts=2, rng=rng)


FRESH, FIXED = "20 fresh candidates", "200 fixed items, context crosses"
WORLDS: dict[str, Callable[[np.random.Generator], Environment]] = {FRESH: _fresh, FIXED: _fixed}


class Entry(NamedTuple):
    """One learner in one world, under Thompson sampling of one scale."""

    world: str
    learner: str
    scale: float


@dataclass(frozen=True)
class Outcome:
    """Expected clicks at the checkpoints, of the policy and at random, and the final regret."""

    clicks: FloatArray
    random: FloatArray
    regret: FloatArray


def play(entry: Entry, seed: int) -> FloatArray:
    """Expected clicks at the checkpoints, those of a random choice, then the final regret."""
    weights, _ = np.random.default_rng(seed).spawn(2)
    environment = WORLDS[entry.world](weights)
    with threadpool_limits(1):
        expected, best, average = _meet(entry, environment, seed).cumsum(axis=1)
    at = np.array(CHECKPOINTS) - 1
    return np.concatenate([expected[at], average[at], (best - expected)[-1:]])


def _meet(entry: Entry, environment: Environment, seed: int) -> FloatArray:
    visitors, choices = np.random.default_rng(seed).spawn(2)
    learner = LEARNERS[entry.learner](Gaussian.isotropic(WEIGHTS, variance=PRIOR_VARIANCE))
    bandit = Bandit(learner, policy=Thompson(scale=entry.scale), seed=choices)
    return met(bandit, environment, visitors)


def met(bandit: Bandit, environment: Environment, visitors: np.random.Generator) -> FloatArray:
    """Click probabilities of the choice, of the best and of the average item, by visitor."""
    seen = np.empty((3, CHECKPOINTS[-1]))
    for t, visitor in enumerate(islice(environment.rounds(visitors), CHECKPOINTS[-1])):
        index = bandit.choose(visitor.rows).index
        bandit.learn(visitor.rows[index], visitor.clicked(index))
        p = visitor.probability
        seen[:, t] = p[index], p.max(), p.mean()
    return seen


def outcomes(entries: list[Entry], seeds: int) -> Iterator[tuple[Entry, Outcome]]:
    """Every entry with every seed, side by side on the cores, each as it is complete."""
    with ProcessPoolExecutor() as pool:
        running = {
            entry: pool.map(play, [entry] * seeds, range(seeds), chunksize=4) for entry in entries
        }
        for entry, results in running.items():
            values = np.array(list(results))
            many = len(CHECKPOINTS)
            yield entry, Outcome(values[:, :many], values[:, many:-1], values[:, -1])
