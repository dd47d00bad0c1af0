"""Three servers on one PostgreSQL, killed at random: ``python -m studies.kills.replicas``."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tests.service.faults.ledger import model_row, reading, rebuilt_digest, wait_until_resolved
from tests.service.faults.promises import Broken, broken
from tests.service.faults.replicas import Replicas, Scattered, served_by_all
from tests.service.faults.servers import PATIENCE, nursery_in
from tests.service.faults.visitors import MODEL, Told
from tests.service.postgres import PostgresServer, throw_away_server

from studies.documents import origin, write_page

SEED = 20_261_118
KILLS, MINUTES, REPLICAS, ROUND = 120, 20.0, 3, 20
ANY, LEADER, ALL = "a server", "the server that leads", "all servers at once"
DATABASE, RESTART = "PostgreSQL (SIGKILL)", "PostgreSQL (restart)"
#: How often each is chosen.
WHAT = {ANY: 0.4, LEADER: 0.3, ALL: 0.1, DATABASE: 0.1, RESTART: 0.1}


@dataclass
class Found:
    """What was left after all kills."""

    kills: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    broken: list[Broken] = field(default_factory=list)
    digests: int = 0
    equal: int = 0
    takeovers: list[float] = field(default_factory=list)


def leader(addresses: list[str]) -> int | None:
    """The place of the server that says it leads; None while none does."""
    for place, address in enumerate(addresses):
        try:
            text = httpx.get(f"{address}/metrics", timeout=PATIENCE).text
        except httpx.TransportError:
            continue
        if "fabcost_leads 1.0" in text.splitlines():
            return place
    return None


@dataclass(eq=False)
class Round:
    """One database, its servers and visitors, and what was promised to them."""

    replicas: Replicas
    visitors: Scattered
    server: PostgresServer
    found: Found
    advance: Callable[[], object]
    rng: np.random.Generator

    async def run(self, kills: int) -> None:
        """Kill, each time when visitors were answered for a while."""
        await self.replicas.start(REPLICAS)
        await self.replicas.make_model()
        visiting = asyncio.create_task(self.visitors.come())
        done = 0
        while done < kills:
            await self.visitors.told.wait_for_answers(int(self.rng.integers(1, 60)))
            what = str(self.rng.choice(list(WHAT), p=list(WHAT.values())))
            done += await self._kill(what)
        await self.visitors.told.wait_for_answers(100)
        self.visitors.leave()
        await visiting

    async def _kill(self, what: str) -> int:
        killed = 1
        if what == ANY:
            await self.replicas.replace(int(self.rng.integers(REPLICAS)))
        elif what == ALL:
            killed = REPLICAS
            await self.replicas.replace_all()
        elif what == LEADER:
            await self._kill_leader()
        else:
            end = self.server.kill if what == DATABASE else self.server.stop
            await asyncio.to_thread(end)
            await asyncio.to_thread(self.server.start)
        self.found.kills[what] += killed
        for _ in range(killed):
            self.advance()
        return killed

    async def _kill_leader(self) -> None:
        """Kill it, and see how soon another leads."""
        while (place := await asyncio.to_thread(leader, self.visitors.addresses)) is None:
            await asyncio.sleep(0.05)
        await self.replicas.end(place)
        started = time.monotonic()
        while await asyncio.to_thread(leader, self.visitors.addresses) is None:
            await asyncio.sleep(0.01)
        self.found.takeovers.append(time.monotonic() - started)
        await self.replicas.start_again(place)


def check(database: str, replicas: Replicas, told: Told, found: Found) -> None:
    """Compare the log with what was told, and every server's posterior with the log's."""
    wait_until_resolved(replicas.servers[0].address())
    with reading(database) as store:
        rows = store.history(MODEL, after=0, limit=10**6)
        found.broken += broken(rows, model_row(store).head_lsn, told)
    expected = rebuilt_digest(database)
    served = served_by_all(replicas, expected)
    found.digests += len(served)
    found.equal += served.count(expected)
    found.broken += [Broken("wrong", each) for each in served if each != expected]
    found.totals += told.totals()


def measure(kills: int, minutes: float, progress: Progress) -> Found:
    """Rounds of kills, each on a database of its own."""
    task, found = progress.add_task("killing", total=kills), Found()
    until, seed = time.monotonic() + 60.0 * minutes, SEED
    with (
        tempfile.TemporaryDirectory(prefix="fabcost-replicas-") as name,
        nursery_in(Path(name)) as nursery,
        throw_away_server() as server,
    ):
        while (left := kills - found.kills.total()) > 0 and time.monotonic() < until:
            seed += 1
            with server.database() as database:
                visitors = Scattered(Told(), seed=seed)
                replicas = Replicas(nursery, database, visitors)
                rng = np.random.default_rng(seed)
                advance = lambda: progress.advance(task)  # noqa: E731
                going = Round(replicas, visitors, server, found, advance, rng)
                asyncio.run(going.run(min(left, ROUND)))
                check(database, replicas, visitors.told, found)
                for each in replicas.servers:
                    each.end()
    return found


def lines(found: Found) -> list[tuple[str, str]]:
    """What is printed."""
    how = Counter(each.how for each in found.broken)
    soon = found.takeovers or [float("nan")]
    return [
        *((f"kills of {what}", f"{found.kills[what]:,}") for what in WHAT),
        ("kills in all", f"{found.kills.total():,}"),
        ("decisions acknowledged as durable", f"{found.totals['decisions']:,}"),
        ("feedback acknowledged", f"{found.totals['feedback']:,}"),
        *((each, f"{how[each]:,}") for each in ("lost", "doubled", "wrong")),
        ("servers whose posterior has the bits of the log's", f"{found.equal} of {found.digests}"),
        ("seconds until another leads, median", f"{np.median(soon):.2f}"),
        ("seconds until another leads, longest", f"{max(soon):.2f}"),
    ]


def page(found: Found) -> str:
    """The page of the documentation."""
    rows = ["| what | found |", "| --- | ---: |", *(f"| {a} | {b} |" for a, b in lines(found))]
    return f"""# Killed replicas

{origin("python -m studies.kills.replicas --docs")}

{REPLICAS} servers share one PostgreSQL; six visitors go to any of them with each request, whoever
answered the one before: they ask for decisions and say what became of them, some twice at once,
some before the decision, and leave a fifth to the deadline; contexts bring new feature columns,
which the servers must agree on. Meanwhile a server chosen at random, the one that leads, all of
them, or the database is killed by SIGKILL, or the database is restarted; servers that were killed
are started again. After every {ROUND} kills or so visitors leave, and the log is compared with
all that they were told, and the posterior that each server serves with one that is learnt from
the beginning of the log.

{chr(10).join(rows)}
"""


def main() -> int:
    """Kill, print, and with ``--docs`` write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.kills.replicas", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="no new round after these")
    parser.add_argument("--docs", action="store_true", help="write measurements/replicas.md")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        found = measure(given.kills, given.minutes, progress)
    console = Console(width=None if sys.stdout.isatty() else 160)
    for what, number in lines(found):
        console.print(f"{what}: {number}", highlight=False)
    for each in found.broken[:20]:
        console.print(f"{each.how}: {each.what}", highlight=False, markup=False)
    if given.docs:
        console.print(f"wrote {write_page('replicas.md', page(found))}")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
