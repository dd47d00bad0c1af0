"""Where the database is, and a thread beside the event loop that reads it."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fabcost.service.settings import KEYWORDS
from fabcost.service.store.connection import Connection
from fabcost.service.store.sqlite import Sqlite
from fabcost.service.store.store import Store
from fabcost.wire.errors import DatabaseUnusableError, StoreAwayError

T = TypeVar("T")
_SERVERS = ("postgresql://", "postgres://")
_FILE = "sqlite:///"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Two characters and more: one is the letter of a drive.
_USER_AND_PASSWORD = re.compile(r"[^:/\\\s]{2,}:[^@]+@[^@]+")


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
        return Sqlite(path)
    from fabcost.service.store.postgres import Postgres  # noqa: PLC0415 - its driver loads slowly

    return Postgres(address)


def store_at(address: str) -> Store:
    """The store at ``sqlite:///path``, at a bare path, or at ``postgresql://…``; not yet open.

    As usual, ``sqlite:///news.db`` is a path relative to the working directory and
    ``sqlite:////var/news.db`` an absolute one.  PostgreSQL may be given by keywords and values:
    ``host=db dbname=news``.
    """
    return Store(connection_at(address))


class StoreThread:
    """A connection and the thread that uses it, asked one after the other."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, name)

    @classmethod
    async def start(cls, store: Store, name: str) -> StoreThread:
        """Open a store, and have a thread for it."""
        await asyncio.to_thread(store.open, take_over=False)
        return cls(store, name)

    async def ask(self, function: Callable[[Store], T]) -> T:
        """What the function finds; it is tried again on a new connection if this one broke."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._now, function)

    def close(self) -> None:
        """End the thread and the connection."""
        self._thread.shutdown()
        self._store.close()

    def _now(self, function: Callable[[Store], T]) -> T:
        try:
            return function(self._store)
        except (StoreAwayError, DatabaseUnusableError):
            self._store.reopen()
            return function(self._store)
