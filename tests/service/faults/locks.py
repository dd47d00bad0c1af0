"""Another program that holds up the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg


@contextmanager
def held_up(database: str) -> Iterator[None]:
    """The lock that every transaction needs is taken."""
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            connection.execute("SELECT epoch FROM server FOR UPDATE")
            yield
    else:
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
