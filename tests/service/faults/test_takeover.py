"""A second server on the same database: refused on a file, welcome on PostgreSQL."""

from __future__ import annotations

import asyncio

import httpx

from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from tests.service.faults.ledger import check_log, check_posterior, wait_until_resolved
from tests.service.faults.servers import PATIENCE, Nursery, is_ready, store_away, wait_for
from tests.service.faults.visitors import MODEL, Told, Visitors, make_model

SEED = 23


async def overlap(first: str, second: str, told: Told) -> None:
    """Visitors of both, for a while; then those of the first go to the second."""
    of_first = Visitors(told, seed=SEED, name="first-")
    of_second = Visitors(told, seed=SEED + 1, name="second-")
    of_first.address, of_second.address = first, second
    visiting = [asyncio.create_task(each.come()) for each in (of_first, of_second)]
    await told.wait_for_answers(100)
    of_first.address = of_second.address
    await told.wait_for_answers(60)
    of_first.leave()
    of_second.leave()
    await asyncio.gather(*visiting)


def test_second_server_of_a_file_is_refused(nursery: Nursery, tmp_path: object) -> None:
    database = f"sqlite:///{tmp_path}/bandit.db"
    first = nursery.start(database)
    make_model(first.address())
    second = nursery.start(database)
    assert nursery.wait(second.pid) == 2
    assert "a file of SQLite is for one server; several share a PostgreSQL" in second.logged()
    assert is_ready(first.address())
    first.end()
    third = nursery.start(database)
    assert is_ready(third.address())
    third.end()


def test_second_server_of_postgres_joins(nursery: Nursery, postgres_address: str) -> None:
    first = nursery.start(postgres_address)
    make_model(first.address())
    told = Told()
    second = nursery.start(postgres_address)
    asyncio.run(overlap(first.address(), second.address(), told))
    wait_until_resolved(second.address())
    check_log(postgres_address, told, of_memory=True)
    for server in (first, second):
        check_posterior(server.address(), postgres_address)
        assert is_ready(server.address())
    assert told.statuses()["applied"] > 0
    first.end()
    second.end()


def check_stopped_writing(address: str) -> None:
    """Decisions are still answered, marked; feedback is sent away; operators are told why."""
    wait_for(lambda: store_away(address))
    readiness = httpx.get(f"{address}/readyz", timeout=PATIENCE)
    assert readiness.status_code == 503
    assert "epoch" in readiness.text
    decision = httpx.post(
        f"{address}/v1/models/{MODEL}/decisions", json={"decision_id": "x"}, timeout=PATIENCE
    )
    assert decision.json()["durable"] is False
    feedback = httpx.post(
        f"{address}/v1/models/{MODEL}/feedback", json={"decision_id": "x"}, timeout=PATIENCE
    )
    assert feedback.status_code == 503


async def take_over(address: str) -> None:
    """As a server of another version does, which brings the tables up to date."""
    service = await Service.start(lambda: store_at(address))
    await service.stop()


def test_taken_over(nursery: Nursery, postgres_address: str) -> None:
    """Whoever was there before decides from memory, sends feedback away and says why."""
    first = nursery.start(postgres_address)
    make_model(first.address())
    asyncio.run(take_over(postgres_address))
    check_stopped_writing(first.address())
    first.end()
