"""Decisions of long ago are deleted: what was learnt from them is in snapshots, exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import takewhile

from fabcost.service.learning.recovery import Keeper
from fabcost.service.store.rows import CountRow
from fabcost.service.store.store import ROWS_AT_ONCE, Store

_DAY = 86_400.0


class Retention:
    """Keeps decisions for ``seconds``, and for as long as a start may need them.

    For the thread that writes.  Impressions go only when two snapshots have learnt them, which hold
    all that a learner keeps; counts of minutes become those of days.
    """

    def __init__(self, keepers: Mapping[str, Keeper], seconds: float) -> None:
        self.seconds = seconds
        self._keepers = keepers
        # The last decision that was looked at, where a round is not at its end.
        self._after: dict[str, int] = {}

    def begin(self) -> None:
        """Have snapshots of now, which the next transaction writes."""
        self._after = dict.fromkeys(self._keepers, 0)
        for keeper in self._keepers.values():
            keeper.learning.pack()

    def go_on(self, store: Store, now: float) -> bool:
        """Delete some of one model within a transaction; whether there may be more."""
        for model, after in self._after.items():
            keeper = self._keepers.get(model)
            if keeper is not None and self._delete(store, model, keeper, after, now):
                return True
            if keeper is not None:
                fold_counts(store, model, now - self.seconds)
            del self._after[model]
            return bool(self._after)
        return False

    def _delete(self, store: Store, model: str, keeper: Keeper, after: int, now: float) -> bool:
        rows = store.history(model, after=after, limit=ROWS_AT_ONCE)
        old = list(takewhile(lambda row: row.made < now - self.seconds, rows))
        safe = keeper.learning.saved
        gone = [
            (row.model, row.decision)
            for row in old
            if row.resolved is not None and (row.lsn is None or row.lsn <= safe)
        ]
        store.delete_decisions(gone)
        store.delete_feedback(gone)
        if len(old) < ROWS_AT_ONCE:
            return False
        self._after[model] = old[-1].seq
        return True


def fold_counts(store: Store, model: str, before: float) -> None:
    """Make counts of minutes before a day those of whole days."""
    end = math.floor(before / _DAY) * _DAY
    rows = [row for row in store.counts.minutes(model, since=0.0) if row.start < end]
    if all(row.start % _DAY == 0.0 for row in rows):
        return
    store.counts.forget(model, end)
    days = [row._replace(start=math.floor(row.start / _DAY) * _DAY) for row in rows]
    store.counts.add(minutes=[CountRow(*row) for row in days])
