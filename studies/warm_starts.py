"""Clicks of learners that start from another market: ``python -m studies.warm_starts``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Prior, Refresh
from fabcost.bandit.bandit import Bandit
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.inheritance import inheritance
from fabcost.inference.inheritance.inheritance import DISCOUNTS, DOUBT, LOOKED
from fabcost.recommend.weights import Start
from fabcost.worlds.adverts import synthetic
from fabcost.worlds.visitors import CarAdverts, intercept
from studies import claims
from studies.claims import Claim
from studies.documents import origin, write_page

LOGGED, EARLY, LATE = 5_000, 100, 500
#: Seeds on which the doubt of the default is chosen among some, and those that tell what it does.
CHOOSING, FRESH = 200, range(2000, 2200)
#: By how many times as probable n outcomes must be with something of elsewhere.
DOUBTS = {
    "e^1": (1.0, 0.0),
    "e^3": (3.0, 0.0),
    "n^0.8/e": (-1.0, 0.8),
    "n/e^1.5": (-1.5, 1.0),
    "n/e": (-1.0, 1.0),
    "n": (0.0, 1.0),
    "n^1.5/e^2": (-2.0, 1.5),
}
RATE, CANDIDATES, ADVERTS, NOISE = 0.05, 20, 500, 0.2
MARKETS = ("similar", "dealt anew", "negated")
#: None is the discount that the outcomes decide; the others are seen early only.
ARMS: dict[str, float | None] = {"default": None, "0.1": 0.1, "1": 1.0}

Clicks = dict[tuple[str, str], list[int]]
Gains = dict[tuple[str, str, int], "Gain"]


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


def markets(seed: int) -> tuple[CarAdverts, FabCost, dict[str, CarAdverts]]:
    """Where the log is from, its learner, and those that start from it."""
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
    return cars, source, {name: market(cars, theta) for name, theta in tastes.items()}


def clicks_of(seed: int) -> Clicks:
    """All arms in all markets, which see the same visitors."""
    (cars, source, worlds), found = markets(seed), {}
    for name, world in worlds.items():
        found[name, "cold"] = played(world, FabCost(source.prior), seed, LATE)
        for arm, discount in ARMS.items():
            inherited = Start(cars.schema, source, discount).on(source.prior, cars.schema)
            visits = LATE if discount is None else EARLY
            found[name, arm] = played(world, FabCost(inherited), seed, visits)
    return found


def doubted(seed: int) -> Clicks:
    """The default with each doubt, early, beside no start."""
    (cars, source, worlds), found = markets(seed), {}
    inherited = Start(cars.schema, source).on(source.prior, cars.schema)
    for name, world in worlds.items():
        found[name, "cold"] = played(world, FabCost(source.prior), seed, EARLY)
        for doubt, numbers in DOUBTS.items():
            inheritance.DOUBT = numbers
            found[name, doubt] = played(world, FabCost(inherited), seed, EARLY)
    inheritance.DOUBT = DOUBT
    return found


def gains(play: Callable[[int], Clicks], seeds: Sequence[int], workers: int) -> Gains:
    """By market, arm and number of impressions."""
    with ProcessPoolExecutor(workers) as pool:
        runs = list(pool.map(play, seeds))
    found = {}
    for name, arm in runs[0]:
        if arm == "cold":
            continue
        for place, visits in enumerate((EARLY, LATE)):
            if place == 0 or ARMS.get(arm, 0.0) is None:
                both = (
                    np.array([run[name, each][place] for run in runs], dtype=np.float64)
                    for each in ("cold", arm)
                )
                found[name, arm, visits] = Gain.of(*both)
    return found


def best_doubt(chosen: Gains) -> str:
    """That with the largest gain in a similar market, where others cost at most 5 per cent."""

    def worst(doubt: str) -> float:
        return min(chosen[name, doubt, EARLY].percent for name in MARKETS[1:])

    careful = [doubt for doubt in DOUBTS if worst(doubt) >= -5.0] or [max(DOUBTS, key=worst)]
    return max(careful, key=lambda doubt: chosen[MARKETS[0], doubt, EARLY].percent)


def in_force() -> str:
    """The name of the default's."""
    return next(name for name, numbers in DOUBTS.items() if numbers == DOUBT)


def verdict(chosen: Gains) -> str:
    """Which of the doubts has the largest gain, and what that in force has beside it."""
    best, ours = best_doubt(chosen), in_force()
    told = f"In a similar market {best} gains most of those that cost at most 5 % in each other"
    if best == ours:
        return f"{told}, and is in force."
    ahead, here = chosen[MARKETS[0], best, EARLY], chosen[MARKETS[0], ours, EARLY]
    less = ahead.percent - here.percent
    tells = "less" if less < min(ahead.within, here.within) else "more"
    losses = [
        " and ".join(f"{-chosen[name, each, EARLY].percent:.1f} % ({name})" for name in MARKETS[1:])
        for each in (ours, best)
    ]
    return (
        f"{told}. In force is {ours}, which was not chosen by this rule alone: it gains {less:.1f} "
        f"points less there, {tells} than the intervals can tell apart, and loses {losses[0]} "
        f"where {best} loses {losses[1]}."
    )


def measured(found: Gains, seeds: int) -> Iterator[Claim]:
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


def page(chosen: Gains, found: Gains, many: int, seeds: int) -> str:
    """The page of the documentation."""
    rows = [
        f"| {name} | "
        + " | ".join(str(found[name, arm, EARLY]) for arm in ARMS)
        + f" | {found[name, 'default', LATE]} |"
        for name in MARKETS
    ]
    choice = [
        f"| {name} | " + " | ".join(str(chosen[name, d, EARLY]) for d in DOUBTS) + " |"
        for name in MARKETS
    ]
    doubts = "| market | " + " | ".join(DOUBTS) + " |"
    head = f"| market | {EARLY}, default | {EARLY}, 0.1 | {EARLY}, 1 | {LATE}, default |"
    among = ", ".join(f"{each:g}" for each in DISCOUNTS)
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
            f"By default the outcomes decide among {among}, again and again until {LOOKED} of "
            f"them, and nothing of elsewhere is believed unless n of them are {in_force()} times "
            "as probable with it. A discount that is given stays: it gains more where the markets "
            "are alike, and can lose most of the clicks where they are not.",
            f"What is asked of the outcomes was chosen on seeds 0 to {many - 1}; those above are "
            f"{FRESH[0]} to {FRESH[seeds - 1]}, which had no part in it. It grows with their "
            "number: a mistake costs little as long as next to nothing was learnt here, and much "
            f"later. Clicks more at {EARLY} on the seeds of the choice:",
            "\n".join([doubts, "|---|" + "---|" * len(DOUBTS), *choice]),
            verdict(chosen),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.warm_starts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few seeds: a smoke test")
    parser.add_argument("--seeds", type=int, default=len(FRESH))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--docs", action="store_true", help="write measurements/warm-starts.md")
    given = parser.parse_args()
    start, seeds = time.monotonic(), 4 if given.quick else given.seeds
    many = 2 if given.quick else CHOOSING
    with threadpool_limits(1):
        chosen = gains(doubted, range(many), given.workers)
        found = gains(clicks_of, FRESH[:seeds], given.workers)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(claims.as_table(list(measured(found, seeds)), quick=given.quick))
    console.print(f"chosen: {best_doubt(chosen)}; {time.monotonic() - start:.0f} s")
    if given.docs:
        text = page(chosen, found, many, seeds)
        console.print(f"wrote {write_page('warm-starts.md', text)}")


if __name__ == "__main__":
    main()
