r"""The value of a policy from a log that another policy wrote: estimators with intervals.

Round i of the log has a reward :math:`r_i` and the propensity :math:`p_i` of its logged action;
:math:`e_i` is the target's probability of that same action, and :math:`w_i = e_i / p_i`.  A reward
model adds :math:`q_i`, its prediction for the logged action, and
:math:`v_i = \sum_a \pi_e(a)\,q_i(a)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray
from fabcost.offline.folds import cross_fit
from fabcost.offline.intervals import (
    FEW_CLICKS,
    LEVEL,
    RARE_CLICKS,
    Estimate,
    are_clicks,
    mean,
    sample_mean,
)
from fabcost.offline.terms import (
    LoggedRound,
    RoundTerms,
    accepted,
    agreed,
    as_finite,
    ips_terms,
    robust_terms,
    shrunk_terms,
    snips_terms,
    weighted,
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
    "shrunk",
    "snips",
]


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
    return _estimated(ips_terms(w), r, level)


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
    return _estimated(snips_terms(r, w), r, level)


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
    v = as_finite(predicted_value, "predicted_value")
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
    q, v = _predictions(predicted, predicted_value, w.size)
    return _estimated(robust_terms(r, w, q, v, normalised=normalised), r, level)


def shrunk(
    reward: npt.ArrayLike,
    propensity: npt.ArrayLike,
    target: npt.ArrayLike,
    predicted: npt.ArrayLike,
    predicted_value: npt.ArrayLike,
    *,
    shrinkage: float | None = None,
    level: float = LEVEL,
) -> Estimate:
    r"""Doubly robust with shrunken weights: :math:`\hat w_i = w_i\,\lambda / (w_i^2 + \lambda)`.

    Heavy weights count less, and the model more: λ, the ``shrinkage``, leads from the direct method
    (0) to `doubly_robust` (infinity).  If it is not given, it is the one of a few for which
    :math:`\overline{\hat w^2}\,\overline{(r - q)^2} / n + b^2` is least: the variance, and the
    square of the bias :math:`b = (1 - \overline{\hat w})\,\overline{|r - q|}`, if the model errs
    where weights were cut as much as it does in the log.  The interval is wider by b either side.

    References
    ----------
    Su, Dimakopoulou, Krishnamurthy & Dudík, "Doubly robust off-policy evaluation with shrinkage"
    (2020).

    Examples
    --------
    >>> log = [1, 0], [0.5, 0.5], [1.0, 0.0], [0.75, 0.5], [0.75, 0.75]
    >>> [shrunk(*log, shrinkage=each).value for each in (0.0, 4.0, math.inf)]
    [0.75, 0.875, 1.0]
    """
    r, w = weighted(reward, propensity, target)
    q, v = _predictions(predicted, predicted_value, w.size)
    return _estimated(shrunk_terms(r, w, q, v, shrinkage), r, level)


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
    r, w = weighted(reward, propensity, target)
    return sample_mean(r[accepted(w, rng, largest_weight)], level)


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
    kept = agreed(bandit, rounds, least_propensity=least_propensity, rng=rng)
    return sample_mean(np.array([reward for reward, is_kept in kept if is_kept]), level)


def _estimated(terms: RoundTerms, r: FloatArray, level: float) -> Estimate:
    found = terms.estimate(r, level)
    return found.within(0.0, 1.0) if are_clicks(r) else found


def _predictions(
    predicted: npt.ArrayLike, predicted_value: npt.ArrayLike, size: int
) -> tuple[FloatArray, FloatArray]:
    q = as_finite(predicted, "predicted", size)
    return q, as_finite(predicted_value, "predicted_value", size)
