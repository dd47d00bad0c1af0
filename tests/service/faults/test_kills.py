"""Servers killed at random moments: nothing acknowledged is lost, nothing is learnt twice."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import numpy as np
import pytest

from tests.examples import EXPLORES
from tests.service.faults.killing import live_and_die, live_on
from tests.service.faults.ledger import check_log, check_posterior, wait_until_resolved
from tests.service.faults.servers import Child, Nursery
from tests.service.faults.visitors import Told, Visitors, make_model

SEED = 20
KILLS = 30 if EXPLORES else 12
WIDE = {"kind": "wide", "bits": 14}
#: Every so often a server is stopped in good order, so that there are snapshots to start from.
STOPPED_AFTER = 7


async def live_and_stop(server: Child, visitors: Visitors) -> None:
    visitors.address = await asyncio.to_thread(server.address)
    await visitors.told.wait_for_answers(20)
    assert await asyncio.to_thread(server.end, signal.SIGTERM) == 0, server.logged()


async def kill_often(nursery: Nursery, database: str, visitors: Visitors, kills: int) -> Child:
    """So many killed servers, one after the other; the one that is left."""
    rng = np.random.default_rng(SEED)
    visiting = asyncio.create_task(visitors.come())
    for kill in range(kills):
        await live_and_die(nursery.start(database), visitors, rng)
        if kill % STOPPED_AFTER == STOPPED_AFTER - 1:
            await live_and_stop(nursery.start(database), visitors)
    last = nursery.start(database)
    await live_on(last, visitors)
    await visiting
    return last


@pytest.mark.parametrize(("kills", "settings"), [(KILLS, {}), (8, {"belief": WIDE})])
def test_killed_many_times(
    nursery: Nursery, store_address: str, kills: int, settings: dict[str, Any]
) -> None:
    """The visitors' plans and the kills have the seed 20; when they meet is up to the machine."""
    first = nursery.start(store_address)
    make_model(first.address(), **settings)
    first.end()
    told = Told()
    visitors = Visitors(told, seed=SEED)
    last = asyncio.run(kill_often(nursery, store_address, visitors, kills))
    address = last.address()
    wait_until_resolved(address)
    check_log(store_address, told)
    check_posterior(address, store_address)
    assert {"applied", "duplicate"} <= told.statuses().keys()
    last.end()
