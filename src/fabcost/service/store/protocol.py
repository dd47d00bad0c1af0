"""What the service asks of a database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from fabcost.service.store.rows import (
    AppliedRow,
    CalibrationRow,
    CountRow,
    DecisionRow,
    Deletion,
    FeedbackKey,
    FeedbackRow,
    ItemRow,
    Key,
    KeyRow,
    ModelRow,
    Resolution,
    StoredDecision,
    TallyRow,
)


class Store(Protocol):
    """One connection, used by one thread at a time.

    Whatever the database refuses is a `StoreAwayError` (try again later; the transaction was rolled
    back or its outcome is unknown), a `TakenOverError` or a `DatabaseUnusableError`.
    """

    def open(self, *, take_over: bool) -> None:
        """Connect and migrate.

        With ``take_over`` begin a new epoch: any other server finds `TakenOverError` at its next
        transaction.  Without it the connection may only read, and may write API keys.
        """
        ...

    def open_for_keys(self, *, write: bool, make: bool = False) -> None:
        """Connect for API keys alone, next to a server of this version or an earlier one.

        No table is changed, but with ``make`` an empty database gets its tables.  `write` needs the
        newest version.
        """
        ...

    def close(self) -> None:
        """End the connection; closing twice is harmless."""
        ...

    def reopen(self) -> None:
        """Connect again after `StoreAwayError`, in the same epoch.

        `TakenOverError` if the database lacks what was written: it was replaced.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, durable when it ends; `TakenOverError` if the database is not ours."""
        ...

    # Time

    def latest_time(self) -> float:
        """The latest time that was written, 0.0 for a new database."""
        ...

    def waits_after(self, moment: float) -> bool:
        """Whether something that came after waits: a decision for its end, or early feedback."""
        ...

    def reset_time(self, moment: float) -> None:
        """Take a moment for the latest time that was written."""
        ...

    # Models

    def models(self) -> list[ModelRow]:
        """All models."""
        ...

    def insert_model(self, row: ModelRow, base: bytes | None) -> None:
        """A new model; ``base`` is the learner it starts from, if it was imported."""
        ...

    def model_base(self, model: str) -> bytes | None:
        """The learner the model started from, if it was imported."""
        ...

    def update_model(self, model: str, settings: str, edited: float) -> None:
        """Replace the settings."""
        ...

    def delete_model(self, model: str) -> None:
        """Forget a model and everything that belongs to it, at once."""
        ...

    def mark_deleted(self, model: str) -> None:
        """Have a model no longer; its rows are left to `delete_piece`."""
        ...

    def deleted_models(self) -> list[str]:
        """Models that are marked, and of which something is left."""
        ...

    def delete_piece(self, deletion: Deletion) -> Deletion | None:
        """Delete some rows of a marked model; where to go on, if more are left."""
        ...

    def advance(self, model: str, *, head: int, to: int) -> None:
        """Compare and swap ``head_lsn``; `TakenOverError` if it is not ``head``."""
        ...

    # How open schemas grew

    def insert_steps(self, model: str, first: int, steps: Sequence[str]) -> None:
        """Steps ``first``, ``first + 1``, … as JSON; those that are there already stay."""
        ...

    def steps(self, model: str) -> list[str]:
        """All steps in order."""
        ...

    # Catalogues

    def put_items(self, model: str, version: int, items: Sequence[ItemRow]) -> None:
        """Add or replace items (a replaced item keeps its place) and set the version."""
        ...

    def delete_items(self, model: str, version: int, items: Collection[str]) -> None:
        """Remove items and set the version; which versions had them stays known."""
        ...

    def items(self, model: str) -> list[ItemRow]:
        """All items in the order of their first coming."""
        ...

    def listed_items(self, model: str, version: int) -> list[str]:
        """The ids that a version of the catalogue had, in the order of their first coming.

        Of versions before the database had version 6 nothing is known.
        """
        ...

    # Decisions

    def insert_decisions(self, rows: Sequence[DecisionRow]) -> set[Key]:
        """Insert those that are not there yet; the keys of those."""
        ...

    def append_decisions(self, rows: Sequence[DecisionRow]) -> bool:
        """Insert decisions by one statement, a transaction of its own; whether all were new.

        If not, some may have been inserted.  Nothing is inserted once another server has taken
        over, or the database was replaced.
        """
        ...

    def uncounted(self) -> list[StoredDecision]:
        """Decisions that were written since the last `mark_counted`, in order."""
        ...

    def mark_counted(self) -> None:
        """Note that all decisions so far are in the counts."""
        ...

    def find_decisions(self, keys: Collection[Key]) -> dict[Key, StoredDecision]:
        """Those of the keys that are there."""
        ...

    def activate(self, keys: Collection[Key]) -> int:
        """Make deferred decisions count; how many were not active and unresolved before."""
        ...

    def resolve(self, rows: Sequence[Resolution]) -> int:
        """Set what became of decisions that are unresolved; how many were."""
        ...

    def due(self, now: float, limit: int, *, without: Collection[str] = ()) -> list[StoredDecision]:
        """Unresolved decisions whose deadline is at or before ``now``, the earliest first.

        Those of the models ``without`` are left out.
        """
        ...

    def delete_decisions(self, keys: Collection[Key]) -> None:
        """Delete decisions of a model that is no more."""
        ...

    def pending(self, model: str) -> int:
        """How many decisions are unresolved."""
        ...

    def recent(self, model: str, *, limit: int, before: int | None) -> list[StoredDecision]:
        """The latest decisions, newest first, those with ``seq`` below ``before`` only."""
        ...

    def history(self, model: str, *, after: int, limit: int) -> list[StoredDecision]:
        """Decisions with ``seq`` above ``after``, oldest first."""
        ...

    # Feedback

    def insert_feedback(self, rows: Sequence[FeedbackRow]) -> None:
        """Insert those whose (model, decision, key) is not there yet."""
        ...

    def find_feedback(self, keys: Collection[Key]) -> list[FeedbackRow]:
        """All feedback of these decisions, in the order received."""
        ...

    def set_feedback_status(self, rows: Sequence[FeedbackRow]) -> None:
        """Give these rows their status, if they are parked."""
        ...

    def feedback_statuses(self, keys: Collection[FeedbackKey]) -> dict[FeedbackKey, str]:
        """How feedback of these keys was answered, where it is there."""
        ...

    def kept_feedback(self, keys: Collection[Key]) -> dict[Key, int]:
        """How much feedback each decision has, `feedback_tables.KEPT_FEEDBACK` if it is more."""
        ...

    def drop_parked(self, before: float) -> set[Key]:
        """Forget parked feedback that was received before; the decisions with none left."""
        ...

    def parked(self) -> set[Key]:
        """The decisions for which feedback is parked."""
        ...

    # The log, and its cache

    def log(self, model: str, *, after: int, to: int) -> Iterator[AppliedRow]:
        """Impressions with ``after`` < lsn ≤ ``to`` in order."""
        ...

    def put_snapshot(self, model: str, lsn: int, made: float, content: bytes) -> None:
        """Keep a learner's state; of the model's others only the one before stays."""
        ...

    def snapshot_numbers(self, model: str) -> list[int]:
        """The lsns of the snapshots, newest first."""
        ...

    def snapshot(self, model: str, lsn: int) -> bytes:
        """One snapshot; a KeyError if there is none of that lsn."""
        ...

    # Counts for people

    def add_counts(self, rows: Sequence[CountRow]) -> None:
        """Add to the counts by minute and arm."""
        ...

    def add_calibration(self, rows: Sequence[CalibrationRow]) -> None:
        """Add to the calibration bins."""
        ...

    def add_tallies(self, rows: Sequence[TallyRow]) -> None:
        """Add to the counts by item."""
        ...

    def counts(self, model: str, *, since: float) -> list[CountRow]:
        """Counts of the minutes from ``since`` on, in order."""
        ...

    def calibration(self, model: str) -> list[CalibrationRow]:
        """All bins in order."""
        ...

    def tallies(self, model: str, *, limit: int) -> list[TallyRow]:
        """The items chosen most often."""
        ...

    def feedback_counts(self, model: str) -> dict[str, int]:
        """How much feedback was answered with each status."""
        ...

    # API keys

    def keys(self) -> list[KeyRow]:
        """All API keys, revoked ones too."""
        ...

    def insert_key(self, row: KeyRow) -> None:
        """A new API key, in a transaction of its own; the same key again changes nothing."""
        ...

    def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke a key, in a transaction of its own; whether one was in force until ``now``."""
        ...

    def revoke_keys_of(self, model: str, now: float) -> None:
        """Revoke all keys of a model."""
        ...
