"""Which games are played to choose a rule, and which to confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from fabcost.offline.methods import FAB_COST, LAPLACE
from studies.rules.arms import DIGITS, MADE
from studies.rules.games import (
    DEFAULT,
    PROBABILITIES,
    RULES,
    SCALES,
    SCATTERED,
    THOMPSON,
    WIDE,
    Game,
)
from studies.rules.worlds import (
    CHANGING,
    CLICKS,
    LOGS_CHOOSING,
    LOGS_CONFIRMING,
    TREES_CHOOSING,
    TREES_CONFIRMING,
)

#: Seeds of either half; those to confirm with were met by no rule before `FROZEN` was written.
CHOOSING = range(40)
CONFIRMING, MANY, OF_LAPLACE = range(1000, 1020), range(1000, 1200), range(1000, 1060)
#: On the seeds planned, the worlds of trees missed what is required, by less than their noise.  So
#: these were played as well; the report has both.
MORE = range(1000, 1060)
#: By `report.choice` it was "ts-ucb:4", which was confirmed.  Then late outcomes and new items were
#: tried, where that loses; so this one was written down before it met a seed to confirm with.
FIRST, FROZEN = "ts-ucb:4", SCATTERED

REGRETS_CHOOSING = (*CHANGING, *TREES_CHOOSING, MADE)
REGRETS_CONFIRMING = (*CHANGING, *TREES_CONFIRMING, DIGITS)


#: What is shown beside the frozen rule where it is confirmed.
RIVALS = (THOMPSON, "thompson:0.25", "greedy", "ts-ucb", FIRST, FROZEN, "information-directed")


#: Visitors who come before an outcome is known, and seeds that the scatter did not see.
DELAYS, SEEDS_LATE = (0, 100, 300), range(2000, 2030)
DELAYED = (THOMPSON, "thompson:0.5", "ts-ucb", PROBABILITIES, SCATTERED, "information-directed")


def late() -> Iterator[Game]:
    """Rules where outcomes are known late."""
    for seed in SEEDS_LATE:
        for world in CLICKS:
            for delay in DELAYS:
                yield from (Game(world, rule, seed, delay=delay) for rule in DELAYED)


def choosing() -> Iterator[Game]:
    """Every rule on the half to choose on."""
    yield from _games(CHOOSING, CLICKS, RULES, prior=WIDE)
    yield from _games(CHOOSING, (*REGRETS_CHOOSING, *LOGS_CHOOSING), RULES)


def confirming() -> Iterator[Game]:
    """The frozen rule against its rivals, on seeds, worlds and logs kept apart."""
    ours = (THOMPSON, FROZEN)
    yield from _games(MANY, CLICKS, ours, prior=WIDE)
    yield from _games(MANY, CLICKS, ours)
    yield from _games(CONFIRMING, (*REGRETS_CONFIRMING, *LOGS_CONFIRMING), RIVALS)
    yield from _games(MORE, TREES_CONFIRMING, ours)
    yield from _games(CONFIRMING, LOGS_CONFIRMING, ours, LAPLACE)
    yield from _games(OF_LAPLACE, CLICKS, SCALES[1:], LAPLACE, WIDE)


def _games(
    seeds: range,
    worlds: Iterable[str],
    rules: Iterable[str],
    learner: str = FAB_COST,
    prior: str = DEFAULT,
) -> Iterator[Game]:
    for seed, world, rule in product(seeds, worlds, rules):
        yield Game(world, rule, seed, learner, prior)
