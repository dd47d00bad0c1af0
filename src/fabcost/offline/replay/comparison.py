"""Policies of a replay beside one of them: at a few rounds, with intervals and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fabcost.offline.intervals import (
    LEVEL,
    Band,
    Verdict,
    average,
    difference,
    per_cent,
    verdict_of,
)
from fabcost.offline.logs.impressions import ReplayLog, Selection
from fabcost.offline.replay.runs import Replays, ReplaySettings, checkpoints

Line = tuple[str, str, str, str, str, Verdict | None]


@dataclass(frozen=True, eq=False)
class ReplayReport:
    """What was found on a log, and how."""

    log: ReplayLog  # as it was read
    settings: ReplaySettings
    # The features that were chosen, and the rows that this took; None if all are used.
    selection: Selection | None
    found: Replays

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features that were used."""
        if self.selection is None:
            return self.log.columns
        return tuple(self.log.columns[place] for place in self.selection.columns)

    @property
    def pool(self) -> int:
        """How many impressions could be shown."""
        return self.log.y.size - (0 if self.selection is None else self.selection.rows.size)

    @property
    def at_checkpoints(self) -> Replays:
        """The clicks at a few rounds."""
        return self.found.at(checkpoints(int(self.found.marks[-1])))

    @property
    def telling(self) -> int:
        """The last checkpoint at which something is left to show: after it all are equal."""
        marks = self.at_checkpoints.marks
        return int(marks[-1 if marks[-1] < self.pool or marks.size == 1 else -2])


def bands(found: Replays, name: str) -> tuple[Band, Band, Band]:
    """The mean of a policy, its difference to the baseline, and that in per cent."""
    ours, theirs = found.clicks[name], found.clicks[found.baseline]
    return average(ours), difference(ours, theirs), per_cent(ours, theirs)


def lines(found: Replays, name: str) -> Iterator[Line]:
    """A policy at each round: its name, the round, three numbers with intervals, the verdict."""
    own, beyond, share = bands(found, name)
    for place, rounds in enumerate(found.marks):
        first = name if place == 0 else ""
        numbers = _shown(own, place, ",")
        if name == found.baseline:
            yield first, f"{rounds:,}", numbers, "", "", None
        else:
            more = _shown(beyond, place, "+,"), _shown(share, place, "+,")
            yield first, f"{rounds:,}", numbers, *more, verdict_at(found, name, place)


def verdict_at(found: Replays, name: str, place: int) -> Verdict:
    """What the difference of a policy to the baseline says."""
    ours, theirs = found.clicks[name], found.clicks[found.baseline]
    numbers = (float(each[place]) for each in difference(ours, theirs))
    return verdict_of(*numbers, level=LEVEL, many=len(ours), unit="seeds")


def _shown(band: Band, place: int, form: str) -> str:
    mean, half = float(band.mean[place]), float(band.half[place])
    if math.isnan(mean):
        return "–"
    digits = 0 if half >= 10.0 else 1
    interval = "" if math.isnan(half) else f" ± {half:,.{digits}f}"
    return f"{mean:{form}.{digits}f}{interval}"


def curves(found: Replays, what: str) -> list[list[Any]]:
    """The rows of clicks.csv or income.csv, the heading first; what is not defined is empty."""
    rows: list[list[Any]] = [["round", "policy"]]
    for each in (what, "difference", "per_cent"):
        rows[0] += [each, f"{each}_low", f"{each}_high"]
    for name in found.clicks:
        numbers = np.array([each for band in bands(found, name) for each in band]).T
        for rounds, line in zip(found.marks, numbers, strict=True):
            rows.append([int(rounds), name, *("" if math.isnan(v) else f"{v:.6g}" for v in line)])
    return rows
