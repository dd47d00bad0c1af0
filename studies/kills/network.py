"""Three hosts whose lines to PostgreSQL are cut and slow: ``python -m studies.kills.network``.

For root only, with iproute2: each host is a network namespace.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
from rich.console import Console
from tests.service.faults.replicas import Replicas, Scattered
from tests.service.faults.servers import is_ready, store_away
from tests.service.faults.visitors import MODEL, Told
from tests.service.postgres import throw_away_server

from studies.documents import origin, write_page
from studies.kills.hosts import RATE, Hosts, Reachable
from studies.kills.replicas import Found, check, leader

REPLICAS, CUT_SECONDS, DECISIONS = 3, 30.0, 15


@dataclass
class Seen:
    """What was seen on the way: a sentence and a figure each."""

    rows: list[tuple[str, str]] = field(default_factory=list)

    def seconds(self, what: str, took: float) -> None:
        """Some seconds."""
        self.rows.append((what, f"{took:.2f} s"))


@dataclass(eq=False)
class Scene:
    """Hosts with visitors, and what befalls their lines."""

    hosts: Hosts
    replicas: Replicas
    visitors: Scattered
    seen: Seen

    async def run(self) -> None:
        """One thing after another, with visitors all the time."""
        await self.replicas.start(REPLICAS)
        await self.replicas.make_model()
        visiting = asyncio.create_task(self.visitors.come())
        for befalls in (self._leader_cut, self._other_cut, self._leader_slow):
            await self.visitors.told.wait_for_answers(60)
            await befalls()
        await self.visitors.told.wait_for_answers(100)
        self.visitors.leave()
        await visiting

    async def _leads(self, without: int | None = None) -> int:
        """The place of the host that leads, when there is one but for ``without``."""
        addresses = self.visitors.addresses
        others = [each for place, each in enumerate(addresses) if place != without]
        while (found := await asyncio.to_thread(leader, others)) is None:
            await asyncio.sleep(0.02)
        return addresses.index(others[found])

    async def _leader_cut(self) -> None:
        place = await self._leads()
        started = time.monotonic()
        self.hosts.cut(place)
        await self._leads(without=place)
        self.seen.seconds("leader cut off: until another leads", time.monotonic() - started)
        await self._back(place, started, "the leader")

    async def _other_cut(self) -> None:
        place = (await self._leads() + 1) % REPLICAS
        started = time.monotonic()
        self.hosts.cut(place)
        await self._back(place, started, "another")

    async def _back(self, place: int, started: float, who: str) -> None:
        """Let it be cut off for a while; then see how soon it is as before."""
        address = self.visitors.addresses[place]
        await _until(lambda: store_away(address))
        self.seen.seconds(f"{who} cut off: until it notices", time.monotonic() - started)
        durable, took = await asyncio.to_thread(_decided, address, self.visitors.told)
        how = "durable" if durable else "from memory"
        self.seen.seconds(f"{who} cut off: a decision of it, {how}", took)
        await asyncio.sleep(max(0.0, started + CUT_SECONDS - time.monotonic()))
        self.hosts.mend(place)
        mended = time.monotonic()
        await _until(lambda: is_ready(address))
        took = time.monotonic() - mended
        self.seen.seconds(f"{who} cut off: until it is ready, the line mended", took)

    async def _leader_slow(self) -> None:
        place = await self._leads()
        address = self.visitors.addresses[place]
        usual = await self._decisions(address)
        self.hosts.slow(place)
        slow = await self._decisions(address)
        led = await self._leads()
        self.hosts.hasten(place)
        self.seen.rows.append(("decisions by the leader, median", usual))
        self.seen.rows.append((f"the same over a line of {RATE} a second", slow))
        still = "the same host" if led == place else "another"
        self.seen.rows.append(("who leads after that", still))

    async def _decisions(self, address: str) -> str:
        told = self.visitors.told
        each = [await asyncio.to_thread(_decided, address, told) for _ in range(DECISIONS)]
        durable = sum(durable for durable, _ in each)
        return f"{median(took for _, took in each):.2f} s, {durable} of {DECISIONS} durable"


async def _until(holds: Callable[[], bool]) -> None:
    while True:
        with suppress(httpx.TransportError):
            if await asyncio.to_thread(holds):
                return
        await asyncio.sleep(0.02)


def _decided(address: str, told: Told) -> tuple[bool, float]:
    """Whether a decision of a host is durable, and its seconds."""
    name = f"host-{len(told.asked)}"
    told.asked.add(name)
    started = time.perf_counter()
    path = f"{address}/v1/models/{MODEL}/decisions"
    answer = httpx.post(path, json={"decision_id": name}, timeout=60.0).raise_for_status().json()
    told.decided(answer)
    return bool(answer["durable"]), time.perf_counter() - started


def measure() -> tuple[Seen, Found]:
    """All of it, on a database of its own."""
    seen, found = Seen(), Found()
    with (
        tempfile.TemporaryDirectory(prefix="fabcost-network-") as name,
        Hosts(Path(name), REPLICAS) as hosts,
        throw_away_server(Reachable) as server,
        server.database() as database,
    ):
        visitors = Scattered(Told(), seed=1)
        replicas = Replicas(hosts, hosts.address(database), visitors)
        asyncio.run(Scene(hosts, replicas, visitors, seen).run())
        check(database, replicas, visitors.told, found)
    return seen, found


def lines(seen: Seen, found: Found) -> list[tuple[str, str]]:
    """What is printed."""
    how = [each.how for each in found.broken]
    return [
        *seen.rows,
        ("decisions acknowledged as durable", f"{found.totals['decisions']:,}"),
        ("feedback acknowledged", f"{found.totals['feedback']:,}"),
        *((each, f"{how.count(each):,}") for each in ("lost", "doubled", "wrong")),
        ("servers whose posterior has the bits of the log's", f"{found.equal} of {found.digests}"),
    ]


def page(rows: list[tuple[str, str]]) -> str:
    """The page of the documentation."""
    table = ["| what | seen |", "| --- | ---: |", *(f"| {a} | {b} |" for a, b in rows)]
    return f"""# Replicas on a broken network

{origin("python -m studies.kills.network --docs")}

{REPLICAS} servers are hosts of their own, as network namespaces, each with a line to the one
PostgreSQL and another to visitors, who go to any of them. The line between the database and the
server that leads is cut, without a word to either, for {CUT_SECONDS:.0f} s; then that of
another; then that of the leader lets only {RATE} a second pass. In the end the log is compared
with all that visitors were told, and the posterior that each server serves with one that is
learnt from the beginning of the log.

{chr(10).join(table)}
"""


def main() -> int:
    """Cut, print, and with ``--docs`` write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.kills.network", description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write measurements/network.md")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    seen, found = measure()
    rows, console = lines(seen, found), Console(width=160)
    for what, number in rows:
        console.print(f"{what}: {number}", highlight=False)
    for each in found.broken[:20]:
        console.print(f"{each.how}: {each.what}", highlight=False, markup=False)
    if given.docs:
        console.print(f"wrote {write_page('network.md', page(rows))}")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
