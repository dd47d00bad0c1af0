"""Rules × learners × priors: every combination meets the same visitors, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from fabcost.offline.methods import ADF, FAB_COST, LAPLACE
from studies.rules.arms import MADE
from studies.rules.games import DEFAULT, EIGHTH_RARE, THOMPSON, WIDE, Game
from studies.rules.report import LATE, REGRET, Lines, Ratio, Report, Side, is_worse, marked
from studies.rules.worlds import CHANGING, CLICKS, LOGS_CHOOSING

RULES = (THOMPSON, "thompson:0.5", "thompson:0.25", "ts-ucb", EIGHTH_RARE, "information-directed")
PRIORS = {WIDE: "10", DEFAULT: "1, constant 100", "100": "100"}
#: Laplace is fitted to all rows after each: its games take ten times as long.
SEEDS = {FAB_COST: range(4000, 4016), ADF: range(4000, 4016), LAPLACE: range(4000, 4004)}
LEAST = SEEDS[FAB_COST][:2]  # without which there is nothing to say
REFERENCES = (FAB_COST, LAPLACE)
TREES = ("trees, fresh: bank marketing", "trees, fixed: bank marketing")
WITH_REGRET = (*CLICKS, *CHANGING, *TREES, MADE)
WORLDS = (*WITH_REGRET, *LOGS_CHOOSING)
SIDES = tuple(Side(rule, learner, prior) for prior, learner, rule in product(PRIORS, SEEDS, RULES))


def games(seeds: range = SEEDS[FAB_COST]) -> Iterator[Game]:
    """Seed by seed: a run that was stopped has whole seeds of all."""
    for seed, world, side in product(seeds, WORLDS, SIDES):
        if seed in SEEDS[side.learner]:
            yield Game(world, side.rule, seed, *side[1:])


def beside(learner: str, side: Side) -> Side:
    """What a side is compared with: a learner under Thompson sampling of the same prior."""
    return Side(THOMPSON, learner, side.prior)


def ratio(report: Report, world: str, ours: Side, theirs: Side) -> Ratio:
    """Of regrets, or of a log's clicks."""
    place = LATE if world.startswith("log") else REGRET
    return report.ratio([world], ours, theirs, place, SEEDS[FAB_COST])


def geometric(ratios: Sequence[Ratio]) -> Ratio:
    """Their geometric mean, with the interval of independent worlds.

    Of a logarithm the half width is half / mean.

    Examples
    --------
    >>> print(geometric([Ratio(0.5, 0.03, 9), Ratio(2.0, 0.16, 5)]))
    1.00 ± 0.05
    """
    means, halves = np.array([each[:2] for each in ratios]).T
    mean = float(np.exp(np.log(means).mean()))
    half = mean * float(np.sqrt(((halves / means) ** 2).sum())) / len(ratios)
    return Ratio(mean, half, min(each.seeds for each in ratios))


def mean_of(report: Report, ours: Side, theirs: Side) -> Ratio:
    """Regret over another's, in the geometric mean over all worlds that have a regret."""
    return geometric([ratio(report, world, ours, theirs) for world in WITH_REGRET])


def summary(report: Report) -> Lines:
    """Every combination beside one: FAB-COST under Thompson sampling with variance 10."""
    one = Side(THOMPSON, FAB_COST, WIDE)
    lines = [["prior variance", "learner", *RULES]]
    for prior, learner in product(PRIORS, SEEDS):
        each = (mean_of(report, Side(rule, learner, prior), one) for rule in RULES)
        lines.append([PRIORS[prior], learner, *(marked(found, clicks=False) for found in each)])
    return lines


def lines_beside(report: Report, learner: str) -> Lines:
    """Every combination in every world, beside a learner under Thompson sampling."""
    lines = [["prior variance", "learner", "rule", "mean", *WORLDS, "seeds"]]
    for side in SIDES:
        theirs = beside(learner, side)
        if side == theirs:
            continue
        mean = mean_of(report, side, theirs)
        each = [marked(ratio(report, w, side, theirs), w.startswith("log")) for w in WORLDS]
        who = [PRIORS[side.prior], side.learner, side.rule]
        lines.append([*who, marked(mean, clicks=False), *each, str(mean.seeds)])
    return lines


def lost(report: Report, learner: str) -> str:
    """How many of all intervals are losses."""
    found = [
        is_worse(ratio(report, world, side, beside(learner, side)), world.startswith("log"))
        for side, world in product(SIDES, WORLDS)
        if side != beside(learner, side)
    ]
    return f"{sum(found)} of {len(found)} intervals beside {learner} are losses"
