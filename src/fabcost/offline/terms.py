r"""Estimators as means of terms: :math:`a_i r_i + b_i` in round i, linear in its reward.

In this form every estimator has the same interval, and what it says can be compared with another
on the same rounds, and told in clicks or in income.  Replay keeps whole rounds instead, by their
weights or by a bandit's own choices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray, Tally
from fabcost.offline.intervals import Estimate, mean, widened

#: How far the shrinkage of weights is tried: over so many powers, from the median weight's square.
_SHRINKAGES = 25
_LARGEST_SHRINKAGE = 1e4


@dataclass(frozen=True, eq=False)
class RoundTerms:
    """An estimator's terms: slope · reward + rest in every round.

    Examples
    --------
    >>> two = RoundTerms(np.array([2.0, 0.0]), np.zeros(2), np.array([2.0, 0.0]))
    >>> two.estimate(np.array([1.0, 1.0]), 0.95).value
    1.0
    >>> two.beyond(ips_terms(np.ones(2))).estimate(np.array([1.0, 0.0]), 0.95).value
    0.5
    """

    slope: FloatArray
    rest: FloatArray
    weights: FloatArray  # the importance of each round
    bias: float = 0.0  # by which the interval is wider on either side

    def beyond(self, other: RoundTerms) -> RoundTerms:
        """The difference to another estimator, round by round."""
        return replace(self, slope=self.slope - other.slope, rest=self.rest - other.rest)

    def of_clicks(self, value: FloatArray, cost: FloatArray) -> RoundTerms:
        """The same in clicks, if rewards are value · click - cost."""
        rest = self.rest - self.slope * cost
        return replace(self, slope=self.slope * value, rest=rest)

    def estimate(self, reward: FloatArray, level: float) -> Estimate:
        """The mean of the terms, with its interval, also for few clicks."""
        found = mean(self.slope * reward + self.rest, self.weights, level)
        found = widened(found, self.rest, reward, self.slope / self.slope.size)
        return replace(found, low=found.low - self.bias, high=found.high + self.bias)


def ips_terms(w: FloatArray) -> RoundTerms:
    """Weighted rewards.

    Examples
    --------
    >>> ips_terms(np.array([2.0, 0.0])).slope
    array([2., 0.])
    """
    return RoundTerms(w, np.zeros_like(w), w)


def snips_terms(r: FloatArray, w: FloatArray) -> RoundTerms:
    """A weighted mean, linearised.

    Examples
    --------
    >>> snips_terms(np.array([1.0, 0.0]), np.array([3.0, 1.0])).rest
    array([-0.375,  0.375])
    """
    relative = w / w.mean()
    return RoundTerms(relative, float((w * r).sum() / w.sum()) * (1.0 - relative), w)


def direct_terms(v: FloatArray) -> RoundTerms:
    """What a model predicts.

    Examples
    --------
    >>> direct_terms(np.array([0.25, 0.75])).slope
    array([0., 0.])
    """
    return RoundTerms(np.zeros_like(v), v, np.ones_like(v))


def robust_terms(
    r: FloatArray, w: FloatArray, q: FloatArray, v: FloatArray, *, normalised: bool = False
) -> RoundTerms:
    """What a model predicts, and its weighted errors.

    Examples
    --------
    >>> r, w, half = np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.full(2, 0.5)
    >>> robust_terms(r, w, half, half).rest
    array([-0.5,  0.5])
    """
    correction = float((w * (r - q)).sum() / w.sum()) if normalised else 0.0
    relative = w / w.mean() if normalised else w
    return RoundTerms(relative, v + correction - relative * (q + correction), w)


def shrunk_terms(
    r: FloatArray, w: FloatArray, q: FloatArray, v: FloatArray, shrinkage: float | None = None
) -> RoundTerms:
    """`robust_terms` of shrunken weights; the ``shrinkage`` of least squared error if not given.

    Examples
    --------
    >>> r, w, half = np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.full(2, 0.5)
    >>> shrunk_terms(r, w, half, half, shrinkage=4.0).slope
    array([1., 0.])
    """
    if shrinkage is None:
        middle = float(np.median(w[w > 0])) ** 2
        powers = np.linspace(0.0, 1.0, _SHRINKAGES)
        tried = [math.inf, *(middle * _LARGEST_SHRINKAGE**powers)]
        # The first of equals: what need not be shrunken is not.
        return min((_shrunk(r, w, q, v, each) for each in tried), key=lambda t: _risk(t, r - q))
    if not shrinkage >= 0.0:
        raise ValueError(f"shrinkage is {shrinkage} but must be at least 0")
    return _shrunk(r, w, q, v, shrinkage)


def _shrunk(
    r: FloatArray, w: FloatArray, q: FloatArray, v: FloatArray, shrinkage: float
) -> RoundTerms:
    with np.errstate(divide="ignore", invalid="ignore"):
        less = np.where(w > 0, w / (1.0 + w * w / shrinkage), 0.0)
    missing = max(1.0 - float(less.mean()), 0.0) if math.isfinite(shrinkage) else 0.0
    return RoundTerms(less, v - less * q, w, missing * float(np.abs(r - q).mean()))


def _risk(terms: RoundTerms, error: FloatArray) -> float:
    """The squared error, by weights and the size of the model's errors, not by whose these are."""
    variance = float((terms.slope**2).mean() * (error**2).mean()) / error.size
    return variance + terms.bias**2


