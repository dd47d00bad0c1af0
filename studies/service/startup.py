"""How long a server takes to be ready, with millions of impressions in its log.

``python -m studies.service.startup --docs``; with ``--folder`` a run that was stopped goes on.
With ``--unbounded`` it is a model that keeps every impression, a section of the same page.  The
first thousand impressions are those of a real service; the others are copies of their rows under
other ids, by one statement for many.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import psycopg
from rich.console import Console
from tests.service.core.running import serving, until
from tests.service.faults.servers import is_ready, own_environment, serving_flags, wait_for
from tests.service.postgres import throw_away_server

from fabcost.service.learning.follower import Follower, dense
from fabcost.service.learning.recovery import Recovery, schema_of
from fabcost.service.service import Service
from fabcost.service.store.store import Store, store_at
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import HalfLifeSettings, ModelSettings, RefreshSettings
from studies.documents import DOCS, origin, write_page
from studies.service.workers import busy

MODEL, FIRST, KEPT = "adverts", 1000, 100_000
#: Copies of all first rows that one statement makes.
AT_ONCE = 100
IMPRESSIONS = (10_000, 10_000_000)
#: Impressions after the newest snapshot, as after a kill.
TAIL = 50_000
REFRESHES = (1000, 100_000, 1_000_000)
SETTINGS = ModelSettings(most_kept=KEPT, refresh=RefreshSettings(kind="at", points=list(REFRESHES)))
#: Of models that keep all impressions for a refresh that is still to come, or forget.
UNBOUNDED = (20_000, 300_000, 1_000_000)
TO_COME = [1000, 2 * max(UNBOUNDED)]
FORGETTING = 10_000.0
WITHOUT = "## Without a bound"
ITEMS: dict[str, dict[str, Any]] = {
    f"ad-{k}": {"make": ("kia", "ford", "audi")[k % 3], "age": k} for k in range(5)
}
_COLUMNS = (
    *("model", "made", "deadline", "arm", "item", "active", "learns", "features", "record"),
    *("click_value", "cost", "resolved", "outcome", "value", "label"),
)
_COPY = """
WITH RECURSIVE copies (n) AS (SELECT {start} UNION ALL SELECT n + 1 FROM copies WHERE n + 1 < {end})
INSERT INTO decisions ({columns}, decision, lsn{also})
SELECT {columns}, CAST(1000000 + n AS TEXT) || '-' || decision, lsn + n * {first}{own}
FROM copies CROSS JOIN decisions AS d
WHERE d.model = '{model}' AND d.lsn <= {first}
"""
_QUICKLY = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000;"


class Started(NamedTuple):
    """Seconds of a start, and of the processor, and the size of the database in megabytes."""

    store: str
    impressions: int
    tail: int
    seconds: float
    megabytes: float
    weights: int
    processor: float = 0.0


async def begin(address: str, settings: ModelSettings) -> None:
    """A model that has learnt its first impressions, as a service does it."""
    rng = np.random.default_rng(0)
    async with serving(address) as service:
        await service.create_model(MODEL, settings)
        await service.put_items(MODEL, ITEMS)
        for k in range(FIRST):
            await _visit(service, f"d-{k:04}", str(rng.choice(["mobile", "desktop"])))
            click = FeedbackRequest(decision_id=f"d-{k:04}", value=float(rng.random() < 0.1))
            await service.feedback(MODEL, [click])


async def _visit(service: Service, decision: str, device: str) -> None:
    request = DecisionRequest(decision_id=decision, context={"device": device})
    await service.decide(MODEL, request)


def grow(address: str, before: int, to: int) -> None:
    """Copy the first rows until the log has so many impressions; everything is counted."""
    shared = address.startswith("postgresql")
    also, own = (", writer", ", writer") if shared else ("", "")
    text = _COPY.replace("{also}", also).replace("{own}", own)
    names = {"columns": ", ".join(_COLUMNS), "first": FIRST, "model": MODEL}
    counted = "UPDATE {} SET counted = (SELECT MAX(seq) FROM decisions)"
    with _direct(address) as run:
        for start in range(before // FIRST, to // FIRST, AT_ONCE):
            end = min(start + AT_ONCE, to // FIRST)
            run(text.format(start=start, end=end, **names))
        run(counted.format("replicas" if shared else "server"))
        run(f"UPDATE models SET head_lsn = {to}")  # noqa: S608


@contextmanager
def _direct(address: str) -> Iterator[Any]:
    if address.startswith("postgresql"):
        with psycopg.connect(address, autocommit=True) as connection:
            yield connection.execute
        return
    path = address.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript(_QUICKLY)
        yield file.execute


def snapshot(address: str, upto: int) -> int:
    """Learn the log up to a number, write it down as the service does; how many weights."""
    with opened(address) as store:
        (row,) = store.models()
        settings = msgspec.json.decode(row.settings, type=ModelSettings)
        schema = schema_of(settings)
        schema.regrow(map(json.loads, store.steps(MODEL)))
        recovery = Recovery(store, MODEL, settings, schema)
        follower, lsn = recovery.newest(upto)
        learn(recovery, follower, lsn, upto)  # type: ignore[arg-type]  # it is none of a wide model
        with store.transaction():
            store.put_snapshot(MODEL, upto, time.time(), recovery.snapshot(follower))
        return recovery.schema.width


def learn(recovery: Recovery, follower: Follower, lsn: int, upto: int) -> None:
    """What the log has, whose rows repeat."""
    some = [each for chunk in recovery.chunks(0, FIRST) for each in chunk]
    X = dense([each.impression for each in some], follower.learner.prior.dimension)
    y, items = np.array([each.label for each in some]), [each.item for each in some]
    while lsn < upto:
        many = min(AT_ONCE * FIRST, upto - lsn)
        places = (lsn + np.arange(many)) % FIRST
        shown = [items[place] for place in places]
        follower.learner.observe_many(X[places], y[places], shown)
        lsn += many


@contextmanager
def opened(address: str) -> Iterator[Store]:
    """The database, taken over."""
    store = store_at(address)
    store.open(take_over=True)
    try:
        yield store
    finally:
        store.close()


def seconds_to_ready(address: str, folder: Path) -> tuple[float, float]:
    """From the start of a process to the moment in which it serves everything; it is killed.

    And the seconds for which it had a processor, which other programs do not change much.
    """
    log = folder / "server.log"
    with log.open("wb") as file:
        started = time.perf_counter()
        command = [sys.executable, "-m", "fabcost", "serve", *serving_flags(address)]
        process = subprocess.Popen(command, env=own_environment(), stdout=file, stderr=file)  # noqa: S603
    try:
        wait_for(lambda: "listening on " in log.read_text(), 600.0, told=log.read_text)
        own = log.read_text().partition("listening on ")[2].split()[0]
        wait_for(lambda: is_ready(own), 3600.0, told=log.read_text)
        return time.perf_counter() - started, busy(process.pid)
    finally:
        process.kill()
        process.wait()


def check(address: str, folder: Path) -> None:
    """A start from the snapshot has the bits of one that learns the whole log."""
    digests = []
    for statement in ("SELECT 1", "DELETE FROM snapshots"):
        with _direct(address) as run:
            run(statement)
        digests.append(asyncio.run(digest(address)))
    if len(set(digests)) > 1:
        raise ValueError(f"the log of {folder} and its snapshot differ: {digests}")


async def digest(address: str) -> str:
    """Of the posterior after a start and the refresh that may still run then."""
    async with serving(address) as service:

        async def is_settled() -> bool:
            return not (await service.stats(MODEL)).refreshing

        await until(is_settled)
        return str(service.posterior(MODEL).digest)


def megabytes(address: str) -> float:
    """The size of the database."""
    if address.startswith("postgresql"):
        with psycopg.connect(address) as connection:
            found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
            return float(found[0]) / 1e6 if found else 0.0
    return Path(address.removeprefix("sqlite:///")).stat().st_size / 1e6


def measured(
    name: str,
    address: str,
    folder: Path,
    sizes: list[int],
    settings: ModelSettings = SETTINGS,
    tails: tuple[int, ...] = (TAIL, 0),
) -> Iterator[Started]:
    """Starts with more and more impressions, after a stop and after a kill."""
    before = length(address)
    if not before:
        asyncio.run(begin(address, settings))
    for size in [each for each in sizes if each > before or each == max(sizes)]:
        grow(address, max(before, FIRST), size)
        before = size
        for tail in tails if size > TAIL else (0,):
            weights = snapshot(address, size - tail)
            starts = [seconds_to_ready(address, folder) for _ in range(1 if tail else 2)]
            took, processor = map(min, zip(*starts, strict=True))
            yield Started(name, size, tail, took, megabytes(address), weights, processor)
        if size == min(sizes):
            check(address, folder)
            snapshot(address, size)


def length(address: str) -> int:
    """Impressions of a log that was begun."""
    if not address.startswith("sqlite") or not Path(address.removeprefix("sqlite:///")).exists():
        return 0
    with _direct(address) as run:
        return int(run("SELECT COALESCE(MAX(lsn), 0) FROM decisions").fetchone()[0])


def page(found: list[Started]) -> str:
    """The page of the documentation."""
    weights, least = max(each.weights for each in found), min(each.impressions for each in found)
    rows = [
        f"| {each.store} | {each.impressions:,} | {each.megabytes:,.0f} | {each.tail:,} | "
        f"{each.seconds:.1f} |"
        for each in found
    ]
    return f"""# Starts

