"""Which games are played to choose a rule, and which to confirm it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from fabcost.offline.methods import FAB_COST, LAPLACE
from studies.rules.arms import DIGITS, MADE
from studies.rules.games import (
    DEFAULT,
    EIGHTH_RARE,
    OF_LAPLACE,
    OWN,
    PROBABILITIES,
    QUARTER,
    QUARTER_PROBABILITIES,
    RULES,
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
CHOOSING, CONFIRMING = range(40), range(11000, 11040)
#: The default, as it was written down before it met a seed of those to confirm on.
FROZEN = EIGHTH_RARE
#: Where it seemed to lose on the seeds to choose with, and further ones.
DOUBTFUL, AGAIN = "log: open bandit, men", range(40, 240)
TRIAL = Trial(FROZEN, range(11000, 11200), range(11000, 11060), range(11000, 11120))
#: Rules on sets like the one where rules without `rare` lost.
MENDING = (
    THOMPSON,
    "thompson:0.5",
    SCATTERED,
    QUARTER,
    PROBABILITIES,
    QUARTER_PROBABILITIES,
    FROZEN,
)

#: Where items stay; a recommender gives such effects of their own.
FIXED_TREES = tuple(world for world in TREES_CONFIRMING if "fixed" in world)
REGRETS_CHOOSING = (*CHANGING, *TREES_CHOOSING, MADE)
OTHERS_CONFIRMING = (*CHANGING, DIGITS)

#: Visitors who come before an outcome is known, and seeds that the scatter did not see.
DELAYS, SEEDS_LATE = (0, 100, 300), range(2000, 2030)
SEEDS_CONFIRMED_LATE = range(11000, 11030)
DELAYED = (
    THOMPSON,
    "thompson:0.5",
    "ts-ucb",
    PROBABILITIES,
    SCATTERED,
    QUARTER,
    FROZEN,
    "information-directed",
)


def choosing() -> Iterator[Game]:
    """Every rule on the half to choose on."""
    yield from _games(CHOOSING, CLICKS, RULES, prior=WIDE)
    yield from _games(CHOOSING, (*REGRETS_CHOOSING, *LOGS_CHOOSING), RULES)
    yield from _games(CHOOSING, TREES_RARE, MENDING)
    yield from _late(SEEDS_LATE, DELAYED, DELAYS)
    yield from _games(AGAIN, [DOUBTFUL], (THOMPSON, FROZEN))


def confirming() -> Iterator[Game]:
    """The frozen rule beside Thompson sampling, on seeds, worlds and logs kept apart."""
    yield from tried(TRIAL)
    yield from _late(SEEDS_CONFIRMED_LATE, (THOMPSON, FROZEN), DELAYS[1:])
    yield from _games(CONFIRMING, OTHERS_CONFIRMING, (THOMPSON, FROZEN))


def _late(seeds: range, rules: Iterable[str], delays: Iterable[int]) -> Iterator[Game]:
    for seed, world, delay, rule in product(seeds, CLICKS, delays, rules):
        yield Game(world, rule, seed, delay=delay)


def tried(trial: Trial) -> Iterator[Game]:
    """What is claimed of a rule is claimed on these."""
    ours = (THOMPSON, trial.rule)
    yield from _games(trial.many, CLICKS, ours, prior=WIDE)
    yield from _games(trial.many, TREES_CONFIRMING, ours)
    yield from _games(trial.many, CLICKS, OF_LAPLACE, LAPLACE, WIDE)
    yield from _games(trial.of_laplace, CLICKS, [trial.rule], LAPLACE, WIDE)
    for learner in (FAB_COST, LAPLACE):
        yield from _games(trial.of_logs, LOGS_CONFIRMING, ours, learner)
    yield from _games(trial.of_laplace, FIXED_TREES, ours, OWN)
    for learner in (FAB_COST, LAPLACE):
        yield from _games(trial.of_laplace, CLICKS, ours, learner)


def _games(
    seeds: range,
    worlds: Iterable[str],
    rules: Iterable[str],
    learner: str = FAB_COST,
    prior: str = DEFAULT,
) -> Iterator[Game]:
    for seed, world, rule in product(seeds, worlds, rules):
        yield Game(world, rule, seed, learner, prior)
