"""Values of clicks and costs of showing: what is chosen, what is kept, and what was earned."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabcost.bandit.prospects import marginal
from fabcost.service.service import Service
from fabcost.service.store.rows import record
from fabcost.service.store.store import store_at
from fabcost.service.transfer import export, load
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import Between, DecisionAnswer, DecisionRequest, Record
from fabcost.wire.settings import (
    EpsilonGreedySettings,
    GreedySettings,
    InformationDirectedSettings,
    InformationRelaxationSettings,
    ModelSettings,
    PolicySettings,
    ThompsonSettings,
    TSUCBSettings,
    UCBSettings,
    UniformSettings,
    WideSettings,
)
from tests.service.core.running import ITEMS, Hands, cars, serving, shown, stats_now, told

RULES: list[PolicySettings] = [
    ThompsonSettings(),
    GreedySettings(),
    EpsilonGreedySettings(),
    UCBSettings(),
    UniformSettings(),
    TSUCBSettings(),
    InformationRelaxationSettings(),
    InformationDirectedSettings(),
]
PRICED: dict[str, Record] = {
    "lamp": {"colour": "red", "margin": 3.0, "fee": 0.25},
    "sofa": {"colour": "red", "margin": 40, "fee": 0.5},
    "book": {"colour": "blue", "margin": None},
}
VALUED: dict[str, Any] = {"value_feature": "margin", "cost_feature": "fee"}


def run(address: str, scenario: Any, **settings: Any) -> None:
    async def main() -> None:
        async with serving(address, Hands()) as service:
            await cars(service, **settings)
            await scenario(service)

    asyncio.run(main())


async def decide(service: Service, decision: str, **request: Any) -> DecisionAnswer:
    return await service.decide("cars", DecisionRequest(decision_id=decision, **request))


def amounts(features: dict[str, Any]) -> tuple[float, float]:
    return features.get("margin") or 1.0, features.get("fee") or 0.0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_ones_and_zeros_change_no_bit(tmp_path: Path, rule: PolicySettings) -> None:
    async def life(name: str, **given: Any) -> list[Any]:
        async with serving(str(tmp_path / name)) as service:
            await cars(service, policy=rule, holdback=0.1, floor=0.05)
            found = []
            for k in range(30):
                context = {"device": ("tv", "pc")[k % 2]}
                answer = await decide(service, f"d{k}", context=context, top_k=5, **given)
                found.append((answer.ranking, answer.scores, answer.propensities, answer.arm))
                await told(service, f"d{k}", float(k % 3 == 0))
            return found

    ones = {"values": dict.fromkeys(ITEMS, 1.0), "costs": dict.fromkeys(ITEMS, 0.0)}
    assert asyncio.run(life("without.db")) == asyncio.run(life("with.db", **ones))


@pytest.mark.parametrize("rule", RULES[1:2] + RULES[5:], ids=lambda rule: type(rule).__name__)
def test_what_earns_nothing_and_costs_is_not_chosen(tmp_path: Path, rule: PolicySettings) -> None:
    async def scenario(service: Service) -> None:
        for k in range(25):
            answer = await decide(service, f"d{k}", values={"ad-3": 0.0}, costs={"ad-3": 0.01})
            assert answer.item != "ad-3"
            await told(service, f"d{k}", 0.0)

    run(str(tmp_path / "bandit.db"), scenario, policy=rule)


def test_a_click_that_is_worth_more_is_preferred(tmp_path: Path) -> None:
    """Of items alike, by every way in which an amount can be given."""

    async def scenario(service: Service) -> None:
        alike = {"a": {"margin": 1.0}, "b": {"margin": 5.0}, "c": {"margin": 2.0, "fee": 0.01}}
        settings = ModelSettings(policy=GreedySettings(), prior_variance=1.0, **VALUED)
        await service.create_model("shop", settings)
        await service.put_items("shop", {name: {"fee": 0.25, **v} for name, v in alike.items()})

        async def chosen(**request: Any) -> str:
            return (await service.decide("shop", DecisionRequest(**request))).item

        assert await chosen() == "b"
        assert await chosen(items=["a", "c"]) == "c"
        assert await chosen(filter={"margin": Between(max=2.0)}) == "c"
        assert await chosen(candidates={"x": {"margin": 1.0}, "y": {"margin": 1.5}}) == "y"
        assert await chosen(values={"a": 9.0}) == "a"
        assert await chosen(costs={"b": 4.0}) == "c"
        assert await chosen(exclude=["b"]) == "c"
        await service.put_items("shop", {"b": {"fee": 0.25, "margin": 0.5}})
        assert await chosen() == "c"
        await service.change_model("shop", {"cost_feature": None, "value_feature": "fee"})
        assert await chosen(items=["a", "c"]) == "a"
        assert await chosen() != "c"

    run(str(tmp_path / "bandit.db"), scenario)


def test_scores_are_what_candidates_are_worth(tmp_path: Path) -> None:
    """By the belief of the service, and by hand."""

    async def scenario(service: Service) -> None:
        for k in range(30):
            await shown(service, f"d{k}")
            await told(service, f"d{k}", float(k % 2))
        values = {name: 1.0 + k for k, name in enumerate(ITEMS)}
        costs = {name: 0.1 * k for k, name in enumerate(ITEMS)}
        told_all = await decide(service, "x", values=values, costs=costs, top_k=9)
        model = service._registry.of("cars")
        scene, _ = model.scenes.of(DecisionRequest())
        known = model.known()
        law = marginal(known.belief, known.rows(scene))
        normals = np.random.default_rng(0).standard_normal(400_000)
        for name, score in zip(told_all.ranking, told_all.scores, strict=True):
            at = scene.names.index(name)
            odds = law.mean[at] + np.sqrt(law.variance[at]) * normals
            worth = values[name] / (1.0 + np.exp(-odds)) - costs[name]
            # Six sds of the mean of all draws.
            assert abs(score - worth.mean()) < 6.0 * worth.std() / np.sqrt(normals.size)

    run(str(tmp_path / "bandit.db"), scenario, policy=GreedySettings(), propensities="none")


@pytest.mark.parametrize("belief", [{}, {"belief": WideSettings("wide", bits=8)}])
def test_every_rule_weighs_them(tmp_path: Path, belief: dict[str, Any]) -> None:
    async def scenario(service: Service) -> None:
        for rule in RULES:
            kind = str(rule.__struct_config__.tag)
            await service.change_model("cars", {"policy": {"kind": kind}})
            answer = await decide(service, f"d-{kind}", values={"ad-1": 1e6})
            assert answer.item == "ad-1" or kind in ("uniform", "epsilon-greedy")

    run(str(tmp_path / "bandit.db"), scenario, **belief)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"values": {"ad-77": 1.0}}, "values has 'ad-77', which is not among the candidates"),
        ({"costs": {"ad-1": 1.0}, "items": ["ad-2"]}, "costs has 'ad-1', which is not"),
        ({"values": {"b": 1.0}, "candidates": {"a": {"new": 1}}}, "values has 'b', which is not"),
        ({"candidates": {"a": {"new": 1, "fee": "low"}}}, "item 'a' has 'fee' = 'low', which"),
        ({"candidates": {"a": {"new": 1, "margin": -2}}}, "'margin' = -2, .* number from 0 to 1e"),
        ({"candidates": {"a": {"new": 1, "margin": True}}}, "'margin' = True, which"),
    ],
)
def test_what_is_refused_changes_nothing(
    tmp_path: Path, request_: dict[str, Any], words: str
) -> None:
    async def scenario(service: Service) -> None:
        await decide(service, "first")
        before = service.model("cars").weights
        with pytest.raises(InvalidRequestError, match=words):
            await decide(service, "d", context={"never": "seen"}, **request_)
        assert service.model("cars").weights == before
        assert (await service.stats("cars")).decisions == 1

    run(str(tmp_path / "bandit.db"), scenario, **VALUED)


def test_a_catalogue_has_numbers_where_amounts_are_read(tmp_path: Path) -> None:
    async def scenario(service: Service) -> None:
        await service.put_items("cars", {"vase": {"make": "kia", "margin": "much"}})
        with pytest.raises(InvalidRequestError, match="item 'vase' has 'margin' = 'much'"):
            await service.change_model("cars", {"value_feature": "margin"})
        assert service.model("cars").settings.value_feature is None
        await service.delete_items("cars", ["vase"])
        await service.change_model("cars", {"value_feature": "margin"})
        with pytest.raises(InvalidRequestError, match="item 'vase' has 'margin' = 'much'"):
            await service.put_items("cars", {"vase": {"make": "kia", "margin": "much"}})
        assert service.model("cars").items == len(ITEMS)
        await decide(service, "d")

    run(str(tmp_path / "bandit.db"), scenario)


async def lived(service: Service, first: int, last: int) -> float:
    """Decisions with outcomes; what they earned, by hand."""
    earned = 0.0
    for k in range(first, last):
        own = {"values": {"book": 8.0}, "costs": {"lamp": 1.5}} if k % 3 == 0 else {}
        item = await shown(service, f"d{k}", **own)
        value, cost = amounts(PRICED[item])
        value = own.get("values", {}).get(item, value)
        cost = own.get("costs", {}).get(item, cost)
        clicked = k % 4 == 0
        await told(service, f"d{k}", float(clicked))
        # All of these are exact in binary.
        earned += value * clicked - cost
    return earned


async def shop(service: Service, **settings: Any) -> None:
    await service.create_model("cars", ModelSettings(**VALUED, **settings))
    await service.put_items("cars", PRICED)


def test_income_is_the_same_after_restarts_and_a_kill(store_address: str) -> None:
    async def main() -> None:
        hands, earned = Hands(), 0.0
        for part in range(3):
            service = await Service.start(lambda: store_at(store_address), clock=hands.clock())
            if part == 0:
                await shop(service, holdback=0.25)
            earned += await lived(service, 12 * part, 12 * part + 12)
            told_now = (await stats_now(service)).income
            if part == 1:
                # As if it had been killed: another takes over, and nothing more was written.
                killed = service
                continue
            await service.stop()
        await killed.stop()
        async with serving(store_address, hands) as service:
            stats = await stats_now(service)
            assert stats.income == told_now
            assert sum(stats.income.values()) == earned
            assert sum(each.income for each in stats.buckets) == earned
            assert sum(each.income for each in stats.top_items) == earned
            assert sum(each.rewards for each in stats.buckets) == 9.0
            assert set(stats.income) == {"bandit", "holdback"}

    asyncio.run(main())


def test_without_amounts_income_is_rewards(store_address: str) -> None:
    async def scenario(service: Service) -> None:
        for k, value in enumerate([0.3, 0.7, 0.1, 0.0]):
            await shown(service, f"d{k}")
            await told(service, f"d{k}", value)
        stats = await stats_now(service)
        assert [each.income for each in stats.buckets] == [each.rewards for each in stats.buckets]
        assert stats.income == {"bandit": stats.buckets[0].rewards}

    run(store_address, scenario, values="fraction")


def test_they_are_kept_with_the_decision(store_address: str) -> None:
    async def main() -> None:
        async with serving(store_address) as service:
            await shop(service, policy=GreedySettings())
            given = {"values": {"book": 1e6}, "costs": {"book": -0.5, "sofa": 2.0}}
            first = await decide(service, "d", **given)
            assert first.item == "book"
            # The same id is the same decision, whatever else is asked.
            assert await decide(service, "d", values={"lamp": 1e9}) == first
            view = await service.decision("cars", "d")
            assert (view.click_value, view.cost) == (1e6, -0.5)
            other = await service.decision("cars", (await decide(service, "e")).decision_id)
            assert (other.click_value, other.cost) == (40.0, 0.5)
        store = store_at(store_address)
        store.open(take_over=False)
        row, without = store.history("cars", after=0, limit=9)
        store.close()
        assert (record(row.record).values, record(row.record).costs) == tuple(given.values())
        assert '"values"' not in without.record
        assert '"costs"' not in without.record

    asyncio.run(main())


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_logs_have_them_there_and_back(tmp_path: Path, form: Any) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await shop(service, policy=UniformSettings())
            earned = await lived(service, 0, 24)
            content = b"".join([piece async for piece in export(service, "cars", form)])
            await service.create_model("copy", ModelSettings())
            assert await load(service, "copy", form, content) == 24
            for k in range(24):
                old = await service.decision("cars", f"d{k}")
                new = await service.decision("copy", f"d{k}")
                assert (old.click_value, old.cost) == (new.click_value, new.cost)
            assert sum(each.income for each in (await service.stats("copy")).buckets) == earned
            if form == "jsonl":
                lines = [json.loads(line) for line in content.splitlines()]
                told_of = {line["item"] for line in lines if "click_value" in line}
                assert told_of >= {"lamp", "sofa"}

    asyncio.run(main())
