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
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from tests.service.postgres import throw_away_server

from fabcost.client import Client
from fabcost.wire.settings import ModelSettings
from fabcost.worlds.visitors import CarAdverts
from studies.documents import DOCS, origin, write_page
from studies.service.__main__ import CONNECTIONS, ITEMS, Bench, process, world

WORKERS = (1, 2)
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
    """Decisions per second, and the processors that each side kept busy meanwhile."""

    rate: float
    p99: float
    servers: float
    database: float
    generator: float


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


def measured(bench: Bench, model: str, seconds: float, server: int, database: int) -> Measured:
    """One model under load."""
    started = (busy(server), busy(database), own(), time.monotonic())
    reading = bench.decisions(model, seconds)
    ended = (busy(server), busy(database), own(), time.monotonic())
    *used, taken = (after - before for before, after in zip(started, ended, strict=True))
    return Measured(reading.rate, reading.p99, *(each / taken for each in used))


def catalogue(cars: CarAdverts, items: int) -> dict[str, Any]:
    """So many adverts, each of them several times if there are fewer."""
    adverts = list(cars.items.values())
    return {f"ad-{k}": adverts[k % len(adverts)] for k in range(items)}


@contextmanager
def served(workers: int, cars: CarAdverts, folder: Path) -> Iterator[tuple[Bench, int, int]]:
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
        yield Bench(folder, url, url, cars), server.pid, database


def measure(seconds: float, rounds: int) -> dict[tuple[str, int], list[Measured]]:
    """Servers of one worker and of two stand beside each other and take turns."""
    found: dict[tuple[str, int], list[Measured]] = defaultdict(list)
    cars = world()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        sides = {n: stack.enter_context(served(n, cars, Path(name))) for n in WORKERS}
        for side in sides.values():
            for model in MODELS:
                measured(side[0], model, 1.0, *side[1:])
        for _ in range(rounds):
            for model in MODELS:
                for workers, (bench, server, database) in sides.items():
                    each = measured(bench, model, seconds, server, database)
                    found[model, workers].append(each)
    return found


def median(found: list[Measured]) -> Measured:
    """Of each number by itself."""
    return Measured(*np.median([list(vars(each).values()) for each in found], axis=0).tolist())


def attainable(one: Measured, cores: float) -> float:
    """How often the work of one worker's decisions fits into so many processors, all counted."""
    return cores / (one.servers + one.database + one.generator)


def rows(found: dict[tuple[str, int], list[Measured]]) -> list[list[str]]:
    """The table."""
    table, cores = [], granted()
    for model, (_, _, meaning) in MODELS.items():
        one = median(found[model, 1])
        for workers in WORKERS:
            each = median(found[model, workers])
            together = each.servers + each.database + each.generator
            numbers = (each.servers, each.database, each.generator, together)
            most = attainable(one, cores) if workers > 1 else 1.0
            table.append(
                [
                    *(meaning, str(workers), f"{each.rate:,.0f}", f"{each.rate / one.rate:.2f}"),
                    *(f"{most:.2f}", f"{each.p99:.1f}", *(f"{number:.2f}" for number in numbers)),
                    f"{1e6 * together / each.rate:.0f}",
                ]
            )
    return table


def granted() -> float:
    """Processors that can be kept busy."""
    first = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    return (0.95 if first else 1.0) * (os.cpu_count() or 1)


REAL_TIME = "real-time priority (of which Linux grants 95 %)"
HEADINGS = ("decisions", "workers", "per second", "times one", "at most", "p99, ms")
SHARES = ("servers", "PostgreSQL", "load generator", "together", "µs a decision")
#: Between these the design for many machines quotes what is measured here.
DESIGN = DOCS.parent / "explanation" / "internet-scale.md"
BEGIN, END, BUSIEST = "<!-- workers -->", "<!-- /workers -->", 40_000
COSTS, END_OF_COSTS, AN_HOUR = "<!-- costs -->", "<!-- /costs -->", 0.05


def gained(times: list[float]) -> str:
    """What two workers do beside one, in all kinds of decisions and not in the best alone."""
    *others, last = (f"{each:.2f}" for each in times)
    many = sum(each >= LEAST for each in times)
    return (
        f"Two workers make {', '.join(others)} and {last} times as many decisions as one, in the\n"
        f"order of the table.  At least {LEAST} was wanted, and is reached in {many} of the "
        f"{len(times)}."
    )


def costs(seconds: float) -> str:
    """What processors cost by those that a decision takes."""
    each = seconds * AN_HOUR / 3600.0
    return f"""{COSTS}
A million decisions with propensities take {1e6 * seconds:.0f} s of processors, by the figures
above. At {AN_HOUR} a processor-hour, which is an assumption, they cost {1e6 * each:.4f}, and a
billion a day {1e9 * each:.1f} a day for processors; storage of 1 TB a day costs more than that.
"""


def page(found: dict[tuple[str, int], list[Measured]], cores: int, load: float) -> str:
    """The page of the documentation."""
    heads = [*HEADINGS, *SHARES]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows(found)]
    first = os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO)
    times = [median(found[m, 2]).rate / median(found[m, 1]).rate for m in MODELS]
    generator = max(median(found[m, 1]).generator for m in MODELS)
    return f"""# Workers

{origin("python -m studies.service.workers --docs")}

`fabcost serve --workers 1` and `--workers 2` on one PostgreSQL each (without waiting for its disk),
beside each other and asked by turns; {CONNECTIONS} connections that each wait for their answer,
every decision among all items of a catalogue, and committed before it is answered.  The last five
columns are processors kept busy, of {cores}, by the servers, by PostgreSQL, by the client that
asks, on the same machine, and by all{", where these had " + REAL_TIME if first else ""}; and what
that comes to for a decision.  The load average before the first round was {load:.1f}.

{chr(10).join("| " + " | ".join(each) + " |" for each in lines)}

{gained(times)}

**At most** is what the machine allows: the {granted():.2f} processors that can be kept busy,
over what one worker, its
PostgreSQL and the client took together, as if a decision cost two workers what it costs one.  The
load generator takes up to {generator:.0%} of a processor beside one worker.  Where two workers stay
below that column a decision costs more with two of them, as the last column has it: transactions
share fewer commits, and processors their caches; where they are above it costs less.  A worker
keeps at most about one processor busy, however many there are: it is one interpreter.  So two
workers come the nearer to twice one the less there is to do beside deciding on the same machine.
"""


def quoted(found: dict[tuple[str, int], list[Measured]]) -> str:
    """The design for many machines, with what one worker was seen to do."""
    one, many = (median(found[model, 1]) for model in ("one-draw", "propensities"))
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
