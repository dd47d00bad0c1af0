"""Rank, Activate and Reward: what is decided, and what is learnt."""

from __future__ import annotations

import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from fabcost.wire.settings import ModelSettings
from tests.service.personalizer.serving import ACTIONS, Served, serving

FAMILIES = ["/personalizer", "/personalizer/v1.0", "/personalizer/v1.1-preview.3"]
WAIT = 600.0


def settle(served: Served, event: str, name: str = "default") -> str | None:
    """Let the wait for a reward pass, and the sweeper come by: what became of the event."""
    served.hands.pass_by(WAIT + 1.0)
    for _ in range(1200):
        found = served.call(served.service.decision, name, event)
        if found.resolved is not None:
            return found.outcome
        time.sleep(0.05)
    raise AssertionError(f"{event} is not resolved")


@pytest.mark.parametrize("base", FAMILIES)
def test_a_ranking_has_every_action_and_its_probability(served: Served, base: str) -> None:
    response = served.rank(base, eventId="e-1")
    assert response["eventId"] == "e-1"
    assert response["ranking"][0]["id"] == response["rewardActionId"]
    assert {each["id"] for each in response["ranking"]} == {each["id"] for each in ACTIONS}
    assert sum(each["probability"] for each in response["ranking"]) == pytest.approx(1.0)


def test_a_reward_from_minus_one_to_one_is_a_fraction_where_the_model_says_so(
    served: Served,
) -> None:
    settings = ModelSettings(values="fraction", least_value=-1.0)
    served.call(served.service.create_model, "default", settings)
    served.rank(eventId="e-1")
    refused = served.http.post("/personalizer/events/e-1/reward", json={"value": -1.5})
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "InvalidRewardRequest"
    assert "value is -1.5 but the model learns values from -1 to 1" in refused.text
    served.reward("e-1", -0.5)
    stats = served.call(served.service.stats, "default")
    assert [(each.clicks, each.rewards) for each in stats.buckets] == [(0, 0.25)]


def test_an_event_without_id_gets_one(served: Served) -> None:
    first, second = served.rank(), served.rank()
    assert first["eventId"] != second["eventId"]


def test_a_rank_that_is_repeated_is_answered_as_the_first_time(served: Served) -> None:
    first = served.rank(eventId="e-1", excludedActions=["juice"])
    served.rank(eventId="other")
    served.reward("other")
    assert served.rank(eventId="e-1", excludedActions=["juice"]) == first
    assert served.call(served.service.stats, "default").decisions == 2


@pytest.mark.parametrize("mode", ["Online", "Apprentice", "LoggingOnly"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"actions": ACTIONS[::-1], "excludedActions": ["juice"]},
        {"actions": ACTIONS[1:], "excludedActions": ["juice"]},
        {"actions": [ACTIONS[2], {"id": "tea", "features": [{"taste": "bitter"}]}]},
    ],
)
def test_a_rank_that_is_repeated_with_other_actions_too(
    served: Served, changes: dict[str, Any], mode: str
) -> None:
    served.http.patch("/personalizer/configurations/service", json={"learningMode": mode})
    first = served.rank(eventId="e-1", excludedActions=["pasta"])
    assert first["ranking"][0] == {"id": "pasta", "probability": 0.0}
    assert served.rank(eventId="e-1", **changes) == first


def test_excluded_actions_keep_their_index_and_are_not_chosen(served: Served) -> None:
    for number in range(20):
        response = served.rank(eventId=f"e-{number}", excludedActions=["ice cream"])
        assert response["ranking"][1] == {"id": "ice cream", "probability": 0.0}
        assert response["rewardActionId"] != "ice cream"


def test_a_prefix_names_the_model(served: Served) -> None:
    for base in ("/food/personalizer", "/tenants/acme/models/drinks/personalizer/v1.0"):
        served.rank(base, eventId="same")
    served.reward("same", base="/models/food/personalizer")
    names = {each.name: each.impressions for each in served.service.models()}
    assert names == {"drinks": 0, "food": 1}


@pytest.mark.parametrize(
    "event", ["ev%2F1%20x", "a%2Freward", "%C3%A9%3F%23", "personalizer%2Frank"]
)
def test_event_ids_may_hold_anything(served: Served, event: str) -> None:

    served.rank(eventId=urllib.parse.unquote(event))
    served.reward(event)
    assert served.impressions() == 1


def test_the_first_reward_is_learnt_once(served: Served) -> None:
    served.rank(eventId="e-1")
    for _ in range(3):
        served.reward("e-1")
    assert served.impressions() == 1
    assert served.call(served.service.decision, "default", "e-1").value == 1.0


def test_a_reward_may_come_before_the_first_rank_of_its_model(served: Served) -> None:
    served.reward("early", 1.0, base="/news/personalizer")
    assert [each.name for each in served.service.models()] == ["news"]
    served.rank("/news/personalizer", eventId="early")
    settle(served, "early", "news")
    assert served.call(served.service.decision, "news", "early").value == 1.0


