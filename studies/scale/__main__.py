"""Logs of up to a hundred million rows, beside other libraries; and fits that are killed.

``python -m studies.scale --docs``.  What has been measured is kept in the folder of the data, and a
run that was stopped goes on; ``--largest 10`` leaves the hundred million out.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from studies.documents import origin, write_page
from studies.scale.costs import FABCOST, MEMORY, Cost, fitted, other, run
from studies.scale.trials import Trial, trial

PART, MILLIONS = 1_000_000, (1, 10, 100)
#: The size that all are compared at.
COMPARED = 10
KILLS = 6
HOW = (
    "Impressions of `fabcost simulate` with 15 weights, as Parquet files of a million rows each. "
    "Every command is a process of its own, from its start to its end: imports, reading and the "
    "start of a cluster are in its time. Vowpal Wabbit's time has the conversion to its text "
    "format. The log loss is that of a million further rows. Memory is that of the largest process "
    f"of a command; workers of Dask are limited to {MEMORY}. Processor time is that of all "
    "processes of a command together."
)
WHY = (
    "Of these rows only some 24,000 are distinct. `fabcost fit` makes equal rows one and fits what "
    "is left at once; with `--no-group` every row keeps a site of its own, as it has to be where "
    "rows do not repeat, and EP goes in rounds."
)
KILLED = (
    "of a million rows on two Dask workers, with `--no-group`: a worker or the driver was "
    "killed (SIGKILL) at a random moment after the first block was written, and the command given "
    "again if it had ended."
)


class Kept:
    """What was measured, in a file: a run that was stopped goes on."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "measured.json"
        self.found = json.loads(self._path.read_text()) if self._path.exists() else {}

    def cost(self, name: str, measure: Callable[[], Cost]) -> Cost:
        """Measure it unless it is known."""
        if name not in self.found:
            Console().print(name)
            self.found[name] = measure()
            self._path.write_text(json.dumps(self.found))
        return Cost(*self.found[name])

    def trials(self, many: int, log: Path) -> list[Trial]:
        """Kill so many fits."""
        done = self.found.setdefault("trials", [])
        if len(done) < many:
            out = log.parent / "model.fabcost"
            fitted(log, None, "--no-group")
            expected = out.read_bytes()
            for seed in range(len(done), many):
                done.append(trial(log, seed, expected))
                self._path.write_text(json.dumps(self.found))
        return [Trial(*each) for each in done]


def simulated(folder: Path, millions: int) -> Path:
    """Files of so many million rows, and one more that nobody learns from; its path."""
    held_out = folder / "held-out.parquet"
    if not held_out.exists():
        many = ("--rows", str((millions + 1) * PART), "--partitions", str(millions + 1), "--force")
        run((*FABCOST, "simulate", "--out", str(folder / "all"), *many))
        (folder / "all" / f"part-{millions:05}.parquet").rename(held_out)
    return held_out


def first(folder: Path, millions: int) -> Path:
    """A log of the first files of all."""
    log = folder / str(millions) / "log"
    if not log.exists():
        log.mkdir(parents=True)
        for part in sorted((folder / "all").glob("*.parquet"))[:millions]:
            (log / part.name).hardlink_to(part)
    return log


def sides(log: Path, held_out: Path, millions: int) -> Iterator[tuple[str, Callable[[], Cost]]]:
    """All that fit a log of this size."""
    dask = ("--dask", "--memory-limit", MEMORY, "--workers")
    ways: list[tuple[str, ...]] = [(), (*dask, "2"), ("--no-group", *dask, "2")]
    if millions <= COMPARED:
        ways += [("--no-group",)]
    if millions == COMPARED:
        ways += [("--no-group", *dask, "1")]
    for way in ways:
        shown = " ".join(("fabcost fit", *way)).replace(f" --memory-limit {MEMORY}", "")
        yield shown, partial(fitted, log, held_out, *way)
    if millions == COMPARED:
        yield "Vowpal Wabbit, one pass", partial(other, "vowpal", log, held_out)
        yield "SGDClassifier, one pass", partial(other, "descent", log, held_out)


def measured(folder: Path, kept: Kept, largest: int) -> dict[str, Cost]:
    """All sizes, in one run."""
    held_out, costs = simulated(folder, largest), {}
    for millions in (each for each in MILLIONS if each <= largest):
        for way, side in sides(first(folder, millions), held_out, millions):
            name = _name(way, millions)
            costs[name] = kept.cost(name, side)
    return costs


def _name(way: str, millions: int) -> str:
    return f"{way}, {millions} million rows"


def page(costs: dict[str, Cost], trials: list[Trial], command: str) -> str:
    """The page of the documentation."""
    lines = [
        "# Logs larger than one machine",
        "",
        origin(command),
        "",
        f"{HOW} The load average of the last five minutes was {os.getloadavg()[1]:.1f} at the end.",
        "",
        "| | seconds | processor, s | memory, MB | log loss |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {cost.seconds:,.0f} | {cost.processor:,.0f} | {cost.megabytes:,.0f} | "
            f"{cost.loss:.5f} |"
            for name, cost in costs.items()
        ),
        "",
        WHY,
        "",
        *growth(costs),
        "",
        "## Kills",
        "",
        f"{len(trials)} {'fit' if len(trials) == 1 else 'fits'} {KILLED}",
        "",
        "| killed | fits | the same bits in the end | starts in all |",
        "|---|---:|---:|---:|",
    ]
    for who in ("worker", "driver"):
        some = [each for each in trials if each.killed == who]
        same, starts = sum(each.same for each in some), sum(each.starts for each in some)
        lines.append(f"| {who} | {len(some)} | {same} | {starts} |")
    if not any("100 million" in name for name in costs):
        lines += ["", "A hundred million rows were not run for this page."]
    return "\n".join(lines)


def growth(costs: dict[str, Cost]) -> list[str]:
    """How time grows with rows, and falls with workers."""
    lines = ["| | seconds | processor |", "|---|---:|---:|"]
    grouped, whole = "fabcost fit", "fabcost fit --no-group --dask --workers"
    for way in (grouped, f"{whole} 2"):
        for less, more in pairwise(MILLIONS):
            pair = [costs.get(_name(way, each)) for each in (less, more)]
            lines += _ratio(f"`{way}`, {more} million rows over {less}", *pair)
    pair = [costs.get(_name(f"{whole} {many}", COMPARED)) for many in (1, 2)]
    lines += _ratio(f"`--no-group`, {COMPARED} million rows, two workers over one", *pair)
    return lines


def _ratio(what: str, less: Cost | None, more: Cost | None) -> list[str]:
    if less is None or more is None:
        return []
    seconds, processor = more.seconds / less.seconds, more.processor / less.processor
    return [f"| {what} | {seconds:.2f} | {processor:.2f} |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write the page")
    parser.add_argument("--largest", type=int, default=max(MILLIONS), help="million rows at most")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--folder", type=Path, default=Path("scale-data"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = Kept(given.folder)
    costs = measured(given.folder, kept, given.largest)
    trials = kept.trials(given.kills, first(given.folder, 1))
    text = page(costs, trials, "python -m studies.scale --docs")
    Console().print(text)
    if given.docs:
        write_page("scale.md", text)


if __name__ == "__main__":
    main()
