"""Tables beside those of the models: the counts that people look at, and API keys."""

from __future__ import annotations

from collections.abc import Sequence

from fabcost.service.store.rows import CalibrationRow, CountRow, KeyRow, TallyRow
from fabcost.service.store.session import Session


class CountTables:
    """Counts by minute and arm, by bin of the predicted click probability, and by item."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add_minutes(self, rows: Sequence[CountRow]) -> None:
        """Add to the counts by minute and arm."""
        self._session.write_batch("add_counts", CountRow._fields, rows)

    def add_calibration(self, rows: Sequence[CalibrationRow]) -> None:
        """Add to the calibration bins."""
        self._session.write_batch("add_calibration", CalibrationRow._fields, rows)

    def add_tallies(self, rows: Sequence[TallyRow]) -> None:
        """Add to the counts by item."""
        self._session.write_batch("add_tallies", TallyRow._fields, rows)

    def minutes(self, model: str, *, since: float) -> list[CountRow]:
        """Counts of the minutes from ``since`` on, in order."""
        return [CountRow(*row) for row in self._session.run("counts", model=model, since=since)]

    def calibration(self, model: str) -> list[CalibrationRow]:
        """All bins in order."""
        return [CalibrationRow(*row) for row in self._session.run("calibration", model=model)]

    def tallies(self, model: str, *, limit: int) -> list[TallyRow]:
        """The items chosen most often."""
        return [TallyRow(*row) for row in self._session.run("tallies", model=model, limit=limit)]


class KeyTable:
    """API keys; those written here have transactions of their own, but for `revoke_of`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[KeyRow]:
        """All API keys, revoked ones too."""
        return [KeyRow(*row) for row in self._session.run("keys")]

    def insert(self, row: KeyRow) -> None:
        """A new API key; the same key again changes nothing."""
        with self._session.begun():
            if not self._session.write("insert_key", **row._asdict()):
                raise ValueError(f"the database refused a row: there is another key {row.key_id!r}")

    def revoke(self, key_id: str, now: float) -> bool:
        """Revoke a key; whether one was in force until ``now``."""
        with self._session.begun():
            return bool(self._session.write("revoke_key", key_id=key_id, now=now))

    def revoke_of(self, model: str, now: float) -> None:
        """Revoke all keys of a model, within a transaction."""
        self._session.write("revoke_keys_of", model=model, now=now)
