"""Decisions, what became of them, and the log that the learners read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from fabcost.service.store.rows import AppliedRow, DecisionRow, Key, Resolution, StoredDecision
from fabcost.service.store.session import Session

KEY = ("model", "decision")
_PAGE = 10_000
_BEYOND = 2**63 - 1


class DecisionTables(Session):
    """Decisions and the log; the methods are those of the protocol."""

    def insert_decisions(self, rows: Sequence[DecisionRow]) -> set[Key]:
        """Insert those that are not there yet; the keys of those."""
        self._must_write()
        self._note(0.0, *(row.made for row in rows))
        keys = [(row.model, row.decision) for row in rows]
        # RETURNING would hand over row by row, each time waiting for the interpreter's lock.
        existing = self._run_batch("existing_decisions", KEY, keys)
        self._write_batch("insert_decisions", DecisionRow._fields, rows)
        return set(keys).difference(existing)

    def append_decisions(self, rows: Sequence[DecisionRow]) -> bool:
        """Insert decisions in a transaction of their own; whether all of them were new."""
        if not rows:
            return True
        inserted = self._append("append_decisions", DecisionRow._fields, rows)
        if inserted < len(rows):
            return False
        self._appended = max(self._appended, *(row.made for row in rows))
        return True

    def uncounted(self) -> list[StoredDecision]:
        """Decisions that were written since the last `mark_counted`."""
        return _stored(self._run("uncounted"))

    def mark_counted(self) -> None:
        """All decisions so far are in the counts."""
        self._write("mark_counted")

    def find_decisions(self, keys: Collection[Key]) -> dict[Key, StoredDecision]:
        """Those of the keys that are there."""
        found = _stored(self._run_batch("find_decisions", KEY, list(keys)))
        return {(row.model, row.decision): row for row in found}

    def activate(self, keys: Collection[Key]) -> int:
        """Make deferred decisions count; how many were not active and unresolved before."""
        return len(self._write_batch("activate", KEY, list(keys)))

    def resolve(self, rows: Sequence[Resolution]) -> int:
        """Set what became of decisions that are unresolved; how many were."""
        self._note(0.0, *(row.resolved for row in rows))
        return len(self._write_batch("resolve", Resolution._fields, rows))

    def due(self, now: float, limit: int, *, without: Collection[str] = ()) -> list[StoredDecision]:
        """Unresolved decisions whose deadline is at or before ``now``, the earliest first."""
        names = json.dumps(sorted(without))
        return _stored(self._run("due", now=now, limit=limit, without=names))

    def delete_decisions(self, keys: Collection[Key]) -> None:
        """Delete decisions of a model that is no more."""
        self._write_batch("delete_decisions", KEY, list(keys))

    def pending(self, model: str) -> int:
        """How many decisions are unresolved."""
        ((count,),) = self._run("pending", model=model)
        return int(count)

    def recent(self, model: str, *, limit: int, before: int | None) -> list[StoredDecision]:
        """The latest decisions, newest first, those with ``seq`` below ``before`` only."""
        below = _BEYOND if before is None else before
        return _stored(self._run("recent", model=model, before=below, limit=limit))

    def history(self, model: str, *, after: int, limit: int) -> list[StoredDecision]:
        """Decisions with ``seq`` above ``after``, oldest first."""
        return _stored(self._run("history", model=model, after=after, limit=limit))

    def log(self, model: str, *, after: int, to: int) -> Iterator[AppliedRow]:
        """Impressions with ``after`` < lsn ≤ ``to`` in order."""
        while rows := self._run("log", model=model, after=after, to=to, limit=_PAGE):
            yield from map(AppliedRow._make, rows)
            after = rows[-1][0]

    def put_snapshot(self, model: str, lsn: int, made: float, content: bytes) -> None:
        """Keep a learner's state; of the model's others only the one before stays."""
        self._write("put_snapshot", model=model, lsn=lsn, made=made, content=content)
        # Later ones could not be read: the learner would have gone on from there.
        self._write("drop_old_snapshots", model=model, lsn=lsn)

    def snapshot_numbers(self, model: str) -> list[int]:
        """The lsns of the snapshots, newest first."""
        return [lsn for (lsn,) in self._run("snapshot_numbers", model=model)]

    def snapshot(self, model: str, lsn: int) -> bytes:
        """One snapshot; a KeyError if there is none of that lsn."""
        for (content,) in self._run("snapshot", model=model, lsn=lsn):
            return bytes(content)
        raise KeyError(lsn)


def _stored(rows: list[tuple[Any, ...]]) -> list[StoredDecision]:
    # SQLite has no booleans.
    return [StoredDecision._make((*row[:6], bool(row[6]), bool(row[7]), *row[8:])) for row in rows]
