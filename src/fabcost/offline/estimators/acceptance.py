"""Estimators that keep some of the rounds: those that the target would have met on its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray
from fabcost.offline.estimators.intervals import LEVEL, Estimate, sample_mean
from fabcost.offline.estimators.weighting import weighted

#: A bound may be the same quotient as a weight, calculated otherwise.
_ROUNDING = 1e-9


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
    largest_weight: float | None = None,
    level: float = LEVEL,
) -> Estimate:
    r"""Rejection replay: keep round i with probability :math:`w_i / M`, and average.

    If M, ``largest_weight``, is known before the log and no weight can exceed it, each kept round
    is distributed like one of the target's own, independently of the others and of their number:
    given that any are kept, their mean is unbiased.  1 over the smallest propensity that logging
    can give is such a bound.

    Without it M is the largest weight of these very rounds, which depends on them: the round that
    has it is always kept.  Then what is kept only resembles the target's rounds, the better the
    more rounds there are; for a bounded weight the bias is of order 1/n.  The two agree where
    every log has a round of the largest weight, as under uniform logging of K actions and a
    deterministic target: it keeps the rounds on which both agree, 1/K of them.

    For rewards 0 or 1 the interval is Clopper & Pearson's, which for kept rounds that are the
    target's own covers whatever the number of clicks.

    References
    ----------
    Li, Chu, Langford & Wang, "Unbiased offline evaluation of contextual-bandit-based news article
    recommendation algorithms" (2011).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rejection([1, 0, 1, 1], [0.5] * 4, [1.0, 1.0, 0.0, 0.0], rng=rng).value
    0.5
    >>> rejection([1.0], [0.5], [1.0], rng=rng, largest_weight=1.5)
    Traceback (most recent call last):
    ValueError: weight[0] is 2.0 but largest_weight is 1.5, which no weight may exceed
    """
    r, w = weighted(reward, propensity, target, math.inf)
    most = float(w.max()) if largest_weight is None else _bound(w, largest_weight)
    kept = rng.random(w.size) * most < w
    return sample_mean(r[kept], level)


def _bound(w: FloatArray, largest: float) -> float:
    if not 0.0 < largest < math.inf:
        raise ValueError(f"largest_weight is {largest} but must be above zero and finite")
    for i in np.flatnonzero(w > largest * (1.0 + _ROUNDING))[:1]:
        raise ValueError(
            f"weight[{i}] is {w[i]} but largest_weight is {largest}, which no weight may exceed"
        )
    return largest


def learning_replay(
    bandit: Bandit,
    rounds: Iterable[LoggedRound],
    *,
    least_propensity: float,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> Estimate:
    """Replay of a bandit that learns as it goes, from the rounds on which it agrees with the log.

    An agreed round is kept with probability ``least_propensity`` / propensity; under uniform
    logging all are.  Every round is then kept with the same probability, whatever the bandit has
    learnt, so that the kept rounds are distributed like as many that the bandit meets on its own,
    and the value is the mean reward while learning.  That holds if ``least_propensity`` is known
    before the log, as a floor of the logging policy; the smallest propensity of the log itself
    depends on it, and makes it hold only nearly, the better the longer the log.

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
