"""From Rank to a decision and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabcost.service.personalizer.contract import ContractError
from fabcost.service.personalizer.events import (
    RankableAction,
    RankRequest,
    decision_request,
    rank_response,
)
from fabcost.wire.messages import Arm, DecisionAnswer


def actions(*names: str) -> list[RankableAction]:
    return [RankableAction(name, [{"kind": name[:1]}]) for name in names]


def answered(
    ranking: list[str], propensities: list[float] | None, arm: Arm = "bandit"
) -> DecisionAnswer:
    return DecisionAnswer(
        decision_id="e",
        item=ranking[0],
        ranking=ranking,
        scores=[0.0] * len(ranking),
        propensities=propensities,
        arm=arm,
        posterior_version="0",
        deadline=0.0,
    )


def test_a_request_asks_for_a_decision_on_all_actions() -> None:
    request = RankRequest(
        actions=actions("a", "b"),
        context_features=[{"hour": 9}],
        excluded_actions=["b", "absent", "b"],
        event_id="ev/1 x",
        defer_activation=True,
    )
    asked = decision_request(request)
    assert asked.decision_id == "ev/1 x"
    assert asked.context == {"context:hour": 9}
    assert asked.candidates == {"a": {"action:kind": "a"}, "b": {"action:kind": "b"}}
    assert asked.exclude == ["b"]
    assert asked.top_k == 50
    assert asked.deferred


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": []}, "Action count should be between 1 and 50: it is 0"),
        ({"actions": actions(*map(str, range(51)))}, "between 1 and 50: it is 51"),
        ({"actions": actions("a", "a")}, "'a' is given twice"),
        ({"actions": [RankableAction("")]}, "id of an action should be non-empty"),
        ({"actions": [RankableAction("a" * 257)]}, "257 characters"),
        ({"actions": [RankableAction("a\x00")]}, "no control characters"),
        ({"actions": [RankableAction("a")]}, "at least one non-null action feature: 'a' has none"),
        ({"actions": [RankableAction("a", [{"_x": 1}, {"y": None}])]}, "at least one non-null"),
        ({"excluded_actions": ["b", "a"]}, "All actions are excluded"),
        ({"event_id": ""}, "EventId should be non-empty or null"),
        ({"event_id": "e" * 257}, "257 characters"),
        ({"event_id": ".."}, "clients cannot write into a path"),
    ],
)
def test_what_cannot_be_ranked_is_refused(changes: dict[str, Any], message: str) -> None:
    request = msgspec.structs.replace(RankRequest(actions=actions("a", "b")), **changes)
    with pytest.raises(ContractError, match=message) as refused:
        decision_request(request)
    assert refused.value.code == "InvalidRankRequest"


@given(st.data())
def test_excluded_actions_keep_their_index(data: st.DataObject) -> None:
    names = [f"a{i}" for i in range(data.draw(st.integers(1, 50)))]
    most = len(names) - 1
    excluded = set(data.draw(st.lists(st.sampled_from(names), unique=True, max_size=most)))
    ranked = data.draw(st.permutations([name for name in names if name not in excluded]))
    shares = [(i + 1) / 100 for i in range(len(ranked))]
    response = rank_response(names, answered(ranked, shares))
    for place, name in enumerate(names):
        if name in excluded:
            assert (response.ranking[place].id, response.ranking[place].probability) == (name, 0.0)
    others = [each for each in response.ranking if each.id not in excluded]
    assert [each.id for each in others] == ranked
    assert [each.probability for each in others] == shares
    assert response.reward_action_id == ranked[0]


def test_a_baseline_is_certain_and_the_rest_follow_as_given() -> None:
    for first in ("a", "b", "c"):
        response = rank_response(["a", "b", "c"], answered([first], None, "baseline"))
        assert [each.id for each in response.ranking] == ["a", "b", "c"]
        certain = [each.id for each in response.ranking if each.probability]
        assert certain == [response.reward_action_id] == [first]


def test_propensities_that_are_not_known_are_not_told() -> None:
    response = rank_response(["a"], answered(["a"], None))
    written = msgspec.json.decode(msgspec.json.encode(response))
    assert written == {"ranking": [{"id": "a"}], "eventId": "e", "rewardActionId": "a"}
