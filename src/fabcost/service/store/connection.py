"""A connection to a database: its address, what a driver does, its SQL, its tables' version."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Protocol

from fabcost.service.settings import KEYWORDS
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

_SERVERS = ("postgresql://", "postgres://")
_FILE = "sqlite:///"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Two characters and more: one is the letter of a drive.
_USER_AND_PASSWORD = re.compile(r"[^:/\\\s]{2,}:[^@]+@[^@]+")
_FOLDER = files("fabcost.service.store")
_PROGRAM = "fabcost"
#: The table of API keys is as it is since this version.
_KEYS_SINCE = 2
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


def prepare_for_keys(connection: Connection, *, write: bool, make: bool) -> None:
    """An error if API keys cannot be read, or written, in a database as it is.

    With ``make`` an empty one gets its tables.  Any other may be that of a running server, of this
    version or an earlier one, which a migration would stop.
    """
    version, newest = version_of(connection), len(migrations(connection.dialect))
    if version == 0 and make:
        migrate(connection)
    elif version == 0:
        raise DatabaseUnusableError(
            "the database is empty: make a first key with `fabcost keys add`"
        )
    elif version < (newest if write else _KEYS_SINCE):
        raise DatabaseUnusableError(
            f"the database has version {version} but this program writes version {newest}: use the "
            "fabcost that serves it now; or stop that, make a backup and start `fabcost serve` of "
            "this program, which brings it up to date"
        )


def file_at(address: str) -> str | None:
    """The path of an SQLite file, or None if PostgreSQL is meant.

    Examples
    --------
    >>> file_at("news.db"), file_at("sqlite:////var/news.db"), file_at("host=db dbname=news")
    ('news.db', '/var/news.db', None)
    """
    if address.startswith(_SERVERS) or KEYWORDS.match(address):
        return None
    if address.startswith(_FILE) and address != _FILE:
        return address.removeprefix(_FILE)
    if scheme := _SCHEME.match(address):
        raise DatabaseUnusableError(
            f"the address of the database begins with {scheme[0]!r} "
            "but must be a path, sqlite:///path or postgresql://…"
        )
    if _USER_AND_PASSWORD.fullmatch(address) and not os.path.exists(address):
        raise DatabaseUnusableError(
            "the address of the database has a user and a password but no postgresql:// before "
            "them; a file of that name is sqlite:///…"
        )
    return address


def is_open_to_others(address: str) -> bool:
    """Whether a database is a file that every user of this machine can read or write."""
    path = file_at(address)
    if path is None or os.name != "posix" or not os.path.exists(path):
        return False
    folder = os.stat(os.path.dirname(os.path.realpath(path))).st_mode
    return bool(folder & stat.S_IXOTH and os.stat(path).st_mode & (stat.S_IROTH | stat.S_IWOTH))


def connection_at(address: str) -> Connection:
    """A connection to the database at an address as `store_at` takes it; not yet open."""
    path = file_at(address)
    if path is not None:
        from fabcost.service.store.sqlite import Sqlite  # noqa: PLC0415 - which needs this module

        return Sqlite(path)
    from fabcost.service.store.postgres import Postgres  # noqa: PLC0415 - its driver loads slowly

    return Postgres(address)
