"""Which games are played to choose a rule, and which to confirm it."""

from __future__ import annotations

from collections.abc import Iterator

from fabcost.offline.methods import LAPLACE
from studies.rules.arms import DIGITS, MADE
from studies.rules.games import DEFAULT, RULES, SCALES, SCATTERED, THOMPSON, WIDE, Game
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
CONFIRMING, MANY, OF_LAPLACE = range(1000, 1020), range(1000, 1200), range(1000, 1050)
#: Chosen by `report.choice`, then never changed.
FROZEN = "ts-ucb:4"

REGRETS_CHOOSING = (*CHANGING, *TREES_CHOOSING, MADE)
REGRETS_CONFIRMING = (*CHANGING, *TREES_CONFIRMING, DIGITS)


#: What is shown beside the frozen rule where it is confirmed.
RIVALS = (THOMPSON, "thompson:0.25", "greedy", "ts-ucb", FROZEN, "information-directed")


#: Visitors who come before an outcome is known, and seeds that the scatter did not see.
DELAYS, SEEDS_LATE = (0, 100, 300), range(2000, 2030)
DELAYED = (THOMPSON, "thompson:0.5", "ts-ucb", SCATTERED, "information-directed")


def late() -> Iterator[Game]:
    """Rules where outcomes are known late."""
    for seed in SEEDS_LATE:
        for world in CLICKS:
            for delay in DELAYS:
                yield from (Game(world, rule, seed, delay=delay) for rule in DELAYED)


def choosing() -> Iterator[Game]:
    """Every rule on the half to choose on."""
    for seed in CHOOSING:
        for rule in RULES:
            yield from (Game(world, rule, seed, prior=WIDE) for world in CLICKS)
            for world in (*REGRETS_CHOOSING, *LOGS_CHOOSING):
                yield Game(world, rule, seed)


def confirming() -> Iterator[Game]:
    """The frozen rule against its rivals, on seeds, worlds and logs kept apart."""
    for seed in MANY:
        for world in CLICKS:
            for prior in (WIDE, DEFAULT):
                yield from (Game(world, rule, seed, prior=prior) for rule in (THOMPSON, FROZEN))
    for seed in CONFIRMING:
        for world in (*REGRETS_CONFIRMING, *LOGS_CONFIRMING):
            yield from (Game(world, rule, seed) for rule in RIVALS)
    for seed in CONFIRMING:
        for world in LOGS_CONFIRMING:
            yield from (Game(world, rule, seed, LAPLACE) for rule in (THOMPSON, FROZEN))
    for seed in OF_LAPLACE:
        for world in CLICKS:
            yield from (Game(world, rule, seed, LAPLACE, WIDE) for rule in SCALES[1:])
