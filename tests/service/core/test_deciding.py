"""How a model chooses: by its seed, the decision's id, the posterior and the candidates."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fabcost import Recommender, Schema
from fabcost.service.models.model import Streams
from fabcost.service.store.rows import KeyRow
from fabcost.wire.errors import InvalidRequestError, UnknownItemError, UnknownModelError
from fabcost.wire.messages import Between, DecisionRequest, Record
from fabcost.wire.settings import (
    EpsilonGreedySettings,
    GreedySettings,
    InformationDirectedSettings,
    InformationRelaxationSettings,
    ModelSettings,
    ThompsonSettings,
    TSUCBSettings,
    UCBSettings,
    UniformSettings,
)
from tests.bandit.policies import chi_square
from tests.examples import EXPLORES
from tests.service.core.running import ITEMS, cars, serving, shown, told


def run(tmp_path: Path, scenario: Any, **settings: Any) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await cars(service, **settings)
            await scenario(service)

    asyncio.run(main())


def test_the_same_id_is_the_same_decision_also_after_a_restart(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            request = DecisionRequest(decision_id="d", context={"device": "tv"}, top_k=4)
            first = await service.decide("cars", request)
            await told(service, "d")
            assert await service.decide("cars", request) == first
            other = DecisionRequest(decision_id="d", context={"device": "pc"}, items=["ad-1"])
            assert await service.decide("cars", other) == first
        async with serving(store_address) as service:
            assert await service.decide("cars", request) == first
            assert service.model("cars").impressions == 1

    asyncio.run(main())


def test_the_same_id_at_the_same_time_is_one_decision(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            contexts: list[Record] = [{"device": f"device-{k}"} for k in range(20)]
            answers = await asyncio.gather(
                *(
                    service.decide("cars", DecisionRequest(decision_id="d", context=context))
                    for context in contexts
                )
            )
            assert len({answer.item for answer in answers}) == 1
            assert len({tuple(answer.scores) for answer in answers}) == 1
            assert (await service.stats("cars")).decisions == 1

    asyncio.run(main())


@pytest.mark.parametrize("variance", [None, 10.0])
def test_it_decides_and_learns_as_a_recommender_with_the_same_streams(
    variance: float | None, tmp_path: Path
) -> None:
    """Open schema, draws, growth and refreshes: choice by choice and bit by bit."""
    schema = Schema.open(scaled=False)
    recommender = Recommender(schema, prior_variance=variance, seed=0)
    catalogue = recommender.catalogue(ITEMS)
    streams, rng = Streams(5), np.random.default_rng(1)

    async def scenario(service: Any) -> None:
        for k in range(300):
            device, hour = f"device-{rng.integers(4)}", int(rng.integers(24))
            context: Record = {"device": device, "hour": hour}
            request = DecisionRequest(decision_id=f"d{k}", context=context, top_k=3)
            served = await service.decide("cars", request)
            recommender.bandit.rng = streams.of(f"d{k}")
            chosen = recommender.recommend(context, catalogue, top_k=3, draws=256, floor=0.05)
            assert served.ranking == list(chosen.ranking)
            clicked = bool(rng.random() < 0.3)
            await told(service, f"d{k}", float(clicked))
            recommender.feedback(chosen.id, clicked)
        mean = np.array([each.mean for each in service.posterior("cars").weights])
        np.testing.assert_allclose(mean, recommender.learner.posterior.mean, rtol=0, atol=1e-9)

    settings = {} if variance is None else {"prior_variance": variance}
    run(tmp_path, scenario, seed=5, floor=0.05, schema=schema.to_dict(), **settings)


RULES = (
    ThompsonSettings(),
    GreedySettings(),
    EpsilonGreedySettings(0.2),
    UCBSettings(),
    UniformSettings(),
    TSUCBSettings(),
    ModelSettings().policy,
    InformationRelaxationSettings(),
    InformationDirectedSettings(16),
)


@pytest.mark.parametrize("policy", RULES, ids=repr)
def test_every_rule_logs_what_it_does(tmp_path: Path, policy: Any) -> None:
    """With values, floor, holdback, exclusion; 2,000 choices, false-alarm rate 1e-4 each.

    With ``FABCOST_EXPLORE=1`` they are 20,000.
    """
    many = 20_000 if EXPLORES else 2_000
    counts, shares = np.zeros(9), np.zeros((many, 9))
    values = {item: 1.0 + 0.1 * place for place, item in enumerate(ITEMS)}
    asked = DecisionRequest(context={"device": "tv"}, exclude=["ad-4"], top_k=9, values=values)

    async def scenario(service: Any) -> None:
        for k in range(30):
            await shown(service, f"d{k}")
            await told(service, f"d{k}", float(k % 3 == 0))
        model = service._registry.of("cars")
        for k, found in enumerate(shares):
            answer = model.decide(asked, f"e{k}", 0.0).answer
            assert answer.item == answer.ranking[0]
            # By floor or holdback any is the first; those behind are in the order of their scores.
            assert answer.scores[1:] == sorted(answer.scores[1:], reverse=True)
            for item, share in zip(answer.ranking, answer.propensities, strict=True):
                found[int(item[-1])] = share
            counts[int(answer.item[-1])] += 1

    run(tmp_path, scenario, policy=policy, floor=0.1, holdback=0.2, propensities="fast")
    chi2, freedom = chi_square(counts, shares)
    assert counts[4] == 0
    assert freedom == 7
    assert chi2 < stats.chi2(freedom).isf(1e-4)


def test_the_holdback_is_uniform_and_has_its_share(tmp_path: Path) -> None:
    """Binomial and chi-square of 3,000 decisions; false alarm below 1e-4 each."""
    arms: list[str] = []
    held: list[int] = []

    async def scenario(service: Any) -> None:
        model = service._registry.of("cars")
        for k in range(3000):
            answer = model.decide(DecisionRequest(context={"device": "tv"}), f"d{k}", 0.0).answer
            arms.append(answer.arm)
            if answer.arm == "holdback":
                held.append(int(answer.item[-1]))

    run(tmp_path, scenario, holdback=0.25)
    assert stats.binomtest(arms.count("holdback"), 3000, 0.25).pvalue > 1e-4
    assert stats.chisquare(np.bincount(held, minlength=9)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("wanted", "items"),
    [
        ({"make": "kia"}, {"ad-0", "ad-3", "ad-6"}),
        ({"make": ["kia", "audi"], "age": Between(min=5, max=6)}, {"ad-5", "ad-6"}),
        ({"age": 1.0}, {"ad-1", "ad-8"}),
        ({"age": Between(max=0)}, {"ad-0", "ad-7"}),
    ],
)
def test_filters(tmp_path: Path, wanted: dict[str, Any], items: set[str]) -> None:
    async def scenario(service: Any) -> None:
        request = DecisionRequest(filter=wanted, top_k=20)
        assert set((await service.decide("cars", request)).ranking) == items

    run(tmp_path, scenario)


def test_exclusions_and_rankings(tmp_path: Path) -> None:
    async def scenario(service: Any) -> None:
        request = DecisionRequest(exclude=["ad-1", "ad-2", "unheard-of"], top_k=100)
        answer = await service.decide("cars", request)
        assert answer.ranking[0] == answer.item
        assert set(answer.ranking) == set(ITEMS) - {"ad-1", "ad-2"}
        assert answer.propensities is not None
        assert sum(answer.propensities) == pytest.approx(1.0)
        assert np.isfinite(answer.scores).all()

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("request_", "error", "message"),
    [
        (DecisionRequest(items=["ad-77"]), UnknownItemError, "ad-77"),
        (DecisionRequest(items=[]), InvalidRequestError, "empty"),
        (DecisionRequest(items=["ad-1", "ad-1"]), InvalidRequestError, "twice"),
        (DecisionRequest(filter={"make": "trabant"}), InvalidRequestError, "matches"),
        (DecisionRequest(exclude=list(ITEMS)), InvalidRequestError, "excluded"),
        (DecisionRequest(candidates={}), InvalidRequestError, "no items"),
        (DecisionRequest(items=["ad-1"], filter={}), InvalidRequestError, "only one"),
        (DecisionRequest(context={"make": "kia"}), InvalidRequestError, "belongs to the item"),
        (
            DecisionRequest(candidates={"x": {"age": "old"}}),
            InvalidRequestError,
            "must be a number",
        ),
    ],
)
def test_bad_requests_change_nothing(
    tmp_path: Path, request_: DecisionRequest, error: type[Exception], message: str
) -> None:
    async def scenario(service: Any) -> None:
        await shown(service, "d")
        before = service.model("cars"), service.posterior("cars")
        with pytest.raises(error, match=message):
            await service.decide("cars", request_)
        assert (service.model("cars"), service.posterior("cars")) == before
        assert (await service.stats("cars")).decisions == 1

    run(tmp_path, scenario)


def test_weights_stop_growing_at_their_limit(tmp_path: Path) -> None:
    async def scenario(service: Any) -> None:
        for k in range(60):
            await shown(service, f"d{k}", context={"city": f"city-{k}"})
            await told(service, f"d{k}", float(k % 2))
        assert service.model("cars").weights <= 40
        await service.explain("cars", "d59")

    run(tmp_path, scenario, most_weights=40)


def test_models_and_catalogues(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            await service.create_model("news", ModelSettings(mode="off"))
            assert [each.name for each in service.models()] == ["cars", "news"]
            assert await service.put_items("cars", {"ad-0": {"make": "fiat", "age": 1}}) == 2
            assert service.item("cars", "ad-0")["make"] == "fiat"
            assert await service.delete_items("cars", ["ad-1", "ad-2"]) == 3
            page = service.items("cars", limit=2)
            assert (list(page.items), page.next) == (["ad-0", "ad-3"], "ad-3")
            await service.delete_model("news")
            with pytest.raises(UnknownModelError):
                service.model("news")
        async with serving(store_address) as service:
            assert [each.name for each in service.models()] == ["cars"]
            names = list(service.items("cars", limit=100).items)
            assert names == [item for item in ITEMS if item not in ("ad-1", "ad-2")]
            assert service.items("cars", limit=2).version == 3

    asyncio.run(main())


def test_a_deleted_model_takes_its_keys_and_counts_along(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            await shown(service, "d")
            assert (await service.stats("cars")).decisions == 1
            for key_id, model in (("own", "cars"), ("others", None)):
                await service.insert_key(KeyRow(key_id, "digest", "name", "read", model, 1.0, None))
            await service.delete_model("cars")
            revoked = {key.key_id: key.revoked is not None for key in await service.keys()}
            assert revoked == {"own": True, "others": False}
            await cars(service)
            assert (await service.stats("cars")).decisions == 0

    asyncio.run(main())


def test_feedback_for_a_model_that_is_being_deleted_names_it(tmp_path: Path) -> None:
    async def scenario(service: Any) -> None:
        await shown(service, "d")
        deleted = asyncio.ensure_future(service.delete_model("cars"))
        await asyncio.sleep(0)
        with pytest.raises(UnknownModelError, match="no model 'cars'"):
            await told(service, "d")
        await deleted

    run(tmp_path, scenario)


def test_a_model_moves_as_a_file(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await cars(service)
            for k in range(50):
                await shown(service, f"d{k}")
                await told(service, f"d{k}", float(k % 3 == 0))
            content = await service.export_model("cars")
            digest = service.posterior("cars").digest
            assert Recommender.from_bytes(content).learner.posterior.mean.size > 1
            await service.import_model("twin", content)
            assert service.posterior("twin").digest == digest
            await service.put_items("twin", ITEMS)
            answer = await service.decide("twin", DecisionRequest(context={"device": "mobile"}))
            await service.feedback("twin", [_click(answer.decision_id)])
            digest = service.posterior("twin").digest
        async with serving(store_address) as service:
            assert service.posterior("twin").digest == digest

    asyncio.run(main())


def _click(decision: str) -> Any:
    from fabcost.wire.messages import FeedbackRequest

    return FeedbackRequest(decision_id=decision)
