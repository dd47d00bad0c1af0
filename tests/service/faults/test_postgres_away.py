"""PostgreSQL stops, is killed, or drops connections while visitors come; then it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import numpy as np
import psycopg

from tests.service.faults.ledger import check_log, check_posterior, wait_until_resolved
from tests.service.faults.servers import Child, Nursery, is_ready, store_away, wait_for
from tests.service.faults.visitors import Told, Visitors, make_model
from tests.service.postgres import PostgresServer

SEED = 22
DROPS = 20
MOST_LOOKS = 1000


async def go_away_and_come_back(postgres: PostgresServer, visitors: Visitors) -> None:
    """Killed once and stopped once; decisions go on all the time."""
    assert visitors.address is not None
    for name, end in (("killed", postgres.kill), ("stopped", postgres.stop)):
        await visitors.told.wait_for_answers(60)
        await asyncio.to_thread(end)
        try:
            await look_until_away(visitors, name)
            assert await asyncio.to_thread(store_away, visitors.address)
            assert not await asyncio.to_thread(is_ready, visitors.address)
        finally:
            await asyncio.to_thread(postgres.start)
        await asyncio.to_thread(wait_for, lambda: is_ready(str(visitors.address)))
    await visitors.told.wait_for_answers(60)


async def look_until_away(visitors: Visitors, name: str) -> None:
    """Decisions are answered all the time: durable ones, then some from memory."""
    from_memory = 0
    for k in range(MOST_LOOKS):
        from_memory += not await visitors.look(f"{name}-{k}")
        if from_memory == 5:
            return
    raise AssertionError(f"{MOST_LOOKS} decisions were durable but the database is away")


async def drop_often(database: str, told: Told) -> None:
    """Connections end at moments of the seed 22, counted in answers."""
    rng = np.random.default_rng(SEED)
    for _ in range(DROPS):
        await told.wait_for_answers(int(rng.integers(1, 30)))
        await asyncio.to_thread(drop_connections, database)
        await asyncio.sleep(rng.uniform(0.0, 0.01))


def drop_connections(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'fabcost' AND datname = current_database()"
        )


async def visited_during(trouble: Awaitable[None], visitors: Visitors) -> None:
    visiting = asyncio.create_task(visitors.come())
    await trouble
    visitors.leave()
    await visiting


def check(server: Child, database: str, told: Told) -> None:
    address = server.address()
    wait_for(lambda: is_ready(address))
    wait_until_resolved(address)
    check_log(database, told, of_memory=True)
    check_posterior(address, database)
    assert told.statuses()["applied"] > 0
    assert "Traceback" not in server.logged()
    server.end()


def test_gone_and_back(nursery: Nursery, postgres: PostgresServer, postgres_address: str) -> None:
    server = nursery.start(postgres_address)
    make_model(server.address())
    visitors = Visitors(Told(), seed=SEED, count=12)
    visitors.address = server.address()
    trouble = go_away_and_come_back(postgres, visitors)
    asyncio.run(visited_during(trouble, visitors))
    check(server, postgres_address, visitors.told)


def test_connections_dropped(nursery: Nursery, postgres_address: str) -> None:
    server = nursery.start(postgres_address)
    make_model(server.address())
    visitors = Visitors(Told(), seed=SEED)
    visitors.address = server.address()
    trouble = drop_often(postgres_address, visitors.told)
    asyncio.run(visited_during(trouble, visitors))
    check(server, postgres_address, visitors.told)
