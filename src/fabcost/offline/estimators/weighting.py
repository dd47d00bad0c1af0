"""Estimators that weigh the rounds: inverse propensities, the direct method, doubly robust."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.offline.estimators.intervals import LEVEL, Estimate, mean, widened


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
