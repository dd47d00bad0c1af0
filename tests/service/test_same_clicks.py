"""Over HTTP the service gets the clicks that the library gets in process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import UNSET

from fabcost import Recommender
from fabcost.client import Client
from fabcost.service.models.model import Streams
from fabcost.service.settings import Settings
from fabcost.wire.settings import ModelSettings
from fabcost.worlds.adverts import synthetic
from fabcost.worlds.visitors import CarAdverts
from tests.service.http.serving import running

VISITORS = 500
SEED = 3


@pytest.mark.parametrize("variance", [None, 10.0])
def test_the_same_clicks_as_in_process(variance: float | None, tmp_path: Path) -> None:
    """With effects of items' own and without."""
    rng = np.random.default_rng(SEED)
    cars = CarAdverts.random(synthetic(200, rng=rng), candidates=20, rng=rng)
    with running(Settings(database=str(tmp_path / "bandit.db"))) as server:
        served = _served(cars, server.address, variance)
    assert served == _in_process(cars, variance)
    at_random = sum(
        float(np.mean(list(visitor.probability.values())))
        for visitor, _ in zip(cars.visitors(np.random.default_rng(SEED)), served, strict=False)
    )
    assert sum(clicked for _, clicked in served) > 1.2 * at_random


def _served(cars: CarAdverts, address: str, variance: float | None) -> list[tuple[str, bool]]:
    found = []
    with Client(address) as client:
        settings = ModelSettings(
            schema=cars.schema.to_dict(),
            propensities="none",
            seed=SEED,
            prior_variance=UNSET if variance is None else variance,
        )
        client.create_model("cars", settings)
        client.put_items("cars", cars.items)
        visitors = cars.visitors(np.random.default_rng(SEED))
        for k, visitor in zip(range(VISITORS), visitors, strict=False):
            answer = client.decide(
                "cars", context=visitor.context, items=list(visitor.items), decision_id=f"visit-{k}"
            )
            clicked = visitor.clicked(answer.item)
            client.feedback("cars", answer.decision_id, float(clicked))
            found.append((answer.item, clicked))
    return found


def _in_process(cars: CarAdverts, variance: float | None) -> list[tuple[str, bool]]:
    recommender, streams, found = (
        Recommender(cars.schema, prior_variance=variance, seed=0),
        Streams(SEED),
        [],
    )
    catalogue = recommender.catalogue(cars.items)
    visitors = cars.visitors(np.random.default_rng(SEED))
    for k, visitor in zip(range(VISITORS), visitors, strict=False):
        recommender.bandit.rng = streams.of(f"visit-{k}")
        decision = recommender.recommend(visitor.context, catalogue.subset(visitor.items))
        clicked = visitor.clicked(decision.item)
        recommender.feedback(decision.id, clicked)
        found.append((decision.item, clicked))
    return found
