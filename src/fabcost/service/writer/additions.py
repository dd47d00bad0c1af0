"""What is added to the counts that people look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.service.learning.follower import Learnt
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    DecisionRow,
    StoredDecision,
    TallyRow,
    record,
)
from fabcost.service.store.store import Store

#: Decisions that are written but not in the counts yet, with their entropies.
Uncounted = list[tuple[DecisionRow | StoredDecision, float | None]]
_OUTERMOST_BIN = 12
_MINUTE, _FINE = 60.0, 5.0
_YOUNG_SECONDS = 600.0


def width(at: float, created: float) -> float:
    """Seconds that are counted together: fewer in the first minutes of a model.

    Examples
    --------
    >>> width(90.0, created=70.0), width(700.0, created=70.0), width(50.0, created=70.0)
    (5.0, 60.0, 60.0)
    """
    age = at - math.floor(created / _MINUTE) * _MINUTE
    return _FINE if 0.0 <= age < _YOUNG_SECONDS else _MINUTE


class Additions:
    """What one transaction adds to the counts for people, by minute and arm, item, prediction.

    All of it goes to the minute in which the decision was made, or to a part of it while the model
    is young: ``created`` says since when there is one.
    """

    def __init__(
        self, created: Callable[[str], float], uncounted: Uncounted, dead: Sequence[int] = ()
    ) -> None:
        self._created = created
        self.has_decisions = False
        #: Servers that are gone, whose decisions are among those that were not counted.
        self.dead = dead
        self._sums: dict[tuple[str, float, str], list[float]] = {}
        self._tallies: dict[tuple[str, str], list[float]] = {}
        self._bins: dict[tuple[str, int], list[float]] = {}
        for row, entropy in uncounted:
            self.decision(row, entropy)

    def decision(self, row: DecisionRow | StoredDecision, entropy: float | None) -> None:
        """A decision was made."""
        self.has_decisions = True
        self._add(row, entropy, 1)

    def never_shown(self, row: StoredDecision) -> None:
        """A decision counts no longer."""
        self._add(row, recorded_entropy(row), -1)

    def outcome(self, row: StoredDecision, label: int, fraction: float | None) -> None:
        """It is known what became of a decision: a click or none, or so much of one."""
        clicked = label > 0
        reward = float(clicked) if fraction is None else fraction
        for sums in (self._minute(row), self._tally(row)):
            sums[1] += 1
            sums[2] += clicked
            sums[-2] += reward
            sums[-1] += reward * row.click_value - row.cost

    def predictions(self, outcomes: Sequence[tuple[StoredDecision, Learnt]], p: FloatArray) -> None:
        """How well what is now learnt had been predicted."""
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        reward = np.array([learnt.reward for _, learnt in outcomes])
        losses = -(reward * np.log(p) + (1.0 - reward) * np.log(1.0 - p))
        odds = np.clip(np.floor(np.log(p / (1.0 - p))), -_OUTERMOST_BIN, _OUTERMOST_BIN - 1)
        every = zip(outcomes, losses.tolist(), odds.astype(int).tolist(), p.tolist(), strict=True)
        for (each, learnt), loss, place, probability in every:
            minute = self._minute(each)
            minute[3] += loss
            minute[5] += probability
            sums = self._bins.setdefault((each.model, place), [0, 0.0, 0, 0.0])
            sums[0] += 1
            sums[1] += probability
            sums[2] += learnt.label > 0
            sums[3] += learnt.reward

    def write(self, store: Store) -> None:
        """Add everything to the database."""
        minutes = [
            CountRow(*key, int(n), int(seen), int(clicks), *sums)
            for key, (n, seen, clicks, *sums) in self._sums.items()
        ]
        bins = [
            CalibrationRow(*key, int(n), predicted, int(clicks), rewards)
            for key, (n, predicted, clicks, rewards) in self._bins.items()
        ]
        tallies = [
            TallyRow(*key, int(n), int(seen), int(clicks), *sums)
            for key, (n, seen, clicks, *sums) in self._tallies.items()
        ]
        store.counts.add(minutes, bins, tallies)

    def _add(self, row: DecisionRow | StoredDecision, entropy: float | None, by: int) -> None:
        sums = self._minute(row)
        sums[0] += by
        sums[4] += by * (entropy or 0.0)
        self._tally(row)[0] += by

    def _minute(self, row: DecisionRow | StoredDecision) -> list[float]:
        seconds = width(row.made, self._created(row.model))
        key = (row.model, math.floor(row.made / seconds) * seconds, row.arm)
        return self._sums.setdefault(key, [0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def _tally(self, row: DecisionRow | StoredDecision) -> list[float]:
        return self._tallies.setdefault((row.model, row.item), [0, 0, 0, 0.0, 0.0])


def recorded_entropy(row: StoredDecision) -> float | None:
    """That of the choice, as it was written down."""
    shares = None if row.arm == "imported" else record(row.record).all_propensities
    return None if shares is None else float(kernels.entropy(np.array(shares)))
