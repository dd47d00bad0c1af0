"""Servers killed while they work, and what is left: ``python -m studies.kills``."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tests.processors import compiled_for, known
from tests.service.faults.cold import killed_from_cold
from tests.service.faults.ledger import model_row, reading, rebuilt_elsewhere, served_digest
from tests.service.faults.promises import Broken, broken
from tests.service.faults.servers import Nursery, Processes, nursery_in
from tests.service.faults.visitors import MODEL
from tests.service.postgres import throw_away_server

from studies.documents import write_page
from studies.kills.book import Checked
from studies.kills.report import COLD, Tallies, as_table, page, total
from studies.kills.rounds import SCENES, START, VISITS, Round, Tally, Windows
from studies.kills.versions import Stores

SEED = 20_261_117
KILLS, MINUTES = 500, 45.0
ROUND = 25
_COLD_SHARE, _MIGRATIONS = 0.08, 5


class Study:
    """All kills of all stores, counted by what was under way."""

    def __init__(self, advance: Callable[[], object], until: float) -> None:
        self.tallies: Tallies = defaultdict(Tally)
        self._advance = advance
        self._until = until
        self._seeds = count(SEED)

    def run(self, stores: Stores, nursery: Nursery, folder: Path, kills: int) -> None:
        """So many kills on one kind of store, unless time is up."""
        cold = max(2, round(_COLD_SHARE * kills))
        self._run_cold(stores, folder, cold)
        windows, order = Windows(), scenes(np.random.default_rng(SEED))
        rounds = -(-(kills - cold) // ROUND)
        for size in np.diff(np.linspace(0, kills - cold, rounds + 1).astype(int)):
            if time.monotonic() > self._until:
                return
            migrations = int(size) // _MIGRATIONS
            tally, seed = self._counting(stores), next(self._seeds)
            going = Round(nursery, windows, tally, self._advance, seed=seed)
            asyncio.run(going.run(stores, chosen(order, int(size) - migrations), migrations))

    def _counting(self, stores: Stores) -> Callable[[str], Tally]:
        return lambda scene: self.tallies[stores.dialect, scene]

    def _run_cold(self, stores: Stores, folder: Path, kills: int) -> None:
        """Servers that compile for themselves, and a learner compiled for another processor."""
        caches = [Path(tempfile.mkdtemp(prefix="cache-", dir=folder)) for _ in range(2)]
        tally = self.tallies[stores.dialect, COLD]
        starting = Processes(folder, "fabcost", {"NUMBA_CACHE_DIR": str(caches[0])})
        with stores.new() as database, closing(starting) as processes:
            last, told = killed_from_cold(
                processes, caches[0], database, kills=kills, seed=next(self._seeds)
            )
            with reading(database) as store:
                rows = store.history(MODEL, after=0, limit=10**6)
                found = list(broken(rows, model_row(store).head_lsn, told))
            variables = {"NUMBA_CACHE_DIR": str(caches[1])}
            for plainest in known()[:1]:
                variables = compiled_for(plainest, caches[1])
            served = served_digest(last.address())
            equal = served == rebuilt_elsewhere(database, variables=variables)
            if not equal:
                found.append(Broken("wrong", f"digest {served} was compiled from cold"))
            tally.kills += kills
            tally.add(Checked(found, 1, int(equal)), told.totals())
        for _ in range(kills):
            self._advance()


def scenes(rng: np.random.Generator) -> Iterator[str]:
    """Each as often as the others, in any order."""
    while True:
        yield from (SCENES[k] for k in rng.permutation(len(SCENES)))


def chosen(order: Iterator[str], kills: int) -> list[str]:
    """The next scenes, for so many kills: one that starts is killed before as well."""
    found: list[str] = []
    while kills > 0:
        scene = next(order) if kills > 1 else VISITS
        found.append(scene)
        kills -= 2 if scene == START else 1
    return found


def measure(kills: int, minutes: float, progress: Progress) -> Study:
    """Both stores, one after the other."""
    task = progress.add_task("killing", total=kills)
    study = Study(lambda: progress.advance(task), time.monotonic() + 60.0 * minutes)
    with tempfile.TemporaryDirectory(prefix="fabcost-kills-") as name:
        folder = Path(name)
        with nursery_in(folder) as nursery:
            study.run(Stores("sqlite", folder, None), nursery, folder, kills // 2)
            with throw_away_server() as server:
                stores = Stores("postgres", folder, server)
                study.run(stores, nursery, folder, kills - kills // 2)
    return study


def main() -> int:
    """Kill, print, and with ``--docs`` write the page."""
    parser = argparse.ArgumentParser(prog="python -m studies.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help="over both stores")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="no new round after these")
    parser.add_argument("--docs", action="store_true", help="write measurements/kills.md")
    given = parser.parse_args()
    # Servers and databases are left behind by nobody who is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        study = measure(given.kills, given.minutes, progress)
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(as_table(study.tallies))
    broken_ones = total(study.tallies).broken
    for each in broken_ones:
        console.print(f"{each.how}: {each.what}", highlight=False, markup=False)
    if given.docs:
        console.print(f"wrote {write_page('kills.md', page(study.tallies))}")
    return 1 if broken_ones else 0


if __name__ == "__main__":
    sys.exit(main())
