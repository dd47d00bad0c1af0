"""Servers that are killed at random moments, under traffic."""

from __future__ import annotations

import asyncio
import signal

import numpy as np

from tests.service.faults.servers import Child
from tests.service.faults.visitors import Visitors


async def live_and_die(server: Child, visitors: Visitors, rng: np.random.Generator) -> None:
    """Most are killed while they serve, some while they start."""
    if rng.random() < 0.2:
        await asyncio.sleep(rng.uniform(0.0, 0.15))
    else:
        visitors.address = await asyncio.to_thread(server.address)
        await visitors.told.wait_for_answers(int(rng.integers(1, 80)))
        await asyncio.sleep(rng.uniform(0.0, 0.01))
    assert server.end() == -signal.SIGKILL


async def live_on(server: Child, visitors: Visitors) -> None:
    """Visitors go when it has answered often enough."""
    visitors.address = await asyncio.to_thread(server.address)
    await visitors.told.wait_for_answers(100)
    visitors.leave()
