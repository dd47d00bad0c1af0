"""Configuration, status, and what is answered to all that is not offered."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from tests.service.personalizer.serving import ACTIONS, Served

TWO_KINDS = json.dumps(
    {"actions": [{"id": str(x), "features": [{"x": x}]} for x in (1, "old")]}
).encode()
TOO_MANY = json.dumps(
    {"actions": [{"id": str(n), "features": [{f"{n}": [0.5] * 51}]} for n in range(2)]}
).encode()
SERVICE = "/news/personalizer/configurations/service"


def check_refused(answer: Any, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-ms-error-code"] == code
    error = answer.json()["error"]
    assert error["code"] == code
    return str(error["message"])


def test_a_configuration_is_read_changed_and_read_again(served: Served) -> None:
    served.rank("/news/personalizer")
    found = served.http.get(SERVICE).json()
    assert found["rewardWaitTime"] == "PT10M"
    assert found["lastConfigurationEditDate"].endswith("Z")
    wanted = {**found, "rewardWaitTime": "PT4H", "explorationPercentage": 0.1}
    changed = served.http.put(SERVICE, json=wanted)
    assert changed.status_code == 200
    assert changed.json()["rewardWaitTime"] == "PT4H"
    assert served.http.get(SERVICE).json() == changed.json()
    settings = served.service.model("news").settings
    assert (settings.reward_wait_seconds, settings.floor) == (14_400.0, 0.1)


def test_writing_back_a_configuration_changes_nothing(served: Served) -> None:
    served.rank("/news/personalizer")
    before = served.state()
    assert served.http.put(SERVICE, json=served.http.get(SERVICE).json()).status_code == 200
    assert served.state() == before


def test_the_exploration_percentage_is_the_floor_of_probabilities(served: Served) -> None:
    served.http.patch(SERVICE, json={"explorationPercentage": 0.9})
    response = served.rank("/news/personalizer")
    assert min(each["probability"] for each in response["ranking"]) >= 0.9 / 3 - 1e-12


def test_a_configuration_may_come_first_and_makes_the_model(served: Served) -> None:
    assert served.http.get(SERVICE).json()["defaultReward"] == 0.0
    assert served.http.patch(SERVICE, json={"defaultReward": 0.5}).status_code == 200
    assert served.service.model("news").settings.default_reward == 0.5


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"logRetentionDays": 90}, "InvalidServiceConfiguration"),
        ({"rewardWaitTime": 600}, "InvalidServiceConfiguration"),
        (
            {"learningMode": "Apprentice", "rewardAggregation": "sum"},
            "InvalidLearningModeServiceConfiguration",
        ),
    ],
)
def test_a_configuration_that_is_refused_makes_and_changes_nothing(
    served: Served, change: dict[str, Any], code: str
) -> None:
    check_refused(served.http.patch(SERVICE, json=change), 400, code)
    assert served.service.models() == []
    served.rank("/news/personalizer")
    before = served.state()
    check_refused(served.http.patch(SERVICE, json=change), 400, code)
    check_refused(served.http.put(SERVICE, json=change), 400, "InvalidServiceConfiguration")
    assert served.state() == before


def test_the_status_is_true(served: Served) -> None:
    assert served.http.get("/personalizer/v1.0/status").json() == {
        "service": "personalizer",
        "apiStatus": "Valid",
        "apiStatusMessage": "The service is ready.",
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "multislot/rank", 400, "InvalidMultiSlotApiAccess"),
        ("POST", "multislot/events/e/reward", 400, "InvalidMultiSlotApiAccess"),
        ("POST", "multislot/events/e/activate", 400, "InvalidMultiSlotApiAccess"),
        ("GET", "configurations/policy", 403, "InvalidApiAccess"),
        ("PUT", "configurations/policy", 403, "InvalidApiAccess"),
        ("POST", "configurations/applyFromEvaluation", 403, "InvalidApiAccess"),
        ("GET", "model?signed=true", 403, "InvalidApiAccess"),
        ("PUT", "model", 403, "InvalidApiAccess"),
        ("DELETE", "model", 403, "InvalidApiAccess"),
        ("GET", "model/properties", 403, "InvalidApiAccess"),
        ("DELETE", "logs", 403, "InvalidApiAccess"),
        ("GET", "logs/properties", 403, "InvalidApiAccess"),
        ("POST", "logs/interactions", 403, "InvalidApiAccess"),
        ("GET", "evaluations", 403, "InvalidApiAccess"),
        ("PUT", "evaluations/one", 403, "InvalidApiAccess"),
        ("GET", "featureImportances", 403, "InvalidApiAccess"),
        ("GET", "modelling", 404, "ResourceNotFound"),
        ("POST", "", 404, "ResourceNotFound"),
        ("GET", "rank", 405, "InvalidApiAccess"),
        ("DELETE", "configurations/service", 405, "InvalidApiAccess"),
    ],
)
def test_what_is_not_offered_says_what_to_use(
    served: Served, method: str, path: str, status: int, code: str
) -> None:
    for base in ("/personalizer", "/news/personalizer/v1.0"):
        answer = served.http.request(method, f"{base}/{path}")
        message = check_refused(answer, status, code)
        assert ("is not offered here: " in message) == (status in (400, 403))
    assert served.service.models() == []


def test_a_wrong_method_is_told_the_right_ones(served: Served) -> None:
    answer = served.http.delete("/personalizer/configurations/service")
    assert answer.headers["allow"] == "GET, PUT, PATCH"


@pytest.mark.parametrize("name", ["a b", "-x", "é", "n" * 65])
def test_a_name_that_no_model_can_have_is_not_found(served: Served, name: str) -> None:
    answer = served.http.post(f"/{name}/personalizer/rank", json={"actions": ACTIONS})
    assert "name must be of" in check_refused(answer, 404, "ResourceNotFound")
    assert served.service.models() == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"[]", "the body must be an object but is a list"),
        (b"{}", "'actions' is missing"),
        (b'{"actions": {}}', "'actions' must be a list but is an object"),
        (b'{"actions": [{"id": 1}]}', "'id' in entry 1 in 'actions' must be text"),
        (b'{"actions": [{"id": "a", "features": [3]}]}', "key value pair"),
        (b'{"actions": "\xff"}', "'actions' must be a list but is text"),
        (b'{"eventId": "\xff", "actions": []}', "UTF-8"),
        (b'{"actions": [{"id": "a", "features": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"actions": [{"id": "a", "features": [{"x": 1e38}]}]}', "magnitude at most 1e\\+37"),
        (b'{"actions": [{"id": "a", "features": [{"x": 1e999}]}]}', "out of range"),
        (TWO_KINDS, "'action:x' is 'old' but must be a number"),
        (TOO_MANY, "open to 100 features only"),
    ],
)
def test_a_rank_that_is_refused_makes_no_model(served: Served, body: bytes, message: str) -> None:
    answer = served.http.post("/news/personalizer/rank", content=body)
    assert re.search(message, check_refused(answer, 400, "InvalidRankRequest"))
    assert served.service.models() == []


@pytest.mark.parametrize("event", ["a%0Ab", "%0A", "x%00", "e" * 257])
def test_an_event_that_cannot_be_is_refused(served: Served, event: str) -> None:
    served.rank()
    for operation, code in (
        ("reward", "InvalidRewardRequest"),
        ("activate", "InvalidEventIdToActivate"),
    ):
        url = f"/personalizer/events/{event}/{operation}"
        check_refused(served.http.post(url, json={"value": 1}), 400, code)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"value": "1"}', {}),
        (b'{"value": true}', {}),
        (b'{"value": null}', {}),
        (b'{"value": 1e7}', {}),
        (b'{"value": NaN}', {}),
        (b"{}", {}),
        (b"", {}),
        (b'{"value": 1}', {"x-ms-client-request-id": "x" * 257}),
    ],
)
def test_a_reward_that_is_refused_changes_nothing(
    served: Served, body: bytes, headers: dict[str, str]
) -> None:
    served.rank(eventId="e-1")
    before = served.state()
    url = "/personalizer/events/e-1/reward"
    answer = served.http.post(url, content=body, headers=headers)
    check_refused(answer, 400, "InvalidRewardRequest")
    assert served.state() == before


def test_a_feature_that_changes_its_kind_is_refused(served: Served) -> None:
    served.rank()
    before = served.state()
    actions = [{"id": "pasta", "features": [{"spice": "hot"}]}]
    answer = served.http.post("/personalizer/rank", json={"actions": actions})
    message = check_refused(answer, 400, "InvalidRankRequest")
    assert "'action:spice' is 'hot' but must be a number" in message
    assert served.state() == before


def test_rewards_wait_while_the_database_is_away(served: Served, tmp_path: Path) -> None:
    served.rank(eventId="e-1")
    other = sqlite3.connect(tmp_path / "bandit.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        url = "/personalizer/events/e-1/reward"
        answer = served.http.post(url, json={"value": 1})
        check_refused(answer, 503, "OperationNotAllowed")
        assert answer.headers["retry-after"] == "1"
        assert served.rank(eventId="e-2")["eventId"] == "e-2"
    finally:
        other.close()
    assert served.impressions() == 0
    for _ in range(1200):
        answer = served.http.post(url, json={"value": 1})
        if answer.status_code == 204:
            break
        time.sleep(0.05)
    assert served.impressions() == 1
