"""How long each rule takes for a decision, in turns within one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray
from studies.rules.games import RULES, THOMPSON, policy_of

CANDIDATES, WEIGHTS, DRAWS = 1_000, 15, 256
TURNS, CALLS = 40, 10


class Cost(NamedTuple):
    """Least seconds over turns: which candidate, with scores of all, and with propensities."""

    which: float
    scored: float
    logged: float


@cache
def costs() -> dict[str, Cost]:
    """Processor time of every rule, over a thousand candidates after 500 impressions."""
    rng = np.random.default_rng(0)
    learner = FabCost(Gaussian.isotropic(WEIGHTS))
    learner.observe_many(rng.normal(size=(500, WEIGHTS)), rng.random(500) < 0.1)
    rows = rng.normal(size=(CANDIDATES, WEIGHTS))
    bandits = [Bandit(learner, policy=policy_of(rule), seed=0) for rule in RULES]
    taken = np.empty((TURNS + 1, len(RULES), 3))
    for turn in range(TURNS + 1):
        for place, bandit in enumerate(bandits):
            choose = partial(bandit.choose, rows)
            asked: tuple[Callable[[], object], ...] = (
                partial(bandit.pick, rows),
                partial(_scored, bandit, rows),
                partial(choose, draws=DRAWS),
            )
            for kind, decide in enumerate(asked):
                decide()  # what others have put into the caches is not its own doing
                start = time.process_time()
                for _ in range(CALLS):
                    decide()
                taken[turn, place, kind] = (time.process_time() - start) / CALLS
    least = taken[1:].min(axis=0)
    return {rule: Cost(*map(float, each)) for rule, each in zip(RULES, least, strict=True)}


def time_lines(seconds: dict[str, Cost]) -> list[list[str]]:
    """What a decision takes under each rule, and beside Thompson sampling."""
    lines = [["rule", "which", "with the scores of all", f"with propensities of {DRAWS} draws"]]
    for rule, taken in seconds.items():
        each = zip(taken, seconds[THOMPSON], strict=True)
        times = [f"{1e6 * ours:,.1f} µs, {ours / theirs:.2f}×" for ours, theirs in each]
        lines.append([rule, *times])
    return lines


def _scored(bandit: Bandit, rows: FloatArray) -> FloatArray:
    """Scores, which wait until they are asked for."""
    return bandit.choose(rows).scores