{origin("python -m studies.service.startup --docs")}

Seconds from the start of a process of `fabcost serve` to the moment in which `/readyz` is 200:
imports and compiled kernels from the disk are in it. One model with five items, {weights}
weights and `most_kept` {KEPT:,}. The first {FIRST:,} impressions were made by a service; the
others are copies of their rows under other ids, without their feedback, and the snapshot is
that of a learner that was given all of them in order. With {least:,} impressions the start from
the snapshot has the bits of one that learns the whole log. After a stop the snapshot has
everything; after a kill the start learns what came after it, here {TAIL:,} impressions. The
load average was {os.getloadavg()[1]:.1f} at the end.

| store | impressions | database, MB | after the snapshot | seconds |
|---|---:|---:|---:|---:|
{chr(10).join(rows)}

{rest_of_page()}
"""


def rest_of_page() -> str:
    """What the page says of models without a bound, as it is."""
    text = (DOCS / "starts.md").read_text(encoding="utf-8")
    return text[text.index(WITHOUT) :].rstrip() if WITHOUT in text else ""


def unbounded(folder: Path) -> list[Started]:
    """Starts of a model that keeps all, and of one that forgets, which drops what is old."""
    free = ModelSettings(refresh=RefreshSettings(kind="at", points=TO_COME))
    fading = msgspec.structs.replace(free, half_life=HalfLifeSettings(FORGETTING))
    found: list[Started] = []
    for name, settings in (("neither", free), ("`half_life`", fading)):
        address = f"sqlite:///{folder}/{len(found)}.db"
        found += measured(name, address, folder, list(UNBOUNDED), settings, (0,))
    return found


def section(found: list[Started]) -> str:
    """The end of the page."""
    rows = [
        f"| {each.store} | {each.impressions:,} | {each.seconds:.1f} | {each.processor:.1f} |"
        for each in found
    ]
    kept = [each for each in found if each.store == found[0].store]
    more = (kept[-1].processor - kept[0].processor) / (kept[-1].impressions - kept[0].impressions)
    return f"""{WITHOUT}

