"""What counts over a whole log and its end tell: what the bandit gains, and what is wrong.

Nothing is done for it when a decision is made, and a restart finds the same.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

import msgspec
import numpy as np

from fabcost.bandit.lift import Arm, imbalance, lift
from fabcost.bandit.prospects import Belief
from fabcost.impressions import FloatArray
from fabcost.inference.own.directory import OwnLaw
from fabcost.inference.wide.belief import WideGaussian
from fabcost.recommend.alarms import Watch
from fabcost.service.learning.follower import Learnt, log_odds
from fabcost.service.learning.recovery import learnt_of
from fabcost.service.models.model import Model
from fabcost.service.store.rows import CountRow, Impression
from fabcost.service.store.store import Store
from fabcost.service.writer.journal import width
from fabcost.wire.statistics import Foretold, LiftView

_MINUTE = 60.0
_OTHERS = ("holdback", "baseline")


class Totals(NamedTuple):
    """Counts over the whole log, which take long when it is long.

    Those ``before`` a moment do not change, so that ``decisions`` can be told together with later
    ones; ``foretold`` are the predictions of each arm beside what came of them.
    """

    feedback: dict[str, int]
    pending: int
    decisions: int
    outcomes: int
    clicks: float
    income: dict[str, float]
    lift: LiftView | None
    foretold: dict[str, Foretold]
    before: float
    decisions_before: int

    def decisions_with(self, rows: Sequence[CountRow]) -> int:
        """All decisions, the latest as in ``rows``."""
        return self.decisions_before + _decisions(r for r in rows if r.start >= self.before)


class Trial(NamedTuple):
    """How arms are compared: what is held back ``since`` when, and how long rewards may take."""

    held: float
    since: float
    wait: float
    created: float = 0.0


def count_all(store: Store, name: str, trial: Trial, now: float) -> Totals:
    """Counts of a model."""
    feedback, pending = store.feedback_counts(name), store.pending(name)
    rows = store.counts.minutes(name, since=0.0)
    income = dict.fromkeys((row.arm for row in rows), 0.0)
    for row in rows:
        income[row.arm] += row.income
    before = math.floor(max((row.start for row in rows), default=0.0) / _MINUTE) * _MINUTE
    return Totals(
        feedback=feedback,
        pending=pending,
        decisions=_decisions(rows),
        outcomes=sum(row.impressions for row in rows),
        clicks=sum(row.rewards for row in rows),
        income=income,
        lift=gain(rows, trial, now),
        foretold=foretold(settled(rows, trial, now)),
        before=before,
        decisions_before=_decisions(row for row in rows if row.start < before),
    )


def _decisions(rows: Iterable[CountRow]) -> int:
    return sum(row.decisions for row in rows)


def foretold(rows: Sequence[CountRow]) -> dict[str, Foretold]:
    """By arm, the predictions beside what came; rows from before they were counted have none."""
    arms = {row.arm: [each for each in rows if each.arm == row.arm] for row in rows}
    return {
        arm: Foretold(
            impressions=sum(row.impressions for row in told),
            predicted=sum(row.predicted for row in told),
            rewards=sum(row.rewards for row in told),
        )
        for arm, ours in arms.items()
        if (told := [row for row in ours if row.predicted > 0.0])
    }


def gain(rows: Sequence[CountRow], trial: Trial, now: float) -> LiftView | None:
    """Of all minutes of a trial; None while there is nothing to compare."""
    known = settled([row for row in rows if row.start >= trial.since], trial, now)
    ours = _arm(known, "bandit")
    for name in _OTHERS:
        theirs = _arm(known, name)
        if ours.impressions and theirs.impressions:
            return _view(name, ours, theirs, trial.held if name == "holdback" else 0.0)
    return None


def settled(rows: Sequence[CountRow], trial: Trial, now: float) -> list[CountRow]:
    """Counts whose wait is over, and of minutes after them up to the first that waits.

    A click is known at once, that there is none often only when the wait is over: of minutes that
    wait, those with clicks would be complete first.
    """
    past = list(takewhile(lambda row: _end(row, trial) <= now, rows))
    minutes = groupby(rows[len(past) :], key=lambda row: math.floor(row.start / _MINUTE))
    early: list[CountRow] = []
    for minute in (list(each) for _, each in minutes):
        if any(row.impressions < row.decisions for row in minute):
            break
        early += minute
    if all(row.rewards == row.impressions for row in early):
        early = []
    return past + early


def _end(row: CountRow, trial: Trial) -> float:
    """When all outcomes of a row are known."""
    return row.start + width(row.start, trial.created) + trial.wait


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


_LATEST = 1000
#: Outcomes are predicted again by so many multiplications in all, but never fewer than a few.
_MULTIPLICATIONS, _FEWEST = 20_000_000, 100
_IN_TIME = ("applied", "recorded", "ignored")


class Tail(NamedTuple):
    """The latest outcomes of a log, and how many of them, from the end, are predicted again."""

    learnt: list[Learnt]
    predicted: int

    @classmethod
    def read(cls, store: Store, of: Model, head: int) -> Tail:
        """That of a model whose log ends at ``head``."""
        learnt = []
        for row in store.log(of.name, after=max(head - _LATEST, 0), to=head):
            # One that cannot be read is told of when the log is learnt again.
            with contextlib.suppress(msgspec.MsgspecError):
                learnt.append(learnt_of(row, of.settings))
        many = max(_FEWEST, _MULTIPLICATIONS // of.schema.width**2)
        return cls(learnt, min(len(learnt), many))

    @property
    def latest(self) -> list[Learnt]:
        """Those that are predicted again."""
        return self.learnt[len(self.learnt) - self.predicted :]

    def watch(self, belief: Belief, law: OwnLaw | None) -> Watch:
        """What it tells, by what is believed now; ``law`` is that of the latest items."""
        watch, rows = Watch(), [each.impression for each in self.learnt]
        for row in rows:
            watch.decided(alike=row.alike)
        if rows:
            if not isinstance(belief, WideGaussian):  # columns of which have names
                watch.saw(*_bounds(rows, belief.dimension), len(rows))
            odds = log_odds(belief, law, [each.impression for each in self.latest])
            rewards = np.array([each.reward for each in self.latest])
            watch.foretold(*odds, float(rewards.sum()))
        return watch


def count_outcomes(watch: Watch, outcomes: int, clicks: float, feedback: Mapping[str, int]) -> None:
    """Tell a watch of all outcomes of a model, and of all feedback by what became of it."""
    in_time = sum(feedback.get(status, 0) for status in _IN_TIME)
    watch.counted(outcomes, clicks, expired=max(outcomes - in_time, 0))
    watch.late = feedback.get("late", 0)


def _bounds(rows: Sequence[Impression], width: int) -> tuple[FloatArray, FloatArray]:
    """The least and the largest number of each column; what a row does not have is zero."""
    smallest, largest = np.full(width, np.inf), np.full(width, -np.inf)
    columns = np.array([place for row in rows for place in row.columns], dtype=np.intp)
    numbers = np.array([number for row in rows for number in row.numbers])
    np.minimum.at(smallest, columns, numbers)
    np.maximum.at(largest, columns, numbers)
    somewhere_zero = np.bincount(columns, minlength=width) < len(rows)
    smallest[somewhere_zero] = np.minimum(smallest[somewhere_zero], 0.0)
    largest[somewhere_zero] = np.maximum(largest[somewhere_zero], 0.0)
    return smallest, largest
