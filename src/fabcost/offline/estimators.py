r"""The value of a policy from a log that another policy wrote: estimators with intervals.

Round i of the log has a reward :math:`r_i` and the propensity :math:`p_i` of its logged action;
:math:`e_i` is the target's probability of that same action, and :math:`w_i = e_i / p_i`.  A reward
model adds :math:`q_i`, its prediction for the logged action, and
:math:`v_i = \sum_a \pi_e(a)\,q_i(a)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray, Tally
from fabcost.offline.folds import cross_fit
from fabcost.offline.intervals import (
    FEW_CLICKS,
    LEVEL,
    RARE_CLICKS,
    Estimate,
    mean,
    sample_mean,
    widened,
)

__all__ = [
    "FEW_CLICKS",
    "LEVEL",
    "RARE_CLICKS",
    "Estimate",
    "LoggedRound",
    "cross_fit",
    "direct",
    "doubly_robust",
    "ips",
    "learning_replay",
    "rejection",
    "snips",
]

#: A bound may be the same quotient as a weight, calculated otherwise.
_ROUNDING = 1e-9


class LoggedRound(NamedTuple):
    """One decision of the log: the rows to choose from, what was chosen, and what came of it."""

    rows: FloatArray
    action: int
    reward: float
    propensity: float
    items: Sequence[str] | None = None
    weight: float = 1.0  # how much it counts for who learns from it


def ips(
    reward: npt.ArrayLike,
    propensity: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    clip: float = math.inf,
    level: float = LEVEL,
) -> Estimate:
    r"""Inverse propensity score: :math:`\frac1n \sum_i \min(w_i, \text{clip})\,r_i`.

    Unbiased without ``clip``, which trades bias for variance.  The interval is the central limit
    theorem's, unless rewards are 0 or 1 and clicks are few.  Then it is the gamma interval of
    Fay & Feuer for a weighted sum of Poisson counts, exact for equal weights.  A bootstrap would
    not help there: it cannot resample clicks that the log happens not to have, and shrinks to a
    point when there is none.

    References
    ----------
    Horvitz & Thompson (1952); Fay & Feuer, "Confidence intervals for directly standardized
    rates: a method based on the gamma distribution" (1997).

    Examples
    --------
    >>> ips([1, 0, 1, 0], [0.5, 0.5, 0.25, 0.5], [0.5, 0.5, 0.5, 0.0]).value
    0.75
    """
    r, w = weighted(reward, propensity, target, clip)
    return widened(mean(w * r, w, level), np.zeros_like(w), r, w / w.size)


def snips(
    reward: npt.ArrayLike,
    propensity: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    clip: float = math.inf,
    level: float = LEVEL,
) -> Estimate:
    r"""Self-normalised IPS: :math:`\hat v = \sum_i w_i r_i / \sum_i w_i`.

    It moves with a shift of the rewards and stays within their range; the bias is of order 1/n.
    Its standard error is that of the linearised terms
    :math:`\hat v + w_i (r_i - \hat v) / \bar w`.  For few clicks the interval is that of `ips`,
    joined with the spread of the denominator as in `doubly_robust`.

    References
    ----------
    Swaminathan & Joachims, "The self-normalized estimator for counterfactual learning" (2015).

    Examples
    --------
    >>> round(snips([1, 0, 1, 0], [0.5, 0.5, 0.25, 0.5], [0.5, 0.5, 0.5, 0.0]).value, 6)
    0.75
    >>> snips([5, 5, 5, 5], [0.5, 0.5, 0.2, 0.5], [0.5, 0.5, 0.5, 0.0]).value
    5.0
    """
    r, w = weighted(reward, propensity, target, clip)
    value = float((w * r).sum() / w.sum())
    relative = w / w.mean()
    rest = value * (1.0 - relative)
    return widened(mean(relative * r + rest, w, level), rest, r, relative / w.size)


def direct(predicted_value: npt.ArrayLike, *, level: float = LEVEL) -> Estimate:
    r"""Direct method: the mean of the reward model's :math:`v_i = \sum_a \pi_e(a)\,q_i(a)`.

    The interval holds only the spread of :math:`v_i` over rounds: the error of the model is not in
    it, and no log can bound that.  Use it beside `doubly_robust`, not alone.

    References
    ----------
    Dudík, Langford & Li, "Doubly robust policy evaluation and learning" (2011).

    Examples
    --------
    >>> direct([0.25, 0.75]).value
    0.5
    """
    v = _finite(predicted_value, "predicted_value")
    return mean(v, np.ones_like(v), level)


def doubly_robust(
    reward: npt.ArrayLike,
    propensity: npt.ArrayLike,
    target: npt.ArrayLike,
    predicted: npt.ArrayLike,
    predicted_value: npt.ArrayLike,
    *,
    normalised: bool = False,
    clip: float = math.inf,
    level: float = LEVEL,
) -> Estimate:
    r"""Doubly robust: :math:`\frac1n \sum_i v_i + w_i (r_i - q_i)`.

    Unbiased whatever the model if it was not fitted on the round it predicts (`cross_fit`), with
    less variance than `ips` if the model is good.  ``normalised`` divides the correction by
    :math:`\bar w`.  For few clicks the interval of the click part, as in `ips`, is joined with
    that of :math:`v_i - w_i q_i` by the method of variance estimates recovery.

    References
    ----------
    Dudík, Langford & Li, "Doubly robust policy evaluation and learning" (2011);
    Zou & Donner, "Construction of confidence limits about effect measures" (2008).

    Examples
    --------
    >>> doubly_robust([1, 0], [0.5, 0.5], [1.0, 0.0], [0.75, 0.5], [0.75, 0.75]).value
    1.0
    """
    r, w = weighted(reward, propensity, target, clip)
    q = _finite(predicted, "predicted", w.size)
    v = _finite(predicted_value, "predicted_value", w.size)
    correction = float((w * (r - q)).sum() / w.sum()) if normalised else 0.0
    relative = w / w.mean() if normalised else w
    terms = v + correction + relative * (r - q - correction)
    rest = terms - relative * r
    return widened(mean(terms, w, level), rest, r, relative / w.size)


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
        agreed = bandit.choose(logged.rows, items=logged.items).index == logged.action
        if agreed and rng.random() * logged.propensity < least_propensity:
            item = None if logged.items is None else logged.items[logged.action]
            came = logged.reward if logged.reward in (0.0, 1.0) else Tally(logged.reward, 1.0)
            bandit.learn(logged.rows[logged.action], came, item, weight=logged.weight)
            kept.append(logged.reward)
    return sample_mean(np.array(kept, dtype=np.float64), level)


def weighted(
    reward: npt.ArrayLike, propensity: npt.ArrayLike, target: npt.ArrayLike, clip: float
) -> tuple[FloatArray, FloatArray]:
    """Rewards and importance weights, checked.

    Examples
    --------
    >>> weighted([0, 1], [0.5, 0.25], [1.0, 0.5], clip=math.inf)
    (array([0., 1.]), array([2., 2.]))
    """
    r = _finite(reward, "reward")
    p = _finite(propensity, "propensity", r.size)
    e = _finite(target, "target", r.size)
    for i in np.flatnonzero((p <= 0) | (p > 1))[:1]:
        raise ValueError(f"propensity[{i}] is {p[i]} but must lie in (0, 1]")
    for i in np.flatnonzero((e < 0) | (e > 1 + 1e-9))[:1]:
        raise ValueError(f"target[{i}] is {e[i]} but must lie in [0, 1]")
    if not clip > 0:
        raise ValueError(f"clip is {clip} but must be above zero")
    if not e.any():
        raise ValueError("the target takes none of the logged actions: this log says nothing of it")
    return r, np.minimum(e / p, clip)


def _finite(values: npt.ArrayLike, name: str, size: int | None = None) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        expected = "a vector of at least one number" if size is None else f"of length {size}"
        raise ValueError(f"{name} has shape {array.shape} but must be {expected}")
    for i in np.flatnonzero(~np.isfinite(array))[:1]:
        raise ValueError(f"{name}[{i}] is {array[i]} but must be finite")
    return array


def _bound(w: FloatArray, largest: float) -> float:
    if not 0.0 < largest < math.inf:
        raise ValueError(f"largest_weight is {largest} but must be above zero and finite")
    for i in np.flatnonzero(w > largest * (1.0 + _ROUNDING))[:1]:
        raise ValueError(
            f"weight[{i}] is {w[i]} but largest_weight is {largest}, which no weight may exceed"
        )
    return largest
