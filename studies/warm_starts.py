"""Clicks of learners that start from another market: ``python -m studies.warm_starts``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from rich.console import Console

from fabcost import FabCost, Prior, Refresh
from fabcost.bandit.bandit import Bandit
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.inheritance.inheritance import DISCOUNTS, DOUBT, LOOKED
from fabcost.recommend.start import Start
from fabcost.worlds.adverts import synthetic
from fabcost.worlds.visitors import CarAdverts, intercept
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page

SEEDS, LOGGED, EARLY, LATE = 120, 5_000, 100, 500
RATE, CANDIDATES, ADVERTS, NOISE = 0.05, 20, 500, 0.2
MARKETS = ("similar", "dealt anew", "negated")
#: None is the discount that the outcomes decide; the others are seen early only.
ARMS: dict[str, float | None] = {"default": None, "0.1": 0.1, "1": 1.0}

Clicks = dict[tuple[str, str], list[int]]


class Gain(NamedTuple):
    """Clicks of both in the mean, and by how many per cent more, with a 95 % interval."""

    before: float
    after: float
    percent: float
    within: float

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> Gain:
        """A ratio of means of paired seeds, its error by the delta method."""
        ratio = after.mean() / before.mean()
        error = (after - ratio * before).std(ddof=1) / before.mean() / np.sqrt(before.size)
        return cls(before.mean(), after.mean(), 100.0 * (ratio - 1.0), 196.0 * error)

    def __str__(self) -> str:
        return f"{self.percent:+.1f} ± {self.within:.1f}"


def market(cars: CarAdverts, theta: FloatArray) -> CarAdverts:
    """Other tastes, at the same rate of clicks."""
    bias = intercept(cars.schema, np.r_[0.0, theta[1:]], cars.items, RATE)
    return CarAdverts(cars.items, cars.schema, np.r_[bias, theta[1:]], CANDIDATES)


def logged(cars: CarAdverts, prior: Gaussian, rng: np.random.Generator) -> FabCost:
    """A learner of a log of random choices, without propensities."""
    rounds = cars.rounds(rng)
    shown = [
        (each.rows[0], each.uniform < each.probability[0])
        for each, _ in zip(rounds, range(LOGGED), strict=False)
    ]
    learner = FabCost(prior, refresh=Refresh.at(LOGGED))
    learner.observe_many(np.array([row for row, _ in shown]), [click for _, click in shown])
    return learner


def played(world: CarAdverts, learner: FabCost, seed: int, visits: int) -> list[int]:
    """Clicks so far, early and late."""
    bandit, clicks = Bandit(learner, seed=seed), []
    for each, _ in zip(world.rounds(np.random.default_rng([seed, 5])), range(visits), strict=False):
        chosen = bandit.choose(each.rows).index
        clicks.append(bool(each.uniform < each.probability[chosen]))
        bandit.learn(each.rows[chosen], clicks[-1])
    return [sum(clicks[:EARLY]), sum(clicks)]


def clicks_of(seed: int) -> Clicks:
    """All arms in all markets, which see the same visitors."""
    rng = np.random.default_rng([seed, 1])
    adverts = synthetic(ADVERTS, rng=rng)
    cars = CarAdverts.random(adverts, rng=rng, candidates=CANDIDATES, click_rate=RATE)
    prior, width = cars.schema.prior(Prior()), cars.theta.size
    source = logged(cars, prior, rng)
    tastes = {
        "similar": cars.theta + NOISE * rng.standard_normal(width),
        "dealt anew": np.r_[0.0, rng.permutation(cars.theta[1:])],
        "negated": -cars.theta,
    }
    found: Clicks = {}
    for name, theta in tastes.items():
        world = market(cars, theta)
        found[name, "cold"] = played(world, FabCost(prior), seed, LATE)
        for arm, discount in ARMS.items():
            inherited = Start(cars.schema, source, discount).on(prior, cars.schema)
            visits = LATE if discount is None else EARLY
            found[name, arm] = played(world, FabCost(inherited), seed, visits)
    return found


def gains(seeds: int, workers: int) -> dict[tuple[str, str, int], Gain]:
    """By market, arm and number of impressions."""
    with ProcessPoolExecutor(workers) as pool:
        runs = list(pool.map(clicks_of, range(seeds)))
    found = {}
    for name, arm in runs[0]:
        if arm == "cold":
            continue
        for place, visits in enumerate((EARLY, LATE)):
            if place == 0 or ARMS[arm] is None:
                both = (
                    np.array([run[name, each][place] for run in runs], dtype=np.float64)
                    for each in ("cold", arm)
                )
                found[name, arm, visits] = Gain.of(*both)
    return found


def measured(found: dict[tuple[str, str, int], Gain], seeds: int) -> Iterator[Claim]:
    for name in MARKETS:
        for visits in (EARLY, LATE):
            gain = found[name, "default", visits]
            detail = (
                f"{gain} %, {seeds} paired seeds; {gain.before:.1f} clicks without a start, "
                f"{gain.after:.1f} with it"
            )
            least = 30.0 if name == "similar" else -5.0
            if name == "similar" and visits == LATE:
                least = 0.0
            what = f"{name} market, {visits} impressions: more clicks, in per cent"
            yield Claim(what, gain.percent, "at least", least, detail, unit="")


def page(found: dict[tuple[str, str, int], Gain], seeds: int) -> str:
    """The page of the documentation."""
    rows = [
        f"| {name} | "
        + " | ".join(str(found[name, arm, EARLY]) for arm in ARMS)
        + f" | {found[name, 'default', LATE]} |"
        for name in MARKETS
    ]
    head = f"| market | {EARLY}, default | {EARLY}, 0.1 | {EARLY}, 1 | {LATE}, default |"
    chosen = ", ".join(f"{each:g}" for each in DISCOUNTS)
    return "\n\n".join(
        [
            "# Warm starts",
            origin("python -m studies.warm_starts --docs"),
            f"A learner of a log of {LOGGED:,} random choices of one market, at {RATE:.0%} clicks, "
            "is what a bandit of another starts from; beside it is one that starts from nothing. "
            f"In a similar market each weight is another by {NOISE} in the mean square; in one "
            "that is dealt anew the weights are the same numbers of other features; in a negated "
            "one what was liked is disliked. Both bandits see the same visitors, "
            f"{CANDIDATES} of {ADVERTS} adverts each.",
            claims.as_markdown(list(measured(found, seeds))),
            "Clicks more than without a start, in per cent with 95 % intervals, by discount:",
            "\n".join([head, "|---|---|---|---|---|", *rows]),
            f"By default the outcomes decide among {chosen}, again and again until {LOOKED} of "
            f"them, and nothing of elsewhere is believed unless they are e^{DOUBT:g} times as "
            "probable with it. A discount that is given stays: it gains more where the markets "
            "are alike, and can lose most of the clicks where they are not.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.warm_starts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds: a smoke test")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--docs", action="store_true", help="write measurements/warm-starts.md")
    given = parser.parse_args()
    start, seeds = time.monotonic(), 4 if given.quick else given.seeds
    found = gains(seeds, given.workers)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(list(measured(found, seeds)), quick=given.quick))
    console.print(f"{time.monotonic() - start:.0f} s")
    if given.docs:
        console.print(f"wrote {write_page('warm-starts.md', page(found, seeds))}")


if __name__ == "__main__":
    main()
