"""Several servers on one database, whose visitors go to any of them; and how they are killed."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import numpy as np

from tests.service.faults.ledger import rebuilt_digest, served_digest
from tests.service.faults.servers import PATIENCE, Child, Starter, wait_for
from tests.service.faults.visitors import ADVERTS, MODEL, Told, Visitors, make_model


class Scattered(Visitors):
    """Each request goes to one of the ``addresses``, whoever answered the one before."""

    def __init__(self, told: Told, *, seed: int, count: int = 6, name: str = "v") -> None:
        self.addresses: list[str] = []
        self._turn = 0
        super().__init__(told, seed=seed, count=count, name=name)

    @property
    def address(self) -> str | None:
        self._turn += 1
        return self.addresses[self._turn % len(self.addresses)] if self.addresses else None

    @address.setter
    def address(self, _: str | None) -> None:
        pass


class Replicas:
    """Servers by their places, each started again after its end."""

    def __init__(self, starter: Starter, database: str, visitors: Scattered) -> None:
        self._starter = starter
        self._database = database
        self._visitors = visitors
        self.servers: list[Child] = []

    async def start(self, count: int) -> None:
        self.servers = [self._starter.start(self._database) for _ in range(count)]
        await self.settle()

    async def settle(self) -> None:
        """Have visitors go to all of them, when all listen."""
        self._visitors.addresses = [
            await asyncio.to_thread(server.address) for server in self.servers
        ]

    async def make_model(self, **settings: Any) -> None:
        """A model, made by one of them, that all have."""
        addresses = self._visitors.addresses
        await asyncio.to_thread(partial(make_model, addresses[0], **settings))
        for address in addresses:
            await asyncio.to_thread(wait_for, partial(has_catalogue, address), 20.0)

    async def end(self, place: int, number: int = signal.SIGKILL) -> None:
        """End a server while visitors still go there."""
        status = await asyncio.to_thread(self.servers[place].end, number)
        assert status == (0 if number == signal.SIGTERM else -number)

    async def start_again(self, place: int) -> None:
        """Start another in the place of one that has ended."""
        self.servers[place] = self._starter.start(self._database)
        await self.settle()

    async def replace(self, place: int) -> None:
        """Kill a server, and start another."""
        await self.end(place)
        await self.start_again(place)

    async def replace_all(self) -> None:
        """Kill all of them, and start others."""
        for place in range(len(self.servers)):
            await self.end(place)
        await self.start(len(self.servers))


def has_catalogue(address: str) -> bool:
    found = httpx.get(f"{address}/v1/models/{MODEL}", timeout=PATIENCE)
    return found.status_code == 200 and found.json()["items"] == len(ADVERTS)


async def kill_often(
    replicas: Replicas, visitors: Scattered, rng: np.random.Generator, kills: int
) -> None:
    """Kill one after the other, at random; each time visitors are served for a while."""
    for _ in range(kills):
        await visitors.told.wait_for_answers(int(rng.integers(1, 80)))
        await asyncio.sleep(rng.uniform(0.0, 0.01))
        await replicas.replace(int(rng.integers(len(replicas.servers))))


def served_by_all(replicas: Replicas, expected: tuple[int, str]) -> list[tuple[int, str]]:
    """What each of them has learnt, when it is what is expected or some seconds have passed."""
    found = []
    for server in replicas.servers:
        address = server.address()
        is_there = partial(lambda address: served_digest(address) == expected, address)
        with suppress(AssertionError):
            wait_for(is_there, 20.0)
        found.append(served_digest(address))
    return found


def check_same(replicas: Replicas, database: str) -> None:
    """All of them have the posterior of the log, bit for bit."""
    expected = rebuilt_digest(database)
    assert served_by_all(replicas, expected) == [expected] * len(replicas.servers)
