"""What one call of `observe` takes at worst: refreshes within a call, and spread over many."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fabcost import FabCost, Gaussian, Refresh
from fabcost.impressions import FloatArray
from fabcost.inference.refreshing import MOST_WORK
from studies.documents import origin, write_page
from studies.timing import as_text, log_log_slope

COMMAND = "python -m studies.inference.calls"
SEED = 20_261_117
NON_ZEROS = 20
MEDIAN_BOUND, WORST_BOUND = 1e-3, 10e-3
BOUNDED = 2_000
#: Of streams whose refreshes are spread: a virtual processor's clock runs on while it is away.
RUNS = 3
HOW = ("at once", "spread", "spread, sparse")


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rows: int = 5_000
    widths: tuple[int, ...] = (50, 500, 2_000)
    widths_of_observe: tuple[int, ...] = (64, 128, 256, 512, 1_024, 2_048)
    widths_of_refresh: tuple[int, ...] = (32, 64, 128, 256, 512)
    lengths: tuple[int, ...] = (500, 1_000, 2_000, 4_000, 8_000)
    items: tuple[int, ...] = (10, 100, 1_000, 10_000)
    repeats: int = 5


QUICK = Scale(60, (8, 16), (8, 16), (8, 16), (20, 40), (2, 4), 2)


class Stream(NamedTuple):
    """Seconds of each call of a learner, and how many refreshes it made."""

    calls: FloatArray
    refreshes: int


class Slope(NamedTuple):
    """Seconds by size, and the exponent that the design has."""

    what: str
    designed: str
    sizes: Sequence[int]
    seconds: list[float]


def sparse_rows(rows: int, weights: int, rng: np.random.Generator) -> FloatArray:
    """Dense arrays with few numbers that are not zero."""
    X = np.zeros((rows, weights))
    for row in X:
        few = rng.choice(weights, min(NON_ZEROS, weights), replace=False)
        row[few] = rng.normal(size=few.size)
    return X


def stream(rows: int, weights: int, most_work: int | None, *, sparse: bool = False) -> Stream:
    """Impressions one by one, each call on the processor's clock: of some runs the least.

    Call k of one run does what call k of another does, to the last bit.
    """
    runs = 1 if most_work is None else RUNS
    found = [_stream(rows, weights, most_work, sparse=sparse) for _ in range(runs)]
    return found[0]._replace(calls=np.min([each.calls for each in found], axis=0))


def _stream(rows: int, weights: int, most_work: int | None, *, sparse: bool) -> Stream:
    rng = np.random.default_rng(SEED)
    learner = FabCost(Gaussian.isotropic(weights), most_work=most_work)
    seconds = np.empty(rows)
    labels = rng.random(rows) < 0.3
    gc.disable()
    for k in range(rows):
        row, y = sparse_rows(1, weights, rng), labels[k]
        x = csr_array(row) if sparse else row[0]
        start = time.thread_time()
        learner.observe(x, y)
        seconds[k] = time.thread_time() - start
    gc.enable()
    return Stream(seconds, learner.refreshes)


def fastest(action: Callable[[], object], repeats: int) -> float:
    """Seconds of an action, where others make it slower now and then."""
    found = []
    for _ in range(repeats):
        start = time.thread_time()
        action()
        found.append(time.thread_time() - start)
    return min(found)


def observe_seconds(weights: int, repeats: int, items: int = 0, *, dense: bool = False) -> float:
    """Of one call that begins and ends no refresh: the median of many, and of rounds the least."""
    rng, many = np.random.default_rng(SEED), 100
    own = 1.0 if items else 0.0
    learner = FabCost(Gaussian.isotropic(weights), refresh=Refresh.at(10**9), own_variance=own)
    keys: list[str | None] = [f"item {k}" for k in range(items)]
    if items:
        X = sparse_rows(items, weights, rng)
        learner.observe_many(X, rng.random(items) < 0.3, keys)
    keys = keys or [None]
    X = sparse_rows(many * repeats, weights, rng)
    if dense:
        X = rng.normal(size=X.shape)
    medians = []
    for some in np.split(np.arange(many * repeats), repeats):
        seconds = []
        for k in some:
            start = time.thread_time()
            learner.observe(X[k], k % 3 == 0, keys[k % len(keys)])
            seconds.append(time.thread_time() - start)
        medians.append(np.median(seconds))
    return float(min(medians))


def plain_seconds(weights: int, repeats: int) -> float:
    """Of reading as many numbers as a root has, and of changing them in place, by NumPy."""
    numbers = np.ones(weights * weights)
    return fastest(lambda: (numbers.sum(), np.negative(numbers, out=numbers)), 20 * repeats)


def refresh_seconds(rows: int, weights: int, repeats: int, items: int = 0) -> float:
    """Of one sweep over dense rows, all within one call."""
    rng = np.random.default_rng(SEED)
    own = 1.0 if items else 0.0
    learner = FabCost(Gaussian.isotropic(weights), refresh=Refresh.at(10**9), own_variance=own)
    keys = [f"item {k % items}" for k in range(rows)] if items else None
    learner.observe_many(rng.normal(size=(rows, weights)), rng.random(rows) < 0.3, keys)
    return fastest(lambda: learner.refresh(max_sweeps=1), repeats)


def slopes(scale: Scale) -> list[Slope]:
    """Time by size, of a call and of a refresh."""
    again, rows, weights = scale.repeats, scale.lengths[1], scale.widths_of_refresh[1]
    widths = scale.widths_of_observe
    few = [observe_seconds(each, again) for each in widths]
    full = [observe_seconds(each, again, dense=True) for each in widths]
    late = len(widths) // 2
    return [
        Slope(f"`observe` in D, {NON_ZEROS} non-zeros a row", "1 to 2", widths, few),
        Slope("the same, of the larger half", "1 to 2", widths[late:], few[late:]),
        Slope("`observe` in D, no zeros", "2", widths, full),
        Slope("the same, of the larger half", "as the next", widths[late:], full[late:]),
        Slope(
            "D² numbers read, then read and written, by `sum` and `negative` of NumPy",
            "2 in one cache",
            widths[late:],
            [plain_seconds(each, again) for each in widths[late:]],
        ),
        Slope(
            f"a refresh in D, {rows:,} rows",
            "2",
            scale.widths_of_refresh,
            [refresh_seconds(rows, each, again) for each in scale.widths_of_refresh],
        ),
        Slope(
            f"a refresh in n, D = {weights}",
            "1",
            scale.lengths,
            [refresh_seconds(each, weights, again) for each in scale.lengths],
        ),
        Slope(
            f"`observe` in the number of items with effects of their own, D = {weights}",
            "0",
            scale.items,
            [observe_seconds(weights, again, each) for each in scale.items],
        ),
        Slope(
            f"a refresh in the number of items, {rows:,} rows, D = {weights}",
            "0",
            scale.items,
            [refresh_seconds(rows, weights, again, each) for each in scale.items],
        ),
    ]


def page(scale: Scale, streams: Mapping[int, tuple[Stream, ...]], found: list[Slope]) -> str:
    """The page of the documentation."""
    parts = [
        "# The worst call",
        origin(COMMAND),
        f"`FabCost.observe` on {scale.rows:,} impressions one by one, with {NON_ZEROS} non-zeros "
        "in a row at most, and the default schedule. At once: `most_work=None`, every refresh "
        "within the call at which it is due, and rows as dense arrays. Spread: "
        f"`most_work={MOST_WORK:,}`, the default; rows as dense arrays, and as matrices of "
        "`scipy.sparse`. Seconds are those of the processor, of this "
        "thread: what other programs do meanwhile is not in them, but for the caches that they "
        f"share, and for what a virtual machine's host takes. So what is spread runs {RUNS} times, "
        "with the same work in the same calls, and each call counts with the least of its times.",
        _table_of_streams(streams),
        _verdict(streams),
        "## How time grows",
        "The exponent of a power of the size, by least squares on logarithms, beside that of the "
        "design; calls of small sizes are for a large part those of Python, and what is read from "
        "memory costs more than what is in the caches. A row of few non-zeros needs as many rows "
        "of the root, D numbers each; from 256 weights on the others follow some steps later, all "
        "of them at once, D² for each step but much faster than one by one. So `observe` grows "
        "by less than D² between these two, and with D² where rows have no zeros: such a call "
        "reads the root, and then reads and writes it. Plain passes of NumPy over as many numbers "
        "stand below it, and take about as long: an exponent above 2 that they have as well is "
        "that of the memory, of which a root of 2,048 weights takes 34 MB.",
        _table_of_slopes(found),
    ]
    return "\n\n".join(each for each in parts if each)


def _table_of_streams(streams: Mapping[int, tuple[Stream, ...]]) -> str:
    lines = [
        "| D | | median call | 99 % of calls | worst call | all calls | refreshes |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for weights, both in streams.items():
        for how, each in zip(HOW, both, strict=True):
            calls = each.calls
            told = (np.median(calls), np.quantile(calls, 0.99), calls.max(), calls.sum())
            cells = " | ".join(as_text(float(number)) for number in told)
            lines.append(f"| {weights:,} | {how} | {cells} | {each.refreshes} |")
    return "\n".join(lines)


def _verdict(streams: Mapping[int, tuple[Stream, ...]]) -> str:
    if BOUNDED not in streams:
        return ""
    told = []
    for how, each in zip(HOW[1:], streams[BOUNDED][1:], strict=True):
        typical, worst = float(np.median(each.calls)), float(each.calls.max())
        holds = ("does not hold", "holds")
        told.append(
            f"At D = {BOUNDED:,}, {how}, a median of at most {as_text(MEDIAN_BOUND)} "
            f"{holds[typical <= MEDIAN_BOUND]} ({as_text(typical)}), and a worst call of at most "
            f"{as_text(WORST_BOUND)} {holds[worst <= WORST_BOUND]} ({as_text(worst)}; "
            f"{int((each.calls > WORST_BOUND).sum())} of {each.calls.size:,} calls took longer)."
        )
    return " ".join(told)


def _table_of_slopes(found: list[Slope]) -> str:
    lines = ["| what | exponent | designed | from | to |", "|---|---:|---:|---:|---:|"]
    for each in found:
        slope = log_log_slope(each.sizes, each.seconds)
        ends = [f"{as_text(each.seconds[place])} at {each.sizes[place]:,}" for place in (0, -1)]
        lines.append(f"| {each.what} | {slope:.2f} | {each.designed} | {ends[0]} | {ends[1]} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/calls.md")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else Scale()
    for weights in scale.widths:  # compiles, also what a refresh needs that is spread
        stream(60, weights, most_work=5 * weights**2)
        stream(60, weights, most_work=None)
    for weights in (60, 300):  # of which the second lags behind
        stream(600, weights, most_work=10**6, sparse=True)
    streams = {
        weights: (
            stream(scale.rows, weights, None),
            stream(scale.rows, weights, MOST_WORK),
            stream(scale.rows, weights, MOST_WORK, sparse=True),
        )
        for weights in scale.widths
    }
    text = page(scale, streams, slopes(scale))
    print(text)
    if arguments.docs:
        print(f"wrote {write_page('calls.md', text)}")


if __name__ == "__main__":
    main()
