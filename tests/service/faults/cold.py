"""Servers that compile their kernels into a cache of their own, and are killed meanwhile.

Run as a program, it is such a server: it compiles what it uses, and not every kernel there is.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import numpy as np

from fabcost import warmup
from fabcost.__main__ import main
from tests.service.faults.killing import live_and_die, live_on
from tests.service.faults.ledger import wait_until_resolved
from tests.service.faults.servers import (
    LONGEST_COMPILING,
    Child,
    Processes,
    address_when_ready,
    wait_for,
)
from tests.service.faults.visitors import Told, Visitors, make_model


def kernels(cache: Path) -> int:
    """How many have been compiled into it."""
    return sum(1 for _ in cache.rglob("*.nbc"))


def die_compiling(server: Child, cache: Path) -> None:
    """Killed when some kernels are compiled, and others are not."""
    wait_for(lambda: kernels(cache), LONGEST_COMPILING, told=server.logged)
    assert server.end() == -signal.SIGKILL


async def die_often(
    processes: Processes, database: str, visitors: Visitors, *, kills: int, seed: int
) -> Child:
    """So many killed servers, one after the other; the one that is left."""
    rng = np.random.default_rng(seed)
    server = processes.start(database)
    make_model(await asyncio.to_thread(address_when_ready, server))
    visiting = asyncio.create_task(visitors.come())
    for _ in range(kills):
        await live_and_die(server, visitors, rng)
        server = processes.start(database)
    await live_on(server, visitors)
    await visiting
    return server


def killed_from_cold(
    processes: Processes, cache: Path, database: str, *, kills: int, seed: int
) -> tuple[Child, Told]:
    """The server that is left after ``kills`` on a new database, and what visitors were told.

    The first is killed while it compiles, if the cache is empty.
    """
    told, is_empty = Told(), kernels(cache) == 0
    if is_empty:
        die_compiling(processes.start(database), cache)
    visitors = Visitors(told, seed=seed)
    going = die_often(processes, database, visitors, kills=kills - is_empty, seed=seed)
    last = asyncio.run(going)
    wait_until_resolved(last.address())
    return last, told


if __name__ == "__main__":
    warmup.warm_up = lambda: None
    main()