def test_looking_at_a_model_that_is_still_to_be_made_makes_none(served: Served) -> None:
    served.activate("early", base="/news/personalizer")
    path = "/personalizer/configurations/service"
    configuration = served.http.get(f"/news{path}")
    assert configuration.status_code == 200
    assert served.service.models() == []
    written = served.http.put(f"/news{path}", json=configuration.json())
    assert [each.name for each in served.service.models()] == ["news"]
    assert written.json().items() >= configuration.json().items()


def test_a_reward_may_come_before_its_rank(served: Served) -> None:
    served.rank(eventId="other")
    served.reward("early", 1.0)
    assert served.impressions() == 0
    served.rank(eventId="early")
    settle(served, "early")
    assert served.call(served.service.decision, "default", "early").value == 1.0


def test_without_a_reward_the_default_is_learnt(served: Served) -> None:
    served.rank(eventId="e-1")
    settle(served, "e-1")
    assert served.impressions() == 1
    served.reward("e-1")
    found = served.call(served.service.decision, "default", "e-1")
    assert (served.impressions(), found.value) == (1, 0.0)


def test_a_deferred_event_is_learnt_only_if_activated(served: Served) -> None:
    for event in ("never", "rewarded", "activated", "both"):
        served.rank(eventId=event, deferActivation=True)
    served.activate("activated")
    served.activate("both")
    served.reward("both")
    served.reward("rewarded")
    outcomes = {
        event: settle(served, event) for event in ("never", "rewarded", "activated", "both")
    }
    lsns = {
        event: served.call(served.service.decision, "default", event).applied_lsn
        for event in outcomes
    }
    assert lsns["never"] is None
    assert lsns["rewarded"] is None
    assert lsns["activated"] is not None
    assert lsns["both"] is not None
    assert served.impressions() == 2


def test_activating_what_is_unknown_or_active_is_harmless(served: Served) -> None:
    served.rank(eventId="e-1")
    served.activate("e-1")
    served.activate("unknown")
    served.reward("e-1")
    assert served.impressions() == 1


def test_rewards_are_summed_but_a_repeated_request_counts_once(served: Served) -> None:
    change = {"rewardAggregation": "sum"}
    assert served.http.patch("/personalizer/configurations/service", json=change).status_code == 200
    served.rank(eventId="e-1")
    served.reward("e-1", 0.5)
    served.reward("e-1", 0.5)
    for _ in range(3):
        served.http.post(
            "/personalizer/events/e-1/reward",
            json={"value": 2},
            headers={"x-ms-client-request-id": "again"},
        )
    settle(served, "e-1")
    assert served.call(served.service.decision, "default", "e-1").value == 3.0


OPERATIONS: list[tuple[str, str, Any]] = [
    ("POST", "rank", {"actions": ACTIONS}),
    ("POST", "events/e/reward", {"value": 1}),
    ("POST", "events/e/activate", None),
    ("GET", "configurations/service", None),
    ("PUT", "configurations/service", {}),
    ("PATCH", "configurations/service", {}),
]


@pytest.mark.parametrize(("name", "create"), [("news", False), ("-news", True), ("é", True)])
@pytest.mark.parametrize(("method", "operation", "body"), OPERATIONS)
def test_models_that_cannot_be_made_are_not_found(
    tmp_path: Path, name: str, create: bool, method: str, operation: str, body: Any
) -> None:
    with serving(tmp_path / "bandit.db", create_models=create) as served:
        answer = served.http.request(method, f"/{name}/personalizer/{operation}", json=body)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "ResourceNotFound"
        assert answer.headers["x-ms-error-code"] == "ResourceNotFound"
        assert served.service.models() == []


def test_an_apprentice_serves_the_first_action(served: Served) -> None:
    change = {"learningMode": "Apprentice"}
    assert served.http.patch("/personalizer/configurations/service", json=change).status_code == 200
    response = served.rank(excludedActions=["pasta"])
    assert response["rewardActionId"] == "ice cream"
    assert response["ranking"] == [
        {"id": "pasta", "probability": 0.0},
        {"id": "ice cream", "probability": 1.0},
        {"id": "juice", "probability": 0.0},
    ]


def test_logging_only_serves_the_first_action_and_learns_nothing(served: Served) -> None:
    change = {"learningMode": "LoggingOnly"}
    assert served.http.patch("/personalizer/configurations/service", json=change).status_code == 200
    response = served.rank(eventId="e-1")
    assert [each["id"] for each in response["ranking"]] == [each["id"] for each in ACTIONS]
    assert response["ranking"][0]["probability"] == 1.0
    served.reward("e-1")
    assert served.impressions() == 0
