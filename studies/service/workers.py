"""Decisions per second with one worker and with two: ``python -m studies.service.workers``."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import psycopg
from rich.console import Console
from tests.service.postgres import throw_away_server

from fabcost.client import Client
from fabcost.wire.settings import ModelSettings
from fabcost.worlds.visitors import CarAdverts
from studies.documents import DOCS, origin, write_page
from studies.service.__main__ import CONNECTIONS, ITEMS, MORE_CONNECTIONS, Bench, process, world

WORKERS = (1, 2)
OFFERED = (CONNECTIONS, MORE_CONNECTIONS)
LARGE = 500
#: Propensities, items, and what that means.
MODELS = {
    "one-draw": ("none", ITEMS, f"one draw, {ITEMS} items"),
    "propensities": ("fast", ITEMS, f"256 draws, {ITEMS} items"),
    "exact": ("exact", ITEMS, f"1,024 draws, {ITEMS} items"),
    "large": ("exact", LARGE, f"1,024 draws, {LARGE} items"),
}
LEAST = 1.6


@dataclass(frozen=True)
class Measured:
    """Decisions per second, processors that each side kept busy, decisions in a transaction."""

    rate: float
    p99: float
    servers: float
    database: float
    generator: float
    together: float


class Side(NamedTuple):
    """Servers, those that ask them, and the process and the address of their database."""

    bench: Bench
    server: int
    database: int
    address: str

    def transactions(self) -> int:
        """Those that wrote, so far."""
        with psycopg.connect(self.address) as connection:
            found = connection.execute("SELECT txid_current()").fetchone()
        return int(found[0]) if found else 0


def busy(root: int) -> float:
    """Seconds that a process and those it started, and theirs, have computed."""
    ticks, children = {}, defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            children[int(fields[1])].append(int(entry.name))
            ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
    found, waiting = 0, [root]
    while waiting:
        process_id = waiting.pop()
        found += ticks.get(process_id, 0)
        waiting += children[process_id]
    return found / os.sysconf("SC_CLK_TCK")


def own() -> float:
    """Seconds that the load generators, which have ended, have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(side: Side, model: str, seconds: float) -> Measured:
    """One model under load."""
    written = side.transactions()
    started = (busy(side.server), busy(side.database), own(), time.monotonic())
    reading = side.bench.decisions(model, seconds)
    ended = (busy(side.server), busy(side.database), own(), time.monotonic())
    *used, taken = (after - before for before, after in zip(started, ended, strict=True))
    together = len(reading.latencies) / (side.transactions() - written)
    servers, database, generator = (each / taken for each in used)
    return Measured(reading.rate, reading.p99, servers, database, generator, together)


def catalogue(cars: CarAdverts, items: int) -> dict[str, Any]:
    """So many adverts, each of them several times if there are fewer."""
    adverts = list(cars.items.values())
    return {f"ad-{k}": adverts[k % len(adverts)] for k in range(items)}


@contextmanager
def served(workers: int, cars: CarAdverts, folder: Path) -> Iterator[Side]:
    """Models on a database of their own, and the processes of servers and database."""
    with ExitStack() as stack:
        postgres = stack.enter_context(throw_away_server())
        address = stack.enter_context(postgres.database())
        database = int((postgres._data / "postmaster.pid").read_text("utf-8").split()[0])
        options = ["--port", "0", "--log-level", "warning", "--workers", str(workers)]
        command = ("-m", "fabcost", "serve", "--database", address, *options)
        server, url = stack.enter_context(process(*command))
        base = ModelSettings(schema=cars.schema.to_dict(), reward_wait_seconds=86_400.0)
        with Client(url, timeout=60.0) as client:
            for name, (propensities, items, _) in MODELS.items():
                client.create_model(name, msgspec.structs.replace(base, propensities=propensities))
                client.put_items(name, catalogue(cars, items))
        time.sleep(1.0)  # the other workers have the models, too
        yield Side(Bench(folder, url, url, cars), server.pid, database, address)


Found = dict[tuple[str, int, int], list[Measured]]


def measure(seconds: float, rounds: int) -> Found:
    """Servers of one worker and of two stand beside each other and take turns."""
    found: Found = defaultdict(list)
    cars = world()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        sides = {n: stack.enter_context(served(n, cars, Path(name))) for n in WORKERS}
        for side in sides.values():
            for model in MODELS:
                measured(side, model, 1.0)
        for _, model, connections in product(range(rounds), MODELS, OFFERED):
            for workers, side in sides.items():
                side.bench.connections = connections
                found[model, connections, workers].append(measured(side, model, seconds))
    return found


def median(found: list[Measured]) -> Measured:
    """Of each number by itself."""
    return Measured(*np.median([list(vars(each).values()) for each in found], axis=0).tolist())


def attainable(one: Measured, cores: float) -> float:
    """How often the work of one worker's decisions fits into so many processors, all counted."""
    return cores / (one.servers + one.database + one.generator)


def rows(found: Found) -> list[list[str]]:
    """The table."""
    table, cores = [], granted()
    for (model, connections, workers), several in found.items():
        one, each = median(found[model, connections, 1]), median(several)
        used = each.servers + each.database + each.generator
        numbers = (each.servers, each.database, each.generator, used)
        most = attainable(one, cores) if workers > 1 else 1.0
        table.append(
            [
                *(MODELS[model][2], str(connections), str(workers), f"{each.rate:,.0f}"),
                *(f"{each.rate / one.rate:.2f}", f"{most:.2f}", f"{each.p99:.1f}"),
                *(f"{number:.2f}" for number in numbers),
                *(f"{1e6 * used / each.rate:.0f}", f"{each.together:.0f}"),
            ]
        )
    return table


