"""Clicks lost where posteriors and outcomes come late: ``python -m studies.staleness``.

A simulation by events: visitors come at random times to one of several servers, each of which has
the posterior of its last look; what a visitor did is learnt some time after.
"""

from __future__ import annotations

import argparse
import heapq
from itertools import count, product
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from fabcost import FabCost, Gaussian, Prior
from fabcost.bandit.bandit import choose
from fabcost.bandit.rules import DEFAULT, Policy, Thompson
from fabcost.impressions import FloatArray
from fabcost.offline.intervals import per_cent
from studies.clicks.worlds import WORLDS
from studies.documents import origin, write_page
from studies.rules.report import as_markdown

SERVERS, RATE, VISITORS, SEEDS = 4, 10.0, 3_000, range(6_000, 6_012)
#: Seconds between two looks of a server, and from a decision to its outcome on average.
LOOKS, DELAYS = (0.25, 2.5, 25.0, 250.0), (0.0, 30.0, 300.0)
RULES: dict[str, Policy] = {"the default": DEFAULT, "Thompson sampling": Thompson()}


class Setting(NamedTuple):
    """How late things are known."""

    rule: str
    world: str
    look: float
    delay: float


class Server:
    """Decides by the posterior that was published at its last look."""

    def __init__(self, every: float, first: float, belief: Gaussian) -> None:
        self.every, self.next, self.belief = every, first, belief

    def at(self, now: float, published: Gaussian) -> Gaussian:
        """What it knows now; a look in between would have found the same or less."""
        if now >= self.next:
            self.belief = published
            self.next += self.every * np.ceil((now - self.next + 1e-9) / self.every)
        return self.belief


def clicks(setting: Setting, seed: int) -> float:
    """Expected clicks of all visitors."""
    drawn, visitors, choices, times = np.random.default_rng(seed).spawn(4)
    rounds = WORLDS[setting.world](drawn).rounds(visitors)
    visitor = next(rounds)
    kinds = ["constant", *["numbers"] * (visitor.rows.shape[1] - 1)]
    learner = FabCost(Prior().belief(kinds))  # type: ignore[arg-type]
    servers = [
        Server(setting.look, setting.look * times.random(), learner.posterior)
        for _ in range(SERVERS)
    ]
    outcomes: list[tuple[float, int, FloatArray, bool]] = []
    now, found, order = 0.0, 0.0, count()
    for _ in range(VISITORS):
        now += times.exponential(1.0 / RATE)
        while outcomes and outcomes[0][0] <= now:
            _, _, row, clicked = heapq.heappop(outcomes)
            learner.observe(row, clicked)
        belief = servers[times.integers(SERVERS)].at(now, learner.posterior)
        index = choose(belief, RULES[setting.rule], visitor.rows, rng=choices).index
        known = now + times.exponential(1.0) * setting.delay
        told = visitor.rows[index].copy(), visitor.clicked(index)
        heapq.heappush(outcomes, (known, next(order), *told))
        found += float(visitor.probability[index])
        visitor = next(rounds)
    return found


def page(results: dict[Setting, FloatArray]) -> str:
    """The text of docs/measurements/staleness.md."""
    lines = [["world", "rule", "outcomes after", *(f"looks every {each:g} s" for each in LOOKS)]]
    for world, rule, delay in product(WORLDS, RULES, DELAYS):
        best = results[Setting(rule, world, LOOKS[0], DELAYS[0])]
        cells = []
        for look in LOOKS:
            band = per_cent(results[Setting(rule, world, look, delay)][:, None], best[:, None])
            cells.append(f"{band.mean[0]:+.1f} ± {band.half[0]:.1f}")
        lines.append([world, rule, f"{delay:g} s", *cells])
    return "\n\n".join(
        [
            "# Staleness",
            origin("python -m studies.staleness --docs"),
            f"{SERVERS} servers and {RATE:g} visitors a second, {VISITORS:,} in all, who come at "
            "random to any of them. A server decides by the posterior of its last look; replicas "
            "on one database look at least every 0.25 s, followers far away as often as their line "
            "lets them. What a visitor did is learnt after a delay, exponential with the mean "
            "given. Expected clicks in per cent of those with looks every 0.25 s and outcomes at "
            f"once, with 95 % intervals over {len(SEEDS)} paired seeds; worlds are those of "
            "[clicks](clicks.md), the prior is `fabcost.Prior()`.",
            as_markdown(lines),
            "What counts is how many visitors come before something is learnt: at ten times the "
            "rate a tenth of the seconds has the same effect.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.staleness", description=__doc__)
    parser.add_argument("--docs", action="store_true", help="write measurements/staleness.md")
    options = parser.parse_args()
    settings = [Setting(*each) for each in product(RULES, WORLDS, LOOKS, DELAYS)]
    results = {}
    with threadpool_limits(1):
        for setting in track(settings, "playing", console=Console(stderr=True)):
            results[setting] = np.array([clicks(setting, seed) for seed in SEEDS])
    text = page(results)
    print(f"wrote {write_page('staleness.md', text)}" if options.docs else text)


if __name__ == "__main__":
    main()
