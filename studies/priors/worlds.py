"""Clicks of Thompson sampling by prior, in simulated worlds whose columns have groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Gaussian, Prior, Thompson
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.environments import FixedCatalogue, FreshCandidates, Round
from fabcost.impressions import FloatArray
from fabcost.worlds import CarAdverts, synthetic

ROUNDS = 1000
CHECKPOINTS = (100, 300, ROUNDS)
_BASE_RATE = -4.0


class Environment(Protocol):
    """Where visitors come from."""

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """An endless stream of visitors."""


class World(NamedTuple):
    """An environment, and the group of each of its columns."""

    environment: Environment
    groups: Sequence[str]


@dataclass(frozen=True, eq=False)
class Makes:
    """Candidates of a make, a fuel and a colour: one-hot columns beside a constant."""

    theta: FloatArray
    levels: tuple[int, ...]
    candidates: int

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """An endless stream of visitors."""
        starts = 1 + np.concatenate([[0], np.cumsum(self.levels)[:-1]])
        while True:
            rows = np.zeros((self.candidates, self.theta.size))
            rows[:, 0] = 1.0
            for start, many in zip(starts, self.levels, strict=True):
                drawn = rng.integers(many, size=self.candidates)
                rows[np.arange(self.candidates), start + drawn] = 1.0
            yield Round(rows, expit(rows @ self.theta), float(rng.random()))


@dataclass(frozen=True, eq=False)
class OwnEffects:
    """Items with two features, and an effect of their own that no feature shows."""

    rows: FloatArray
    theta: FloatArray

    @classmethod
    def random(cls, items: int, own_sd: float, rng: np.random.Generator) -> OwnEffects:
        """Rows (1, features, one-hot of the item)."""
        rows = np.column_stack([np.ones(items), rng.standard_normal((items, 2)), np.eye(items)])
        shared = np.append(-3.0, rng.normal(scale=0.5, size=2))
        return cls(rows, np.append(shared, rng.normal(scale=own_sd, size=items)))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """The same items for every visitor."""
        probability = expit(self.rows @ self.theta)
        while True:
            yield Round(self.rows, probability, float(rng.random()))


def _fresh(weight_sd: float, rng: np.random.Generator) -> World:
    environment = FreshCandidates.random(15, candidates=20, rng=rng, weight_sd=weight_sd)
    return World(environment, ["constant", *["numbers"] * 14])


def _fixed(weight_sd: float, rng: np.random.Generator) -> World:
    environment = FixedCatalogue.random(
        items=200, item_features=4, contexts=2, rng=rng, weight_sd=weight_sd
    )
    return World(environment, ["constant", *["numbers"] * 6, *["crosses"] * 8])


def _makes(weight_sd: float, rng: np.random.Generator) -> World:
    levels = (12, 4, 8)
    theta = rng.normal(scale=weight_sd, size=1 + sum(levels))
    theta[0] = _BASE_RATE
    return World(Makes(theta, levels, 20), ["constant", *["categories"] * sum(levels)])


def _cars(rng: np.random.Generator) -> World:
    cars = CarAdverts.random(synthetic(200, rng=rng), candidates=20, rng=rng)
    names = cars.schema.columns
    return World(cars, ["constant", *map(_group, names[1:])])


def _group(column: str) -> str:
    if " × " in column:
        return "crosses"
    return "categories" if "=" in column else "numbers"


def _items(own_sd: float, rng: np.random.Generator) -> World:
    items = 40
    environment = OwnEffects.random(items, own_sd, rng)
    return World(environment, ["constant", "numbers", "numbers", *["items"] * items])


MakeWorld = Callable[[np.random.Generator], World]
CHOOSING: dict[str, MakeWorld] = {
    "20 fresh candidates": lambda rng: _fresh(0.5, rng),
    "200 fixed items, crosses": lambda rng: _fixed(0.5, rng),
    "20 candidates with makes": lambda rng: _makes(0.7, rng),
}
CONFIRMING: dict[str, MakeWorld] = {
    "20 fresh candidates, strong": lambda rng: _fresh(1.0, rng),
    "20 candidates with makes, strong": lambda rng: _makes(1.2, rng),
    "car adverts": _cars,
}
ITEMS: dict[str, MakeWorld] = {
    "40 items, own sd 0": lambda rng: _items(0.0, rng),
    "40 items, own sd 0.5": lambda rng: _items(0.5, rng),
    "40 items, own sd 1": lambda rng: _items(1.0, rng),
}
WORLDS = {**CHOOSING, **CONFIRMING, **ITEMS}


def clicks_of(world: str, prior: Prior, seed: int) -> FloatArray:
    """Expected clicks at the checkpoints."""
    drawn, visitors, choices = np.random.default_rng(seed).spawn(3)
    environment, groups = WORLDS[world](drawn)
    # Without a variance of its own an item has a weight that stays at zero.
    variances = np.array([getattr(prior, group) or 1e-9 for group in groups])
    belief = Gaussian(np.zeros(variances.size), np.diag(variances))
    bandit = Bandit(FabCost(belief), policy=Thompson(), seed=choices)
    expected = np.empty(ROUNDS)
    with threadpool_limits(1):
        for t, visitor in enumerate(islice(environment.rounds(visitors), ROUNDS)):
            index = bandit.choose(visitor.rows).index
            bandit.learn(visitor.rows[index], visitor.clicked(index))
            expected[t] = visitor.probability[index]
    return np.asarray(expected.cumsum()[np.array(CHECKPOINTS) - 1])


def measured(
    worlds: Sequence[str], priors: Sequence[Prior], *, seeds: int
) -> Iterator[tuple[str, dict[Prior, FloatArray]]]:
    """For each world the clicks of every prior, seeds × checkpoints; seeds are paired."""
    with ProcessPoolExecutor() as pool:
        running = {
            (world, prior): pool.map(clicks_of, [world] * seeds, [prior] * seeds, range(seeds))
            for world in worlds
            for prior in priors
        }
        for world in worlds:
            yield world, {prior: np.array(list(running[world, prior])) for prior in priors}
