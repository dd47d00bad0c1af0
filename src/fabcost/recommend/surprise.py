"""Whether outcomes of late surprise a model more than it expected to be surprised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.inference.saved.checks import real

#: Outcomes over which late losses are averaged, and before which none is judged.
LATE, FIRST = 500, 100
#: As improbable as five sds of a Gaussian: once in two million looks by chance.
_IMPROBABLE = 12.5
_SUMS = ("excess", "expected", "variance", "jump")


class Surprise:
    r"""Log losses of late beside those that the model itself expected.

    If the predicted probabilities p hold, a loss has the mean
    :math:`-p\log p - q\log q` and the variance :math:`pq\,(\log p/q)^2`, q = 1 − p.  Sums of the
    excess x and of the variance V forget in the same time; Bernstein's inequality,
    :math:`P(\text{excess} \ge x) \le \exp(-x^2/(2V + 2bx/3))` for jumps of at most b, also holds
    where clicks are rare.

    Attributes
    ----------
    excess, expected, variance, jump : float
        Late sums, and b.

    Examples
    --------
    >>> late = Surprise()
    >>> late.outcomes(np.full(50, 0.1), np.ones(50, dtype=bool))
    >>> late.is_improbable
    True
    """

    def __init__(self) -> None:
        self.excess = self.expected = self.variance = self.jump = 0.0

    def outcomes(self, probability: FloatArray, clicked: Any) -> None:
        """Predicted probabilities of a click, in order, and whether, or how much of it, came."""
        for p, came in zip(probability.tolist(), np.asarray(clicked).tolist(), strict=True):
            self.outcome(p, came)

    def outcome(self, p: float, came: float) -> None:
        """One of them."""
        stays = 1.0 - 1.0 / LATE
        click, miss = -_log(p), -_log(1.0 - p)
        mean = p * click + (1.0 - p) * miss
        self.excess = stays * self.excess + (came * click + (1.0 - came) * miss) - mean
        self.expected = stays * self.expected + mean
        self.variance = stays * stays * self.variance + p * (1.0 - p) * (click - miss) ** 2
        self.jump = max(stays * self.jump, click, miss)

    def __str__(self) -> str:
        times = 1.0 + self.excess / max(self.expected, 1e-9)
        return (
            f"the log loss of late is {times:.1f} times what "
            "the predictions themselves expect: the world changes and the model does not follow; "
            "give it a half-life"
        )

    @property
    def is_improbable(self) -> bool:
        """Whether losses are larger than chance makes them, and by a fifth at least."""
        if self.excess <= 0.2 * self.expected:
            return False
        spread = 2.0 * self.variance + 2.0 / 3.0 * self.jump * self.excess
        return self.excess * self.excess > _IMPROBABLE * spread

    def state(self) -> dict[str, float]:
        """Plain JSON from which `restored` goes on."""
        return {name: getattr(self, name) for name in _SUMS}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Surprise:
        """That whose `state` this is."""
        late = cls()
        for name in _SUMS if state else ():
            setattr(late, name, real(state, name))
        return late


def _log(p: float) -> float:
    """The logarithm of a probability, but for those that are nearly none."""
    return float(kernels.sum_of_logs(np.array([max(p, math.ulp(1.0))])))
