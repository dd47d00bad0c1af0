"""A second server on the same database: the first stops writing, and nothing is learnt twice."""

from __future__ import annotations

import asyncio

import httpx

from tests.service.faults.ledger import check_log, check_posterior, wait_until_resolved
from tests.service.faults.servers import PATIENCE, Child, Nursery, is_ready, store_away, wait_for
from tests.service.faults.visitors import MODEL, Told, Visitors, make_model

SEED = 23


async def overlap(nursery: Nursery, database: str, first: Child, told: Told) -> Child:
    """Visitors of both, for a while before and after the second server starts."""
    of_first = Visitors(told, seed=SEED, name="first-")
    of_second = Visitors(told, seed=SEED + 1, name="second-")
    of_first.address = first.address()
    visiting = [asyncio.create_task(of_first.come())]
    await told.wait_for_answers(60)
    second = nursery.start(database)
    of_second.address = await asyncio.to_thread(second.address)
    visiting.append(asyncio.create_task(of_second.come()))
    await told.wait_for_answers(100)
    of_first.address = of_second.address
    await told.wait_for_answers(60)
    of_first.leave()
    of_second.leave()
    await asyncio.gather(*visiting)
    return second


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


def test_second_server(nursery: Nursery, store_address: str) -> None:
    first = nursery.start(store_address)
    make_model(first.address())
    told = Told()
    second = asyncio.run(overlap(nursery, store_address, first, told))
    check_stopped_writing(first.address())
    assert is_ready(second.address())
    wait_until_resolved(second.address())
    check_log(store_address, told)
    check_posterior(second.address(), store_address)
    assert told.statuses()["applied"] > 0
    first.end()
    second.end()
