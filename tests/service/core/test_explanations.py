"""Why an item was shown, beside the one that would have been."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logit

from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest, ExplanationAnswer, FeedbackRequest
from fabcost.wire.settings import GreedySettings, ModelSettings, ThompsonSettings, WideSettings
from tests.service.core.running import ITEMS, serving, told

MODELS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "without effects of items": {"prior_variance": 1.0},
    "wide": {"belief": WideSettings("wide", bits=12)},
}


async def visits(service: Service, many: int) -> None:
    """Clicks on kias."""
    for k in range(many):
        answer = await service.decide("cars", DecisionRequest(decision_id=f"d{k}"))
        await told(service, f"d{k}", float(ITEMS[answer.item]["make"] == "kia"))


def explanations(tmp_path: Path, ids: list[str], **settings: Any) -> list[ExplanationAnswer]:
    async def main() -> list[ExplanationAnswer]:
        async with serving(str(tmp_path / "bandit.db")) as service:
            rule = {"policy": ThompsonSettings(), **settings}  # which chance is a part of
            await service.create_model("cars", ModelSettings(**rule))
            await service.put_items("cars", ITEMS)
            await visits(service, 60)
            return [await service.explain("cars", each) for each in ids]

    return asyncio.run(main())


@pytest.mark.parametrize("name", MODELS)
def test_differences_lead_from_the_runner_up_to_the_chosen(tmp_path: Path, name: str) -> None:
    """Their sum has the sign that is likelier, and one draw in many has a worse item first."""
    found = explanations(tmp_path, [f"d{k}" for k in range(0, 60, 4)], **MODELS[name])
    for why in found:
        other = why.runner_up
        assert other is not None
        assert other.item != why.decision.item
        ahead = sum(each.contribution for each in other.differences)
        assert (ahead > 0.0) == (other.chosen_is_better > 0.5)
        assert all(each.value != 0.0 for each in other.differences)
        assert not any(each.name.startswith("weight ") for each in other.differences)
        assert other.item in why.summary
        assert why.summary.startswith("By chance") == why.by_chance
    assert {why.by_chance for why in found} == {True, False}


def test_the_likelier_one_is_said_to_be_by_chance_only_if_it_was_not_shown(tmp_path: Path) -> None:
    for why in explanations(tmp_path, [f"d{k}" for k in range(60)]):
        shares = why.decision.propensities
        assert shares is not None
        if shares[0] > 0.5:
            assert not why.by_chance
        if shares[0] < 1.0 / len(ITEMS):
            assert why.by_chance


def test_the_best_of_the_others_is_compared_where_nothing_is_known_of_chances(
    tmp_path: Path,
) -> None:
    (why,) = explanations(
        tmp_path, ["d59"], policy=GreedySettings(), propensities="none", prior_variance=1.0
    )
    assert why.decision.propensities is None
    assert not why.by_chance
    assert why.runner_up is not None
    assert why.runner_up.click_probability <= why.click_probability
    assert why.runner_up.chosen_is_better >= 0.5


@pytest.mark.parametrize("by", ["request", "features"])
def test_what_earns_more_is_not_said_to_be_shown_by_chance(tmp_path: Path, by: str) -> None:
    async def main() -> tuple[ExplanationAnswer, ExplanationAnswer]:
        async with serving(str(tmp_path / "bandit.db")) as service:
            for name, rule in (("best", GreedySettings()), ("drawn", ThompsonSettings(0.01))):
                settings = ModelSettings(policy=rule, propensities="none", value_feature="_price")
                await service.create_model(name, settings)
                price = 500.0 if by == "features" else 1.0
                await service.put_items(name, {"a": {"x": 1}, "b": {"x": 2, "_price": price}})
                values = {"b": 500.0} if by == "request" else None
                for k in range(30):
                    asked = DecisionRequest(decision_id=f"d{k}", items=["a"])
                    await service.decide(name, asked)
                    await service.feedback(name, [FeedbackRequest(decision_id=f"d{k}", value=1.0)])
                await service.decide(name, DecisionRequest(decision_id="d", values=values))
            return await service.explain("best", "d"), await service.explain("drawn", "d")

    for why in asyncio.run(main()):
        assert why.decision.item == "b"
        assert why.runner_up is not None
        assert why.runner_up.click_probability > why.click_probability
        assert not why.by_chance
        assert why.summary.startswith("It looked best by its value")


def test_items_are_called_by_their_names(tmp_path: Path) -> None:
    async def main() -> ExplanationAnswer:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await service.create_model("cars", ModelSettings())
            await service.put_items("cars", {"a": {"_name": "Fox", "x": 1}, "b": {"x": 2}})
            await service.decide("cars", DecisionRequest(decision_id="d", top_k=2))
            return await service.explain("cars", "d")

    why = asyncio.run(main())
    assert why.names == {"a": "Fox"}
    beside = why.runner_up
    assert beside is not None
    named = {each.name for each in beside.differences}
    assert {"item Fox", "item b"} <= named


def test_a_holdback_is_chance_and_an_only_candidate_has_no_runner_up(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await service.create_model("cars", ModelSettings(holdback=1.0))
            await service.create_model("first", ModelSettings(mode="apprentice"))
            await service.create_model("alone", ModelSettings())
            for name in ("cars", "first", "alone"):
                await service.put_items(name, ITEMS)
            for name, items in (("cars", None), ("first", None), ("alone", ["ad-1"])):
                await service.decide(name, DecisionRequest(decision_id="d", items=items))
            held = await service.explain("cars", "d")
            assert (held.by_chance, held.runner_up is not None) == (True, True)
            assert "holdback" in held.summary
            first = await service.explain("first", "d")
            assert (first.by_chance, "first candidate" in first.summary) == (False, True)
            alone = await service.explain("alone", "d")
            assert (alone.by_chance, alone.runner_up) == (False, None)
            assert "No other" in alone.summary
            await service.delete_items("cars", [held.decision.item])
            gone = await service.explain("cars", "d")
            assert (gone.runner_up, len(gone.contributions)) == (None, len(held.contributions))

    asyncio.run(main())


def test_contributions_of_inline_candidates_add_up_to_the_difference(tmp_path: Path) -> None:
    """With certain weights the click probabilities differ by the sum of the differences."""

    async def main() -> None:
        async with serving(str(tmp_path / "bandit.db")) as service:
            await service.create_model("cars", ModelSettings(prior_variance=1e-9))
            offered: dict[str, Any] = {"a": {"make": "kia"}, "b": {"make": "ford"}}
            request = DecisionRequest(decision_id="d", candidates=offered)
            await service.decide("cars", request)
            why = await service.explain("cars", "d")
            assert why.runner_up is not None
            apart = logit(why.click_probability) - logit(why.runner_up.click_probability)
            total = sum(each.contribution for each in why.runner_up.differences)
            assert np.isclose(total, apart, atol=1e-6)
            assert {each.name for each in why.runner_up.differences} >= {"make=kia", "make=ford"}

    asyncio.run(main())
