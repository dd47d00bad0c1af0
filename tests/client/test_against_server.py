"""Clients and a real server, on connections that lose answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

import fabcost
from fabcost.client import (
    AsyncClient,
    Client,
    ClientError,
    ModelSettings,
    Retries,
)
from tests.service.http.serving import Running, process
from tests.service.postgres import find_port

ADVERTS: dict[str, dict[str, Any]] = {
    "ad-1": {"make": "kia", "age": 3},
    "ad/2 ü": {"make": "ford", "age": 1.5},
    "..": {"make": "audi", "age": 7},
}


@pytest.fixture
def client(server: Running) -> Iterator[Client]:
    with Client(server.address) as client:
        yield client


@pytest.fixture
def model(client: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    name = "".join(each for each in request.node.name if each.isalnum())[:60]
    client.create_model(name)
    yield name
    client.delete_model(name)


def test_models(client: Client) -> None:
    client.wait_until_ready()
    made = client.create_model("cars", ModelSettings(holdback=0.25))
    assert made == client.model("cars")
    assert "cars" in [each.name for each in client.models()]
    changed = client.change_model("cars", mode="off", floor=0.1)
    assert (changed.settings.mode, changed.settings.holdback) == ("off", 0.25)
    with pytest.raises(ClientError) as caught:
        client.create_model("cars")
    assert (caught.value.code, caught.value.status) == ("already_there", 409)
    assert caught.value.request_id
    client.delete_model("cars")
    with pytest.raises(ClientError, match="there is no model 'cars'"):
        client.model("cars")


def test_catalogue(client: Client, model: str) -> None:
    version = client.put_items(model, ADVERTS)
    assert client.items(model).version == version
    assert client.items(model).items == ADVERTS
    page = client.items(model, limit=2)
    assert list(page.items) == ["ad-1", "ad/2 ü"]
    assert list(client.items(model, limit=2, after=page.next).items) == [".."]
    for item, features in ADVERTS.items():
        assert client.item(model, item) == features
    client.delete_item(model, "..")
    assert client.model(model).items == 2
    with pytest.raises(ClientError, match="there is no item '..'"):
        client.delete_item(model, "..")


def test_values_and_costs(server: Running, client: Client, model: str) -> None:
    client.change_model(model, value_feature="age")
    client.put_items(model, ADVERTS)
    costs = dict.fromkeys(ADVERTS, 1e9) | {"..": 0.0}
    made = client.decide(model, values={"ad-1": 0.5}, costs=costs)
    client.feedback(model, made.decision_id)
    assert made.item == ".."
    view = client.decision(model, made.decision_id)
    assert (view.click_value, view.cost) == (7.0, 0.0)
    with pytest.raises(ClientError, match="values has 'x', which is not among the candidates"):
        client.decide(model, values={"x": 1.0})

    async def later() -> str:
        async with AsyncClient(server.address) as other:
            second = await other.decide(model, costs=costs)
            await other.feedback(model, second.decision_id, 0.0)
            return second.item

    assert asyncio.run(later()) == ".."
    stats = client.stats(model)
    assert sum(each.income for each in stats.buckets) == 7.0
    assert [each.income for each in stats.top_items] == [7.0]


def test_a_model_starts_from_another(client: Client, model: str) -> None:
    for i in range(20):
        decision = client.decide(model, candidates=ADVERTS)
        client.feedback(model, decision.decision_id, float(i % 3 == 0))
    known = {each.name: each.mean for each in client.posterior(model).weights}
    client.create_model("started", start=model, discount=1.0)
    file = client.export_model(model)
    client.import_model("of-file", file, start=True, discount=1.0)
    for name in ("started", "of-file"):
        assert client.model(name).impressions == 0
        found = {each.name: each.mean for each in client.posterior(name).weights}
        assert found == pytest.approx(known, abs=1e-8)
        client.delete_model(name)
    with pytest.raises(ClientError, match="no model 'nobody'"):
        client.create_model("started", start="nobody")
    with pytest.raises(ClientError, match="discount"):
        client.create_model("started", start=model, discount=1.5)


def test_a_model_moves(client: Client, model: str, tmp_path: Any) -> None:
    for i in range(20):
        decision = client.decide(model, candidates=ADVERTS)
        client.feedback(model, decision.decision_id, float(i % 3 == 0))
    file = client.export_model(model)
    (tmp_path / "model.fabcost").write_bytes(file)
    assert fabcost.Recommender.load(tmp_path / "model.fabcost").schema.width > 1
    moved = client.import_model("moved", file)
    assert moved.weights == client.model(model).weights
    assert client.posterior("moved").weights == client.posterior(model).weights
    with pytest.raises(ClientError, match="there is a model 'moved' already"):
        client.import_model("moved", file)
    client.delete_model("moved")


@pytest.mark.parametrize("form", ["jsonl", "parquet", "dsjson"])
def test_a_log_moves(client: Client, model: str, form: Any) -> None:
    for i in range(10):
        decision = client.decide(model, context={"hour": i}, candidates=ADVERTS)
        client.feedback(model, decision.decision_id, float(i % 3 == 0))
    log = b"".join(client.export_log(model, form))
    client.create_model("copied")
    try:
        assert client.import_log("copied", log, form) == 10
        assert client.import_log("copied", log, form) == 0
        assert client.posterior("copied").impressions == 10
    finally:
        client.delete_model("copied")


def test_many_at_once(server: Running, client: Client, model: str) -> None:
    async def visit(visitor: AsyncClient, number: int) -> str:
        decision = await visitor.decide(model, context={"hour": number}, candidates=ADVERTS)
        answer = await visitor.feedback(model, decision.decision_id, float(number % 2))
        return answer.status

    async def visits() -> list[str]:
        async with AsyncClient(server.address) as visitor:
            return await asyncio.gather(*(visit(visitor, number) for number in range(50)))

    assert asyncio.run(visits()) == ["applied"] * 50
    assert client.posterior(model).impressions == 50


def test_the_awaiting_client_moves_a_log(server: Running, client: Client, model: str) -> None:
    decision = client.decide(model, candidates=ADVERTS)
    client.feedback(model, decision.decision_id)

    async def move() -> int:
        async with AsyncClient(server.address) as moving:
            await moving.wait_until_ready()
            log = b"".join([piece async for piece in moving.export_log(model)])
            return await moving.import_log(model, log)

    assert asyncio.run(move()) == 0


def test_a_server_that_comes_back_is_waited_for(tmp_path: Any) -> None:
    # Others must not be given its port while it is stopped.
    serve = partial(process, tmp_path / "bandit.db", "--port", str(find_port()))
    with serve() as server, Client(server.address) as client:
        client.create_model("news")
        decision = client.decide("news", candidates=ADVERTS)
        server.stop()
    with Client(server.address, retries=Retries(attempts=2, first=0.001)) as client:
        with pytest.raises(ClientError) as caught:
            client.models()
        assert caught.value.code == "unreachable"
    patient = Retries(attempts=10_000, longest=0.2, deadline=300.0)
    with Client(server.address, retries=patient) as client, ThreadPoolExecutor(1) as other:
        again = other.submit(
            client.decide, "news", candidates=ADVERTS, decision_id=decision.decision_id
        )
        with serve():
            assert again.result() == decision
