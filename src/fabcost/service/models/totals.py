"""Counts over a whole log, and what the bandit gains over the arm beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from fabcost.bandit.lift import Arm, imbalance, lift
from fabcost.service.store.rows import CountRow
from fabcost.service.store.store import Store
from fabcost.wire.messages import LiftView

_MINUTE = 60.0
_OLDEST_SECONDS = 60.0
_OTHERS = ("holdback", "baseline")


class Totals(NamedTuple):
    """Counts over the whole log, which take long when it is long."""

    feedback: dict[str, int]
    pending: int
    decisions: int
    outcomes: int
    clicks: float
    income: dict[str, float]
    lift: LiftView | None
    at: float
    seconds: float

    def is_fresh(self, now: float) -> bool:
        """Whether to use them again."""
        return is_fresh(self.at, self.seconds, now)


class Trial(NamedTuple):
    """How arms are compared: what is held back ``since`` when, and how long rewards may take."""

    held: float
    since: float
    wait: float


def count_all(store: Store, name: str, trial: Trial, now: float) -> Totals:
    """Counts of a model."""
    started = time.monotonic()
    feedback, pending = store.feedback_counts(name), store.pending(name)
    rows = store.counts.minutes(name, since=0.0)
    decisions, outcomes = sum(row.decisions for row in rows), sum(row.impressions for row in rows)
    clicks, gained = sum(row.rewards for row in rows), gain(rows, trial, now)
    income = dict.fromkeys((row.arm for row in rows), 0.0)
    for row in rows:
        income[row.arm] += row.income
    at = time.monotonic()
    return Totals(feedback, pending, decisions, outcomes, clicks, income, gained, at, at - started)


def is_fresh(at: float, seconds: float, now: float) -> bool:
    """Looking again may take a fiftieth of the time at most."""
    return now - at < min(50.0 * seconds, _OLDEST_SECONDS)


def gain(rows: Sequence[CountRow], trial: Trial, now: float) -> LiftView | None:
    """Of all minutes of a trial; None while there is nothing to compare."""
    known = settled([row for row in rows if row.start >= trial.since], trial.wait, now)
    ours = _arm(known, "bandit")
    for name in _OTHERS:
        theirs = _arm(known, name)
        if ours.impressions and theirs.impressions:
            return _view(name, ours, theirs, trial.held if name == "holdback" else 0.0)
    return None


def settled(rows: Sequence[CountRow], wait: float, now: float) -> list[CountRow]:
    """Counts of minutes whose wait is over, and of those after them up to the first that waits.

    A click is known at once, that there is none often only when the wait is over: of minutes that
    wait, those with clicks would be complete first.
    """
    minutes = [list(group) for _, group in groupby(rows, key=lambda row: row.start)]
    past = list(takewhile(lambda minute: minute[0].start + _MINUTE + wait <= now, minutes))
    early = [row for minute in takewhile(_is_known, minutes[len(past) :]) for row in minute]
    if all(row.rewards == row.impressions for row in early):
        early = []
    return [row for minute in past for row in minute] + early


def _is_known(minute: list[CountRow]) -> bool:
    return all(row.impressions >= row.decisions for row in minute)


def _arm(rows: Sequence[CountRow], name: str) -> Arm:
    ours = [row for row in rows if row.arm == name]
    return Arm(sum(row.rewards for row in ours), sum(row.impressions for row in ours))


def _view(name: str, ours: Arm, theirs: Arm, planned: float) -> LiftView:
    found = lift(ours, theirs)
    held, both = int(theirs.impressions), int(theirs.impressions + ours.impressions)
    value, low, high = found.gained(ours.clicks)
    return LiftView(
        over=name,
        impressions=int(ours.impressions),
        clicks=ours.clicks,
        impressions_beside=int(theirs.impressions),
        clicks_beside=theirs.clicks,
        level=found.level,
        value=_finite(found.value),
        low=found.low,
        high=_finite(found.high),
        verdict=found.verdict,
        gained=_finite(value),
        gained_low=_finite(low),
        gained_high=_finite(high),
        share=held / both,
        planned_share=planned or None,
        share_p=imbalance(held, both, planned) if 0.0 < planned < 1.0 else None,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
