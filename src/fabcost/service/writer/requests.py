"""What waits for the writer; and decisions and deletions that wait for the database."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, Protocol

from fabcost.service.store.rows import DecisionRow, Deletion, Key
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
    that had its id before.  Its columns are those of a schema that had grown ``reaches`` times,
    and had heard ``lineage`` times that it grew on another server.
    """

    row: DecisionRow
    steps: Steps | None
    entropy: float | None
    done: Awaiting
    reaches: int = 0
    lineage: int = 0


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
    model that it is ``about`` is no more.  The model that it ``settles`` is new, or has new
    settings, which are taken back if whoever asked was not told of them.
    """

    function: Callable[[Store], Any]
    done: asyncio.Future[Any]
    then: Callable[[Any], object] = id
    about: str | None = None
    settles: str | None = None


Request = Write | Feed | Activate | Expire | Count | Job
#: What became of requests: a result or an exception for each who waits.
Answers = list[tuple[Awaiting, Any]]


class Backlog:
    """Decisions that were answered from memory: in the writer's queue, then here, in their order.

    Those beyond the ``most`` that are kept are not written at all; ``lose`` is called for each.
    """

    def __init__(
        self, most: int, tell: Callable[[str], object], lose: Callable[[], object]
    ) -> None:
        self._most = most
        self._lose = lose
        self._tell = tell
        self._kept: deque[Write] = deque()
        #: Those of the queue; changed by the loop and by the thread, always by one operation.
        self.queued: set[Awaiting] = set()

    def __len__(self) -> int:
        return len(self._kept) + len(self.queued)

    def has_room(self, write: Write) -> bool:
        """Whether a decision is to be written; if not, it is lost."""
        # Later steps of a schema mean nothing without the earlier ones; they are few.
        room = len(self) < self._most or write.steps is not None
        if not room:
            self._lose()
        return room

    def keep(self, write: Write) -> None:
        """Put a decision aside, if there is room."""
        self.queued.discard(write.done)
        if self.has_room(write):
            self._kept.append(write)

    def write(self, transact: Callable[[list[Request]], object]) -> None:
        """Write all; what is written when an error comes is not kept any longer."""
        most = MOST_AT_ONCE
        while self._kept:
            group: list[Request] = list(islice(self._kept, most))
            try:
                transact(group)
            except ValueError as error:
                if most > 1:
                    most = 1
                    continue
                self._tell(f"a decision could not be written: {error}")
            for _ in group:
                self._kept.popleft()


class Deleted(NamedTuple):
    """A piece of a model, and where to go on if more is left."""

    model: str
    rest: Deletion | None


class Deletions:
    """Models that callers have no longer, and of which something is ``left`` in the database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.left: dict[str, Deletion] = {}
        self.look_again()

    def look_again(self) -> None:
        """Know of those that other servers deleted."""
        models, known = self._store.deleted_models(), self.left
        self.left = {model: known.get(model, Deletion(model)) for model in models}

    def begin(self, model: str) -> Deleted:
        """Mark a model as deleted, and delete the first of its rows."""
        self._store.mark_deleted(model)
        return Deleted(model, self._store.delete_piece(Deletion(model)))

    def go_on(self) -> Deleted | None:
        """Delete some more rows of a model that was deleted, if there is one."""
        for model, deletion in self.left.items():
            return Deleted(model, self._store.delete_piece(deletion))
        return None

    def end(self, piece: Deleted) -> None:
        """A piece is durable."""
        self.left.pop(piece.model, None)
        if piece.rest is not None:
            self.left[piece.model] = piece.rest
