"""What every client does, by a real server: in Python, and in TypeScript in Node and a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from fabcost.client import Client, ClientError, FeedbackRequest, ModelSettings, Retries
from fabcost.service.settings import Settings
from fabcost.wire.messages import Between
from tests.client import speaking
from tests.client.losing import Losing
from tests.client.test_against_server import ADVERTS
from tests.client.typescript import SOURCES, PageSpeaker, TypeScriptClient
from tests.service.dashboard.adverts import add_key
from tests.service.http.serving import Running, running
from tests.service.http.waiting import wait_for_the_database
from tests.service.postgres import find_port

chromium, package = speaking.chromium, speaking.package
origin, speaker = speaking.origin, speaking.speaker
#: One of three that say the same.
Caller = Client | TypeScriptClient
HASTY = {"attempts": 50, "first": 1, "longest": 2}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract") / "bandit.db"


@pytest.fixture(scope="module")
def admin_key(database: Path) -> str:
    return add_key(database, "admin")


@pytest.fixture(scope="module")
def server(database: Path, admin_key: str, origin: str) -> Iterator[Running]:
    assert admin_key
    with running(Settings(database=str(database), cors_origins=(origin,))) as server:
        wait_for_the_database(server)
        yield server


@pytest.fixture
def admin(server: Running, admin_key: str) -> Iterator[Client]:
    with Client(server.address, admin_key) as client:
        yield client


@pytest.fixture
def model(admin: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = "".join(each for each in request.node.name if each.isalnum())[:60]
    admin.create_model(name, ModelSettings(seed=4))
    yield name
    admin.delete_model(name)


@pytest.fixture
def key(server: Running, admin_key: str, model: str) -> str:
    """A publishable one, for a page."""
    body = {"name": "page", "model": model, "rate": 1e6}
    with server.client(headers={"x-api-key": admin_key}) as http:
        return str(http.post("/v1/keys", json=body).raise_for_status().json()["key"])


@pytest.fixture(params=["python", "node", "chromium"])
def caller(request: pytest.FixtureRequest, server: Running, key: str) -> Iterator[Caller]:
    if request.param == "python":
        with Client(server.address, key) as client:
            yield client
        return
    find = request.getfixturevalue("speaker")
    yield TypeScriptClient(find(request.param), server.address, key)


@pytest.fixture(params=["python", "node", "chromium"])
def losing(request: pytest.FixtureRequest, server: Running, key: str) -> Iterator[Caller]:
    """One of whose requests four in ten, or their answers, are lost."""
    if request.param == "python":
        retries = Retries(attempts=50, first=0.001, longest=0.002)
        transport = Losing(seed=11, share=0.4)
        with Client(server.address, key, retries=retries, transport=transport) as client:
            yield client
        assert transport.lost > 15
        return
    find = request.getfixturevalue("speaker")
    losses = {"seed": 11, "share": 0.4}
    yield TypeScriptClient(find(request.param), server.address, key, retries=HASTY, losses=losses)


def test_the_loop(admin: Client, caller: Caller, model: str) -> None:
    admin.put_items(model, ADVERTS)
    context = {"device": "tv", "hour": 9, "missing": None}
    first = caller.decide(model, context=context, top_k=3)
    assert set(first.ranking) == set(ADVERTS)
    again = caller.decide(model, context=context, top_k=3, decision_id=first.decision_id)
    assert again == first
    assert caller.feedback(model, first.decision_id, key="k").status == "applied"
    assert caller.feedback(model, first.decision_id, key="k").status == "applied"
    assert caller.feedback(model, first.decision_id).status == "duplicate"
    some = caller.decide(model, items=["ad-1", ".."], exclude=["ad-1"])
    assert some.item == ".."
    few = caller.decide(model, filter={"age": Between(max=2.0)})
    assert few.item == "ad/2 ü"
    own = caller.decide(model, candidates={"x": {"make": "vw"}}, deferred=True)
    assert caller.activate(model, own.decision_id)
    assert not caller.activate(model, own.decision_id)
    bulk = [FeedbackRequest(decision_id=each.decision_id, value=0.0) for each in (some, few, own)]
    assert [each.status for each in caller.feedback_bulk(model, bulk)] == ["applied"] * 3
    assert admin.stats(model).impressions == admin.posterior(model).impressions == 4
    assert admin.alarms(model) == admin.stats(model).alarms == []
    assert admin.contrasts(model).impressions == 4
    assert admin.decision(model, first.decision_id).value == 1.0
    page = admin.decisions(model, limit=3)
    assert page.decisions[0].decision_id == own.decision_id
    assert len(admin.decisions(model, limit=3, before=page.next).decisions) == 1
    why = admin.explain(model, first.decision_id)
    assert why.contributions
    assert 0.0 < why.click_probability < 1.0


def test_what_is_wrong_is_said(admin: Client, caller: Caller, model: str) -> None:
    with pytest.raises(ClientError, match="values has 'x', which is not") as caught:
        caller.decide(model, candidates=ADVERTS, values={"x": 1.0})
    assert (caught.value.code, caught.value.status) == ("invalid_request", 422)
    assert caught.value.request_id
    with pytest.raises(ClientError) as caught:
        caller.decide("another", candidates=ADVERTS)
    assert (caught.value.code, caught.value.status) == ("forbidden", 403)
    costs = dict.fromkeys(ADVERTS, 1e9) | {"..": 0.0}
    made = caller.decide(model, candidates=ADVERTS, values={"..": 7.0}, costs=costs)
    view = admin.decision(model, made.decision_id)
    assert (made.item, view.click_value, view.cost) == ("..", 7.0, 0.0)


def test_nothing_is_lost_or_doubled_when_answers_are_lost(
    admin: Client, losing: Caller, model: str
) -> None:
    admin.put_items(model, ADVERTS)
    made = []
    for i in range(30):
        made.append(losing.decide(model, context={"hour": i % 24}))
        assert losing.feedback(model, made[-1].decision_id, float(i % 2)).status == "applied"
    stats = admin.stats(model)
    assert (stats.decisions, stats.impressions) == (30, 30)
    for i, decision in enumerate(made):
        view = admin.decision(model, decision.decision_id)
        assert (view.item, view.value) == (decision.item, float(i % 2))


@pytest.mark.parametrize("where", ["node", "chromium"])
def test_many_at_once(
    admin: Client, server: Running, speaker: Any, key: str, model: str, where: str
) -> None:
    admin.put_items(model, ADVERTS)
    client = TypeScriptClient(speaker(where), server.address, key)
    visits = client.ask(model, "visits", {"count": 50, "lanes": 25})
    assert [each["status"] for each in visits] == ["applied"] * 50
    assert admin.posterior(model).impressions == 50


@pytest.mark.parametrize("where", ["node", "chromium"])
def test_a_server_that_is_away_is_not_waited_for(speaker: Any, where: str) -> None:
    address = f"http://127.0.0.1:{find_port()}"
    client = TypeScriptClient(speaker(where), address, "fp_x_y", retries=HASTY)
    found = client.ask("m", "attempt", {"fallback": "ad-1", "timeLimit": 300})
    decision = found["decision"]
    assert (decision["item"], decision["arm"], decision["ranking"]) == (
        "ad-1",
        "fallback",
        ["ad-1"],
    )
    assert client.ask("m", "feedback", decision)["status"] == "ignored"
    with pytest.raises(ClientError) as caught:
        client.decide("m", candidates=ADVERTS)
    assert caught.value.code == "unreachable"
    with pytest.raises(ClientError):
        client.feedback("m", "d-1")
    assert client.ask("m", "pending") == 1
    with pytest.raises(ClientError, match="'age' of the context is"):
        client.decide("m", context={"age": np.inf})


def test_a_page_has_no_secret_key(speaker: Any) -> None:
    client = TypeScriptClient(speaker("chromium"), "http://127.0.0.1:1", "fc_x_y")
    with pytest.raises(ClientError, match="make a publishable one"):
        client.decide("m")


def test_a_page_of_another_origin_is_kept_out(
    admin: Client, server: Running, chromium: Browser, origin: str, key: str, model: str
) -> None:
    """By its browser, which is not told that it may ask: the same page under another name."""
    page = chromium.new_page()
    page.goto(origin.replace("127.0.0.1", "localhost"))
    stranger = TypeScriptClient(PageSpeaker(page), server.address, key, retries={"attempts": 1})
    with pytest.raises(ClientError) as caught:
        stranger.decide(model, candidates=ADVERTS)
    assert caught.value.code == "unreachable"
    page.close()
    assert admin.stats(model).decisions == 0


WORKER = """
import {{ Client }} from "{origin}/dist/index.js";
const client = new Client({options});
const decision = await client.decide({{ candidates: {{ a: {{ x: 1 }} }} }});
postMessage((await client.feedback(decision)).status);
"""


def test_it_works_in_a_worker(
    admin: Client, server: Running, speaker: Any, origin: str, key: str, model: str
) -> None:
    options = json.dumps({"url": server.address, "model": model, "key": key})
    script = WORKER.format(origin=origin, options=options)
    told = speaker("chromium").page.evaluate(
        """(script) => new Promise((resolve, reject) => {
            const file = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
            const worker = new Worker(file, { type: "module" });
            worker.onmessage = (said) => resolve(said.data);
            worker.onerror = (error) => reject(error.message);
        })""",
        script,
    )
    assert (told, admin.posterior(model).impressions) == ("applied", 1)


def test_the_package_has_what_it_says(package: Path) -> None:
    about = json.loads((package / "package.json").read_text(encoding="utf-8"))
    exported = about["exports"]["."]
    assert all((package / exported[each]).is_file() for each in ("types", "default"))
    assert "dependencies" not in about
    shipped = {each.relative_to(package).parts[0] for each in package.rglob("*") if each.is_file()}
    assert shipped == {"package.json", "README.md", "dist"}
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "integrity" in lock
    assert "resolved" not in lock
