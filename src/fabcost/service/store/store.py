"""What the service keeps in a database, and a thread beside the event loop that reads it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fabcost.service.store.connection import Connection, Found, connection_at
from fabcost.service.store.rows import (
    AppliedRow,
    DecisionRow,
    Deletion,
    FeedbackKey,
    FeedbackRow,
    ItemRow,
    Key,
    ModelRow,
    Resolution,
    StoredDecision,
)
from fabcost.service.store.session import CountTables, KeyTable, Session
from fabcost.wire.errors import AlreadyThereError, DatabaseError, TakenOverError, UnknownModelError

T = TypeVar("T")

#: Those whose rows are deleted in pieces, each with the least key there is.
_LARGE_TABLES: tuple[tuple[str, str | float], ...] = (
    *(("feedback", ""), ("decisions", ""), ("tallies", ""), ("items", "")),
    *(("past_items", -1), ("counts", -math.inf)),
)
#: Rows that one transaction deletes, or a few more.
ROWS_AT_ONCE = 1000
#: Feedback of one decision that is kept although it changes nothing.
KEPT_FEEDBACK = 100
_KEY = ("model", "decision")
_PAGE = 10_000
_BEYOND = 2**63 - 1


class Store:
    """One connection, used by one thread at a time.

    What is written must be written inside `transaction`; only API keys and appended decisions have
    their own.  Whatever the database refuses is a `StoreAwayError` (try again later; the
    transaction was rolled back or its outcome is unknown), a `TakenOverError` or a
    `DatabaseUnusableError`.
    """

    def __init__(self, connection: Connection) -> None:
        self.session = session = Session(connection)
        self.open = session.open
        self.reopen = session.reopen
        self.open_for_keys = session.open_for_keys
        self.close = connection.disconnect
        self.transaction = session.transaction
        self.append_decisions = session.append_decisions
        self.latest_time = session.latest_time
        self.reset_time = session.reset_time
        self._run, self._run_batch = session.run, session.run_batch
        self._write, self._write_batch = session.write, session.write_batch
        self.counts, self.keys = CountTables(session), KeyTable(session)
        #: Whether old impressions are deleted, so that snapshots must do without them.
        self.trims = False

    def waits_after(self, moment: float) -> bool:
        """Whether something that came after waits: a decision for its end, or early feedback."""
        return bool(self._run("waits_after", moment=moment))

    # Models

    def models(self) -> list[ModelRow]:
        """All models."""
        return [ModelRow(*row) for row in self._run("models")]

    def insert_model(self, row: ModelRow, base: bytes | None) -> None:
        """A new model, and the learner it starts from if it was imported."""
        self.session.note(row.created, row.edited)
        if not self._write("insert_model", **row._asdict(), base=base):
            raise AlreadyThereError(row.model)

    def model_base(self, model: str) -> bytes | None:
        """The learner the model started from, if it was imported."""
        rows = self._run("model_base", model=model)
        return rows[0][0] if rows else None

    def update_model(self, model: str, settings: str, edited: float) -> None:
        """Replace the settings; `UnknownModelError` if there is no such model."""
        self.session.note(edited)
        if not self._write("update_model", model=model, settings=settings, edited=edited):
            raise UnknownModelError(model)

    def delete_model(self, model: str) -> None:
        """Forget a model and everything that belongs to it, at once."""
        self._write("delete_model", model=model)

    def mark_deleted(self, model: str) -> None:
        """Have a model no longer; its rows are left to `delete_piece`."""
        self._write("mark_deleted", model=model)

    def deleted_models(self) -> list[str]:
        """Models that are marked, and of which something is left."""
        return [model for (model,) in self._run("deleted_models")]

    def delete_piece(self, deletion: Deletion) -> Deletion | None:
        """Delete about `ROWS_AT_ONCE` rows of a marked model; where to go on, if more are left."""
        deleted, (model, table, after) = 0, deletion
        while deleted < ROWS_AT_ONCE:
            if table == len(_LARGE_TABLES):
                self.delete_model(model)
                return None
            name, first = _LARGE_TABLES[table]
            # What PostgreSQL has deleted it reads again until it is vacuumed: so go on after it.
            given = {"model": model, "after": first if after is None else after}
            rows = self._write(f"delete_some_{name}", **given, limit=ROWS_AT_ONCE)
            more = len(rows) == ROWS_AT_ONCE
            table, after = (table, max(key for (key,) in rows)) if more else (table + 1, None)
            deleted += len(rows)
        return Deletion(model, table, after)

    def advance(self, model: str, *, head: int, to: int) -> None:
        """Compare and swap ``head_lsn``; `TakenOverError` if it is not ``head``."""
        if not self._write("advance", model=model, head=head, to=to):
            raise TakenOverError(f"the log of model {model!r} does not end at {head} any more")

    def insert_steps(self, model: str, first: int, steps: Sequence[str]) -> None:
        """Steps ``first``, ``first + 1``, … of a schema as JSON; those that are there stay."""
        rows = [(model, first + place, step) for place, step in enumerate(steps)]
        self._write_batch("insert_steps", ("model", "seq", "step"), rows)

    def steps(self, model: str) -> list[str]:
        """All steps by which a schema grew, in order."""
        return [step for (step,) in self._run("steps", model=model)]

    def steps_since(self, known: Mapping[str, int]) -> dict[str, list[str]]:
        """Steps of schemas after those that are known of each, where there are any."""
        found: dict[str, list[str]] = {}
        for model, step in self._run_batch("steps_since", ("model", "seq"), list(known.items())):
            found.setdefault(model, []).append(step)
        return found

    # Catalogues

    def catalogue_version(self, model: str) -> int:
        """The latest."""
        ((version,),) = self._run("catalogue_version", model=model)
        return int(version)

    def put_items(self, model: str, version: int, items: Sequence[ItemRow]) -> None:
        """Add or replace items (a replaced item keeps its place) and set the version."""
        latest = {row.item: row.features for row in items}
        ((last,),) = self._run("last_place", model=model)
        rows = [
            (model, item, last + k, features, version)
            for k, (item, features) in enumerate(latest.items(), 1)
        ]
        self._write_batch("put_items", ("model", "item", "rank", "features", "since"), rows)
        self._write("set_catalogue_version", model=model, version=version)

    def delete_items(self, model: str, version: int, items: Collection[str]) -> None:
        """Remove items and set the version; which versions had them stays known."""
        past = [(model, item, version) for item in items]
        self._write_batch("keep_past_items", ("model", "item", "until"), past)
        self._write_batch("delete_items", ("model", "item"), [(model, item) for item in items])
        self._write("set_catalogue_version", model=model, version=version)

    def items(self, model: str) -> list[ItemRow]:
        """All items in the order of their first coming."""
        return [ItemRow(*row) for row in self._run("items", model=model)]

    def listed_items(self, model: str, version: int) -> list[str]:
        """The ids that a version of the catalogue had, if it was made since version 6."""
        return [item for (item,) in self._run("listed_items", model=model, version=version)]

    # Decisions

    def insert_decisions(self, rows: Sequence[DecisionRow]) -> set[Key]:
        """Insert those that are not there yet; the keys of those."""
        self.session.must_write()
        self.session.note(*(row.made for row in rows))
        keys = [(row.model, row.decision) for row in rows]
        # RETURNING would hand over row by row, each time waiting for the interpreter's lock.
        existing = self._run_batch("existing_decisions", _KEY, keys)
        own = [(*row, self.session.number) for row in rows]
        self._write_batch("insert_decisions", (*DecisionRow._fields, "writer"), own)
        return set(keys).difference(existing)

    def uncounted(self, dead: Sequence[int] = ()) -> list[StoredDecision]:
        """Decisions since the last `mark_counted`, in order: own ones, and those of the dead."""
        return _stored(self._run("uncounted", numbers=json.dumps([self.session.number, *dead])))

    def mark_counted(self, dead: Sequence[int] = ()) -> None:
        """Note that all decisions so far are in the counts: own ones, and those of the dead."""
        numbers = json.dumps([self.session.number, *dead])
        self._write("mark_counted", numbers=numbers)
        if dead:
            self._write("forget_replicas", numbers=numbers)

    def find_decisions(self, keys: Collection[Key]) -> dict[Key, StoredDecision]:
        """Those of the keys that are there."""
        found = _stored(self._run_batch("find_decisions", _KEY, list(keys)))
        return {(row.model, row.decision): row for row in found}

    def activate(self, keys: Collection[Key]) -> int:
        """Make deferred decisions count; how many were not active and unresolved before."""
        return len(self._write_batch("activate", _KEY, list(keys)))

    def resolve(self, rows: Sequence[Resolution]) -> int:
        """Set what became of decisions that are unresolved; how many were."""
        self.session.note(*(row.resolved for row in rows))
        return len(self._write_batch("resolve", Resolution._fields, rows))

    def due(self, now: float, limit: int, *, without: Collection[str] = ()) -> list[StoredDecision]:
        """Unresolved decisions whose deadline has come, the earliest first, ``without`` models."""
        return _stored(self._run("due", now=now, limit=limit, without=json.dumps(sorted(without))))

    def delete_decisions(self, keys: Collection[Key]) -> None:
        """Delete decisions of a model that is no more, or of long ago."""
        self._write_batch("delete_decisions", _KEY, list(keys))

    def delete_feedback(self, keys: Collection[Key]) -> None:
        """Delete all feedback of decisions."""
        self._write_batch("delete_feedback", _KEY, list(keys))

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

    # The log, and its cache

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

    # Feedback

    def insert_feedback(self, rows: Sequence[FeedbackRow]) -> None:
        """Insert those whose (model, decision, key) is not there yet."""
        self.session.note(*(row.received for row in rows))
        self._write_batch("insert_feedback", FeedbackRow._fields, rows)

    def find_feedback(self, keys: Collection[Key]) -> list[FeedbackRow]:
        """All feedback of these decisions, in the order received."""
        rows = self._run_batch("find_feedback", _KEY, list(dict.fromkeys(keys)))
        return [FeedbackRow(*row) for row in rows]

    def set_feedback_status(self, rows: Sequence[FeedbackRow]) -> None:
        """Give these rows their status, if they are parked."""
        settled = [(row.model, row.decision, row.key, row.status) for row in rows]
        self._write_batch("set_feedback_status", (*_KEY, "key", "status"), settled)

    def answered(self, keys: Collection[FeedbackKey]) -> dict[FeedbackKey, tuple[str, float]]:
        """How feedback of these keys was answered, and its value, where it is there."""
        rows = self._run_batch("answered", (*_KEY, "key"), list(dict.fromkeys(keys)))
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows}

    def kept_feedback(self, keys: Collection[Key]) -> dict[Key, int]:
        """How much feedback each decision has, `KEPT_FEEDBACK` if it is more."""
        rows = self._run_batch("kept_feedback", _KEY, list(dict.fromkeys(keys)))
        return {(model, decision): int(count) for model, decision, count in rows}

    def drop_parked(self, before: float) -> set[Key]:
        """Forget parked feedback that was received before; the decisions with none left."""
        rows = self._write("drop_parked", before=before)
        dropped: set[Key] = {(model, decision) for model, decision in rows}
        return dropped.difference(self._run_batch("still_parked", _KEY, list(dropped)))

    def parked(self) -> set[Key]:
        """The decisions for which feedback is parked."""
        return {(model, decision) for model, decision in self._run("parked")}

    def feedback_counts(self, model: str) -> dict[str, int]:
        """How much feedback was answered with each status."""
        return {status: int(count) for status, count in self._run("feedback_counts", model=model)}


def _stored(rows: Found) -> list[StoredDecision]:
    # SQLite has no booleans.
    return [StoredDecision._make((*row[:6], bool(row[6]), bool(row[7]), *row[8:])) for row in rows]


def store_at(address: str) -> Store:
    """The store at ``sqlite:///path``, at a bare path, or at ``postgresql://…``; not yet open.

    As usual, ``sqlite:///news.db`` is a path relative to the working directory and
    ``sqlite:////var/news.db`` an absolute one.  PostgreSQL may be given by keywords and values:
    ``host=db dbname=news``.
    """
    return Store(connection_at(address))


class StoreThread:
    """A connection and the thread that uses it, asked one after the other."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, name)

    @classmethod
    async def start(cls, store: Store, name: str) -> StoreThread:
        """Open a store, and have a thread for it."""
        await asyncio.to_thread(store.open, take_over=False)
        return cls(store, name)

    async def ask(self, function: Callable[[Store], T]) -> T:
        """What the function finds; it is tried again on a new connection if this one broke."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._now, function)

    def close(self) -> None:
        """End the thread and the connection."""
        self._thread.shutdown()
        self._store.close()

    def _now(self, function: Callable[[Store], T]) -> T:
        try:
            return function(self._store)
        except DatabaseError:
            self._store.reopen()
            return function(self._store)
