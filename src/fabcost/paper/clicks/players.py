"""Who plays the paper's replay, and one replay of one day."""

from __future__ import annotations

import math

import numpy as np

from fabcost.bandit.baselines import BatchLaplace, LaplaceAsPublished
from fabcost.bandit.rules import Policy, Thompson, Uniform
from fabcost.gaussian import Gaussian
from fabcost.inference.schedule import Refresh
from fabcost.offline.methods import LEARNERS, PRIOR_VARIANCE, MakeLearner
from fabcost.offline.replay.protocol import replay
from fabcost.offline.replay.runs import marks
from fabcost.paper.data.designs import day
from fabcost.paper.engine.units import Result

PAPERS, OURS = "FAB-COST, paper", "FAB-COST"
CORRECT, PUBLISHED, RANDOM = "Laplace", "Laplace, published", "uniform"
EVERY_ROUND = "Laplace, every round"

#: No |xᵀθ| above this: there σ(η) = ½ + η/4 to η²/12 of the second term, below 1e-5 of it.
STRAIGHT = 0.01
#: Correct Laplace is refitted after each of so many impressions, then when the data have grown so.
REFITTED_EACH, REFIT_GROWTH = 1_000, 1.02
#: The round at which that schedule is checked against a refit after every impression.
CHECKED_ROUNDS = 3_000


def is_refit(seen: int) -> bool:
    """Whether correct Laplace is refitted after ``seen`` impressions.

    Examples
    --------
    >>> [seen for seen in range(998, 1070) if is_refit(seen)]
    [998, 999, 1000, 1020, 1041, 1062]
    """
    return seen <= REFITTED_EACH or _growths(seen) > _growths(seen - 1)


def _growths(seen: int) -> int:
    return math.floor(math.log(seen / REFITTED_EACH) / math.log(REFIT_GROWTH) + 1e-9)


PLAYERS: dict[str, tuple[MakeLearner, Policy]] = {
    PAPERS: (LEARNERS["FAB-COST, paper"], Thompson()),
    OURS: (LEARNERS["FAB-COST"], Thompson()),
    CORRECT: (lambda prior: BatchLaplace(prior, refit=Refresh.when(is_refit)), Thompson()),
    PUBLISHED: (lambda prior: LaplaceAsPublished(prior, straight=STRAIGHT), Thompson()),
    RANDOM: (LEARNERS["ADF"], Uniform()),
    EVERY_ROUND: (BatchLaplace, Thompson()),
}


def play(policy: str, rows: int, rounds: int, seed: int) -> Result:
    """Clicks of one policy on the first ``rows`` impressions of day ``seed``.

    Under the same seed every policy breaks ties alike and sees the same random numbers.

    Examples
    --------
    >>> result = play("uniform", rows=300, rounds=300, seed=0)
    >>> int(result["clicks"][-1]) == result["logged"]
    True
    """
    impressions = day(rows, seed=seed)
    make, choice = PLAYERS[policy]
    learner = make(Gaussian.isotropic(impressions.X.shape[1], variance=PRIOR_VARIANCE))
    rng = np.random.default_rng(seed)
    X, y = impressions.X, impressions.y
    shown = replay(X, y, learner, policy=choice, rng=rng, rounds=rounds)
    counted = marks(rounds, [CHECKED_ROUNDS] if rounds > CHECKED_ROUNDS else [])
    clicks = shown.clicks[counted - 1]
    return {"marks": counted, "clicks": clicks, "logged": int(y.sum())}