def weighted(
    reward: npt.ArrayLike, propensity: npt.ArrayLike, target: npt.ArrayLike, clip: float = math.inf
) -> tuple[FloatArray, FloatArray]:
    """Rewards and importance weights, checked.

    Examples
    --------
    >>> weighted([0, 1], [0.5, 0.25], [1.0, 0.5])
    (array([0., 1.]), array([2., 2.]))
    """
    r = as_finite(reward, "reward")
    p = as_finite(propensity, "propensity", r.size)
    e = as_finite(target, "target", r.size)
    for i in np.flatnonzero((p <= 0) | (p > 1))[:1]:
        raise ValueError(f"propensity[{i}] is {p[i]} but must lie in (0, 1]")
    for i in np.flatnonzero((e < 0) | (e > 1 + 1e-9))[:1]:
        raise ValueError(f"target[{i}] is {e[i]} but must lie in [0, 1]")
    if not clip > 0:
        raise ValueError(f"clip is {clip} but must be above zero")
    if not e.any():
        raise ValueError("the target takes none of the logged actions: this log says nothing of it")
    return r, np.minimum(e / p, clip)


def as_finite(values: npt.ArrayLike, name: str, size: int | None = None) -> FloatArray:
    """A vector of finite numbers, of that size.

    Examples
    --------
    >>> as_finite([1, 2], "reward")
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        expected = "a vector of at least one number" if size is None else f"of length {size}"
        raise ValueError(f"{name} has shape {array.shape} but must be {expected}")
    for i in np.flatnonzero(~np.isfinite(array))[:1]:
        raise ValueError(f"{name}[{i}] is {array[i]} but must be finite")
    return array


BoolArray = npt.NDArray[np.bool_]

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
    # What a click on each row is worth and what showing it costs, if rules are to know.
    values: FloatArray | None = None
    costs: FloatArray | None = None


def accepted(w: FloatArray, rng: np.random.Generator, largest: float | None = None) -> BoolArray:
    """Which rounds of weights ``w`` are kept, each with a probability in proportion to its weight.

    Examples
    --------
    >>> accepted(np.array([2.0, 0.0]), np.random.default_rng(0))
    array([ True, False])
    """
    most = float(w.max()) if largest is None else _bound(w, largest)
    return rng.random(w.size) * most < w


def agreed(
    bandit: Bandit,
    rounds: Iterable[LoggedRound],
    *,
    least_propensity: float,
    rng: np.random.Generator,
) -> Iterator[tuple[float, bool]]:
    """The reward of each round, and whether `learning_replay` keeps it and learns from it.

    Examples
    --------
    >>> import fabcost
    >>> bandit = Bandit(fabcost.FabCost(fabcost.Gaussian.isotropic(1)), seed=0)
    >>> log = [LoggedRound(np.array([[1.0]]), 0, 1.0, 0.5)] * 2
    >>> list(agreed(bandit, log, least_propensity=0.5, rng=np.random.default_rng(0)))
    [(1.0, True), (1.0, True)]
    """
    for logged in rounds:
        if not 0.0 < least_propensity <= logged.propensity:
            raise ValueError(
                f"least_propensity is {least_propensity} but must be above zero and at most "
                f"every propensity of the log, one of which is {logged.propensity}"
            )
        rows, place = logged.rows, logged.action
        choice = bandit.choose(rows, items=logged.items, values=logged.values, costs=logged.costs)
        is_kept = choice.index == place and rng.random() * logged.propensity < least_propensity
        if is_kept:
            item = None if logged.items is None else logged.items[place]
            came = logged.reward if logged.reward in (0.0, 1.0) else Tally(logged.reward, 1.0)
            bandit.learn(rows[place], came, item, weight=logged.weight)
        yield logged.reward, is_kept


def _bound(w: FloatArray, largest: float) -> float:
    if not 0.0 < largest < np.inf:
        raise ValueError(f"largest_weight is {largest} but must be above zero and finite")
    for i in np.flatnonzero(w > largest * (1.0 + _ROUNDING))[:1]:
        raise ValueError(
            f"weight[{i}] is {w[i]} but largest_weight is {largest}, which no weight may exceed"
        )
    return largest
