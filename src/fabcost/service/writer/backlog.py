"""Decisions that were answered from memory, and wait for the database."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice

from fabcost.service.writer.journal import Ledger
from fabcost.service.writer.requests import Awaiting, Write

_MOST_AT_ONCE = 1024


class Backlog:
    """Decisions that were answered from memory: in the writer's queue, then here, in their order.

    Parameters
    ----------
    most
        How many are kept; those beyond are not written at all.
    tell
        Told of a decision that cannot be written.
    """

    def __init__(self, most: int, tell: Callable[[str], object]) -> None:
        self.lost = 0
        self._most = most
        self._tell = tell
        self._kept: deque[Write] = deque()
        # Changed by the loop and by the writer's thread, each time by a single operation.
        self._queued: set[Awaiting] = set()

    def __len__(self) -> int:
        return len(self._kept) + len(self._queued)

    def admit(self, write: Write) -> bool:
        """Count a decision that goes to the queue unheard; whether there is room for it."""
        if not self._has_room(write):
            return False
        self.queued(write.done)
        return True

    def queued(self, done: Awaiting) -> None:
        """Count a decision of the queue whose caller waits no longer."""
        self._queued.add(done)

    def heard(self, done: Awaiting) -> bool:
        """What became of a request is known; whether it was a decision that nobody waited for."""
        found = done in self._queued
        self._queued.discard(done)
        return found

    def keep(self, write: Write) -> None:
        """Put a decision aside, if there is room."""
        self._queued.discard(write.done)
        if self._has_room(write):
            self._kept.append(write)

    def _has_room(self, write: Write) -> bool:
        # Later steps of a schema mean nothing without the earlier ones; they are few.
        room = len(self) < self._most or write.steps is not None
        self.lost += not room
        return room

    def write(self, ledger: Ledger) -> None:
        """Write all; what is written when an error comes is not kept any longer."""
        most = _MOST_AT_ONCE
        while self._kept:
            group = list(islice(self._kept, most))
            try:
                ledger.transact([each for each in group if each.row.model in ledger.keepers])
            except ValueError as error:
                if most > 1:
                    most = 1
                    continue
                self._tell(f"a decision could not be written: {error}")
            for _ in group:
                self._kept.popleft()
