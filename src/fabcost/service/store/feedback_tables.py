"""Feedback as it came, and the counts that people look at."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fabcost.service.store.decision_tables import KEY
from fabcost.service.store.rows import CalibrationRow, CountRow, FeedbackRow, Key, TallyRow
from fabcost.service.store.session import Session


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

    def drop_parked(self, before: float) -> int:
        """Forget parked feedback that was received before; how many."""
        return len(self._write("drop_parked", before=before))

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
