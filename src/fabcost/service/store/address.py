"""Which database an address means."""

from __future__ import annotations

import os
import re
import stat

from fabcost.service.settings import has_keywords
from fabcost.service.store.postgres import Postgres
from fabcost.service.store.sqlite import Sqlite
from fabcost.service.store.store import Store
from fabcost.wire.errors import DatabaseUnusableError

_SERVERS = ("postgresql://", "postgres://")
_FILE = "sqlite:///"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Two characters and more: one is the letter of a drive.
_USER_AND_PASSWORD = re.compile(r"[^:/\\\s]{2,}:[^@]+@[^@]+")


def store_at(address: str) -> Store:
    """The store at ``sqlite:///path``, at a bare path, or at ``postgresql://…``; not yet open.

    As usual, ``sqlite:///news.db`` is a path relative to the working directory and
    ``sqlite:////var/news.db`` an absolute one.  PostgreSQL may be given by keywords and values:
    ``host=db dbname=news``.
    """
    path = file_at(address)
    return Store(Postgres(address) if path is None else Sqlite(path))


def file_at(address: str) -> str | None:
    """The path of an SQLite file, or None if PostgreSQL is meant.

    Examples
    --------
    >>> file_at("news.db"), file_at("sqlite:////var/news.db"), file_at("host=db dbname=news")
    ('news.db', '/var/news.db', None)
    """
    if address.startswith(_SERVERS) or has_keywords(address):
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
