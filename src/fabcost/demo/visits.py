"""Simulated visitors: each is shown an advert, and some click."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fabcost.client import Client
from fabcost.wire.settings import ModelSettings
from fabcost.worlds.synthetic import synthetic
from fabcost.worlds.visitors import CarAdverts, Visitor

MODEL = "cars"
ADVERTS = 300
CANDIDATES = 20


@dataclass
class Score:
    """Clicks so far, and how many random adverts would have had on average.

    Examples
    --------
    >>> score = Score()
    >>> score.add(clicked=True, at_random=0.04)
    >>> score.visitors, score.clicks, round(score.lift, 2)
    (1, 1, 24.0)
    """

    visitors: int = 0
    clicks: int = 0
    at_random: float = 0.0
    outcomes: list[bool] = field(default_factory=list)

    def add(self, *, clicked: bool, at_random: float) -> None:
        """One more visitor."""
        self.visitors += 1
        self.clicks += clicked
        self.at_random += at_random
        self.outcomes.append(clicked)

    @property
    def lift(self) -> float:
        """How much more than at random, as a share."""
        return self.clicks / self.at_random - 1.0 if self.at_random else 0.0

    def recent(self, many: int) -> float:
        """The click rate of the last visitors."""
        latest = self.outcomes[-many:]
        return sum(latest) / len(latest) if latest else 0.0


def world(seed: int) -> CarAdverts:
    """Adverts and the tastes of those who will look at them.

    Examples
    --------
    >>> len(world(1).items), world(1).candidates
    (300, 20)
    """
    rng = np.random.default_rng(seed)
    return CarAdverts.random(synthetic(ADVERTS, rng=rng), candidates=CANDIDATES, rng=rng)


def settings(cars: CarAdverts, *, wait: float, seed: int) -> ModelSettings:
    """Of a model of these adverts; who has not clicked after ``wait`` seconds will not.

    Examples
    --------
    >>> settings(world(1), wait=3.0, seed=1).holdback
    0.1
    """
    schema = cars.schema.to_dict()
    return ModelSettings(schema=schema, reward_wait_seconds=wait, holdback=0.1, seed=seed)


def visit(client: Client, visitor: Visitor, name: str) -> bool:
    """Show one visitor an advert; whether it was clicked, which the server is told."""
    decision = client.decide(
        MODEL, context=visitor.context, items=list(visitor.items), decision_id=name
    )
    clicked = visitor.clicked(decision.item)
    if clicked:
        client.feedback(MODEL, decision.decision_id)
    return clicked


def visits(client: Client, cars: CarAdverts, seed: int) -> Iterator[Score]:
    """An endless stream of visitors; the score after each."""
    rng, score = np.random.default_rng(seed), Score()
    run = int(rng.integers(1 << 32))
    for visitor in cars.visitors(rng):
        clicked = visit(client, visitor, f"{run:08x}-{score.visitors}")
        score.add(clicked=clicked, at_random=float(np.mean(list(visitor.probability.values()))))
        yield score
