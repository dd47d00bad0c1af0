"""Named SQL files: one folder for what both databases understand, one for each that differs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fabcost.service.store.connection import Dialect

_FOLDER = files("fabcost.service.store")


class Migration(NamedTuple):
    """The statements that bring a database to a version."""

    version: int
    statements: tuple[str, ...]


@cache
def statement(name: str, dialect: Dialect) -> str:
    """The text of a statement.

    Examples
    --------
    >>> statement("epoch", "sqlite")
    'SELECT epoch, stamp FROM server'
    """
    own = _FOLDER / "sql" / dialect / f"{name}.sql"
    shared = _FOLDER / "sql" / "shared" / f"{name}.sql"
    return (own if own.is_file() else shared).read_text(encoding="utf-8").strip()


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """All migrations in order.

    Examples
    --------
    >>> [migration.version for migration in migrations("postgres")]
    [1, 2, 3, 4, 5, 6]
    """
    found = sorted(
        (each for each in (_FOLDER / "migrations" / dialect).iterdir()), key=lambda each: each.name
    )
    return tuple(
        Migration(int(each.name.split("_")[0]), _split(each.read_text(encoding="utf-8")))
        for each in found
    )


def _split(script: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in script.split(";\n") if part.strip())
