"""Counts for people: by minute and arm, by item, and of predictions against outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    DecisionRow,
    StoredDecision,
    TallyRow,
    record,
)
from fabcost.service.store.store import Store

_MINUTE = 60.0
_OUTERMOST_BIN = 12


class Additions:
    """Additions of one transaction, all of them to the minute in which the decision was made."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, float, str], list[float]] = {}
        self._tallies: dict[tuple[str, str], list[int]] = {}
        self._bins: dict[tuple[str, int], list[float]] = {}

    def decision(
        self, row: DecisionRow | StoredDecision, entropy: float | None, *, by: int = 1
    ) -> None:
        """A decision was made; or, by −1, was never shown and counts no longer."""
        sums = self._minute(row)
        sums[0] += by
        sums[4] += by * (entropy or 0.0)
        self._tally(row)[0] += by

    def outcome(self, row: StoredDecision, *, clicked: bool) -> None:
        """It is known what became of a decision."""
        sums, tally = self._minute(row), self._tally(row)
        sums[1] += 1
        sums[2] += clicked
        tally[1] += 1
        tally[2] += clicked

    def predictions(
        self, decisions: Sequence[StoredDecision], p: FloatArray, clicked: FloatArray
    ) -> None:
        """How well what is now learnt had been predicted."""
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        losses = -np.log(np.where(clicked > 0, p, 1.0 - p))
        odds = np.clip(np.floor(np.log(p / (1.0 - p))), -_OUTERMOST_BIN, _OUTERMOST_BIN - 1)
        every = zip(decisions, losses, odds.astype(int), p, clicked, strict=True)
        for each, loss, place, probability, click in every:
            self._minute(each)[3] += float(loss)
            sums = self._bins.setdefault((each.model, int(place)), [0, 0.0, 0])
            sums[0] += 1
            sums[1] += float(probability)
            sums[2] += click > 0

    def write(self, store: Store) -> None:
        """Add everything to the database."""
        minutes = [
            CountRow(*key, int(n), int(seen), int(clicks), loss, entropy)
            for key, (n, seen, clicks, loss, entropy) in self._sums.items()
        ]
        bins = [
            CalibrationRow(*key, int(n), predicted, int(clicks))
            for key, (n, predicted, clicks) in self._bins.items()
        ]
        tallies = [TallyRow(*key, *sums) for key, sums in self._tallies.items()]
        store.counts.add(minutes, bins, tallies)

    def _minute(self, row: DecisionRow | StoredDecision) -> list[float]:
        start = math.floor(row.made / _MINUTE) * _MINUTE
        return self._sums.setdefault((row.model, start, row.arm), [0, 0, 0, 0.0, 0.0])

    def _tally(self, row: DecisionRow | StoredDecision) -> list[int]:
        return self._tallies.setdefault((row.model, row.item), [0, 0, 0])


def recorded_entropy(row: StoredDecision) -> float | None:
    """That of the choice, as it was written down."""
    shares = None if row.arm == "imported" else record(row.record).all_propensities
    return None if shares is None else float(kernels.entropy(np.array(shares)))
