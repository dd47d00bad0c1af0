"""Two commits or more in turns: ``python -m studies.beside COMMIT``.

Each side is a process with its own sources and the same packages.  They work one after the other,
some milliseconds each, so that what the machine does meanwhile happens to all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from studies.beside.served import serving
from studies.documents import origin, write_page

ROOT = Path(__file__).resolve().parents[2]
#: Before the tree had rooms, and before weights and sparse rows.
COMMITS = ("5adf3689", "cc7625c50")
MOST = 1.05
LEAST_SECONDS = 0.02
Rounds = dict[str, list[list[float]]]


class Side(NamedTuple):
    """Sources, and where their kernels are compiled to."""

    name: str
    sources: Path
    cache: Path

    @property
    def environment(self) -> dict[str, str]:
        """That of a process of this side."""
        return {
            **os.environ,
            "PYTHONPATH": f"{self.sources}{os.pathsep}{ROOT}",
            "PYTHONPYCACHEPREFIX": str(self.cache / "bytecode"),
            "NUMBA_CACHE_DIR": str(self.cache / "kernels"),
            "OPENBLAS_NUM_THREADS": "1",
        }


def side_of(commit: str, place: Path) -> Side:
    """Its sources, unpacked unless they are there."""
    folder = place / commit
    if not folder.exists():
        folder.mkdir(parents=True)
        command = ["git", "archive", commit, "src"]
        packed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)  # noqa: S603, S607
    return Side(commit, folder / "src", folder)


class Worker:
    """A process that does pieces of work with the sources of one side."""

    def __init__(self, side: Side) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "studies.beside.pieces"],
            env=side.environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def names(self) -> list[str]:
        """What it can do, as soon as it is ready."""
        found: list[str] = json.loads(self._read())
        return found

    def seconds(self, name: str, runs: int) -> float:
        """Of the processor, for so many runs."""
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(json.dumps([name, runs]) + "\n")
        self._process.stdin.flush()
        return float(self._read())

    def end(self) -> None:
        """Close its input, and wait until it ends."""
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout.readline()


@contextmanager
def working(sides: list[Side]) -> Iterator[tuple[list[Worker], list[str]]]:
    """A worker for each side, ready, and what all can do."""
    workers = [Worker(side) for side in sides]
    try:
        names = [worker.names() for worker in workers]
        yield workers, names[0]
    finally:
        for worker in workers:
            worker.end()


def pieces_in_turn(sides: list[Side], rounds: int, starts: int, only: str) -> Rounds:
    """Processor seconds of a run, of each side in each round."""
    found: Rounds = {}
    for _ in range(starts):
        with working(sides) as (workers, names):
            for name in track([each for each in names if only in each], "in turns"):
                once = max(worker.seconds(name, 1) for worker in workers)
                runs = int(np.ceil(LEAST_SECONDS / max(once, 1e-6)))
                found.setdefault(name, []).extend(
                    [worker.seconds(name, runs) / runs for worker in workers] for _ in range(rounds)
                )
    return found


def servers_in_turn(sides: list[Side], rounds: int) -> Rounds:
    """Processor seconds for a request, of each side's server in each round."""
    found: Rounds = {}
    with ExitStack() as stack:
        servers = []
        for side in sides:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            servers.append(stack.enter_context(serving(side.environment, folder)))
        for round_ in track(range(rounds + 1), "servers in turns"):
            each = [server.measured() for server in servers]
            for name in each[0] if round_ else ():  # the first is for caches
                found.setdefault(name, []).append([seconds[name] for seconds in each])
    return found


def table(found: Rounds, sides: list[Side]) -> str:
    """Medians in µs, and of what now has over each earlier commit in the same round."""
    head = " | ".join(f"`{side.name}` | now over it" for side in sides[1:])
    lines = [f"| | now, µs | {head} |", "|---|---:|" + "---:|---:|" * (len(sides) - 1)]
    for name, rounds in found.items():
        times = np.array(rounds)
        middle = 1e6 * np.median(times, axis=0)
        ratios = np.median(times[:, :1] / times[:, 1:], axis=0)
        beside = [
            f"{before:,.1f} | {ratio:.2f}{'' if ratio <= MOST else ' **slower**'}"
            for before, ratio in zip(middle[1:], ratios, strict=True)
        ]
        lines.append(f"| {name} | {middle[0]:,.1f} | {' | '.join(beside)} |")
    return "\n".join(lines)


def page(text: str, commits: list[str], rounds: int, starts: int) -> str:
    """The page of the documentation."""
    return "\n\n".join(
        [
            "# Beside earlier versions",
            origin(f"python -m studies.beside {' '.join(commits)} --docs"),
            f"The same work with the sources of now and of earlier commits: `{COMMITS[0]}` is the "
            f"last before the tree had rooms, `{COMMITS[1]}` the last without weights, forgetting "
            "and sparse rows. Each is a process of its own, all have the same packages, and "
            f"they take turns. Times are of the processor, in medians over {rounds} rounds of each "
            f"of {starts} starts; a ratio is the median of those within a round. Server: user and "
            "system time of its process for a request, 64 connections, or one for feedback, in "
            f"{rounds} rounds. Rule and prior are what all commits have: Thompson sampling, one "
            f"variance. At most {MOST} is wanted. A recommender of now also watches its data and "
            f"foretells every outcome, for its alarms: that came after `{COMMITS[0]}`.",
            text,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.beside", description=__doc__)
    parser.add_argument("commits", nargs="*", default=list(COMMITS), help="earlier commits")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--starts", type=int, default=3, help="of all processes")
    parser.add_argument("--only", default="", help="pieces whose name has these characters")
    parser.add_argument("--docs", action="store_true", help="write measurements/beside.md")
    given = parser.parse_args()
    place = ROOT / ".venv" / "beside"  # kept: a second run need not compile
    sides = [Side("now", ROOT / "src", place / "now")]
    sides += [side_of(commit, place) for commit in given.commits]
    found = pieces_in_turn(sides, given.rounds, given.starts, given.only)
    Console(width=160).print(table(found, sides))
    if not given.only or "server" in given.only:
        found |= servers_in_turn(sides, given.rounds)
    text = table(found, sides)
    Console(width=160).print(text)
    if given.docs:
        written = page(text, given.commits, given.rounds, given.starts)
        Console().print(f"wrote {write_page('beside.md', written)}")


if __name__ == "__main__":
    main()
