"""PostgreSQL: a server of its own, which tells of what others write."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

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
from fabcost.wire.errors import DatabaseUnusableError, ServiceError, StoreAwayError

OLDEST = 120_000
_PATIENT_SECONDS, _HURRIED_SECONDS = 30, 5
#: Within a transaction that others wait for, a server that says nothing for so long has lost it.
_HUNG_SECONDS = 15
_DEFAULTS = {
    "application_name": "fabcost",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
# Every join looks up the rows of a batch by their keys, whatever the statistics of a table that
# grows fast say.
_SETTINGS = """
SET synchronous_commit = on;
SET statement_timeout = '120s';
SET idle_in_transaction_session_timeout = '60s';
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET jit = off;
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 2;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 10000;
"""
_REASONS = {
    "25006": READ_ONLY,
    "53100": FULL,
    "55P03": LOCKED,
    "57014": "the database takes too long",
    "42501": "the database does not permit this server what it needs",
}
_CONNECTION, _SHUTDOWN, _ACCESS = "08", "57P", "42"
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")
_SECRETS = ("password", "sslpassword")
_TIMES = ("made", "deadline", "resolved", "received", "start")
_SUMS = ("value", "log_loss", "entropy", "predicted", "rewards", "income", "click_value", "cost")
_INTEGERS = ("seq", "rank", "since", "until", "label", "lsn", "bin", "writer")
_COUNTS = ("decisions", "impressions", "clicks")
_TYPES = {
    **dict.fromkeys(_TIMES + _SUMS, "double precision"),
    **dict.fromkeys(_INTEGERS + _COUNTS, "bigint"),
    **dict.fromkeys(("active", "learns"), "boolean"),
}


class Postgres:
    """A connection to a server; a batch travels as one JSON text, which is read exactly."""

    dialect: Dialect = "postgres"

    def __init__(self, address: str) -> None:
        _check_password(address)
        try:
            known = {name: str(value) for name, value in conninfo_to_dict(address).items()}
        except psycopg.Error:
            raise DatabaseUnusableError(
                "the address of the database cannot be read; expected "
                "postgresql://user:password@host:port/database or host=… user=… password=…"
            ) from None
        self._conninfo = make_conninfo(**{**_DEFAULTS, **known, "client_encoding": "utf8"})
        self._secrets = [known[name] for name in _SECRETS if known.get(name)]
        self._wait_seconds = _PATIENT_SECONDS
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def connect(self) -> None:
        """Connect, and end the connection that was."""
        self.disconnect()
        with self._errors():
            self._connection = psycopg.connect(self._conninfo, autocommit=True)
            self._connection.execute(_SETTINGS)
            self._set_wait(self._connection)
        version = self._connection.info.server_version
        if version < OLDEST:
            raise DatabaseUnusableError(
                f"PostgreSQL is {version // 10_000} but must be at least {OLDEST // 10_000}"
            )

    def hurry(self) -> None:
        """Wait five seconds at most for a lock, and let nobody wait long."""
        self._wait_seconds = _HURRIED_SECONDS
        if self._connection is not None:
            with self._errors():
                self._set_wait(self._connection)

    def disconnect(self) -> None:
        """End the connection."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def listened(self) -> psycopg.pq.abc.PGconn:
        """The connection itself, which is told by `leave_stamp` of what others must know."""
        if self._connection is None:
            raise StoreAwayError("the database is not open")
        self._execute("LISTEN fabcost", None)
        return self._connection.pgconn

    def run(self, statement: str, parameters: Mapping[str, Any]) -> Found:
        """Run one statement."""
        return _rows(self._execute(_translated(statement), parameters or None))

    def run_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> Found:
        """Run one statement on rows, in one round trip."""
        return _rows(self._over_batch(statement, columns, rows, prepare=False))

    def insert_batch(self, statement: str, columns: Sequence[str], rows: Rows) -> int:
        """Run one statement on rows, whose plan is always the same; how many it inserted."""
        return self._over_batch(statement, columns, rows, prepare=True).rowcount

    def _over_batch(
        self, statement: str, columns: Sequence[str], rows: Rows, *, prepare: bool
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        content = msgspec.json.encode([dict(zip(columns, row, strict=True)) for row in rows])
        text = _batch(tuple(columns)) + _translated(statement)
        return self._execute(text, {"batch": content.decode()}, prepare=prepare)

    def _set_wait(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        connection.execute(f"SET lock_timeout = '{self._wait_seconds:d}s'")
        if self._wait_seconds == _HURRIED_SECONDS:
            connection.execute(f"SET idle_in_transaction_session_timeout = '{_HUNG_SECONDS:d}s'")

    def insert_rows(self, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Insert rows as they are, numbers of their own included."""
        if self._connection is None:
            raise StoreAwayError("the database is not open")
        text = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with self._errors(), self._connection.cursor() as cursor, cursor.copy(text.encode()) as out:
            for row in rows:
                out.write_row(row)

    def roll_back(self) -> None:
        """Undo what was begun, unless the connection has gone, which undoes it too."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")

    def _execute(
        self, text: str, parameters: Mapping[str, Any] | None, *, prepare: bool = False
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        # A plan made while a table was small must not outlive that: few are prepared.
        if self._connection is None:
            raise StoreAwayError("the database is not open")
        with self._errors():
            return self._connection.execute(text.encode(), parameters, prepare=prepare)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            raise ValueError(f"the database refused a row: {self._said(error)}") from error
        except psycopg.ProgrammingError as error:
            detail = f"the database cannot be used: {self._said(error)}"
            raise DatabaseUnusableError(_reason(error.sqlstate), detail) from None
        except psycopg.Error as error:
            detail = f"the database cannot be used now: {self._said(error)}"
            raise StoreAwayError(_reason(error.sqlstate), detail) from None

    def _said(self, error: psycopg.Error) -> str:
        said = " ".join(str(error).split())
        for secret in self._secrets:
            said = said.replace(quote(secret, safe=""), "…").replace(secret, "…")
        return said


def _check_password(address: str) -> None:
    """An error if a part of the password would be taken for a host, a port or a database.

    That part would be looked up, and told in errors.
    """
    rest = address.partition("://")[2]
    first, slash, path = rest.partition("/")
    _, found, host = first.partition("@")
    target = ((host if found else first) + slash + path).partition("?")[0]
    if "@" in target and ":" in rest.rpartition("@")[0]:
        raise DatabaseUnusableError(
            "the address of the database has an @ or / that may belong to its password; expected "
            "%40 for @ and %2F for / in names and passwords"
        )


def _reason(state: str | None) -> str:
    """What an SQLSTATE means; there is none if the server could not be asked.

    Examples
    --------
    >>> _reason(None), _reason("53100")
    ('the database cannot be reached', 'the disk is full')
    >>> _reason("42P01"), _reason("53200")
    ('the tables of the database are not as they were made', 'the database cannot be used now')
    """
    if state is None or state.startswith((_CONNECTION, _SHUTDOWN)):
        return "the database cannot be reached"
    return _REASONS.get(state, NOT_OURS if state.startswith(_ACCESS) else UNUSABLE_NOW)


def _rows(cursor: psycopg.Cursor[tuple[Any, ...]]) -> Found:
    # All of them came with the answer to the statement.
    return cursor.fetchall() if cursor.description else []


@cache
def _translated(statement: str) -> str:
    return _PARAMETER.sub(r"%(\1)s", statement)


@cache
def _batch(columns: tuple[str, ...]) -> str:
    fields = ", ".join(f"{column} {_TYPES.get(column, 'text')}" for column in columns)
    return (
        "WITH batch AS (SELECT * FROM ROWS FROM "  # noqa: S608 (the columns are our own)
        f"(json_to_recordset(%(batch)s::json) AS ({fields})) "
        f"WITH ORDINALITY AS rows ({', '.join(columns)}, place)) "
    )


_AGAIN_SECONDS = 1.0


async def listen(address: str, number: int, heard: Callable[[], object]) -> None:
    """Tell of every transaction of another server than ``number``, for as long as this is awaited.

    A connection that breaks is made again; what was told meanwhile is missed.
    """
    while True:
        connection = Postgres(address)
        try:
            await asyncio.to_thread(connection.connect)
            await _hear(connection.listened(), str(number), heard)
        except (ServiceError, psycopg.Error, OSError):
            await asyncio.sleep(_AGAIN_SECONDS)
        finally:
            connection.disconnect()


async def _hear(connection: psycopg.pq.abc.PGconn, own: str, heard: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    broken: asyncio.Future[None] = loop.create_future()

    def read() -> None:
        try:
            connection.consume_input()
        except psycopg.Error as error:
            if not broken.done():
                broken.set_exception(error)
            return
        told = []
        while (note := connection.notifies()) is not None:
            told.append(note.extra.decode())
        if any(each != own for each in told):
            heard()

    # The driver closes its own when the connection breaks, and the loop must not look at that.
    socket = os.dup(connection.socket)
    loop.add_reader(socket, read)
    try:
        await broken
    finally:
        loop.remove_reader(socket)
        os.close(socket)
