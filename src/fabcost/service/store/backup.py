"""A database as one file, made while it is served, and a database made of such a file.

The file is one of SQLite, whatever it was made of: one made of PostgreSQL can be read, checked and
served without a server of that, and either kind of database can be made of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fabcost.service.store.connection import (
    Connection,
    Rows,
    connection_at,
    migrate,
    statements,
    version_of,
)
from fabcost.service.store.sqlite import Sqlite
from fabcost.wire.errors import DatabaseUnusableError

_AT_ONCE = 1_000
#: Written by the migrations, or before all others, since those refer to it.
_VERSION, _MODELS = "schema_version", "models"
#: Tables that grow without end have a number for each row.
_NUMBERED = ("decisions", "feedback")
#: Where servers share a database, what each has counted of its own decisions.
_SHARING = "replicas"
_UNCOUNTED = "EXISTS (SELECT 1 FROM replicas AS r WHERE r.number = writer AND seq > r.counted)"
_BESIDE = ("", "-wal", "-shm")
_NO_LIMIT = "SET LOCAL statement_timeout = 0"


class Content(NamedTuple):
    """What a file or a database holds."""

    version: int
    models: int
    decisions: int
    keys: int

    def __str__(self) -> str:
        return (
            f"{self.models} models, {self.decisions:,} decisions, {self.keys} keys "
            f"(version {self.version})"
        )


def back_up(database: str, file: Path) -> Content:
    """Copy a database as it is at one moment into a new file, which only its owner can read."""
    if file.exists():
        raise ValueError(f"there is a file {file} already")
    with _opened(connection_at(database)) as source, _new_file(file) as target:
        if isinstance(source, Sqlite):
            source.copy_to(target)
        else:
            _copy(source, target, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return _checked(target, file)


def restore(file: Path, database: str) -> Content:
    """Make a database of a file that `back_up` made; it must be empty, or not there."""
    if not file.exists():
        raise ValueError(f"there is no file {file}")
    beside = Path(f"{file}-wal")
    if beside.exists() and beside.stat().st_size:
        raise ValueError(f"{file} is no backup, some of it is in {beside}: make one of it first")
    target = connection_at(database)
    if isinstance(target, Sqlite):
        with _new_file(Path(target.path), of=file) as made:
            return _checked(made, file)
    # Opening the file would change it.
    with tempfile.TemporaryDirectory() as folder, _opened(target):
        copy = shutil.copy(file, folder)
        with _opened(Sqlite(copy)) as source:
            _checked(source, file)
            if version_of(target) and (there := _content(target))[1:] != (0, 0, 0):
                raise ValueError(f"the database has {there} already: restore into an empty one")
            _copy(source, target, "BEGIN")
        return _content(target)


@contextmanager
def _opened(connection: Connection) -> Iterator[Any]:
    connection.connect()
    try:
        yield connection
    finally:
        connection.disconnect()


@contextmanager
def _new_file(path: Path, of: Path | None = None) -> Iterator[Sqlite]:
    """A file, a copy or new, that is there under its name only when it is whole."""
    there = [name for name in (f"{path}{more}" for more in _BESIDE) if os.path.exists(name)]
    if there:
        raise ValueError(f"there is a file {there[0]} already: move it away first")
    part = f"{path}.part"
    with suppress(FileNotFoundError):
        os.remove(part)
    try:
        if of is not None:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            shutil.copyfile(of, part)
        with _opened(Sqlite(part)) as made:
            yield made
            # What is left beside the file goes into it.
            made.run("PRAGMA journal_mode = DELETE", {})
        os.replace(part, path)
    finally:
        for more in _BESIDE:
            with suppress(FileNotFoundError):
                os.remove(part + more)


def _copy(source: Connection, target: Connection, begin: str) -> None:
    """All rows of all tables, as they are at one moment."""
    source.run(begin, {})
    if source.dialect == "postgres":
        source.run(_NO_LIMIT, {})
    version = version_of(source)
    migrate(target, to=version)
    target.run(statements(target.dialect)["begin"], {})
    try:
        if target.dialect == "postgres":
            target.run(_NO_LIMIT, {})
        for table in _tables(source, target):
            # The migrations left one row.
            target.run(f"DELETE FROM {table}", {})  # noqa: S608 - a table of ours
            columns, booleans = _columns(source, target, table)
            for rows in _pages(source, table, columns):
                target.insert_rows(table, columns, _typed(rows, booleans))
        _mark_counted(source, target)
        target.run("COMMIT", {})
    except BaseException:
        target.roll_back()
        raise
    source.roll_back()


def _names(connection: Connection) -> list[str]:
    return [name for (name,) in connection.run(statements(connection.dialect)["tables"], {})]


def _tables(source: Connection, target: Connection) -> list[str]:
    """Those that both have, in an order in which they can be filled."""
    there = _names(target)
    others = [name for name in _names(source) if name in there and name not in (_VERSION, _MODELS)]
    return [_MODELS, *others]


def _columns(source: Connection, target: Connection, table: str) -> tuple[list[str], list[int]]:
    """Those that both have, and the places of booleans, which SQLite has none of."""
    given, found = (
        each.run(statements(each.dialect)["columns"], {"table": table}) for each in (source, target)
    )
    names = {name for name, _ in given}
    found = [(name, is_bool) for name, is_bool in found if name in names]
    return [name for name, _ in found], [
        place for place, (_, is_bool) in enumerate(found) if is_bool
    ]


def _pages(connection: Connection, table: str, columns: list[str]) -> Iterator[Rows]:
    listed = ", ".join(columns)
    if table not in _NUMBERED:
        yield connection.run(f"SELECT {listed} FROM {table}", {})  # noqa: S608 - a table of ours
        return
    place, written = columns.index("seq"), 0
    is_shared = table == "decisions" and _SHARING in _names(connection)
    for which in (f"NOT {_UNCOUNTED}", _UNCOUNTED) if is_shared else ("TRUE",):
        text = (
            f"SELECT {listed} FROM {table} WHERE {which} AND seq > :after "  # noqa: S608
            f"ORDER BY seq LIMIT {_AT_ONCE}"
        )
        after = -1
        while rows := connection.run(text, {"after": after}):
            after = rows[-1][place]
            numbered = enumerate(rows, start=written + 1)
            yield [(*row[:place], number, *row[place + 1 :]) for number, row in numbered]
            written += len(rows)


def _typed(rows: Rows, booleans: list[int]) -> Rows:
    if not booleans:
        return rows
    return [
        [bool(value) if place in booleans else value for place, value in enumerate(row)]
        for row in rows
    ]


def _mark_counted(source: Connection, target: Connection) -> None:
    """Which decisions the statistics do not have yet: the last, in a file."""
    if _SHARING in _names(source):
        ((many,),) = source.run(f"SELECT COUNT(*) FROM decisions WHERE NOT {_UNCOUNTED}", {})  # noqa: S608
        target.run("UPDATE server SET counted = :many", {"many": many})
    if target.dialect == "sqlite":
        return
    if _SHARING in _names(target):
        target.run(f"UPDATE {_SHARING} SET counted = (SELECT counted FROM server)", {})  # noqa: S608
        later = "seq > (SELECT counted FROM server)"
        target.run(f"UPDATE decisions SET writer = 0 WHERE {later}", {})  # noqa: S608
    for table in _NUMBERED:
        target.run(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), "  # noqa: S608
            f"(SELECT COALESCE(MAX(seq), 0) + 1 FROM {table}), FALSE)",
            {},
        )


def _content(connection: Connection) -> Content:
    def count(table: str) -> int:
        ((found,),) = connection.run(f"SELECT COUNT(*) FROM {table}", {})  # noqa: S608
        return int(found)

    version = version_of(connection)
    # Before its second version there were no keys.
    return Content(version, count(_MODELS), count("decisions"), count("keys") if version > 1 else 0)


def _checked(connection: Sqlite, file: Path) -> Content:
    ((said,), *_) = connection.run("PRAGMA integrity_check", {})
    if said != "ok":
        raise DatabaseUnusableError("the file is damaged", f"{file} is damaged: {said}")
    if version_of(connection) == 0:
        raise DatabaseUnusableError("the file is empty", f"{file} holds no database of fabcost")
    return _content(connection)
