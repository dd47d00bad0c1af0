"""Over HTTP: feedback that comes before its decision, or together with its deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fabcost.service.settings import Settings
from tests.service.faults.ledger import check_log, check_posterior, wait_until_resolved
from tests.service.faults.visitors import MODEL, Told, make_model
from tests.service.http.serving import Running, running

RACERS = 40


@pytest.fixture
def server(store_address: str) -> Iterator[Running]:
    settings = Settings(database=store_address, log_level="warning", keep_alive_seconds=60)
    with running(settings) as server:
        yield server


async def decide(http: httpx.AsyncClient, told: Told, decision: str) -> dict[str, Any]:
    told.asked.add(decision)
    answer = await http.post("/decisions", json={"decision_id": decision})
    assert answer.status_code == 200, answer.text
    told.decided(answer.json())
    return dict(answer.json())


async def feed(http: httpx.AsyncClient, told: Told, decision: str, value: float) -> str:
    body = {"decision_id": decision, "key": "k", "value": value}
    answer = await http.post("/feedback", json=body)
    assert answer.status_code == 200, answer.text
    told.fed_back(decision, "k", value, answer.json()["status"])
    return str(answer.json()["status"])


def client(server: Running) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{server.address}/v1/models/{MODEL}", timeout=30.0)


def check(server: Running, told: Told) -> None:
    wait_until_resolved(server.address)
    check_log(server.settings.database, told)
    check_posterior(server.address, server.settings.database)


def test_feedback_before_its_decision(server: Running) -> None:
    make_model(server.address, reward_wait_seconds=60.0)
    told = Told()

    async def main() -> None:
        async with client(server) as http:
            assert await feed(http, told, "one", 1.0) == "parked"
            assert await feed(http, told, "one", 1.0) == "parked"
            await decide(http, told, "one")
            pairs = [(f"d{k}", float(k % 2)) for k in range(20)]
            feeds = (feed(http, told, *pair) for pair in pairs)
            decisions = (decide(http, told, decision) for decision, _ in pairs)
            await asyncio.gather(*feeds, *decisions)

    asyncio.run(main())
    assert told.statuses().keys() <= {"parked", "applied"}
    check(server, told)


async def race(http: httpx.AsyncClient, told: Told, decision: str, after: float) -> None:
    """Feedback that is sent so many seconds after the deadline, or before."""
    answer = await decide(http, told, decision)
    await asyncio.sleep(max(0.0, answer["deadline"] + after - time.time()))
    await feed(http, told, answer["decision_id"], 1.0)


def test_reward_racing_with_its_deadline(server: Running) -> None:
    """Sent from 200 ms before the deadline to 400 ms after: the sweeper comes every 250 ms."""
    make_model(server.address, reward_wait_seconds=0.5)
    told = Told()

    async def main() -> None:
        async with client(server) as http:
            delays = [-0.2 + 0.6 * k / RACERS for k in range(RACERS)]
            await asyncio.gather(
                *(race(http, told, f"d{k}", delay) for k, delay in enumerate(delays))
            )

    asyncio.run(main())
    assert told.statuses().keys() <= {"applied", "late"}
    assert told.statuses()["late"] > 0
    check(server, told)
