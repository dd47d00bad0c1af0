"""Measure decisions as the catalogue grows: ``python -m studies.catalogue``."""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit
from threadpoolctl import threadpool_limits

from fabcost import Bandit, Categorical, FabCost, Gaussian, Numeric, Recommender, Schema, Thompson
from fabcost.bandit.pool.pool import Pool
from fabcost.impressions import FloatArray
from fabcost.paper.measures.costs import Action
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page
from studies.timing import as_text, in_turn, log_log_slope, median

Made = TypeVar("Made")

FULL = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
QUICK = FULL[:4]
LARGE = 1_000  # slopes are fitted from here on
STEEPEST = 1.1
SEED = 20_260_102
IMPRESSIONS = 2_000
POOL_DECISIONS = 2_000
REPEATS = 5
NUMBERS = ("price", "age", "mileage", "mpg")
DEVICES = ("mobile", "desktop")
CONTEXTS = tuple({"device": device} for device in DEVICES)
FOLDING = "folding a context"
CHOOSING = "Bandit.choose"
RECOMMENDING = "Recommender.recommend"
POOL = "Pool.best"
GROWING = (CHOOSING, RECOMMENDING, POOL)
REFERENCE = "rows @ θ in NumPy"  # exactly linear arithmetic: what it has beyond 1 is memory's
HEADINGS = ("way", "items", "µs/decision", "decisions/s", "bytes kept/item", "peak bytes/item")


class Reading(NamedTuple):
    """What one way of deciding takes with one size of catalogue; the peak is beside the kept."""

    way: str
    items: int
    seconds: float
    kept: int
    peak: int

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        kept, peak = (f"{size / self.items:,.0f}" for size in (self.kept, self.peak))
        rate = f"{1 / self.seconds:,.0f}"
        return [self.way, f"{self.items:,}", f"{1e6 * self.seconds:,.1f}", rate, kept, peak]


