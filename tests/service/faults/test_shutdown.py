"""SIGTERM under load: whoever was let in is answered, and the next server starts at once."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import httpx

from tests.service.faults.ledger import check_posterior, model_row, reading
from tests.service.faults.locks import held_up
from tests.service.faults.servers import PATIENCE, Nursery
from tests.service.faults.visitors import MODEL, make_model

REQUESTS = 30


class Load:
    """Feedback and decisions at the same moment, and how many of them have been sent."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.sent = 0

    async def decide(self, decision: str) -> httpx.Response:
        return await self._post("decisions", {"decision_id": decision})

    async def feed(self, decision: str) -> httpx.Response:
        return await self._post("feedback", {"decision_id": decision, "value": 1.0})

    async def arrive(self) -> None:
        """Until the server has read all of them: it reads in the order of coming."""
        async with asyncio.timeout(PATIENCE):
            while self.sent < 3 * REQUESTS:
                await asyncio.sleep(0.005)
            for _ in range(3):
                (await self._http.get("/healthz")).raise_for_status()

    async def _post(self, what: str, body: dict[str, Any]) -> httpx.Response:
        path = f"/v1/models/{MODEL}/{what}"
        return await self._http.post(path, json=body, extensions={"trace": self._count})

    async def _count(self, event: str, _: object) -> None:
        self.sent += event == "http11.send_request_body.complete"


async def stop_under_load(address: str, database: str, pid: int) -> list[httpx.Response]:
    """All requests are in flight when the signal comes, and wait for the database."""
    limits = httpx.Limits(max_connections=3 * REQUESTS)
    async with httpx.AsyncClient(base_url=address, timeout=60.0, limits=limits) as http:
        load = Load(http)
        await asyncio.gather(*(load.decide(f"d{k}") for k in range(REQUESTS)))
        with held_up(database):
            feeds = [asyncio.create_task(load.feed(f"d{k}")) for k in range(REQUESTS)]
            decisions = [asyncio.create_task(load.decide(f"e{k}")) for k in range(REQUESTS)]
            await load.arrive()
            os.kill(pid, signal.SIGTERM)
        return list(await asyncio.gather(*feeds, *decisions))


def test_stopped_under_load(nursery: Nursery, store_address: str) -> None:
    """On a very slow machine the database may count as away meanwhile; that is an answer too."""
    server = nursery.start(store_address)
    address = server.address()
    make_model(address, reward_wait_seconds=3600.0)
    answers = asyncio.run(stop_under_load(address, store_address, server.pid))
    assert nursery.wait(server.pid) == 0, server.logged()
    assert {each.status_code for each in answers} <= {200, 503}
    assert all(each.status_code == 200 for each in answers[REQUESTS:])
    applied = [each for each in answers[:REQUESTS] if each.status_code == 200]
    with reading(store_address) as store:
        assert model_row(store).head_lsn == len(applied)
        assert store.pending(MODEL) == 2 * REQUESTS - len(applied)
        assert store.snapshot_numbers(MODEL) == [len(applied)] * bool(applied)
    following = nursery.start(store_address)
    check_posterior(following.address(), store_address)
    assert following.end(signal.SIGTERM) == 0
