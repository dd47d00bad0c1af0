"""What is wrong with a model's data, found from the end of its log and from its counts.

Nothing is done for it when a decision is made, and a restart finds the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from fabcost.bandit.prospects import Belief
from fabcost.impressions import FloatArray
from fabcost.inference.own.directory import OwnLaw
from fabcost.inference.wide.belief import WideGaussian
from fabcost.recommend.alarms import Watch
from fabcost.recommend.surprise import FIRST
from fabcost.service.learning.follower import Learnt, log_odds
from fabcost.service.learning.recovery import learnt_of
from fabcost.service.models.model import Model
from fabcost.service.store.rows import Impression
from fabcost.service.store.store import Store

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
            p = watch.foretold(*odds, float(rewards.sum()))
            if len(self.learnt) > FIRST:
                watch.late_losses.outcomes(p, rewards)
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
