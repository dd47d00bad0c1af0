"""Feedback as it came, and the counts that people look at."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fabcost.service.store.decision_tables import KEY
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    FeedbackKey,
    FeedbackRow,
    Key,
    TallyRow,
)
from fabcost.service.store.session import Session

#: Feedback of one decision that is kept although it changes nothing.
KEPT_FEEDBACK = 100


class FeedbackTables(Session):
    """Feedback and counts; the methods are those of the protocol."""

    def insert_feedback(self, rows: Sequence[FeedbackRow]) -> None:
        """Insert those whose (model, decision, key) is not there yet."""
        self._note(0.0, *(row.received for row in rows))
        self._write_batch("insert_feedback", FeedbackRow._fields, rows)

    def find_feedback(self, keys: Collection[Key]) -> list[FeedbackRow]:
        """All feedback of these decisions, in the order received."""
        rows = self._run_batch("find_feedback", KEY, list(dict.fromkeys(keys)))
        return [FeedbackRow(*row) for row in rows]

    def set_feedback_status(self, rows: Sequence[FeedbackRow]) -> None:
        """Give these rows their status, if they are parked."""
        settled = [(row.model, row.decision, row.key, row.status) for row in rows]
        self._write_batch("set_feedback_status", (*KEY, "key", "status"), settled)

    def feedback_statuses(self, keys: Collection[FeedbackKey]) -> dict[FeedbackKey, str]:
        """How feedback of these keys was answered, where it is there."""
        rows = self._run_batch("feedback_statuses", (*KEY, "key"), list(dict.fromkeys(keys)))
        return {(model, decision, key): status for model, decision, key, status in rows}

    def kept_feedback(self, keys: Collection[Key]) -> dict[Key, int]:
        """How much feedback each decision has, `KEPT_FEEDBACK` if it is more."""
        rows = self._run_batch("kept_feedback", KEY, list(dict.fromkeys(keys)))
        return {(model, decision): int(count) for model, decision, count in rows}

    def drop_parked(self, before: float) -> set[Key]:
        """Forget parked feedback that was received before; the decisions with none left."""
        rows = self._write("drop_parked", before=before)
        dropped: set[Key] = {(model, decision) for model, decision in rows}
        return dropped.difference(self._run_batch("still_parked", KEY, list(dropped)))

    def parked(self) -> set[Key]:
        """The decisions for which feedback is parked."""
        return {(model, decision) for model, decision in self._run("parked")}

    def feedback_counts(self, model: str) -> dict[str, int]:
        """How much feedback was answered with each status."""
        return {status: int(count) for status, count in self._run("feedback_counts", model=model)}

    def add_counts(self, rows: Sequence[CountRow]) -> None:
        """Add to the counts by minute and arm."""
        self._write_batch("add_counts", CountRow._fields, rows)

    def add_calibration(self, rows: Sequence[CalibrationRow]) -> None:
        """Add to the calibration bins."""
        self._write_batch("add_calibration", CalibrationRow._fields, rows)

    def add_tallies(self, rows: Sequence[TallyRow]) -> None:
        """Add to the counts by item."""
        self._write_batch("add_tallies", TallyRow._fields, rows)

    def counts(self, model: str, *, since: float) -> list[CountRow]:
        """Counts of the minutes from ``since`` on, in order."""
        return [CountRow(*row) for row in self._run("counts", model=model, since=since)]

    def calibration(self, model: str) -> list[CalibrationRow]:
        """All bins in order."""
        return [CalibrationRow(*row) for row in self._run("calibration", model=model)]

    def tallies(self, model: str, *, limit: int) -> list[TallyRow]:
        """The items chosen most often."""
        return [TallyRow(*row) for row in self._run("tallies", model=model, limit=limit)]
