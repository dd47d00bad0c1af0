"""Why a database cannot be used, in sentences that anyone may read.

What a driver says names files, hosts and users: that is for the operator only.
"""

from __future__ import annotations

import sqlite3

_UNKNOWN = "the database cannot be used now"
_LOCKED = "the database is locked by another program"
_READ_ONLY = "the database cannot be written"
_FULL = "the disk is full"
_NOT_OURS = "the tables of the database are not as they were made"

_OF_SQLITE = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_CANTOPEN: "the file of the database cannot be opened",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_CORRUPT: "the file of the database is damaged",
    sqlite3.SQLITE_ERROR: _NOT_OURS,
}
_OF_POSTGRES = {
    "25006": _READ_ONLY,
    "53100": _FULL,
    "55P03": _LOCKED,
    "57014": "the database takes too long",
    "42501": "the database does not permit this server what it needs",
}
_CONNECTION, _SHUTDOWN, _ACCESS = "08", "57P", "42"


def of_sqlite(code: int) -> str:
    """What an error code of SQLite means.

    Examples
    --------
    >>> of_sqlite(sqlite3.SQLITE_FULL)
    'the disk is full'
    >>> of_sqlite(sqlite3.SQLITE_NOMEM)
    'the database cannot be used now'
    """
    return _OF_SQLITE.get(code & 0xFF, _UNKNOWN)


def of_postgres(state: str | None) -> str:
    """What an SQLSTATE means; there is none if the server could not be asked.

    Examples
    --------
    >>> of_postgres(None), of_postgres("53100")
    ('the database cannot be reached', 'the disk is full')
    >>> of_postgres("42P01")
    'the tables of the database are not as they were made'
    >>> of_postgres("53200")
    'the database cannot be used now'
    """
    if state is None or state.startswith((_CONNECTION, _SHUTDOWN)):
        return "the database cannot be reached"
    return _OF_POSTGRES.get(state, _NOT_OURS if state.startswith(_ACCESS) else _UNKNOWN)
