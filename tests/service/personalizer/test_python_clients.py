"""The unmodified Python clients: two packages, three interfaces, against a real server."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pytest
from azure.ai.personalizer import PersonalizerAdministrationClient
from azure.ai.personalizer import PersonalizerClient as Client
from azure.ai.personalizer.aio import PersonalizerClient as AsyncClient
from azure.cognitiveservices.personalizer import PersonalizerClient as FirstClient
from azure.cognitiveservices.personalizer.models import RankRequest
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from msrest.authentication import CognitiveServicesCredentials
from msrest.exceptions import HttpOperationError

from tests.service.personalizer.loopback import Loopback
from tests.service.personalizer.serving import ACTIONS, CONTEXT

REFUSED = (HttpOperationError, HttpResponseError)


class Speaker(Protocol):
    """What every client can do, with answers as plain values."""

    def rank(self, body: dict[str, Any]) -> dict[str, Any]: ...

    def activate(self, event: str) -> None: ...

    def reward(self, event: str, value: float) -> None: ...


class First:
    """azure-cognitiveservices-personalizer."""

    def __init__(self, endpoint: str, key: str) -> None:
        self.client = FirstClient(endpoint, CognitiveServicesCredentials(key))

    def rank(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.rank(RankRequest.from_dict(body))
        ranking = [{"id": each.id, "probability": each.probability} for each in answer.ranking]
        return {
            "ranking": ranking,
            "eventId": answer.event_id,
            "rewardActionId": answer.reward_action_id,
        }

    def activate(self, event: str) -> None:
        self.client.events.activate(event_id=event)

    def reward(self, event: str, value: float) -> None:
        self.client.events.reward(event_id=event, value=value)


class Second:
    """azure-ai-personalizer."""

    def __init__(self, endpoint: str, key: str) -> None:
        self.client: Any = Client(endpoint, AzureKeyCredential(key))

    def rank(self, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self.client.rank(body))

    def activate(self, event: str) -> None:
        self.client.activate(event)

    def reward(self, event: str, value: float) -> None:
        self.client.reward(event, {"value": value})


class Third:
    """azure-ai-personalizer, asynchronous."""

    def __init__(self, endpoint: str, key: str) -> None:
        self.endpoint = endpoint
        self.key = key

    def run(self, operation: str, *arguments: Any) -> Any:
        async def asked() -> Any:
            async with AsyncClient(self.endpoint, AzureKeyCredential(self.key)) as client:
                return await getattr(client, operation)(*arguments)

        return asyncio.run(asked())

    def rank(self, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self.run("rank", body))

    def activate(self, event: str) -> None:
        self.run("activate", event)

    def reward(self, event: str, value: float) -> None:
        self.run("reward", event, {"value": value})


@pytest.fixture(params=[First, Second, Third])
def speaker(request: pytest.FixtureRequest) -> Callable[[str, str], Speaker]:
    found: Callable[[str, str], Speaker] = request.param
    return found


def body(event: str | None = None, **changes: Any) -> dict[str, Any]:
    named = {} if event is None else {"eventId": event}
    return {"actions": ACTIONS, "contextFeatures": CONTEXT, **named, **changes}


Speak = Callable[[str, str], Speaker]


def test_rank_activate_reward(server: Loopback, speaker: Speak) -> None:
    model = f"loop-{speaker.__name__}"
    client = speaker(server.endpoint(model), server.key)
    answer = client.rank(body("ev/1 x", deferActivation=True))
    assert answer["eventId"] == "ev/1 x"
    assert answer["rewardActionId"] == answer["ranking"][0]["id"]
    assert sum(each["probability"] for each in answer["ranking"]) == pytest.approx(1.0)
    client.activate("ev/1 x")
    client.reward("ev/1 x", 1.0)
    assert server.impressions(model) == 1
    found = server.decision(model, "ev/1 x")
    assert (found.value, found.item) == (1.0, answer["rewardActionId"])
    assert found.context["context:user.profileType"] == "new"


def test_a_rank_that_is_repeated_gives_the_same_decision(server: Loopback, speaker: Speak) -> None:
    model = f"again-{speaker.__name__}"
    client = speaker(server.endpoint(model), server.key)
    first = client.rank(body("e-1"))
    for number in range(5):
        client.rank(body(f"other-{number}"))
        client.reward(f"other-{number}", float(number % 2))
    assert client.rank(body("e-1")) == first


def test_an_event_without_id_gets_one(server: Loopback, speaker: Speak) -> None:
    model = f"unnamed-{speaker.__name__}"
    client = speaker(server.endpoint(model), server.key)
    event = client.rank(body())["eventId"]
    client.reward(event, 1.0)
    assert server.impressions(model) == 1


def test_excluded_actions_keep_their_index(server: Loopback, speaker: Speak) -> None:
    client = speaker(server.endpoint(f"excluded-{speaker.__name__}"), server.key)
    for number in range(5):
        answer = client.rank(body(f"e-{number}", excludedActions=["ice cream"]))
        assert answer["ranking"][1] == {"id": "ice cream", "probability": 0.0}
        assert answer["rewardActionId"] in ("pasta", "juice")


def test_a_reward_without_activation_is_not_learnt(server: Loopback, speaker: Speak) -> None:
    model = f"deferred-{speaker.__name__}"
    client = speaker(server.endpoint(model), server.key)
    client.rank(body("e-1", deferActivation=True))
    client.reward("e-1", 1.0)
    assert server.impressions(model) == 0
    assert server.decision(model, "e-1").resolved is None


def test_a_reward_twice_or_for_an_unknown_event_is_no_error(
    server: Loopback, speaker: Speak
) -> None:
    model = f"twice-{speaker.__name__}"
    client = speaker(server.endpoint(model), server.key)
    client.rank(body("e-1"))
    client.reward("e-1", 1.0)
    client.reward("e-1", 1.0)
    client.reward("unknown", 1.0)
    client.activate("unknown")
    assert server.impressions(model) == 1


def test_each_endpoint_is_a_model_of_its_own(server: Loopback, speaker: Speak) -> None:
    names = [f"{prefix}-{speaker.__name__}" for prefix in ("one", "two")]
    for name in names:
        speaker(f"{server.address}/{name}", server.key).rank(body("same"))
    speaker(f"{server.address}/{names[0]}", server.key).reward("same", 1.0)
    assert [server.impressions(name) for name in names] == [1, 0]


def test_an_endpoint_without_a_model_is_the_default(server: Loopback, speaker: Speak) -> None:
    speaker(server.address, server.key).rank(body(f"e-{speaker.__name__}"))
    assert server.decision("default", f"e-{speaker.__name__}").candidates[0] == "pasta"


def test_a_wrong_key_is_the_contracts_error(server: Loopback, speaker: Speak) -> None:
    client = speaker(server.endpoint("closed"), "wrong")
    with pytest.raises(REFUSED, match="Access denied due to invalid subscription key"):
        client.rank(body())
    assert "closed" not in [each.name for each in server.service.models()]


def test_a_key_of_one_model_opens_no_other(server: Loopback, speaker: Speak) -> None:
    speaker(server.endpoint("news"), server.key_of_news).rank(body())
    other = speaker(server.endpoint("other"), server.key_of_news)
    with pytest.raises(REFUSED, match="opens one model"):
        other.rank(body())
    with pytest.raises(REFUSED, match="opens one model|Forbidden"):
        other.reward("models/news/personalizer/events/e", 1.0)


def test_a_bad_request_is_the_contracts_error(server: Loopback, speaker: Speak) -> None:
    client = speaker(server.endpoint(f"bad-{speaker.__name__}"), server.key)
    with pytest.raises(REFUSED, match="Action count should be between 1 and 50"):
        client.rank({"actions": []})


def test_a_configuration_is_read_and_changed(server: Loopback) -> None:
    endpoint = server.endpoint("configured")
    Second(endpoint, server.key).rank(body())
    client = PersonalizerAdministrationClient(endpoint, AzureKeyCredential(server.key))
    found = client.get_service_configuration()
    assert found["rewardWaitTime"] == "PT10M"
    wanted = {**found, "rewardWaitTime": "PT12H", "rewardAggregation": "sum"}
    changed = client.update_service_configuration(wanted)
    assert changed["rewardWaitTime"] == "PT12H"
    settings = server.service.model("configured").settings
    assert (settings.reward_wait_seconds, settings.aggregation) == (43_200.0, "sum")


def test_codes_of_errors_reach_the_second_client(server: Loopback) -> None:
    endpoint = server.endpoint("-cannot-be")
    client = PersonalizerAdministrationClient(endpoint, AzureKeyCredential(server.key))
    with pytest.raises(ResourceNotFoundError) as not_found:
        client.get_service_configuration()
    assert not_found.value.error is not None
    assert not_found.value.error.code == "ResourceNotFound"
    with pytest.raises(HttpResponseError) as not_offered:
        client.get_policy()
    assert not_offered.value.error is not None
    assert not_offered.value.error.code == "InvalidApiAccess"
    with pytest.raises(ClientAuthenticationError):
        Second(endpoint, "wrong").rank(body())


def test_a_reward_that_the_second_client_repeats_counts_once(server: Loopback) -> None:
    """Another has locked the database; the client repeats its request until that is over."""
    client = Second(server.endpoint("locked"), server.key)
    client.rank(body("e-1"))
    other = sqlite3.connect(server.database, isolation_level=None)
    with ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        rewarded = pool.submit(client.reward, "e-1", 1.0)
        while server.service.ready is None:
            time.sleep(0.05)
        assert not rewarded.done()
        other.close()
        rewarded.result()
    assert server.impressions("locked") == 1
