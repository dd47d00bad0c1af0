"""The paper's replay, every round to the last: ``python -m studies.full_replay``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from fabcost import FabCost, Thompson
from fabcost.offline.replay.protocol import Replay, replay
from fabcost.paper import printed
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.inference.workloads import PRIOR_VARIANCE, Workload, cold_start
from studies.timing import as_text

ROWS, QUICK_ROWS = 678_446, 40_000
SHARES = (1.0, 0.75, 0.5, 0.25, 0.1, 0.03, 0.01, 0.001)
LONGEST, LEAST_RATIO = 15.0, 30.0
_CALLS = 8


@dataclass(frozen=True)
class Found:
    """Seconds of the whole replay, and of one round of the authors' loop at each pool size."""

    rows: int
    seconds: float
    shown: Replay
    rounds: dict[int, float]

    @property
    def authors_seconds(self) -> float:
        """The authors' rounds summed over all pool sizes (trapezoids; flat below the smallest)."""
        sizes = np.array([0, *sorted(self.rounds)])
        durations = np.array([self.rounds[int(max(size, sizes[1]))] for size in sizes])
        return float(np.trapezoid(durations, sizes))


def authors_round(pool: Workload, rng: np.random.Generator) -> Callable[[], object]:
    """Draw, score the pool, filter the best row by matrices, and delete it: copies of both arrays.

    Their EP refreshes are left out, in their favour.
    """
    mean, covariance = np.zeros(pool.X.shape[1]), PRIOR_VARIANCE * np.eye(pool.X.shape[1])
    labels = pool.signed

    def play() -> object:
        theta = rng.multivariate_normal(mean, covariance)
        best = int(np.argmax(pool.X @ theta))
        belief = printed.density_filtering(
            mean, covariance, pool.X[best : best + 1], labels[best : best + 1]
        )
        return belief, np.delete(pool.X, best, axis=0), np.delete(labels, best)

    return play


def _seconds(action: Callable[[], object]) -> float:
    action()
    taken = []
    for _ in range(_CALLS):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def measure(rows: int, console: Console) -> Found:
    """Replay everything, the authors' rounds before it."""
    work = cold_start(rows)
    rng = np.random.default_rng(0)
    sizes = [max(int(share * rows), 100) for share in SHARES]
    rounds = {size: _seconds(authors_round(work.first(size), rng)) for size in sizes}
    with Progress(console=console) as progress:
        task = progress.add_task("replaying", total=rows)
        start = time.perf_counter()
        shown = replay(
            work.X,
            work.y,
            FabCost(work.prior),
            policy=Thompson(),
            rng=np.random.default_rng(1),
            progress=lambda done: progress.update(task, completed=done),
        )
    return Found(rows, time.perf_counter() - start, shown, rounds)


def claims_of(found: Found) -> list[Claim]:
    """Minutes for all rounds, and how many times longer the authors' loop takes."""
    minutes = f"all {found.rows:,} rounds of the replay, FAB-COST under Thompson sampling"
    detail = f"{1e6 * found.seconds / found.rows:.0f} µs a round, refreshes included"
    hours = f"{found.authors_seconds / 3600:.2f} h, summed over pool sizes"
    ratio = found.authors_seconds / found.seconds
    return [
        Claim(minutes, found.seconds / 60.0, "at most", LONGEST, detail, " min"),
        Claim("the authors' loop takes longer by", ratio, "at least", LEAST_RATIO, hours),
    ]


def page(found: Found) -> str:
    """The page of the documentation."""
    lines = ["| rows in the pool | one round of the authors' loop |", "|---:|---:|"]
    lines += [f"| {size:,} | {as_text(taken)} |" for size, taken in sorted(found.rounds.items())]
    clicks = found.shown.clicks
    tenth = clicks.size // 10
    parts = [
        "# The replay at full scale",
        origin("python -m studies.full_replay --docs"),
        "The paper's protocol on a simulated day of its size, 15 weights: choose the best of all "
        "impressions under a draw of the weights, see its outcome, take it out, until none is "
        "left. The choices are exactly those of a full scan (`fabcost.bandit.pool.pool.Pool`).",
        claims.as_markdown(claims_of(found)),
        "\n".join(lines),
        f"The first tenth of the rounds had {clicks[tenth - 1]:,} of all {clicks[-1]:,} clicks; "
        f"a random order would have had {clicks[-1] // 10:,}.",
    ]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.full_replay", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40,000 rows: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/full-replay.md")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the results here")
    options = parser.parse_args()
    found = measure(QUICK_ROWS if options.quick else ROWS, Console(stderr=True))
    reached = claims_of(found)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(reached, quick=options.quick, title="The replay at full scale"))
    if options.out is not None:
        claims.write(options.out, reached, quick=options.quick)
    if options.docs:
        console.print(f"wrote {write_page('full-replay.md', page(found))}")


if __name__ == "__main__":
    main()
