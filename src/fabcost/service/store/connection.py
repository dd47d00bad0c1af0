"""A connection to a database: what a driver does, and its SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Protocol

from fabcost.service.store.rows import DecisionRow, StoredDecision

Dialect = Literal["sqlite", "postgres"]
Rows = Sequence[Sequence[Any]]
Found = list[tuple[Any, ...]]

# Why a database cannot be used, in sentences that anyone may read: what a driver says names files,
# hosts and users, and is for the operator only.
UNUSABLE_NOW = "the database cannot be used now"
LOCKED = "the database is locked by another program"
READ_ONLY = "the database cannot be written"
FULL = "the disk is full"
NOT_OURS = "the tables of the database are not as they were made"

#: Where SQL and migrations are.
FOLDER = files("fabcost.service.store")
_SUBJECTS = ("server", "models", "decisions", "feedback", "counts", "keys")
_NAME = re.compile(r"^-- name: (\S+)(?: for (.+))?\n", re.MULTILINE)
_COLUMNS = {
    "decision": ", ".join(DecisionRow._fields),
    "stored": ", ".join(f"d.{name}" for name in StoredDecision._fields),
}


class Connection(Protocol):
    """One connection of one driver, whose errors are those of `fabcost.wire.errors`.

    Rows that the database refuses (a missing model, a number that is not finite) are a ValueError.
    """

    dialect: Dialect

    def connect(self) -> None:
        """Connect, and check that the program which answers is recent enough."""

    def hurry(self) -> None:
        """Wait only shortly for locks of other programs, from now on."""

    def disconnect(self) -> None:
        """End the connection; ending it twice is harmless."""

    def run(self, statement: str, parameters: Mapping[str, Any]) -> Found:
        """Run one statement, whose parameters are written ``:name``; the rows it returns."""

    def run_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> Found:
        """Run one statement on a table ``batch`` of these rows, numbered by ``place`` from 1."""

    def insert_rows(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Insert rows with all their columns, as another database had them."""

    def insert_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> int:
        """Like `run_batch`, for a statement that returns nothing; how many rows it inserted."""

    def roll_back(self) -> None:
        """Undo what was begun, as well as the state of the connection lets it."""


@cache
def statements(dialect: Dialect) -> dict[str, str]:
    """All statements by name: those of both databases, and those that are this one's own.

    A file has sections ``-- name: …``, where ``{decision}`` and ``{stored}`` are the columns of
    `DecisionRow` and `StoredDecision`.  A section ``-- name: …_{table} for table.key …`` is one
    statement for each table.

    Examples
    --------
    >>> statements("sqlite")["epoch"]
    'SELECT epoch, stamp, stamp FROM server'
    """
    found: dict[str, str] = {}
    for subject in (*_SUBJECTS, dialect):
        _, *parts = _NAME.split((FOLDER / "sql" / f"{subject}.sql").read_text(encoding="utf-8"))
        for name, tables, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            for each in (tables or "").split() or [""]:
                table, _, key = each.partition(".")
                given = {**_COLUMNS, "table": table, "key": key}
                found[name.format_map(given)] = text.strip().format_map(given)
    return found
