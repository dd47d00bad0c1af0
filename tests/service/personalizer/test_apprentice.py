"""Metrics of the apprentice in the configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from azure.ai.personalizer import PersonalizerAdministrationClient, PersonalizerClient
from azure.core.credentials import AzureKeyCredential

from fabcost.service import transfer
from fabcost.service.personalizer import configuration
from fabcost.wire.errors import StoreAwayError
from tests.service.personalizer.loopback import Loopback
from tests.service.personalizer.serving import ACTIONS, Served

SERVICE = "/personalizer/configurations/service"


def set_mode(served: Served, mode: str) -> None:
    assert served.http.patch(SERVICE, json={"learningMode": mode}).status_code == 200


def metrics(served: Served) -> Any:
    answer = served.http.get(SERVICE)
    assert answer.status_code == 200
    return answer.json().get("latestApprenticeModeMetrics")


def exported(served: Served) -> list[dict[str, Any]]:
    async def pieces() -> bytes:
        return b"".join(
            [each async for each in transfer.export(served.service, "default", "jsonl")]
        )

    return [json.loads(line) for line in served.call(pieces).splitlines()]


def test_settled_events_of_the_apprentice_are_counted(served: Served) -> None:
    set_mode(served, "Apprentice")
    assert metrics(served) is None
    only_pasta = ["ice cream", "juice"]  # so that nothing else can be chosen
    for event, value in (("e-1", 1.0), ("e-2", 0.25)):
        served.rank(eventId=event, excludedActions=only_pasta)
        served.hands.pass_by(60.0)
        served.reward(event, value)
    served.rank(eventId="waiting", excludedActions=only_pasta)
    served.rank(eventId="deferred", excludedActions=only_pasta, deferActivation=True)
    served.reward("deferred")
    assert metrics(served) == {
        "numberOfEvents": 2,
        "numberOfImitatedEvents": 2,
        "sumOfRewards": 1.25,
        "sumOfImitatedRewards": 1.25,
        "startTime": "1970-01-01T00:16:40Z",
        "lastProcessedEventTime": "1970-01-01T00:17:40Z",
    }


def test_what_is_imitated_is_what_the_log_says(served: Served) -> None:
    set_mode(served, "Apprentice")
    for number in range(30):
        served.rank(eventId=f"e-{number}")
        served.reward(f"e-{number}", number)
    lines = exported(served)
    same = [line["value"] for line in lines if line["would_choose"] == line["item"]]
    found = metrics(served)
    assert 0 < len(same) < 30
    assert (found["numberOfEvents"], found["sumOfRewards"]) == (30, sum(range(30)))
    assert (found["numberOfImitatedEvents"], found["sumOfImitatedRewards"]) == (
        len(same),
        sum(same),
    )


def test_other_modes_have_none(served: Served) -> None:
    for mode in ("Online", "Apprentice", "LoggingOnly"):
        set_mode(served, mode)
        served.rank(eventId=mode)
        served.reward(mode)
        found = metrics(served)
        assert (None if found is None else found["numberOfEvents"]) == (
            1 if mode == "Apprentice" else None
        )


@pytest.mark.parametrize(("events", "counted"), [(19, 19), (20, 20), (33, 20)])
def test_only_the_latest_events_count(
    served: Served, monkeypatch: pytest.MonkeyPatch, events: int, counted: int
) -> None:
    monkeypatch.setattr(configuration, "LATEST", 20)
    monkeypatch.setattr(configuration, "PAGE", 10)
    set_mode(served, "Apprentice")
    for number in range(events):
        for model in ("/personalizer", "/other/personalizer"):
            served.rank(model, eventId=f"e-{number}")
        served.reward(f"e-{number}", number)
    found = metrics(served)
    assert found["numberOfEvents"] == counted
    assert found["sumOfRewards"] == sum(range(events)[-counted:])


def test_a_configuration_is_read_while_the_database_is_away(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreAwayError("it is locked")

    set_mode(served, "Apprentice")
    served.rank(eventId="e-1")
    served.reward("e-1")
    monkeypatch.setattr(served.service, "decisions", away)
    assert metrics(served) is None


def test_a_client_of_azure_reads_and_writes_them_back(server: Loopback) -> None:
    endpoint, key = server.endpoint("apprenticed"), AzureKeyCredential(server.key)
    administration = PersonalizerAdministrationClient(endpoint, key)
    client: Any = PersonalizerClient(endpoint, key)
    client.rank({"actions": ACTIONS})
    found = dict(administration.get_service_configuration())
    administration.update_service_configuration({**found, "learningMode": "Apprentice"})
    client.reward(client.rank({"actions": ACTIONS})["eventId"], {"value": 1.0})
    found = dict(administration.get_service_configuration())
    assert found["latestApprenticeModeMetrics"]["numberOfEvents"] == 1
    assert administration.update_service_configuration(found) == found
