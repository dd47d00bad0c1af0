"""A connection to a database: what a driver does, its SQL, and the version of its tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Protocol

from fabcost.service.store.rows import DecisionRow, StoredDecision
from fabcost.wire.errors import DatabaseUnusableError

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

_FOLDER = files("fabcost.service.store")
_PROGRAM = "fabcost"
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
        _, *parts = _NAME.split((_FOLDER / "sql" / f"{subject}.sql").read_text(encoding="utf-8"))
        for name, tables, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            for each in (tables or "").split() or [""]:
                table, _, key = each.partition(".")
                given = {**_COLUMNS, "table": table, "key": key}
                found[name.format_map(given)] = text.strip().format_map(given)
    return found


class Migration(NamedTuple):
    """The statements that bring a database to a version."""

    version: int
    statements: tuple[str, ...]


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """All migrations in order."""
    found = sorted((_FOLDER / "migrations" / dialect).iterdir(), key=lambda each: each.name)
    scripts = [each.read_text(encoding="utf-8").split(";\n") for each in found]
    return tuple(
        Migration(int(each.name.split("_")[0]), tuple(filter(None, map(str.strip, script))))
        for each, script in zip(found, scripts, strict=True)
    )


def migrate(connection: Connection, to: int | None = None) -> bool:
    """Run the migrations that are missing, all or up to a version; whether there were any."""
    known, before = migrations(connection.dialect)[:to], version_of(connection)
    while version_of(connection) != len(known):
        _run(connection, "begin")
        try:
            _step(connection, known)
        except BaseException:
            connection.roll_back()
            raise
        connection.run("COMMIT", {})
    return before != len(known)


def _step(connection: Connection, known: tuple[Migration, ...]) -> None:
    _run(connection, "lock_migrations")
    version = version_of(connection)
    if version == len(known):
        return
    if version == 0:
        _run(connection, "create_version")
        _run(connection, "insert_version")
    migration = known[version]
    for each in migration.statements:
        connection.run(each, {})
    _run(connection, "set_version", version=migration.version)


def version_of(connection: Connection) -> int:
    """The version of a database, 0 if it is empty; an error if it is not ours to read."""
    tables = [name for (name,) in _run(connection, "tables")]
    if not tables:
        return 0
    rows = _run(connection, "version") if "schema_version" in tables else []
    if len(rows) != 1 or rows[0][0] != _PROGRAM:
        raise DatabaseUnusableError(
            f"the database holds tables of another program (such as {tables[0]!r}); "
            f"expected an empty database or one made by {_PROGRAM}"
        )
    newest = migrations(connection.dialect)[-1].version
    if rows[0][1] > newest:
        raise DatabaseUnusableError(
            f"the database has version {rows[0][1]} but this program knows versions up to {newest}:"
            " use the newer fabcost that serves it, or a backup from before"
        )
    return int(rows[0][1])


def _run(connection: Connection, name: str, **parameters: Any) -> Found:
    return connection.run(statements(connection.dialect)[name], parameters)
