"""Estimators that keep some of the rounds: those that the target would have met on its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.bandit.evaluate.intervals import LEVEL, Estimate, sample_mean
from fabcost.bandit.evaluate.weighting import weighted
from fabcost.impressions import FloatArray


class LoggedRound(NamedTuple):
    """One decision of the log: the rows to choose from, what was chosen, and what came of it."""

    rows: FloatArray
    action: int
    reward: float
    propensity: float


def rejection(
    reward: npt.ArrayLike,
    propensity: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Estimate:
    r"""Rejection replay: keep round i with probability :math:`w_i / \max_j w_j`, and average.

    What is kept is a sample of the target's own rounds.  Under uniform logging of K actions and a
    deterministic target it keeps the rounds on which both agree, 1/K of them.  For rewards 0 or 1
    the interval is Clopper & Pearson's, which covers whatever the number of clicks.

    References
    ----------
    Li, Chu, Langford & Wang, "Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms" (2011).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rejection([1, 0, 1, 1], [0.5] * 4, [1.0, 1.0, 0.0, 0.0], rng=rng).value
    0.5
    """
    r, w = weighted(reward, propensity, target, math.inf)
    kept = rng.random(w.size) * w.max() < w
    return sample_mean(r[kept], level)


def learning_replay(
    bandit: Bandit,
    rounds: Iterable[LoggedRound],
    *,
    least_propensity: float,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Estimate:
    """Replay of a bandit that learns as it goes, from the rounds on which it agrees with the log.

    An agreed round is kept with probability ``least_propensity`` / propensity, so that the kept
    rounds are those that the bandit would have met on its own; under uniform logging all are.
    Its value is the mean reward while learning.

    References
    ----------
    Li, Chu, Langford & Wang (2011), Algorithm 2.

    Examples
    --------
    >>> import fabcost
    >>> bandit = Bandit(fabcost.FabCost(fabcost.Gaussian.isotropic(1)), seed=0)
    >>> log = [LoggedRound(np.array([[1.0], [1.0]]), 0, 1.0, 0.5)] * 20
    >>> rng = np.random.default_rng(0)
    >>> estimate = learning_replay(bandit, log, least_propensity=0.5, rng=rng)
    >>> estimate.value, estimate.used == bandit.learner.seen
    (1.0, True)
    """
    kept = []
    for logged in rounds:
        if not 0.0 < least_propensity <= logged.propensity:
            raise ValueError(
                f"least_propensity is {least_propensity} but must be above zero and at most "
                f"every propensity of the log, one of which is {logged.propensity}"
            )
        agreed = bandit.choose(logged.rows).index == logged.action
        if agreed and rng.random() * logged.propensity < least_propensity:
            bandit.learn(logged.rows[logged.action], logged.reward)
            kept.append(logged.reward)
    return sample_mean(np.array(kept, dtype=np.float64), level)
