"""Which games are played to choose a rule, and which to confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from fabcost.offline.methods import FAB_COST, LAPLACE
from studies.rules.arms import DIGITS, MADE
from studies.rules.games import (
    DEFAULT,
    OWN,
    PROBABILITIES,
    QUARTER,
    QUARTER_PROBABILITIES,
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
    TREES_RARE,
)


class Trial(NamedTuple):
    """A rule, and seeds to confirm it on: no rule had met them when it was written down."""

    rule: str
    many: range
    of_laplace: range
    of_logs: range


#: Seeds of either half.
CHOOSING, CONFIRMING = range(40), range(5000, 5020)
#: By `report.choice` it was the first, which was confirmed, on `SEEN`.  Then late outcomes and new
#: items were tried, where that loses, and so came the second, confirmed on `SEEN` too but for one
#: world of trees: a catalogue with rare clicks, where it loses.  So others of that kind were tried,
#: on the seeds to choose with, and from them came the third, which has met no seed of `SEEN`.
FIRST, SECOND, FROZEN = "ts-ucb:4", SCATTERED, QUARTER
TRIAL = Trial(FROZEN, range(5000, 5200), range(5000, 5060), range(5000, 5060))
SEEN = range(1000, 1200)
MENDING = (THOMPSON, "thompson:0.5", SECOND, FROZEN, PROBABILITIES, QUARTER_PROBABILITIES)

#: Where items stay; a recommender gives such effects of their own.
FIXED_TREES = tuple(world for world in TREES_CONFIRMING if "fixed" in world)
REGRETS_CHOOSING = (*CHANGING, *TREES_CHOOSING, MADE)
REGRETS_CONFIRMING = (*CHANGING, *TREES_CONFIRMING, DIGITS)


#: What is shown beside the frozen rule where it is confirmed.
RIVALS = (
    THOMPSON,
    "thompson:0.25",
    "greedy",
    "ts-ucb",
    FIRST,
    SECOND,
    FROZEN,
    "information-directed",
)


#: Visitors who come before an outcome is known, and seeds that the scatter did not see.
DELAYS, SEEDS_LATE = (0, 100, 300), range(2000, 2030)
DELAYED = (
    THOMPSON,
    "thompson:0.5",
    "ts-ucb",
    PROBABILITIES,
    SCATTERED,
    QUARTER,
    "information-directed",
)


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
    yield from _games(SEEN, TREES_CONFIRMING, (THOMPSON, SECOND))
    yield from _games(CHOOSING, TREES_RARE, MENDING)


def confirming() -> Iterator[Game]:
    """The frozen rule against its rivals, on seeds, worlds and logs kept apart."""
    yield from tried(TRIAL)
    yield from _games(CONFIRMING, (*REGRETS_CONFIRMING, *LOGS_CONFIRMING), RIVALS)


def tried(trial: Trial) -> Iterator[Game]:
    """What is claimed of a rule is claimed on these."""
    ours = (THOMPSON, trial.rule)
    yield from _games(trial.many, CLICKS, ours, prior=WIDE)
    yield from _games(trial.many, TREES_CONFIRMING, ours)
    yield from _games(trial.of_laplace, CLICKS, SCALES[1:], LAPLACE, WIDE)
    for learner in (FAB_COST, LAPLACE):
        yield from _games(trial.of_logs, LOGS_CONFIRMING, ours, learner)
    yield from _games(trial.of_laplace, FIXED_TREES, ours, OWN)
    yield from _games(trial.many, CLICKS, ours)


def _games(
    seeds: range,
    worlds: Iterable[str],
    rules: Iterable[str],
    learner: str = FAB_COST,
    prior: str = DEFAULT,
) -> Iterator[Game]:
    for seed, world, rule in product(seeds, worlds, rules):
        yield Game(world, rule, seed, learner, prior)