@dataclass(frozen=True, eq=False)
class Records(Mapping[str, dict[str, Any]]):
    """Raw items that exist while they are read, so that only what is encoded takes memory."""

    numbers: FloatArray

    def __getitem__(self, name: str) -> dict[str, Any]:
        return dict(zip(NUMBERS, self.numbers[int(name)].tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return map(str, range(len(self.numbers)))

    def __len__(self) -> int:
        return len(self.numbers)


def schema() -> Schema:
    """15 columns: a bias, the device, four numbers, and the device crossed with each of them."""
    device = Categorical("device", role="context", levels=DEVICES)
    return Schema([device, *map(Numeric, NUMBERS)], crosses=[("device", name) for name in NUMBERS])


def taught() -> FabCost:
    """A learner after some impressions of random items."""
    rng = np.random.default_rng(SEED)
    items = Records(rng.standard_normal((IMPRESSIONS, len(NUMBERS)))).values()
    rows_of = schema()
    X = rows_of.design([CONTEXTS[k % 2] | item for k, item in enumerate(items)])
    theta = rng.normal(scale=0.5, size=rows_of.width)
    theta[0] = -3.0
    learner = FabCost(Gaussian.isotropic(rows_of.width))
    learner.observe_many(X, rng.random(IMPRESSIONS) < expit(X @ theta))
    return learner


def measure(items: int, learner: FabCost) -> Iterator[Reading]:
    """All ways of deciding over the same catalogue."""
    rng = np.random.default_rng([SEED, items])
    numbers = rng.standard_normal((items, len(NUMBERS)))
    recommender = Recommender(schema(), learner=learner, seed=SEED)
    bandit = Bandit(learner, seed=SEED)
    contexts = cycle(CONTEXTS)
    catalogue, of_catalogue = kept(lambda: recommender.catalogue(Records(numbers)))

    def recommend() -> object:
        return recommender.recommend(next(contexts), catalogue)

    rows, of_rows = kept(lambda: recommender.schema.rows(CONTEXTS[0], catalogue))

    def choose() -> object:
        return bandit.choose(rows)

    def fold() -> object:
        return recommender.schema.folded(next(contexts), catalogue).fold(learner.posterior.mean)

    def multiply() -> object:
        return rows @ learner.posterior.mean

    ways = (
        (CHOOSING, choose, of_rows),
        (RECOMMENDING, recommend, of_catalogue),
        (FOLDING, fold, of_catalogue),
        (REFERENCE, multiply, of_rows),
    )
    seconds = in_turn(*(act for _, act, _ in ways), repeats=REPEATS)
    for (way, act, size), column in zip(ways, seconds.T, strict=True):
        yield Reading(way, items, median(column), size, peak(act))
    yield measure_pool(rows, learner.posterior)


def measure_pool(rows: FloatArray, belief: Gaussian) -> Reading:
    """Decisions of pools that lose at most half of their rows, shortlists and removals included."""
    rng = np.random.default_rng(SEED)
    decisions = min(len(rows) // 2, POOL_DECISIONS)
    pools = max(1, POOL_DECISIONS // (10 * decisions))

    def empty(many: Iterable[Pool]) -> None:
        for pool in many:
            for _ in range(decisions):
                theta = Thompson().weights(belief, rng)
                pool.remove(pool.best(theta, belief))

    def seconds() -> float:
        full = [Pool(rows, rng=rng) for _ in range(pools)]
        start = time.process_time()
        empty(full)
        return (time.process_time() - start) / (pools * decisions)

    taken = median(np.array([seconds() for _ in range(REPEATS)]))
    pool, of_pool = kept(lambda: Pool(rows, rng=rng))
    return Reading(POOL, len(rows), taken, of_pool, peak(lambda: empty([pool])))


def kept(make: Callable[[], Made]) -> tuple[Made, int]:
    """What was made, and the bytes that stay allocated for it by the allocator's own count."""
    gc.collect()
    tracemalloc.start()
    made = make()
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return made, size


def peak(action: Action) -> int:
    """The most bytes that are allocated at a time while it runs."""
    tracemalloc.start()
    action()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def judged(readings: Sequence[Reading]) -> Iterator[Claim]:
    """What a context costs, and the growth with the catalogue at its large end."""
    yield beside_the_decision(readings)
    # Work that is exactly linear slows down where it leaves the caches: no way can do better.
    steepest = max(STEEPEST, round(reference_slope(readings), 2))
    for way in dict.fromkeys(each.way for each in readings if each.way in GROWING):
        large = at_the_large_end(readings, way)
        sizes, first, last = [each.items for each in large], large[0], large[-1]
        ends = f"at {first.items:,} and {last.items:,} items"
        times = f"{as_text(first.seconds)} and {as_text(last.seconds)} {ends}"
        slope = log_log_slope(sizes, [each.seconds for each in large])
        yield Claim(f"{way}: exponent of time", slope, "at most", steepest, times, unit="")
        memory = [each.kept + each.peak for each in large]
        amounts = f"{memory[0] / 1e6:,.3g} and {memory[-1] / 1e6:,.3g} MB {ends}"
        slope = log_log_slope(sizes, memory)
        yield Claim(f"{way}: exponent of memory", slope, "at most", STEEPEST, amounts, unit="")


def beside_the_decision(readings: Iterable[Reading]) -> Claim:
    """What it takes to bring a kept catalogue into a context, beside choosing from its rows."""
    times = {each.way: each.seconds for each in readings if each.items == LARGE}
    detail = f"{as_text(times[FOLDING])} before a decision of {as_text(times[CHOOSING])}"
    what = f"encoding {LARGE:,} candidates of a known catalogue, beside the decision itself"
    return Claim(what, times[FOLDING] / times[CHOOSING], "at most", 1.0, detail)


def at_the_large_end(readings: Iterable[Reading], way: str) -> list[Reading]:
    return [each for each in readings if each.way == way and each.items >= LARGE]


def reference_slope(readings: Iterable[Reading]) -> float:
    """What the memory of this machine makes of work that is exactly linear."""
    large = at_the_large_end(readings, REFERENCE)
    return log_log_slope([each.items for each in large], [each.seconds for each in large])


def about_reference(readings: Iterable[Reading]) -> str:
    return (
        f"{REFERENCE}, whose arithmetic is exactly linear, has exponent "
        f"{reference_slope(readings):.2f} here, because large matrices leave the caches. The times "
        f"of decisions may grow with exponent {STEEPEST:g}, or as fast as that if it is faster."
    )


def table(readings: Iterable[Reading]) -> Table:
    laid_out = Table(title="Decisions over a growing catalogue")
    for heading in HEADINGS:
        laid_out.add_column(heading, justify="left" if heading == "way" else "right")
    for reading in readings:
        laid_out.add_row(*reading.cells)
    return laid_out


def page(readings: Sequence[Reading], found: Sequence[Claim]) -> str:
    """The page of the documentation."""
    lines = [HEADINGS, ("---", *["---:"] * (len(HEADINGS) - 1)), *(r.cells for r in readings)]
    parts = [
        "# Decisions over a growing catalogue",
        origin("python -m studies.catalogue --docs"),
        f"One thread, 15 columns, a belief after {IMPRESSIONS:,} impressions, Thompson sampling. "
        "`Bandit.choose` has the rows at hand. `Recommender.recommend` has a kept catalogue and "
        "a context that changes every time; folding that context into the weights, on the way, "
        "takes the place of writing rows for it, and is also measured alone. `Pool.best` also "
        f"removes what it chose, up to half of the rows or {POOL_DECISIONS:,}, and its time "
        "includes making shortlists. Times are medians of processor time; bytes are those of the "
        "allocator, kept between decisions and, beside them, at the peak of one (of all, for a "
        "pool).",
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines),
        f"Exponents p of time ∝ itemsᵖ are fitted from {LARGE:,} items on. "
        + about_reference(readings),
        claims.as_markdown(found),
    ]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.catalogue", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 items: a smoke test")
    parser.add_argument("--docs", action="store_true", help="write measurements/catalogue.md")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 140)
    readings: list[Reading] = []
    with threadpool_limits(1):
        learner = taught()
        for items in QUICK if options.quick else FULL:
            readings += measure(items, learner)
            Console(stderr=True).print(f"{items:,} items measured")
    readings.sort(key=lambda each: each.way)
    found = list(judged(readings))
    console.print(table(readings))
    console.print(claims.as_table(found, quick=options.quick, title="Growth"))
    console.print(about_reference(readings))
    if options.docs:
        console.print(f"wrote {write_page('catalogue.md', page(readings, found))}")


if __name__ == "__main__":
    main()