{origin("python -m studies.service.startup --docs --unbounded")}

Without `most_kept` and without a `half_life` a learner keeps every impression, with its site, as
long as a refresh is still to come, here after {TO_COME[-1]:,}. The snapshot has the sites, and a
start reads the rows from the log: it learns nothing again, but reads and holds as many rows as
there are: {1e6 * more:.1f} µs of the processor for each, from the first row of the table to the
last without a bound. With a half-life, here of {FORGETTING:,.0f} impressions, rows that count less
are dropped, and there is nothing to read. SQLite, after a stop, the better of two starts; the load
average was {os.getloadavg()[1]:.1f} at the end, by which seconds
grow, and those of the processor much less.

| bound | impressions | seconds | of the processor |
|---|---:|---:|---:|
{chr(10).join(rows)}

For logs of millions set one of them.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the page")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(IMPRESSIONS))
    parser.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"])
    parser.add_argument("--folder", type=Path, help="of logs that are kept; else a temporary one")
    parser.add_argument("--unbounded", action="store_true", help="the section on models without")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.unbounded:
            told = section(unbounded(folder))
            Console().print(told)
            if given.docs:
                page_of = DOCS / "starts.md"
                write_page(page_of.name, page_of.read_text("utf-8").replace(rest_of_page(), told))
            return
        kept = folder / "found.json"
        found = [Started(*each) for each in json.loads(kept.read_text())] if kept.exists() else []
        for name in given.stores:
            address = f"sqlite:///{folder}/log.db"
            if name == "PostgreSQL":
                server = stack.enter_context(throw_away_server())
                address = stack.enter_context(server.database())
            for each in measured(name, address, folder, given.sizes):
                Console().print(each)
                found.append(each)
                kept.write_text(json.dumps(found))
    if given.docs:
        write_page("starts.md", page(found))


if __name__ == "__main__":
    main()
