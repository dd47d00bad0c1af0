"""Whether the log could have chosen what a policy would choose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.logs.rounds import Places

#: How often the weights of a sound log are called unsound: that of four standard errors.
FALSE_ALARMS = 6e-5


@dataclass(frozen=True, eq=False)
class Support:
    """What the probabilities of all candidates say of a target's weights, before any was drawn.

    Attributes
    ----------
    covered
        For each round the target's probability of the candidates that had a chance: the mean of
        the round's weight.
    variance, largest
        Of the round's weight.
    decided
        The target's probability of all candidates: 0 where the only item it takes is none.

    Examples
    --------
    >>> support = Support.empty(1)
    >>> support.fill(np.array([0]), np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.5, 0.0]))
    >>> support.share, support.largest
    (0.75, array([1.]))
    """

    covered: FloatArray
    variance: FloatArray
    largest: FloatArray
    decided: FloatArray

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
