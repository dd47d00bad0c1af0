"""Kernels beside those of an earlier commit, in turns: ``python -m studies.before COMMIT``.

Each side is a process with its own sources.  They measure one after the other, a few milliseconds
each, so that what the machine does meanwhile happens to both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from rich.table import Table

from studies.documents import DOCS, origin, write_page

if TYPE_CHECKING:  # a side imports its own
    from fabcost import FabCost
    from fabcost.impressions import FloatArray

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = (15, 50, 128, 512)
MOST = 1.10
SINGLE = 100
LEAST_RUNS = 3
LEAST_SECONDS = 0.003
Measured = Callable[[], object]


class Compared(NamedTuple):
    """Seconds of one piece of work, now and at the earlier commit."""

    what: str
    now: float
    before: float

    @property
    def ratio(self) -> float:
        """Time now over time before."""
        return self.now / self.before


def pieces() -> dict[str, Measured]:
    """What is measured, by name; it must be there in both commits."""
    from fabcost import FabCost, Gaussian, Refresh  # noqa: PLC0415  # of the side's own sources
    from fabcost.bandit.bandit import Bandit  # noqa: PLC0415
    from fabcost.inference import adf, ep  # noqa: PLC0415

    found: dict[str, Measured] = {}
    for weights in WEIGHTS:
        rng = np.random.default_rng(weights)
        rows = max(400, 60_000 // weights**2 * 10)
        X = rng.standard_normal((rows, weights))
        X[:, 0] = 1.0
        y = rng.random(rows) < 0.05
        prior = Gaussian.isotropic(weights, variance=10.0)
        learner = FabCost(prior, refresh=Refresh.at(2**40))
        learner.observe_many(X, y)
        bandit = Bandit(learner, seed=0)
        single = FabCost(prior, refresh=Refresh.at(2**40))
        found |= {
            f"ADF, D = {weights}": partial(adf.fit, prior, X, y),
            f"{SINGLE} single impressions, D = {weights}": partial(_one_by_one, single, X, y),
            f"EP sweep, D = {weights}": partial(learner.refresh, max_sweeps=1),
            f"EP to 1e-6, D = {weights}": partial(ep.fit, prior, X, y, tolerance=1e-6),
            f"decision, D = {weights}": partial(bandit.choose, X[:50]),
            f"decision, 256 draws, D = {weights}": partial(bandit.choose, X[:50], draws=256),
        }
    return found


def _one_by_one(learner: FabCost, X: FloatArray, y: npt.NDArray[np.bool_]) -> None:
    for i in range(SINGLE):
        learner.observe(X[i], y[i])


def answer(asked: IO[str], told: IO[str]) -> None:
    """Be one side: for each name that is asked, run it a few times and tell the least time."""
    ready = pieces()
    for run in ready.values():
        run()
    told.write("ready\n")
    told.flush()
    for line in asked:
        run = ready[json.loads(line)]
        told.write(f"{least_seconds(run)}\n")
        told.flush()


def least_seconds(run: Measured) -> float:
    """The least time of three runs or more, a few milliseconds of them."""
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < LEAST_SECONDS:
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


class Side:
    """A process that measures with the sources of one commit."""

    def __init__(self, sources: Path, cache: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "studies.before", "--side"],
            env={
                **os.environ,
                "PYTHONPATH": f"{sources}{os.pathsep}{ROOT}",
                "NUMBA_CACHE_DIR": str(cache),
                "OPENBLAS_NUM_THREADS": "1",
            },
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> str:
        """What it says next, after a line is sent unless that is empty."""
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        if line:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return self._process.stdout.readline()

    def end(self) -> None:
        """Close its input, and wait until it ends."""
        self._process.communicate()


def compare(commit: str, rounds: int, starts: int) -> list[Compared]:
    """Measure everything in turns; where memory happens to lie differs between starts."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        archive = subprocess.run(  # noqa: S603
            ["git", "archive", commit, "src"],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        unpack = ["tar", "-x", "-C", folder]
        subprocess.run(unpack, input=archive.stdout, check=True)  # noqa: S603
        found = [_started(place, rounds) for _ in range(starts)]
    return [_least(each) for each in zip(*found, strict=True)]


def _started(place: Path, rounds: int) -> list[Compared]:
    sides = (Side(ROOT / "src", place / "now"), Side(place / "src", place / "then"))
    for side in sides:
        side.tell("")
    found = [_in_turn(name, sides, rounds) for name in track(list(pieces()), "in turns")]
    for side in sides:
        side.end()
    return found


def _in_turn(name: str, sides: tuple[Side, Side], rounds: int) -> Compared:
    times = [[float(side.tell(json.dumps(name))) for side in sides] for _ in range(rounds)]
    now, before = np.min(times, axis=0)
    return Compared(name, float(now), float(before))


def _least(of_starts: tuple[Compared, ...]) -> Compared:
    now, before = min(each.now for each in of_starts), min(each.before for each in of_starts)
    return Compared(of_starts[0].what, now, before)


def page(found: list[Compared], commit: str) -> str:
    """The page of the documentation."""
    lines = [
        f"| {each.what} | {1e6 * each.now:,.1f} | {1e6 * each.before:,.1f} | {each.ratio:.2f} "
        f"| {'yes' if each.ratio <= MOST else 'no'} |"
        for each in found
    ]
    return "\n".join(
        [
            "# Kernels with one order of sums, beside those before",
            "",
            origin(f"python -m studies.before {commit} --docs"),
            "",
            f"Two processes in turns, one with the sources of commit `{commit}`, whose sums were "
            "in an order that the compiler chose; the least time of each in µs, over several "
            "starts of both, because a decision at D = 512 takes up to a sixth longer where a "
            "root of 2 MB lies badly in memory. ADF and EP are of a whole batch, EP to "
            "convergence with the sweeps that each commit needs; decisions are among 50 rows "
            f"that are given as an array. At most {MOST} is wanted.",
            "",
            "| | now | before | ratio | holds |",
            "|---|---:|---:|---:|---|",
            *lines,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.before", description=__doc__)
    parser.add_argument("commit", nargs="?", help="the earlier commit")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--starts", type=int, default=4, help="of both processes")
    parser.add_argument("--docs", action="store_true", help=f"write {DOCS.name}/order.md")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        answer(sys.stdin, sys.stdout)
        return
    if given.commit is None:
        parser.error("name the earlier commit")
    found = compare(given.commit, given.rounds, given.starts)
    table = Table("what", "now, µs", "before, µs", "ratio")
    for each in found:
        table.add_row(
            each.what, f"{1e6 * each.now:.1f}", f"{1e6 * each.before:.1f}", f"{each.ratio:.2f}"
        )
    Console().print(table)
    if given.docs:
        Console().print(f"wrote {write_page('order.md', page(found, given.commit))}")


if __name__ == "__main__":
    main()
