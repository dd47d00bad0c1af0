"""Learners of a log, made as nothing in the service does: by one that learns it all at once."""

from __future__ import annotations

from itertools import chain

from fabcost import FabCost
from fabcost.service.learning.learner import Learnt, learn
from fabcost.service.learning.recovery import Recovery
from fabcost.wire.settings import ModelSettings


def impressions(recovery: Recovery, after: int, to: int) -> list[Learnt]:
    return list(chain.from_iterable(recovery.chunks(after, to)))


def replay(
    recovery: Recovery, settings: ModelSettings, learner: FabCost, *, after: int, to: int
) -> None:
    for some in recovery.chunks(after, to):
        learn(learner, some, settings.prior_variance)


def from_beginning(recovery: Recovery, settings: ModelSettings, head: int) -> FabCost:
    """One that reads the log up to its head, unstopped."""
    learner = recovery.first()
    replay(recovery, settings, learner, after=0, to=head)
    return learner


def from_snapshot(recovery: Recovery, settings: ModelSettings, head: int) -> FabCost:
    """One that reads what comes after the newest snapshot."""
    learner, lsn = recovery.newest(head)
    replay(recovery, settings, learner, after=lsn, to=head)
    return learner