def granted() -> float:
    """Processors that can be kept busy."""
    first = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    return (0.95 if first else 1.0) * (os.cpu_count() or 1)


REAL_TIME = "real-time priority (of which Linux grants 95 %)"
HEADINGS = ("decisions", "asking", "workers", "per second", "times one", "at most", "p99, ms")
SHARES = ("servers", "PostgreSQL", "load generator", "together", "µs a decision", "in a commit")
#: Between these the design for many machines quotes what is measured here.
DESIGN = DOCS.parent / "explanation" / "internet-scale.md"
BEGIN, END, BUSIEST = "<!-- workers -->", "<!-- /workers -->", 40_000
COSTS, END_OF_COSTS, AN_HOUR = "<!-- costs -->", "<!-- /costs -->", 0.05


def gained(found: Found, connections: int) -> str:
    """What two workers do beside one, in all kinds of decisions and not in the best alone."""
    sides = [[median(found[model, connections, n]) for n in WORKERS] for model in MODELS]
    times = [two.rate / one.rate for one, two in sides]
    *others, last = (f"{each:.2f}" for each in times)
    many = sum(each >= LEAST for each in times)
    could = sum(attainable(one, granted()) >= LEAST for one, _ in sides)
    return (
        f"With {connections} connections two workers make {', '.join(others)} and {last} times as "
        f"many decisions\nas one, in the order of the table.  At least {LEAST} was wanted, is "
        f"reached in {many} of the {len(times)}, and\nwould fit into the machine in {could}."
    )


def costs(seconds: float) -> str:
    """What processors cost by those that a decision takes."""
    each = seconds * AN_HOUR / 3600.0
    return f"""{COSTS}
A million decisions with propensities take {1e6 * seconds:.0f} s of processors, by the figures
above. At {AN_HOUR} a processor-hour, which is an assumption, they cost {1e6 * each:.4f}, and a
billion a day {1e9 * each:.1f} a day for processors; storage of 1 TB a day costs more than that.
"""


def page(found: Found, cores: int, load: float) -> str:
    """The page of the documentation."""
    heads = [*HEADINGS, *SHARES]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows(found)]
    first = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    generator = max(median(several).generator for (*_, n), several in found.items() if n == 1)
    return f"""# Workers

{origin("python -m studies.service.workers --docs")}

`fabcost serve --workers 1` and `--workers 2` on one PostgreSQL each (without waiting for its disk),
beside each other and asked by turns; so many connections asking that each wait for their answer,
every decision among all items of a catalogue, and committed before it is answered.  The last six
columns are processors kept busy, of {cores}, by the servers, by PostgreSQL, by the client that
asks, on the same machine, and by all{", where these had " + REAL_TIME if first else ""}; what that
comes to for a decision; and how many decisions a transaction has.  The load average before the
first round was {load:.1f}.

{chr(10).join("| " + " | ".join(each) + " |" for each in lines)}

{(chr(10) * 2).join(gained(found, each) for each in OFFERED)}

**At most** is what the machine allows: the {granted():.2f} processors that can be kept busy,
over what one worker, its
PostgreSQL and the client took together, as if a decision cost two workers what it costs one.  The
load generator takes up to {generator:.0%} of a processor beside one worker.  Where two workers stay
below that column processors were not busy all the time, or a decision costs more with two of them:
each commit, whose cost is mostly its own, has fewer decisions, and processors share their caches;
where they are above it costs less.  More connections fill commits and processors.  A worker
keeps at most about one processor busy, however many there are: it is one interpreter.  So two
workers come the nearer to twice one the less there is to do beside deciding on the same machine.
"""


def quoted(found: Found) -> str:
    """The design for many machines, with what one worker was seen to do."""
    one, many = (median(found[model, CONNECTIONS, 1]) for model in ("one-draw", "propensities"))
    (server, base), (servers, bases) = (
        (each.servers / each.rate, each.database / each.rate) for each in (one, many)
    )
    text = f"""{BEGIN}
A worker answered {one.rate:,.0f} decisions a second with one draw and {many.rate:,.0f} with
propensities of 256, among {ITEMS} items, each committed to PostgreSQL
([Workers](../measurements/workers.md)). A million decisions took {1e6 * server:.0f} s of processors
for servers and {1e6 * base:.0f} s for PostgreSQL with one draw; {1e6 * servers:.0f} s and
{1e6 * bases:.0f} s with propensities. {BUSIEST:,} a second with propensities need
{BUSIEST * servers:.1f} processors for servers and {BUSIEST * bases:.1f} for PostgreSQL.
"""
    page = DESIGN.read_text(encoding="utf-8")
    page = page[: page.index(BEGIN)] + text + page[page.index(END) :]
    end = page.index(END_OF_COSTS)
    return page[: page.index(COSTS)] + costs(servers + bases) + page[end:]


def main() -> int:
    """Measure, print, and with ``--docs`` write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.service.workers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, to see whether it runs")
    parser.add_argument("--docs", action="store_true", help="write measurements/workers.md")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    found = measure(*((1.0, 1) if given.quick else (4.0, 3)))
    console = Console(width=None if sys.stdout.isatty() else 160)
    for row in [[*HEADINGS, *SHARES], *rows(found)]:
        console.print("  ".join(f"{cell:>14}" for cell in row), highlight=False)
    if given.docs:
        console.print(f"wrote {write_page('workers.md', page(found, os.cpu_count() or 1, load))}")
        DESIGN.write_text(quoted(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
