"""Measure fabcost beside other bandit libraries: ``python -m studies.peers``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from studies import claims
from studies.documents import write_page
from studies.peers import measure as peer_measure
from studies.peers import report as peer_report
from studies.peers.claims import Found, claims_of
from studies.peers.measure import FULL, QUICK, TIMED, Sizes, Task
from studies.peers.settings import SETTINGS


def measure(sizes: Sizes, console: Console) -> Found:
    """Time the calls first, alone on the machine; then count clicks on two processes."""
    found = Found(sizes.rounds)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        _time(found, sizes, progress)
        _play(found, peer_measure.tasks(sizes), progress)
    return found


def _play(found: Found, todo: list[Task], progress: Progress) -> None:
    """Count clicks, and say the mean share of a setting when its last seed is in."""
    task = progress.add_task("clicks", total=len(todo))
    left = Counter((run.setting, run.items) for run in todo)
    for run, share in peer_measure.shares(todo):
        key = (run.setting, run.items)
        found.shares.setdefault(key, {})[run.seed] = share
        left[key] -= 1
        if not left[key]:
            mean = sum(found.shares[key].values()) / len(found.shares[key])
            setting = SETTINGS[run.setting]
            progress.console.print(f"{setting.policy}, {setting.knob}, K = {run.items}: {mean:.3f}")
        progress.advance(task)


def _time(found: Found, sizes: Sizes, progress: Progress) -> None:
    task = progress.add_task("timing", total=len(TIMED))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer warns of rows it has not converged on
        for items in TIMED:
            progress.update(task, description=f"timing, K = {items:,}")
            found.clocks |= peer_measure.clocks(items, sizes)
            progress.advance(task)


def _as_table(title: str, rows: list[list[str]]) -> Table:
    table = Table(*rows[0], title=title)
    for row in rows[1:]:
        table.add_row(*row)
    return table


def _show(found: Found, made: list[claims.Claim], *, quick: bool) -> None:
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(_as_table("Policies as they come", peer_report.policies_table(found)))
    console.print(_as_table("Every setting", peer_report.grid_table(found)))
    table = claims.as_table(made, quick=quick)
    table.title = "Beside other libraries" + (" (quick: too small to judge by)" if quick else "")
    console.print(table)
    missed = [claim.what for claim in made if not claim.holds]
    console.print(f"{len(made) - len(missed)} of {len(made)} hold")
    for what in missed:
        console.print(f"does not hold: {what}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m studies.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/peers.md")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the claims here")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    found = measure(QUICK if arguments.quick else FULL, Console(stderr=True))
    made = claims_of(found)
    _show(found, made, quick=arguments.quick)
    if arguments.out is not None:
        claims.write(arguments.out, made, quick=arguments.quick)
    if arguments.docs:
        print(f"wrote {write_page('peers.md', peer_report.page(found, made))}")


if __name__ == "__main__":
    main()
