"""A model's file: what comes back is the model that it was."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from fabcost import FabCost, Gaussian, Prior, Recommender, Refresh, Schema
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.service.service import Service
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import (
    LONGEST_WAIT,
    EpsilonGreedySettings,
    GreedySettings,
    ModelSettings,
    RefreshSettings,
)
from tests.service.transfer.playing import CANDIDATES, play, served

POLICIES = [Thompson(0.5), Greedy(), EpsilonGreedy(0.25), BayesianUCB(0.9), Uniform()]
OWN = ModelSettings(
    policy=EpsilonGreedySettings(0.25),
    propensities="exact",
    floor=0.1,
    holdback=0.2,
    mode="apprentice",
    reward_wait_seconds=3600.0,
    default_reward=0.5,
    click_threshold=0.7,
    aggregation="sum",
    prior_variance=3.0,
    refresh=RefreshSettings(growth=1.5),
    moments="mackay",
    window=90,
    most_weights=3000,
    seed=5,
)


def test_all_settings_come_back(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", OWN)
        await play(service, "here", 10)
        there = await service.import_model("there", await service.export_model("here"))
        assert msgspec.structs.replace(there.settings, schema=None) == OWN

    served(tmp_path, work)


def test_a_model_of_more_weights_than_usual_comes_back_and_grows_on(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        settings = ModelSettings(most_weights=1500, policy=GreedySettings(), propensities="none")
        await service.create_model("here", settings)
        for i in range(11):
            candidates: dict[str, Record] = {f"a{k}": {"make": f"m{k}"} for k in range(100)}
            request = DecisionRequest(
                decision_id=f"d-{i}", context={"user": f"u{i}"}, candidates=candidates
            )
            await service.decide("here", request)
        await service.feedback("here", [FeedbackRequest(decision_id="d-1")])
        weights = service.model("here").weights
        assert 1_000 < weights < 1_500
        there = await service.import_model("there", await service.export_model("here"))
        assert (there.weights, there.settings.most_weights) == (weights, 1_500)
        assert service.posterior("there").weights == service.posterior("here").weights

    served(tmp_path, work)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_recommender_keeps_its_policy_and_its_wait(policy: Policy, tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        recommender = Recommender(Schema.open(), policy=policy, prior_variance=10.0, wait=90.0)
        found = (await service.import_model("there", recommender.to_bytes())).settings
        assert found.policy.policy() == policy
        assert found.reward_wait_seconds == 90.0
        assert found.most_weights == ModelSettings().most_weights

    served(tmp_path, work)


def test_a_wait_that_no_model_can_have(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        usual = ModelSettings().reward_wait_seconds
        for wait, found in ((None, usual), (1e9, LONGEST_WAIT)):
            content = Recommender(Schema.open(), prior_variance=10.0, wait=wait).to_bytes()
            there = await service.import_model(f"there-{wait}", content)
            assert there.settings.reward_wait_seconds == found

    served(tmp_path, work)


def test_settings_that_are_given_count(tmp_path: Path) -> None:
    async def work(service: Service) -> None:
        await service.create_model("here", OWN)
        given = ModelSettings(seed=9, reward_wait_seconds=1.0)
        there = await service.import_model("there", await service.export_model("here"), given)
        assert (there.settings.seed, there.settings.reward_wait_seconds) == (9, 1.0)
        assert there.settings.window == OWN.window

    served(tmp_path, work)


def test_what_no_model_can_have_is_refused(tmp_path: Path) -> None:
    learner = FabCost(Gaussian.isotropic(1), refresh=Refresh.geometric(1000.0))
    recommender = Recommender(Schema.open(), learner=learner, prior_variance=10.0)

    async def work(service: Service) -> None:
        with pytest.raises(InvalidRequestError, match=r"the file is of no model.*growth"):
            await service.import_model("there", recommender.to_bytes())
        assert service.models() == []

    served(tmp_path, work)


def test_effects_of_items_and_scales_come_and_go(tmp_path: Path) -> None:
    """A recommender, as a model, and back: what it has learnt, and how it goes on."""
    recommender = Recommender(Schema.open(), prior=Prior(items=0.7), wait=600.0)
    for k in range(40):
        offered = {f"ad-{j}": {"price": 5_000 + 800 * j, "make": f"m{j % 2}"} for j in range(6)}
        decision = recommender.recommend({"hour": k % 24}, offered)
        recommender.feedback(decision.id, clicked=decision.item == "ad-4")

    async def work(service: Service) -> None:
        made = await service.import_model("there", recommender.to_bytes())
        assert made.settings.variances() == Prior(items=0.7)
        back = Recommender.from_bytes(await service.export_model("there"))
        assert back.schema.to_dict() == recommender.schema.to_dict()
        assert back.weights.given == recommender.weights.given == 0
        _assert_same(back, recommender)
        await play(service, "there", 12)
        again = await service.import_model("again", await service.export_model("there"))
        assert again.settings.variances() == made.settings.variances()
        assert service.posterior("again").digest == service.posterior("there").digest
        for name in ("there", "again"):
            await service.decide(name, DecisionRequest(decision_id="x", candidates=CANDIDATES))
            await service.feedback(name, [FeedbackRequest(decision_id="x", value=1.0)])
        assert service.posterior("again").digest == service.posterior("there").digest

    served(tmp_path, work)


def _assert_same(some: Recommender, other: Recommender) -> None:
    assert some.own is not None
    assert other.own is not None
    assert some.own.keys == other.own.keys
    np.testing.assert_array_equal(some.own.rows, other.own.rows)
    np.testing.assert_array_equal(some.learner.posterior.root, other.learner.posterior.root)
    np.testing.assert_array_equal(some.learner.posterior.mean, other.learner.posterior.mean)


def test_a_given_learner_keeps_its_prior(tmp_path: Path) -> None:
    learner = FabCost(Gaussian.isotropic(1, variance=2.0))
    recommender = Recommender(Schema.open(), learner=learner)

    async def work(service: Service) -> None:
        made = await service.import_model("there", recommender.to_bytes())
        assert made.settings.variances() == Prior(items=0.0)
        await play(service, "there", 10)
        back = Recommender.from_bytes(await service.export_model("there"))
        assert isinstance(back.learner, FabCost)
        assert back.weights.given == 1
        assert back.learner.prior.root[0, 0] == pytest.approx(2.0**0.5)
        assert any("constants of" in step for step in back.schema.steps_since(0))

    served(tmp_path, work)
