"""A learner of very many weights, and how it hands over what it has learnt."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.bandit.prospects import Belief
from fabcost.impressions import FloatArray
from fabcost.inference.wide.belief import WideChanges
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend.surprise import Surprise
from fabcost.service.learning.follower import (
    Collected,
    Follower,
    Learnt,
    Published,
    outcomes_of,
    predicted,
    sparse,
)
from fabcost.sparse import Columns


@dataclass(eq=False)
class WideFollower:
    """A `Follower` whose weights are all there from the start; ``touched`` are those it changed."""

    learner: WideFabCost
    touched: list[Columns] = field(default_factory=list)
    late: Surprise = field(default_factory=Surprise)
    #: Nothing is ever refreshed.
    work = 0

    def learn(self, impressions: Sequence[Learnt]) -> None:
        """Learn in order."""
        if impressions:
            weights = self.learner.posterior.dimension
            rows = sparse([each.impression for each in impressions], weights)
            remade, inherited = self.learner.remade, self.learner.inheritance
            times = [each.made for each in impressions]
            self.learner.observe_many(rows, outcomes_of(impressions), at=times)
            self.touched.append(rows.columns)
            if self.learner.remade != remade:
                told = () if inherited is None else (inherited.told.columns, inherited.told.places)
                self.touched += [self.learner.posterior.known, *told]

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """From which a snapshot goes on: 24 bytes for each weight that an outcome had."""
        settings, arrays = self.learner.state()
        short = {name: arrays[name].astype(np.int32) for name in ("known", "slots")}
        return settings, arrays | short

    def publisher(self, lsn: int) -> WidePublisher:
        """That hands over what it learns."""
        return WidePublisher(lsn, self)

    def provisional(self) -> WideFollower:
        """Never asked for: that is for refreshes."""
        raise RuntimeError("a wide belief is never refreshed")

    def copy(self) -> WideFollower:
        """One that is equal."""
        return WideFollower(WideFabCost.restored(*self.learner.state()))

    def predicted(self, belief: Belief, impressions: Sequence[Learnt]) -> FloatArray:
        """The click probability of each impression."""
        return predicted(belief, None, impressions)


class WidePublisher:
    """Hands over what has changed of a wide belief, which itself goes on changing.

    All that was not collected goes together, with the core as it is in the end.
    """

    def __init__(self, lsn: int, follower: WideFollower) -> None:
        self._lock = threading.Lock()
        self._follower = follower
        self._waiting: WideChanges | None = None
        follower.touched.append(follower.learner.posterior.known)
        self.latest = self.publish(lsn, 0, follower.learner)

    def publish(self, lsn: int, refreshes: int, learner: WideFabCost) -> Published:
        """Say what is known now; for the thread that learns."""
        belief, touched = learner.posterior, self._follower.touched
        published = Published(lsn, refreshes, belief, time.time())
        with self._lock:
            before = [] if self._waiting is None else [self._waiting.columns]
            columns = np.unique(np.concatenate([*before, *touched, _NOTHING]))
            self._waiting = belief.changes(columns)
            self.latest = published
        touched.clear()
        return published

    def collect(self) -> Collected:
        """Take what is new; for the one thread that decides."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
            return Collected(self.latest, () if waiting is None else (waiting,))


_NOTHING = np.empty(0, dtype=np.int64)
AnyFollower = Follower | WideFollower
