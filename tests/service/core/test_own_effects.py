"""Items with effects of their own, and numbers that scale themselves, in a served model."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from fabcost import FabCost, Prior, Schema
from fabcost.inference.own.effects import OwnEffects
from fabcost.service.learning.follower import BySchema, Follower, Learnt, Published, Publisher
from fabcost.service.learning.learner import Learning
from fabcost.service.service import Service
from fabcost.service.store.rows import Impression
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import HalfLifeSettings, ModelSettings
from tests.service.core.running import Hands, serving
from tests.service.faults.ledger import rebuilt_digest

PRIOR = Prior(items=0.5)
SECONDS = HalfLifeSettings(500.0, "seconds")
MAKES = ("kia", "ford", "audi", "opel")


def told(count: int, seed: int) -> tuple[Schema, list[Learnt]]:
    """Impressions of a schema that grows and revises its constants, in no order of their steps."""
    rng, schema = np.random.default_rng(seed), Schema.open()
    learnt = []
    for k in range(count):
        price = float(np.exp(rng.normal(9.0, 0.5)))
        item = {"make": MAKES[rng.integers(1 + k % 4)], "price": price}
        row = schema.rows({"hour": float(rng.integers(24))}, schema.encode_items({"x": item}))[0]
        columns = np.flatnonzero(row)
        shown = Impression(columns.tolist(), row[columns].tolist(), schema.steps)
        learnt.append(Learnt(shown, int(rng.choice([-1, 1])), f"ad-{rng.integers(9)}"))
    order = np.argsort(np.arange(count) + 3.0 * rng.random(count))
    return schema, [learnt[place] for place in order]


def first(schema: Schema, half_life: float | None = None) -> Follower:
    start = Schema.open()
    learner = FabCost(start.prior(PRIOR), own_variance=PRIOR.items, half_life=half_life)
    return Follower(learner, BySchema(PRIOR, schema, start))


def one_by_one(
    schema: Schema, impressions: list[Learnt], half_life: float | None = None
) -> FabCost:
    follower = first(schema, half_life)
    for each in impressions:
        follower.learn([each])
    return follower.learner


def digest(learner: FabCost) -> str:
    return Published(0, 0, learner.posterior).digest(learner.own)


def own_of(learner: FabCost) -> OwnEffects:
    assert learner.own is not None
    return learner.own


@pytest.mark.parametrize("half_life", [None, 8.0])
@settings(max_examples=10, deadline=None)
@given(sizes=st.lists(st.integers(1, 25), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_batches_and_refreshes_in_the_background_end_with_the_same_bits(
    half_life: float | None, sizes: list[int], seed: int
) -> None:
    schema, impressions = told(sum(sizes), seed)
    learning, start = Learning(first(schema, half_life), 0, inline=0), 0
    for size in sizes:
        learning.apply(impressions[start : start + size])
        start += size
    learning.wait()
    assert learning.failure is None
    assert isinstance(learning.learner, FabCost)
    expected = one_by_one(schema, impressions, half_life)
    assert digest(learning.learner) == digest(expected)
    assert len(own_of(expected)) > 1


def test_the_learner_has_the_prior_that_the_schema_had() -> None:
    schema, impressions = told(40, seed=3)
    learner = one_by_one(schema, impressions)
    steps = max(each.impression.steps or 0 for each in impressions)
    then = Schema.open()
    then.regrow(schema.steps_since(0)[:steps])
    assert any("constants of" in step for step in then.steps_since(0))
    np.testing.assert_array_equal(learner.prior.root, then.prior(PRIOR).root)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=30, max_size=30), st.integers(0, 99))
def test_who_decides_sees_whole_moments(reads: list[bool], seed: int) -> None:
    """However seldom it looks, what it has is what was published, bit by bit."""
    schema, impressions = told(30, seed)
    follower = first(schema)
    publisher, reader = Publisher(0, follower.learner), OwnEffects(1, PRIOR.items)
    for k, (each, reading) in enumerate(zip(impressions, reads, strict=True), start=1):
        follower.learn([each])
        publisher.publish(k, 0, follower.learner)
        if reading:
            published, changes = publisher.collect()
            for change in changes:
                reader.follow(change)
            assert published.digest(reader) == digest(follower.learner)


def test_what_waits_for_a_reader_is_bounded() -> None:
    schema, impressions = told(20, seed=1)
    follower = first(schema)
    publisher = Publisher(0, follower.learner)
    for k in range(3000):
        own_of(follower.learner).touch(f"ad-{k % 9}")
        publisher.publish(k, 0, follower.learner)
    follower.learn(impressions)
    publisher.publish(3000, 0, follower.learner)
    _, changes = publisher.collect()
    assert sum(len(each.keys) for each in changes) < 1100
    reader = OwnEffects(1, PRIOR.items)
    for change in changes:
        reader.follow(change)
    np.testing.assert_array_equal(reader.rows, own_of(follower.learner).rows)


def offered(k: int) -> dict[str, Any]:
    return {f"ad-{j}": {"make": MAKES[j % 4], "price": 4000 + 900 * j + k} for j in range(k % 5, 8)}


async def visits(service: Service, count: int, after: int = 0) -> None:
    """Feedback comes a few decisions late, and in another order."""
    waiting: list[tuple[str, str]] = []
    for k in range(after, after + count):
        asked = DecisionRequest(
            decision_id=f"d{k}", context={"hour": k % 24}, candidates=offered(k)
        )
        waiting.append((f"d{k}", (await service.decide("cars", asked)).item))
        if k % 4 == 3:
            for decision, item in reversed(waiting):
                told = FeedbackRequest(decision_id=decision, value=float(item == "ad-6"))
                await service.feedback("cars", [told])
            waiting.clear()


@pytest.mark.parametrize("half_life", [UNSET, HalfLifeSettings(9.0), SECONDS])
def test_a_restart_and_a_replay_have_the_same_bits(
    store_address: str, half_life: HalfLifeSettings | UnsetType
) -> None:
    async def main() -> list[str]:
        found, hands = [], Hands()
        for k in range(3):
            async with serving(store_address, hands) as service:
                if k == 0:
                    settings = ModelSettings(propensities="none", half_life=half_life)
                    await service.create_model("cars", settings)
                hands.pass_by(1000.0)
                found.append(service.posterior("cars").digest)
                await visits(service, 60, after=60 * k)
                found.append(service.posterior("cars").digest)
        return found

    digests = asyncio.run(main())
    assert digests[1] == digests[2]
    assert digests[3] == digests[4]
    assert rebuilt_digest(store_address, "cars") == (180, digests[5])
    assert len(set(digests)) == 4


@pytest.mark.parametrize("variance", [None, 10.0])
def test_banners_without_features_are_told_apart(variance: float | None, tmp_path: Any) -> None:
    """Clicks of 5, 15 and 60 %: of the last 100 visitors most see the best, or else about 33."""
    rates, rng = {"a": 0.05, "b": 0.15, "c": 0.6}, np.random.default_rng(4)

    async def main() -> int:
        best, one = 0, UNSET if variance is None else variance
        async with serving(str(tmp_path / "log.db")) as service:
            await service.create_model("cars", ModelSettings(prior_variance=one))
            for k in range(300):
                asked = DecisionRequest(
                    decision_id=f"d{k}", candidates={each: {} for each in rates}
                )
                item = (await service.decide("cars", asked)).item
                value = float(rng.random() < rates[item])
                await service.feedback("cars", [FeedbackRequest(decision_id=f"d{k}", value=value)])
                best += k >= 200 and item == "c"
        return best

    shown = asyncio.run(main())
    assert shown > 70 if variance is None else shown < 60


def test_people_are_shown_the_effects_of_items(tmp_path: Any) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "log.db")) as service:
            await service.create_model("cars", ModelSettings())
            await visits(service, 40)
            why = await service.explain("cars", "d7")
            (own,) = (each for each in why.contributions if each.name.startswith("item "))
            tallies = (await service.stats("cars")).top_items
            shown = {each.item: each.effect for each in tallies}[why.decision.item]
            assert (own.contribution, own.sd) == (shown.mean, shown.sd)  # type: ignore[union-attr]
            assert 0.0 < own.sd < 0.3**0.5
            total = sum(each.contribution for each in why.contributions)
            assert (total > 0.0) == (why.click_probability > 0.5)
            await service.create_model("plain", ModelSettings(prior_variance=10.0))
            await service.decide("plain", DecisionRequest(decision_id="d", candidates=offered(1)))
            why = await service.explain("plain", "d")
            assert not [each for each in why.contributions if each.name.startswith("item ")]
            (tally,) = (await service.stats("plain")).top_items
            assert b"effect" not in msgspec.json.encode(tally)

    asyncio.run(main())
