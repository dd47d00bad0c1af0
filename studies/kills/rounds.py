"""Rounds of kills: servers on one database, one after the other, each killed while it works."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import numpy as np
from tests.service.faults.ledger import wait_until_resolved
from tests.service.faults.promises import Broken
from tests.service.faults.servers import (
    LONGEST_WAIT,
    PATIENCE,
    Child,
    Nursery,
    address_when_ready,
    holds,
    is_ready,
)
from tests.service.faults.visitors import MODEL, Visitors, make_model

from studies.kills.book import Book, Checked, Checker
from studies.kills.versions import Stores
from studies.kills.works import (
    Deleting,
    Importing,
    Making,
    Putting,
    Refreshing,
    Work,
    prepare,
)

VISITS, STOP, START, MIGRATION = "visits alone", "stop with snapshots", "start", "migration"
WORKS: dict[str, type[Work]] = {
    "import of a log": Importing,
    "items put in bulk": Putting,
    "model made": Making,
    "model deleted": Deleting,
    "refresh by EP": Refreshing,
}
SCENES = (VISITS, *WORKS, STOP, START)


@dataclass
class Tally:
    """What became of the kills of one kind."""

    kills: int = 0
    in_flight: int = 0
    digests: int = 0
    equal: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)

    def add(self, checked: Checked, acknowledged: Counter[str]) -> None:
        """What was found after a kill."""
        self.digests += checked.digests
        self.equal += checked.equal
        self.broken += checked.broken
        self.acknowledged += acknowledged


class Windows:
    """Seconds within which to kill; found by trying."""

    def __init__(self) -> None:
        self._seconds = {STOP: 0.2, START: 0.5, MIGRATION: 0.1}

    def pause(self, scene: str, rng: np.random.Generator) -> float:
        """How long to wait this time."""
        return float(rng.uniform(0.0, self._seconds[scene]))

    def learn(self, scene: str, *, too_late: bool) -> None:
        """Sooner the next time, or later."""
        self._seconds[scene] *= 0.7 if too_late else 1.2


class Round:
    """One database and everything that is promised about it.

    Parameters
    ----------
    nursery
        Starts the servers.
    windows
        When to kill what is over soon; rounds share it.
    count
        Where kills are counted, by scene.
    advance
        Told of each kill.
    """

    def __init__(
        self,
        nursery: Nursery,
        windows: Windows,
        count: Callable[[str], Tally],
        advance: Callable[[], object],
        *,
        seed: int,
    ) -> None:
        self._nursery = nursery
        self._windows = windows
        self._count = count
        self._advance = advance
        self._rng = np.random.default_rng(seed)
        self._book = Book()
        self._checker = Checker(self._book)
        self._seen: Counter[str] = Counter()
        self._visitors = Visitors(self._book.told, seed=seed)
        self._works = {name: made(self._book, self._rng) for name, made in WORKS.items()}
        self._server: Child | None = None

    async def run(self, stores: Stores, scenes: list[str], migrations: int) -> None:
        """Kill in each scene, then while old versions of the same database are migrated."""
        with stores.new() as database:
            try:
                await self._serve(database, scenes)
                for number in range(migrations):
                    await self._migrate(stores, database, 1 + number % (stores.newest - 1))
            finally:
                self._visitors.leave()
                if self._server is not None:
                    self._server.end()

    async def _serve(self, database: str, scenes: list[str]) -> None:
        address = await self._start(database)
        await self._prepare(address)
        visiting = asyncio.create_task(self._visitors.come())
        for scene in scenes:
            self._visitors.address = address
            async with asyncio.timeout(2 * LONGEST_WAIT):
                await self._kill(scene, database)
            self._visitors.address = None
            address = await self._start(database)
            await self._check(scene, address, database)
        self._visitors.address = address
        await self._visitors.told.wait_for_answers(50)
        self._visitors.leave()
        await visiting
        await asyncio.to_thread(wait_until_resolved, address)
        await self._check(scenes[-1], address, database)
        if await asyncio.to_thread(self._end, signal.SIGTERM) != 0:
            raise RuntimeError("a server did not stop in good order")

    async def _start(self, database: str) -> str:
        self._server = self._nursery.start(database)
        return await asyncio.to_thread(address_when_ready, self._server)

    def _end(self, number: int = signal.SIGKILL) -> int:
        server, self._server = self._server, None
        if server is None:
            raise RuntimeError("no server is running")
        return server.end(number)

    async def _prepare(self, address: str) -> None:
        await asyncio.to_thread(make_model, address)
        self._book.models.add(MODEL)
        async with httpx.AsyncClient(base_url=f"{address}/v1", timeout=PATIENCE) as http:
            await prepare(http, next(iter(self._works.values())))

    async def _kill(self, scene: str, database: str) -> None:
        await self._visitors.told.wait_for_answers(int(self._rng.integers(1, 40)))
        if scene in self._works:
            await self._kill_working(scene, self._works[scene])
        elif scene == STOP:
            await self._kill_stopping(database)
        else:
            self._killed(scene, self._end(), in_flight=False)
        if scene == START:
            await self._kill_starting(database)

    def _killed(self, scene: str, status: int, *, in_flight: bool) -> bool:
        """Count a kill, if the server had not ended by itself: only one that stops may have."""
        if status != -signal.SIGKILL:
            if (scene, status) != (STOP, 0):
                self._book.wrong.append(f"{scene}: a server ended by itself, with status {status}")
            return False
        tally = self._count(scene)
        tally.kills += 1
        tally.in_flight += in_flight
        self._advance()
        return True

    async def _kill_working(self, scene: str, work: Work) -> None:
        address, first = self._visitors.address, work.finished + int(self._rng.integers(3))
        work.in_flight = False
        async with httpx.AsyncClient(base_url=f"{address}/v1", timeout=PATIENCE) as http:
            working = asyncio.create_task(_go_on(work, http))
            while not ((work.in_flight and work.finished >= first) or working.done()):
                await asyncio.sleep(0.001)
            await asyncio.sleep(float(self._rng.uniform(0.0, work.typical)))
            in_flight = work.in_flight
            self._killed(scene, self._end(), in_flight=in_flight)
            with suppress(httpx.TransportError):
                await working

    async def _kill_stopping(self, database: str) -> None:
        """A signal to stop, and soon the one that kills."""
        while True:
            if self._server is None:
                self._visitors.address = await self._start(database)
                await self._visitors.told.wait_for_answers(10)
            os.kill(self._server.pid, signal.SIGTERM)  # type: ignore[union-attr]
            await asyncio.sleep(self._windows.pause(STOP, self._rng))
            killed = self._killed(STOP, self._end(), in_flight=True)
            self._windows.learn(STOP, too_late=not killed)
            if killed:
                return

    async def _kill_starting(self, database: str) -> None:
        """Recovering what the kill before has left."""
        self._server = server = self._nursery.start(database)
        await asyncio.sleep(self._windows.pause(START, self._rng))
        served = "listening on " in server.logged() and holds(lambda: is_ready(server.address()))
        self._killed(START, self._end(), in_flight=not served)
        self._windows.learn(START, too_late=served)

    async def _migrate(self, stores: Stores, source: str, version: int) -> None:
        with stores.as_of(version, source) as database:
            self._server = self._nursery.start(database)
            await self._begin_migration(stores, database, version)
            status = self._end()
            found = stores.version(database)
            self._killed(MIGRATION, status, in_flight=found < stores.newest)
            self._windows.learn(MIGRATION, too_late=found == stores.newest)
            address = await self._start(database)
            await self._check(MIGRATION, address, database)
            self._end()

    async def _begin_migration(self, stores: Stores, database: str, version: int) -> None:
        """Some of the steps, if there are several, or some time."""
        steps = int(self._rng.integers(stores.newest - version))
        if steps > 0:
            await asyncio.to_thread(stores.version, database, at_least=version + steps)
        else:
            await asyncio.sleep(self._windows.pause(MIGRATION, self._rng))

    async def _check(self, scene: str, address: str, database: str) -> None:
        checked = await asyncio.to_thread(self._checker.check, address, database)
        acknowledged = self._book.totals()
        self._count(scene).add(checked, acknowledged - self._seen)
        self._seen = acknowledged


async def _go_on(work: Work, http: httpx.AsyncClient) -> None:
    started = time.monotonic()
    while time.monotonic() < started + LONGEST_WAIT:
        await work.go_on(http)
