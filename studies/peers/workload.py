"""The workload on which other libraries are compared: one catalogue, a new context each round."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fabcost.impressions import FloatArray

WEIGHTS = 15
CLICK_RATE = 0.10
WEIGHT_SD = 0.5
_SEED = 20_260_301


class Player(Protocol):
    """A library behind one interface; only `decide` and `learn` are on the clock."""

    def prepare(self, context: FloatArray, rows: FloatArray) -> Any:
        """Put a round into the form that the library takes."""
        ...

    def decide(self, prepared: Any) -> int:
        """Choose an item."""
        ...

    def learn(self, prepared: Any, chosen: int, clicked: bool) -> None:
        """Learn what became of the chosen item."""
        ...


class Round(NamedTuple):
    """Which item was chosen, and the seconds of the two calls."""

    chosen: int
    decide: float
    learn: float


@dataclass(frozen=True)
class Scenario:
    """Contexts u, items v, and the click probability of every item in every round.

    The first element of u and of v is 1, so the bias is the first of the 15 weights and every
    library sees it as one more feature.
    """

    contexts: FloatArray
    items: FloatArray
    probability: FloatArray
    luck: FloatArray

    def share(self, chosen: list[int]) -> float:
        """How much of the gap from random to oracle the choices close, in expected clicks."""
        got = self.probability[np.arange(len(chosen)), chosen].sum()
        random = self.probability.mean(axis=1).sum()
        return float((got - random) / (self.probability.max(axis=1).sum() - random))


def scenario(items: int, rounds: int, seed: int) -> Scenario:
    """Draw a catalogue, a stream of contexts and the luck of each round."""
    rng = np.random.default_rng((_SEED, seed, items))
    theta = WEIGHT_SD * rng.standard_normal(WEIGHTS - 1)
    catalogue = _with_bias(rng.standard_normal((items, WEIGHTS - 1)))
    contexts = _with_bias(rng.standard_normal((rounds, WEIGHTS - 1)))
    luck = rng.random(rounds)
    logits = (contexts[:, 1:] * theta) @ catalogue[:, 1:].T
    bias = brentq(lambda b: expit(logits + b).mean() - CLICK_RATE, -30.0, 30.0)
    return Scenario(contexts, catalogue, expit(logits + bias), luck)


def played(player: Player, world: Scenario) -> Iterator[Round]:
    """Play the rounds one by one: the chosen item is seen, its click is learnt."""
    for t, context in enumerate(world.contexts):
        prepared = player.prepare(context, context * world.items)
        start = time.perf_counter()
        chosen = player.decide(prepared)
        decided = time.perf_counter()
        clicked = bool(world.luck[t] < world.probability[t, chosen])
        before = time.perf_counter()
        player.learn(prepared, chosen, clicked)
        yield Round(chosen, decided - start, time.perf_counter() - before)


def _with_bias(values: FloatArray) -> FloatArray:
    return np.hstack([np.ones((len(values), 1)), values])
