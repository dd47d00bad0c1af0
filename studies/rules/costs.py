"""How long each rule takes for a decision, in turns within one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from fabcost import FabCost, Gaussian, Recommender, Schema
from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray
from studies.rules.games import RULES, THOMPSON, policy_of

CANDIDATES, WEIGHTS, DRAWS = 1_000, 15, 256
SEEN, TURNS, CALLS = 500, 40, 10

Ask = Callable[[], object]


class Cost(NamedTuple):
    """Least seconds over turns of each way to ask for a decision."""

    which: float
    chosen: float
    scored: float
    logged: float
    recommended: float
    recommended_logged: float


@cache
def costs() -> dict[str, Cost]:
    """Processor time of every rule, over a thousand candidates after some impressions."""
    asked = [(*_of_bandit(rule), *_of_recommender(rule)) for rule in RULES]
    taken = np.empty((TURNS + 1, len(RULES), len(Cost._fields)))
    for turn in range(TURNS + 1):
        for place, ways in enumerate(asked):
            taken[turn, place] = [_seconds(decide) for decide in ways]
    least = taken[1:].min(axis=0)
    return {rule: Cost(*map(float, each)) for rule, each in zip(RULES, least, strict=True)}


def _seconds(decide: Ask) -> float:
    decide()  # what others have put into the caches is not its own doing
    start = time.process_time()
    for _ in range(CALLS):
        decide()
    return (time.process_time() - start) / CALLS


def _of_bandit(rule: str) -> tuple[Ask, ...]:
    """Rows of numbers, and a learner without effects of items."""
    rng = np.random.default_rng(0)
    learner = FabCost(Gaussian.isotropic(WEIGHTS))
    learner.observe_many(rng.normal(size=(SEEN, WEIGHTS)), rng.random(SEEN) < 0.1)
    rows = rng.normal(size=(CANDIDATES, WEIGHTS))
    bandit = Bandit(learner, policy=policy_of(rule), seed=0)
    choose = partial(bandit.choose, rows)
    scored = partial(_scored, bandit, rows)
    return partial(bandit.pick, rows), choose, scored, partial(choose, draws=DRAWS)


def _scored(bandit: Bandit, rows: FloatArray) -> FloatArray:
    """Scores, which wait until they are asked for."""
    return bandit.choose(rows).scores


def _of_recommender(rule: str) -> tuple[Ask, ...]:
    """A catalogue of as many weights with the constant, whose items have effects of their own."""
    rng = np.random.default_rng(0)
    made = rng.normal(size=(CANDIDATES, WEIGHTS - 1)).tolist()
    items = {f"{k}": {f"x{j}": x for j, x in enumerate(row)} for k, row in enumerate(made)}
    recommender = Recommender(Schema.open(), policy=policy_of(rule), seed=0)
    encoded = recommender.catalogue(items)
    for clicked in rng.random(SEEN) < 0.1:
        recommender.feedback(recommender.recommend({}, encoded).id, clicked=bool(clicked))
    recommend = partial(recommender.recommend, {}, encoded)
    return recommend, partial(recommend, draws=DRAWS)


def time_lines(seconds: dict[str, Cost]) -> list[list[str]]:
    """What a decision takes under each rule, and beside Thompson sampling."""
    ways = ("`pick`", "`choose`", "`choose`, scores read", "`choose`, propensities")
    lines = [["rule", *ways, "`recommend`", "`recommend`, propensities"]]
    for rule, taken in seconds.items():
        each = zip(taken, seconds[THOMPSON], strict=True)
        times = [f"{1e6 * ours:,.1f} µs, {ours / theirs:.2f}×" for ours, theirs in each]
        lines.append([rule, *times])
    return lines
