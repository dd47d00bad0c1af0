"""Databases as earlier versions made them, with the log of another one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from tests.service.faults.servers import LONGEST_WAIT
from tests.service.postgres import PostgresServer
from tests.service.store.test_versions import connect, make_tables

from fabcost.service.store.connection import Dialect, migrations, statements

_NUMBERED = ("decisions", "feedback")


class Stores:
    """Makes databases of one kind, and removes them."""

    def __init__(self, dialect: Dialect, folder: Path, server: PostgresServer | None) -> None:
        self.dialect = dialect
        self._folder = folder
        self._server = server
        self._made = 0

    @property
    def newest(self) -> int:
        """The version that servers bring a database to."""
        return migrations(self.dialect)[-1].version

    @contextmanager
    def new(self) -> Iterator[str]:
        """The address of an empty database."""
        self._made += 1
        if self._server is not None:
            with self._server.database() as address:
                yield address
            return
        file = self._folder / f"kills-{self._made}.db"
        try:
            yield f"sqlite:///{file}"
        finally:
            for each in self._folder.glob(f"{file.name}*"):
                each.unlink()

    @contextmanager
    def as_of(self, version: int, source: str) -> Iterator[str]:
        """All of a database that is not in use, as a program of that version has it."""
        with self.new() as target:
            make_tables(target, version)
            with closing(self._open(source)) as old, closing(self._open(target)) as new:
                _fill(old, new, self._tables(target), self.dialect)
            yield target

    def version(self, database: str, *, at_least: int = 0) -> int:
        """The version of a database, as soon as it is no older than asked for."""
        until = time.monotonic() + LONGEST_WAIT
        with closing(self._open(database)) as connection:
            while time.monotonic() < until:
                found = connection.execute("SELECT version FROM schema_version").fetchone()[0]
                connection.rollback()
                if found >= at_least:
                    return int(found)
        raise RuntimeError(f"a database of version {found} was not brought to {at_least}")

    def _open(self, database: str) -> Any:
        if self.dialect == "postgres":
            return psycopg.connect(database)
        return sqlite3.connect(database.removeprefix("sqlite:///"), timeout=60.0)

    def _tables(self, database: str) -> list[str]:
        """Those that others refer to first."""
        connection = connect(database)
        found = connection.run(statements(self.dialect)["tables"], {})
        connection.disconnect()
        names = {name for (name,) in found} - {"schema_version"}
        return sorted(names, key=lambda name: (name != "models", name))


def _fill(old: Any, new: Any, tables: list[str], dialect: Dialect) -> None:
    place = "?" if dialect == "sqlite" else "%s"
    given = "" if dialect == "sqlite" else "OVERRIDING SYSTEM VALUE"
    new.execute("DELETE FROM server")
    for table in tables:
        named = ", ".join(_columns(old, table, within=_columns(new, table)))
        rows = old.execute(f"SELECT {named} FROM {table}").fetchall()  # noqa: S608
        places = ", ".join([place] * len(named.split(", ")))
        into = f"INSERT INTO {table} ({named}) {given} VALUES ({places})"  # noqa: S608
        new.cursor().executemany(into, rows)
    if dialect == "postgres":
        for table in _NUMBERED:
            numbers = f"pg_get_serial_sequence('{table}', 'seq')"
            new.execute(f"SELECT setval({numbers}, max(seq)) FROM {table}")  # noqa: S608
    new.commit()


def _columns(connection: Any, table: str, *, within: list[str] | None = None) -> list[str]:
    found = connection.execute(f"SELECT * FROM {table} LIMIT 0").description  # noqa: S608
    return [each[0] for each in found if within is None or each[0] in within]
