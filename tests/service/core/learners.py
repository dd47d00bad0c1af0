"""Learners of a log, made as nothing in the service does: by one that learns it all at once."""

from __future__ import annotations

from itertools import chain
from typing import Any

from fabcost.service.learning.follower import Learnt
from fabcost.service.learning.recovery import Recovery
from fabcost.service.learning.wide import AnyFollower


def impressions(recovery: Recovery, after: int, to: int) -> list[Learnt]:
    return list(chain.from_iterable(recovery.chunks(after, to)))


def replay(recovery: Recovery, follower: AnyFollower, *, after: int, to: int) -> None:
    for some in recovery.chunks(after, to):
        follower.learn(some)


def from_beginning(recovery: Recovery, head: int) -> Any:
    """One that reads the log up to its head, unstopped."""
    follower = recovery.first()
    replay(recovery, follower, after=0, to=head)
    return follower


def from_snapshot(recovery: Recovery, head: int) -> Any:
    """One that reads what comes after the newest snapshot."""
    follower, lsn = recovery.newest(head)
    replay(recovery, follower, after=lsn, to=head)
    return follower
