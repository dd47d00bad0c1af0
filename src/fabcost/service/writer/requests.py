"""What waits for the writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from fabcost.service.store.rows import DecisionRow, Key
from fabcost.service.store.store import Store
from fabcost.wire.messages import FeedbackStatus

#: Requests that share a transaction.
MOST_AT_ONCE = 1024


class Awaiting(Protocol):
    """Who waits for the writer: an `asyncio.Future`, or what can be told like one."""

    def done(self) -> bool:
        """Whether it was told already."""

    def set_result(self, result: Any, /) -> None:
        """What became of the request."""

    def set_exception(self, exception: Any, /) -> None:
        """Why nothing became of it."""


class Steps(NamedTuple):
    """How a schema grew: steps ``first``, ``first + 1``, … as JSON."""

    first: int
    steps: list[str]


class Write(NamedTuple):
    """A decision to be written.

    The answer is True when it is durable, False while it is kept in memory only, or the decision
    that had its id before.
    """

    row: DecisionRow
    steps: Steps | None
    entropy: float | None
    done: Awaiting


class Feed(NamedTuple):
    """Feedback about one decision; the answer is its status."""

    key: Key
    value: float
    repeat_key: str
    received: float
    done: asyncio.Future[FeedbackStatus]


class Activate(NamedTuple):
    """A deferred decision counts; the answer is whether it was waiting for that."""

    key: Key
    received: float
    done: asyncio.Future[bool]


class Expire(NamedTuple):
    """Decisions whose deadline has come; the answer is how many there were.

    Feedback that was parked before ``unpark`` is forgotten.
    """

    now: float
    unpark: float
    done: asyncio.Future[int]


class Count(NamedTuple):
    """Decisions that were written are counted, too; the answer is None."""

    done: asyncio.Future[None]


class Job(NamedTuple):
    """Anything else, in a transaction of its own; the answer is what it returns.

    ``then`` is told that when it is durable, before anything else is written.  It fails if the
    model that it is ``about`` is no more.
    """

    function: Callable[[Store], Any]
    done: asyncio.Future[Any]
    then: Callable[[Any], object] = id
    about: str | None = None


Request = Write | Feed | Activate | Expire | Count | Job
#: What became of requests: a result or an exception for each who waits.
Answers = list[tuple[Awaiting, Any]]
