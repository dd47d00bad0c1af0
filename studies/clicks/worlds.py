"""Bandits that meet the same visitors, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from fabcost import Gaussian, Thompson
from fabcost.bandit.environments import FixedCatalogue, FreshCandidates
from fabcost.impressions import FloatArray
from fabcost.offline.clicks import Environment, run
from fabcost.offline.methods import PRIOR_VARIANCE, Contender

WEIGHTS = 15
CHECKPOINTS = (100, 300, 1000)


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
    prior = Gaussian.isotropic(WEIGHTS, variance=PRIOR_VARIANCE)
    contender = Contender(entry.learner, Thompson(scale=entry.scale))
    with threadpool_limits(1):
        course = run(contender, environment, prior, rounds=CHECKPOINTS[-1], seed=seed)
    at = np.array(CHECKPOINTS) - 1
    clicks, random = course.expected.cumsum()[at], course.average.cumsum()[at]
    return np.concatenate([clicks, random, course.regret[-1:]])


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
