"""Decisions that wait in memory while the database is away."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice

from fabcost.service.ledger import Ledger
from fabcost.service.requests import Write

_MOST_AT_ONCE = 1024


class Backlog:
    """Decisions that were answered from memory, in their order.

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

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, write: Write) -> None:
        """Put a decision aside, if there is room."""
        # Later steps of a schema mean nothing without the earlier ones; they are few.
        if len(self._kept) < self._most or write.steps is not None:
            self._kept.append(write)
        else:
            self.lost += 1

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
