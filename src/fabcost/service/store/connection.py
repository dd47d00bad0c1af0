"""What the tables ask of a driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

Dialect = Literal["sqlite", "postgres"]

# Why a database cannot be used, in sentences that anyone may read: what a driver says names files,
# hosts and users, and is for the operator only.
UNUSABLE_NOW = "the database cannot be used now"
LOCKED = "the database is locked by another program"
READ_ONLY = "the database cannot be written"
FULL = "the disk is full"
NOT_OURS = "the tables of the database are not as they were made"


class Connection(Protocol):
    """One connection of one driver, whose errors are those of `fabcost.wire.errors`.

    Rows that the database refuses (a missing model, a number that is not finite, text with NUL) are
    a ValueError.
    """

    dialect: Dialect

    def connect(self) -> None:
        """Connect, and check that the program which answers is recent enough."""
        ...

    def hurry(self) -> None:
        """Wait only shortly for locks of other programs, from now on."""
        ...

    def disconnect(self) -> None:
        """End the connection; ending it twice is harmless."""
        ...

    def run(self, statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one statement, whose parameters are written ``:name``; the rows it returns."""
        ...

    def run_batch(
        self, statement: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        """Run one statement on a table ``batch`` of these rows, numbered by ``place`` from 1."""
        ...

    def insert_batch(
        self, statement: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> int:
        """Like `run_batch`, for a statement that returns nothing; how many rows it inserted."""
        ...

    def roll_back(self) -> None:
        """Undo what was begun, as well as the state of the connection lets it."""
        ...


def refuse_nul(values: Sequence[Any]) -> None:
    r"""A ValueError if some text holds a NUL, which PostgreSQL has no text for.

    Examples
    --------
    >>> refuse_nul(["a", 1])
    >>> refuse_nul(["a\0b"])
    Traceback (most recent call last):
    ValueError: 'a\x00b' holds a NUL character, which the database cannot keep
    """
    for value in values:
        if type(value) is str and "\0" in value:
            raise ValueError(f"{value!r} holds a NUL character, which the database cannot keep")
