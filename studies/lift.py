"""Intervals that hold whenever one looks, looked at all the time: ``python -m studies.lift``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.special import logsumexp
from scipy.stats import binomtest

from fabcost.bandit.lift import Arm, Lift, lift
from fabcost.impressions import FloatArray
from studies.documents import origin, write_page

STREAMS, VISITS, LEVEL = 2000, 10_000, 0.95
LOOKS = np.unique(np.geomspace(50, VISITS, 60).astype(int)) - 1
SHOWN = (100, 1000, 10_000)
SEED = 20_000
TILTS = np.concatenate([-(2.0 ** np.arange(-11, 4)), 2.0 ** np.arange(-11, 4)])
Z = 1.959963984540054


class World(NamedTuple):
    """Visitors who see the bandit, or with probability ``held`` the arm beside it."""

    name: str
    held: float
    ours: Callable[[FloatArray], FloatArray]
    theirs: Callable[[FloatArray], FloatArray]


def _constant(rate: float) -> Callable[[FloatArray], FloatArray]:
    return lambda t: np.full(t.size, rate)


WORLDS = (
    World("no gain: 5 % both, a tenth held back", 0.1, _constant(0.05), _constant(0.05)),
    World("rare clicks: 1 % and 0.5 %, half", 0.5, _constant(0.01), _constant(0.005)),
    World(
        "a bandit that learns: 5 % to 15 %, a tenth",
        0.1,
        lambda t: 0.15 - 0.1 * np.exp(-t / 1000.0),
        _constant(0.05),
    ),
    World(
        "visitors that change: 2 % to 10 % and back, a fifth",
        0.2,
        lambda t: 0.09 - 0.06 * np.cos(t / 800.0),
        lambda t: 0.06 - 0.04 * np.cos(t / 800.0),
    ),
)


class Watched(NamedTuple):
    """Streams whose interval missed at one of the looks, and widths over a single look's."""

    world: str
    missed: int
    missed_single: int
    widths: list[float]


def watch(world: World, streams: int) -> Watched:
    """Watch so many streams of a world."""
    t, missed, missed_single = np.arange(VISITS, dtype=float), 0, 0
    widths: list[list[float]] = []
    for stream in track(range(streams), world.name):
        rng = np.random.default_rng([SEED, stream])
        held = rng.random(VISITS) < world.held
        chances = np.where(held, world.theirs(t), world.ours(t))
        clicked = rng.random(VISITS) < chances
        sums = [
            np.cumsum([arm * clicked, arm, arm * chances], axis=1)[:, LOOKS]
            for arm in (~held, held)
        ]
        missed += any(_misses(sums, at) for at in _unlikely(*sums))
        missed_single += bool(_single_misses(*sums).any())
        if stream < 20:
            widths.append(_widths(sums))
    return Watched(world.name, missed, missed_single, np.nanmedian(widths, axis=0).tolist())


def _unlikely(ours: FloatArray, theirs: FloatArray) -> npt.NDArray[np.intp]:
    """Looks at which the true pair of rates is outside: at no other can the interval miss."""
    evidence = np.zeros(LOOKS.size)
    for k, n, p in (ours, theirs):
        rate = p / np.maximum(n, 1.0)
        terms = TILTS * k[:, None] - n[:, None] * np.log1p(rate[:, None] * np.expm1(TILTS))
        evidence += logsumexp(terms, axis=1) - math.log(TILTS.size)
    return np.flatnonzero(evidence > -math.log1p(-LEVEL))


def _misses(sums: list[FloatArray], at: int) -> bool:
    (k, n, p), (j, m, q) = (each[:, at] for each in sums)
    found = lift(Arm(k, n), Arm(j, m), level=LEVEL)
    return not found.low <= (p / n) / (q / m) - 1.0 <= found.high


def _single_misses(ours: FloatArray, theirs: FloatArray) -> npt.NDArray[np.bool_]:
    """Looks where the interval of a single look, of the log of the ratio, misses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.log(ours[0] / ours[1]) - np.log(theirs[0] / theirs[1])
        truth = np.log(ours[2] / ours[1]) - np.log(theirs[2] / theirs[1])
        variance = 1 / ours[0] - 1 / ours[1] + 1 / theirs[0] - 1 / theirs[1]
        return np.asarray(np.abs(seen - truth) > Z * np.sqrt(variance))


def _widths(sums: list[FloatArray]) -> list[float]:
    found = []
    for many in SHOWN:
        at = int(np.searchsorted(LOOKS, many - 1))
        (k, n, _), (j, m, _) = (each[:, at] for each in sums)
        interval = lift(Arm(k, n), Arm(j, m), level=LEVEL)
        found.append(_width(interval) / _single_width(k, n, j, m) if k and j else math.nan)
    return found


def _width(interval: Lift) -> float:
    return math.log1p(interval.high) - math.log(max(1.0 + interval.low, 1e-300))


def _single_width(k: float, n: float, j: float, m: float) -> float:
    return 2.0 * Z * math.sqrt(1 / k - 1 / n + 1 / j - 1 / m)


def page(found: list[Watched], streams: int) -> str:
    """The page of the documentation."""
    lines = []
    for each in found:
        low, high = binomtest(each.missed, streams).proportion_ci(method="wilson")
        widths = " | ".join("–" if not math.isfinite(w) else f"{w:.2f}" for w in each.widths)
        lines.append(
            f"| {each.world} | {each.missed / streams:.2%} ({low:.2%} to {high:.2%}) "
            f"| {each.missed_single / streams:.0%} | {widths} | {'yes' if high <= 0.05 else 'no'} |"
        )
    shown = " | ".join(f"width at {many:,}" for many in SHOWN)
    return "\n".join(
        [
            "# Lift that one may watch",
            "",
            origin("python -m studies.lift --docs"),
            "",
            f"{streams:,} streams of {VISITS:,} visitors in each world, looked at {LOOKS.size} "
            "times each, from 50 visitors on. Missed: the share of streams of which any interval "
            "of 95 %, at any look, had not the true ratio of the mean click rates so far "
            "(with its own 95 % interval). A single look's is the usual interval of the log of "
            "the ratio, which promises 95 % for one look that was planned. Widths, in the log of "
            "the ratio, are medians of 20 streams, over those of a single look's; – where most "
            "have no end yet, because too few clicks were seen beside. At most 5 % is promised.",
            "",
            f"| world | missed | single look's | {shown} | holds |",
            "|---|---:|---:|---:|---:|---:|---|",
            *lines,
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.lift", description=__doc__)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    found = [watch(world, given.streams) for world in WORLDS]
    table = Table("world", "missed", "single look's", "widths")
    for each in found:
        widths = ", ".join(f"{width:.2f}" for width in each.widths)
        table.add_row(each.world, str(each.missed), str(each.missed_single), widths)
    Console().print(table)
    if given.docs:
        write_page("lift.md", page(found, given.streams))


if __name__ == "__main__":
    main()
