"""What a log can say of a policy, by its weights alone, and which estimator to read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.estimators import Estimate
from fabcost.offline.logs.rounds import Places

# Honest weights average 1 within this many standard errors: 6 in 100,000 policies would not.
_WEIGHT_ALARM = 4.0
# What is uncovered moves ips by at most its share: less than this is not worth a warning.
_UNCOVERED = 0.001
_ROUNDING, _WRITTEN = 1e-9, 1e-3  # of computed numbers, and of propensities in a file
#: How often the weights of a sound log are called unsound: that of four standard errors.
FALSE_ALARMS = 6e-5
#: Fewer effective rounds than these are too few for the central limit theorem of weights.
SMALL = 100.0
#: Weights are heavy if the effective rounds are at most this share of those used.
HEAVY = 0.1


@dataclass(frozen=True, eq=False)
class Support:
    """What the probabilities of all candidates say of a target's weights, before any was drawn.

    Examples
    --------
    >>> support = Support.empty(1)
    >>> support.fill(np.array([0]), np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.5, 0.0]))
    >>> support.share, support.largest
    (0.75, array([1.]))
    """

    # Each round: the target's probability of candidates that had a chance, the weight's mean.
    covered: FloatArray
    variance: FloatArray  # of the round's weight
    largest: FloatArray  # likewise
    decided: FloatArray  # that of all candidates: 0 where the only item it takes is none

    @classmethod
    def empty(cls, rounds: int) -> Support:
        """To be filled."""
        return cls(*np.zeros((4, rounds)))

    def fill(self, here: Places, shares: FloatArray, chances: FloatArray) -> None:
        """Rounds ``here`` have these probabilities under the target and in the log."""
        reached = chances > 0
        weights = shares[reached] / chances[reached]
        covered = float(shares[reached].sum())
        self.covered[here] = covered
        self.variance[here] = max(float(weights @ shares[reached]) - covered**2, 0.0)
        self.largest[here] = weights.max()
        self.decided[here] = shares.sum()

    @property
    def share(self) -> float:
        """How much of what the target chooses the log could have chosen."""
        return float(self.covered.mean())

    def leeway(self) -> float:
        """How far the mean weight may be from `share`: Bernstein's inequality.

        Weights are skewed.  Where small probabilities are rare, neither their sample's standard
        error nor the normal distribution says how far their mean strays.
        """
        n, tail = self.covered.size, math.log(2.0 / FALSE_ALARMS)
        spread = math.sqrt(2.0 * tail * float(self.variance.sum())) / n
        return spread + tail * float(self.largest.max()) / (3.0 * n)


@dataclass(frozen=True)
class Reach:
    """How far a log reaches to a policy: its mean weight, and its support where that is known.

    Examples
    --------
    >>> few = Estimate(1.0, 0.2, 0.6, 1.4, 0.95, effective_size=25.0, used=400)
    >>> reach = Reach(few)
    >>> reach.fits, reach.is_small, reach.is_heavy
    (True, True, True)
    """

    weight: Estimate  # 1, if propensities and candidates are right
    support: Support | None = None

    @property
    def fits(self) -> bool:
        """Whether the weights average what they should."""
        support, weight = self.support, self.weight
        leeway = _WEIGHT_ALARM * weight.standard_error if support is None else support.leeway()
        return abs(weight.value - self.expected) <= leeway + _WRITTEN

    @property
    def expected(self) -> float:
        """What the weights should average."""
        return 1.0 if self.support is None else self.support.share

    @property
    def undecided(self) -> float:
        """The share of the rounds in which the policy has no candidate."""
        return 0.0 if self.support is None else 1.0 - float(self.support.decided.mean())

    @property
    def is_same(self) -> bool:
        """Whether the policy chooses as the log did: all weights are 1."""
        weight = self.weight
        return abs(weight.value - 1.0) <= _WRITTEN and weight.standard_error <= _ROUNDING

    @property
    def is_partial(self) -> bool:
        """Whether the policy has no candidate in more than a few rounds."""
        return self.undecided > _UNCOVERED

    @property
    def is_small(self) -> bool:
        """Whether intervals are shorter than they say."""
        return self.weight.effective_size < SMALL

    @property
    def is_heavy(self) -> bool:
        """Whether few rounds carry most of the weight."""
        return self.is_small or self.weight.effective_size < HEAVY * self.weight.used

    def warnings(self, name: str) -> Iterator[str]:
        """Complaints about the policy of that name."""
        if not self.fits:
            yield (
                f"the weights of {name} average {self.weight.value:.3g} instead of "
                f"{self.expected:.3g}: the propensities or the candidates do not fit this log"
            )
        if self.is_partial:
            yield (
                f"{name} has no candidate in {self.undecided:.1%} of the rounds: only snips and "
                "replay, which are of the others, mean anything"
            )
        if self.support is not None:
            uncovered = 1.0 - self.undecided - self.support.share
            if uncovered > _UNCOVERED:
                yield (
                    f"{uncovered:.1%} of what {name} would choose had no chance in this log: "
                    "ips counts it as no reward, snips and replay leave it out, dr and dm take the "
                    "model's word for it; a floor above 0 gives every candidate a chance"
                )
        if self.is_small:
            yield (
                f"this log is worth only {self.weight.effective_size:,.0f} rounds of {name}'s own: "
                "intervals are too short, and no estimator helps; log more, or evaluate what is "
                "nearer to the logging policy"
            )


_WHY = {
    "dr": "right on average whatever its model, and steadier than ips where that is good",
    "sndr": "as dr, with weights that sum to the rounds",
    "snips": "the steadiest without a model",
    "shrunk": "few rounds carry most of the weight, and count less here",
    "ips": "right on average, and the only one asked for that is",
    "replay": "rounds as the policy would have had them",
}
_ORDER = ("dr", "snips", "sndr", "shrunk", "ips", "replay")
_HEAVY_ORDER = ("shrunk", "sndr", "snips", "dr", "ips", "replay")
_PARTIAL_ORDER = ("snips", "replay")
_SAME_ORDER = ("ips", "snips", *_ORDER)


class Advice(NamedTuple):
    """The estimator to read, if any, and why."""

    estimator: str | None
    why: str


def advised(asked: Sequence[str], reach: Reach | None) -> Advice:
    """The best of the estimators that were asked for; the policy learns if ``reach`` is None.

    Examples
    --------
    >>> advised(("replay",), None)
    Advice(estimator='replay', why='the only one for a policy that learns')
    """
    if reach is None:
        return Advice("replay", "the only one for a policy that learns")
    if not reach.fits:
        return Advice(None, "its weights do not fit this log")
    if reach.is_same:
        why = "the policy chooses as the log did, and has its mean"
        return _first(_SAME_ORDER, asked, dict.fromkeys(_SAME_ORDER, why))
    if reach.is_partial:
        why = "of the rounds in which the policy has a candidate"
        return _first(_PARTIAL_ORDER, asked, dict.fromkeys(_PARTIAL_ORDER, why))
    return _first(_HEAVY_ORDER if reach.is_heavy else _ORDER, asked, _WHY)


def _first(order: Sequence[str], asked: Sequence[str], why: dict[str, str]) -> Advice:
    for name in order:
        if name in asked:
            return Advice(name, why[name])
    return Advice(None, "none that was asked for can be relied on")
