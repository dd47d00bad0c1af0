"""SQLite: one file, for one server."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import Any
from urllib.parse import quote

from fabcost.service.store.connection import (
    FULL,
    LOCKED,
    NOT_OURS,
    READ_ONLY,
    UNUSABLE_NOW,
    Dialect,
    Found,
    Rows,
)
from fabcost.wire.errors import DatabaseUnusableError, StoreAwayError

OLDEST = (3, 37, 0)
_MOST_ROWS = 512
# A busy server leaves the lock for moments only, and SQLite does not queue for it.
_PATIENT_SECONDS, _HURRIED_SECONDS = 30.0, 2.0
_LOCKED_SECONDS = 0.005
_STATEMENTS = 256
_LOOK_EVERY_SECONDS = 1.0
# SQLITE_ERROR is a table or column that is not as we made it.
_UNUSABLE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}
_UNUSABLE_AT_FIRST = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_REASONS = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "the file of the database cannot be opened",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_CORRUPT: "the file of the database is damaged",
    sqlite3.SQLITE_ERROR: NOT_OURS,
}


class Sqlite:
    """A connection to a file; commits are on the disk when they return.

    Batches are bound as numbers and text, not as JSON, because SQLite promises no exact reading of
    decimal numbers.
    """

    dialect: Dialect = "sqlite"

    def __init__(self, path: str) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._file = 0
        self._looked = 0.0
        self._wait_seconds = _PATIENT_SECONDS

    def connect(self) -> None:
        """Open the file; the first time, make it if it is not there."""
        if sqlite3.sqlite_version_info < OLDEST:
            raise DatabaseUnusableError(
                f"SQLite is {sqlite3.sqlite_version} but must be at least "
                f"{'.'.join(map(str, OLDEST))}"
            )
        self.disconnect()
        if not self._file:
            _make_private(self.path)
        # A new file in the place of one that was deleted would help nobody.
        existing = f"file://{quote(os.path.abspath(self.path))}?mode=rw"
        with _errors(self.path, at_first=True):
            self._connection = sqlite3.connect(
                existing if self._file else self.path,
                uri=bool(self._file),
                timeout=self._wait_seconds,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=_STATEMENTS,
            )
            try:
                self._prepare(self._connection)
            except BaseException:
                self.disconnect()
                raise
            self._file = os.stat(self.path).st_ino

    def hurry(self) -> None:
        """Wait two seconds at most for the lock of another program."""
        self._wait_seconds = _HURRIED_SECONDS
        if self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {1_000 * self._wait_seconds:.0f}")

    def disconnect(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def run(self, statement: str, parameters: Mapping[str, Any]) -> Found:
        """Run one statement."""
        with _errors(self.path):
            return self._open().execute(statement, dict(parameters)).fetchall()

    def run_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> Found:
        """Run one statement on rows; more than 512 are run by so many at a time."""
        found = []
        for text, values in _over_batches(statement, columns, rows):
            with _errors(self.path):
                found += self._open().execute(text, values).fetchall()
        return found

    def insert_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> int:
        """Run one statement on rows, and say how many it inserted."""
        connection = self._open()
        before = connection.total_changes
        self.run_batch(statement, columns, rows)
        return connection.total_changes - before

    def insert_rows(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Insert rows as they are."""
        marks = ", ".join("?" * len(columns))
        text = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        with _errors(self.path):
            self._open().executemany(text, rows)

    def copy_to(self, other: Sqlite) -> None:
        """Make another file the same as this one at one moment, whoever writes it."""
        with _errors(self.path):
            # In one step: what another program wrote between two would begin it anew.
            self._open().backup(other._open(), pages=-1)

    def roll_back(self) -> None:
        """Undo what was begun; some errors have done so already."""
        if self._connection is not None and self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreAwayError("the database is not open")
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY_SECONDS:
            self._look_for_the_file()
            self._looked = now
        return self._connection

    def _look_for_the_file(self) -> None:
        # SQLite goes on with a file that is no longer in its folder.
        with suppress(OSError):
            if os.stat(self.path).st_ino == self._file:
                return
        said = "was deleted or replaced"
        raise StoreAwayError(f"the database {said}", f"{self.path} {said}")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        mode = _keep_a_log(connection, self._wait_seconds)
        if mode != "wal":
            said = "cannot keep a write-ahead log"
            raise DatabaseUnusableError(
                f"the database {said}",
                f"{self.path} {said} (its journal mode is {mode!r}); "
                "expected a file on a local disk",
            )
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")


def _make_private(path: str) -> None:
    """Make a file that is not there, for its owner alone; what SQLite puts beside it is the same.

    One that is there is not opened: closing it would end the locks of this process on it.
    """
    if not path.startswith(":"):
        with suppress(OSError):
            os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _keep_a_log(connection: sqlite3.Connection, seconds: float) -> str:
    """Ask for a write-ahead log; which mode it is then."""
    # SQLite reads before it writes here, and then waits for no other writer whatever its timeout
    # is: servers that start on a new file would meet.
    latest = time.monotonic() + seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > latest:
                raise
        time.sleep(_LOCKED_SECONDS)


def _over_batches(
    statement: str, columns: Sequence[str], rows: Rows
) -> Iterator[tuple[str, list[Any]]]:
    for start in range(0, len(rows), _MOST_ROWS):
        part = rows[start : start + _MOST_ROWS]
        # Sizes are rounded up, so that few statements are ever compiled.
        size = 1 << (len(part) - 1).bit_length()
        values = list(chain.from_iterable(part))
        values += [None] * ((size - len(part)) * len(columns))
        values.append(len(part))
        yield _over_batch(statement, tuple(columns), size), values


@lru_cache(maxsize=_STATEMENTS)
def _over_batch(statement: str, columns: tuple[str, ...], size: int) -> str:
    marks = ", ?" * len(columns)
    values = ", ".join(f"({place}{marks})" for place in range(1, size + 1))
    return (
        f"WITH given (place, {', '.join(columns)}) AS (VALUES {values}), "  # noqa: S608
        f"batch AS (SELECT * FROM given WHERE place <= ?) {statement}"
    )


@contextmanager
def _errors(path: str, *, at_first: bool = False) -> Iterator[None]:
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ValueError(f"the database refused a row: {error}") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason = _REASONS.get(code, UNUSABLE_NOW)
        if code in _UNUSABLE or (at_first and code in _UNUSABLE_AT_FIRST):
            raise DatabaseUnusableError(reason, f"{path} cannot be used: {error}") from error
        raise StoreAwayError(reason, f"{path} cannot be used now: {error}") from error
