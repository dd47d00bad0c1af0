"""Counts for people: by minute and arm, by item, and of predictions against outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.service.store.record import record
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    DecisionRow,
    StoredDecision,
    TallyRow,
)
from fabcost.service.store.store import Store

_MINUTE = 60.0
_OUTERMOST_BIN = 12


class Counts:
    """Additions of one transaction, all of them to the minute in which the decision was made.

    Examples
    --------
    >>> counts = Counts()
    >>> counts.outcome("news", "ad-1", "bandit", made=65.0, clicked=True)
    >>> counts.rows()[0].start, counts.rows()[0].clicks
    (60.0, 1)
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, float, str], list[float]] = {}
        self._tallies: dict[tuple[str, str], list[int]] = {}
        self._bins: dict[tuple[str, int], list[float]] = {}

    def __bool__(self) -> bool:
        return bool(self._sums or self._tallies or self._bins)

    def add(self, other: Counts) -> None:
        """All that the other counted, too."""
        for mine, theirs in (
            (self._sums, other._sums),
            (self._tallies, other._tallies),
            (self._bins, other._bins),
        ):
            _add(mine, theirs)

    def forget(self, model: str) -> None:
        """Nothing of a model."""
        for sums in (self._sums, self._tallies, self._bins):
            _drop(sums, model)

    def decision(self, row: DecisionRow | StoredDecision, entropy: float | None) -> None:
        """A decision was made."""
        sums = self._minute(row.model, row.made, row.arm)
        sums[0] += 1
        sums[4] += entropy or 0.0
        self._tally(row.model, row.item)[0] += 1

    def discarded(self, row: StoredDecision) -> None:
        """A decision was never shown, and counts no longer."""
        sums = self._minute(row.model, row.made, row.arm)
        sums[0] -= 1
        sums[4] -= _recorded_entropy(row) or 0.0
        self._tally(row.model, row.item)[0] -= 1

    def outcome(self, model: str, item: str, arm: str, *, made: float, clicked: bool) -> None:
        """It is known what became of a decision."""
        sums, tally = self._minute(model, made, arm), self._tally(model, item)
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
            self._minute(each.model, each.made, each.arm)[3] += float(loss)
            sums = self._bins.setdefault((each.model, int(place)), [0, 0.0, 0])
            sums[0] += 1
            sums[1] += float(probability)
            sums[2] += click > 0

    def rows(self) -> list[CountRow]:
        """Additions by minute and arm."""
        return [
            CountRow(*key, int(n), int(seen), int(clicks), loss, entropy)
            for key, (n, seen, clicks, loss, entropy) in self._sums.items()
        ]

    def write(self, store: Store) -> None:
        """Add everything to the database."""
        if self._sums:
            store.counts.add_minutes(self.rows())
        if self._tallies:
            store.counts.add_tallies([TallyRow(*key, *sums) for key, sums in self._tallies.items()])
        if self._bins:
            store.counts.add_calibration(
                [
                    CalibrationRow(*key, int(n), predicted, int(clicks))
                    for key, (n, predicted, clicks) in self._bins.items()
                ]
            )

    def _minute(self, model: str, made: float, arm: str) -> list[float]:
        start = math.floor(made / _MINUTE) * _MINUTE
        return self._sums.setdefault((model, start, arm), [0, 0, 0, 0.0, 0.0])

    def _tally(self, model: str, item: str) -> list[int]:
        return self._tallies.setdefault((model, item), [0, 0, 0])


def recounted(decisions: Iterable[StoredDecision]) -> Counts:
    """The counts of decisions that were written but not counted yet."""
    counts = Counts()
    for each in decisions:
        counts.decision(each, _recorded_entropy(each))
    return counts


def _recorded_entropy(row: StoredDecision) -> float | None:
    shares = None if row.arm == "imported" else record(row.record).all_propensities
    return None if shares is None else entropy(np.array(shares))


def entropy(shares: FloatArray) -> float:
    """The entropy of a choice in nats.

    Examples
    --------
    >>> entropy(np.array([0.5, 0.5, 0.0])) == math.log(2)
    True
    """
    return float(kernels.entropy(shares))


def _drop(sums: dict[Any, list[Any]], model: str) -> None:
    for key in [key for key in sums if key[0] == model]:
        del sums[key]


def _add(mine: dict[Any, list[Any]], theirs: Mapping[Any, list[Any]]) -> None:
    for key, sums in theirs.items():
        before = mine.get(key)
        mine[key] = (
            list(sums) if before is None else [a + b for a, b in zip(before, sums, strict=True)]
        )
