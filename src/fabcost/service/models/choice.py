"""Which item is shown, on whose behalf, and how likely each was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.bandit.bandit import Choice, choose
from fabcost.bandit.streams import Streams
from fabcost.features.folding import FoldedRows
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.wire.messages import Arm
from fabcost.wire.settings import DRAWS, ModelSettings


class Chosen(NamedTuple):
    """What was chosen, on whose behalf, and the probabilities that this had."""

    place: int
    arm: Arm
    choice: Choice | None
    propensities: FloatArray | None


class Chooser:
    """Chooses by the policy, the mode and the holdback of a model."""

    def __init__(self, settings: ModelSettings) -> None:
        self._mode = settings.mode
        self._holdback = settings.holdback
        self._floor = settings.floor
        self._policy = settings.policy.policy()
        self._draws = DRAWS[settings.propensities]
        self._streams = Streams(settings.seed)

    def choose(
        self,
        belief: Gaussian,
        rows: FoldedRows,
        *,
        decision: str,
        top_k: int,
        excluded: Sequence[int],
    ) -> Chosen:
        """One of the rows; the same decision id gives the same choice.

        With holdback ``h`` a row of ``n`` that has the probability ``p`` under the policy is
        shown with ``(1 − h) p + h / n``.
        """
        if self._mode in ("off", "logging-only"):
            return Chosen(_first(rows, excluded), "baseline", None, None)
        rng, allowed = self._streams.of(decision), len(rows) - len(excluded)
        choice = choose(
            belief,
            self._policy,
            rows,
            rng=rng,
            top_k=min(top_k, allowed),
            exclude=excluded,
            draws=self._draws,
            floor=self._floor,
        )
        if self._mode == "apprentice":
            return Chosen(_first(rows, excluded), "baseline", choice, None)
        if self._holdback == 0.0:
            return Chosen(choice.index, "bandit", choice, choice.propensities)
        shares = self._with_holdback(choice.propensities, excluded, allowed)
        if rng.random() >= self._holdback:
            return Chosen(choice.index, "bandit", choice, shares)
        places = np.delete(np.arange(len(choice.scores)), excluded)
        return Chosen(int(rng.choice(places)), "holdback", choice, shares)

    def _with_holdback(
        self, shares: FloatArray | None, excluded: Sequence[int], allowed: int
    ) -> FloatArray | None:
        if shares is None:
            return None
        among = np.ones(len(shares))
        among[list(excluded)] = 0.0
        return (1.0 - self._holdback) * shares + self._holdback * among / allowed


def _first(rows: FoldedRows, excluded: Sequence[int]) -> int:
    return next(place for place in range(len(rows)) if place not in excluded)
