"""Several servers on one PostgreSQL, killed at random: all end on the posterior of the log."""

from __future__ import annotations

import asyncio

import numpy as np

from tests.service.faults.ledger import check_log, wait_until_resolved
from tests.service.faults.replicas import Replicas, Scattered, check_same, kill_often
from tests.service.faults.servers import Nursery
from tests.service.faults.visitors import Told

SEED = 31
KILLS = 3


async def live(nursery: Nursery, database: str, told: Told) -> Replicas:
    visitors = Scattered(told, seed=SEED)
    replicas = Replicas(nursery, database, visitors)
    await replicas.start(3)
    await replicas.make_model()
    visiting = asyncio.create_task(visitors.come())
    await kill_often(replicas, visitors, np.random.default_rng(SEED), KILLS)
    await told.wait_for_answers(100)
    visitors.leave()
    await visiting
    return replicas


def test_killed_replicas(nursery: Nursery, postgres_address: str) -> None:
    told = Told()
    replicas = asyncio.run(live(nursery, postgres_address, told))
    wait_until_resolved(replicas.servers[0].address())
    check_log(postgres_address, told)
    check_same(replicas, postgres_address)
    assert told.wrong == []
    assert {"applied", "duplicate"} <= told.statuses().keys()
    for server in replicas.servers:
        server.end()
