"""A connection with the right to write: epochs and transactions."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fabcost.service.store.connection import Connection
from fabcost.service.store.statements import statement
from fabcost.service.store.versions import migrate, prepare_for_keys
from fabcost.wire.errors import TakenOverError

_REPLACED = "the database was replaced: what this server wrote last is not in it"


class Session:
    """Opens a database, runs named statements, and lets only the latest server write.

    Every transaction that writes leaves a new random stamp.  A database with another stamp than the
    last one of ours is not the one we wrote: another server's, or an older copy of our own.

    Examples
    --------
    >>> import tempfile
    >>> from fabcost.service.store.sqlite import Sqlite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = (Session(Sqlite(f"{folder}/bandit.db")) for _ in range(2))
    ...     first.open(take_over=True)
    ...     second.open(take_over=True)
    ...     try:
    ...         with first.transaction():
    ...             pass
    ...     except TakenOverError as error:
    ...         print(error)
    ...     first.close()
    ...     second.close()
    epoch 2 of the database has begun but this server is of epoch 1
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._epoch: int | None = None
        self._stamp = ""
        # Differs from the other after a commit whose end was not heard.
        self._next_stamp = ""
        self._writing = False
        self._changed = False
        self._latest = 0.0
        self._appended = 0.0

    def open(self, *, take_over: bool) -> None:
        """Connect and migrate; with ``take_over`` begin a new epoch."""
        self._connection.connect()
        try:
            migrate(self._connection)
            if take_over:
                with self._begun():
                    self._stamp = self._next_stamp = _new_stamp()
                    ((self._epoch,),) = self._run("take_over", stamp=self._stamp)
                self._connection.hurry()
        except BaseException:
            self.close()
            raise

    def open_for_keys(self, *, write: bool, make: bool = False) -> None:
        """Connect for API keys alone, and change no table; with ``make`` fill an empty database."""
        self._connection.connect()
        try:
            prepare_for_keys(self._connection, write=write, make=make)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; closing twice is harmless."""
        self._connection.disconnect()

    def reopen(self) -> None:
        """Connect again, in the same epoch, to a database that has all that was written."""
        self._connection.connect()
        if self._epoch is not None:
            self._check_epoch("epoch")
            if self.latest_time() < self._appended:
                raise TakenOverError(_REPLACED)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; only for the server of the latest epoch."""
        self._own_epoch()
        with self._begun():
            self._check_epoch("epoch_for_writing")
            self._latest = self._appended
            yield
            if self._writing and (self._changed or self._latest > 0.0):
                self._next_stamp = _new_stamp()
                self._run("leave_stamp", stamp=self._next_stamp, time=self._latest)
        self._stamp = self._next_stamp
        self._appended = 0.0

    def _append(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
        """Insert rows by one statement that is a transaction of its own; how many it inserted.

        It inserts nothing if the stamp is not ours.
        """
        self._own_epoch()
        if self._writing:
            raise RuntimeError("a transaction has begun already: they cannot be nested")
        text = statement(name, self._connection.dialect)
        own = [(*row, self._stamp) for row in rows]
        return self._connection.insert_batch(text, (*columns, "stamp"), own)

    def latest_time(self) -> float:
        """The latest time that was written, 0.0 for a new database."""
        ((latest,),) = self._run("latest_time")
        return float(latest)

    def waits_after(self, moment: float) -> bool:
        """Whether something that came after waits: a decision for its end, or early feedback."""
        return bool(self._run("waits_after", moment=moment))

    def reset_time(self, moment: float) -> None:
        """Take a moment for the latest time that was written."""
        self._write("reset_time", moment=moment)
        self._latest = moment

    @contextmanager
    def _begun(self) -> Iterator[None]:
        if self._writing:
            raise RuntimeError("a transaction has begun already: they cannot be nested")
        self._run("begin")
        self._writing = True
        self._changed = False
        try:
            yield
            if not self._writing:
                raise RuntimeError("a statement of the transaction failed: nothing was written")
            self._connection.run("COMMIT", {})
        except BaseException:
            self._connection.roll_back()
            raise
        finally:
            self._writing = False

    def _own_epoch(self) -> int:
        if self._epoch is None:
            raise TakenOverError(
                "this connection has not taken over the database: it may only read"
            )
        return self._epoch

    def _check_epoch(self, name: str) -> None:
        own = self._own_epoch()
        for epoch, stamp in self._run(name):
            if epoch > own:
                raise TakenOverError(
                    f"epoch {epoch} of the database has begun but this server is of epoch {own}"
                )
            if stamp in (self._stamp, self._next_stamp):
                self._stamp = self._next_stamp = stamp
                return
        raise TakenOverError(_REPLACED)

    def _note(self, *times: float) -> None:
        self._latest = max(self._latest, *times)

    def _run(self, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        text = statement(name, self._connection.dialect)
        with self._ended_by_failure():
            return self._connection.run(text, parameters)

    def _run_batch(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        if not rows:
            return []
        text = statement(name, self._connection.dialect)
        with self._ended_by_failure():
            return self._connection.run_batch(text, columns, rows)

    @contextmanager
    def _ended_by_failure(self) -> Iterator[None]:
        # SQLite would go on, and some of its errors end the transaction; PostgreSQL refuses.
        try:
            yield
        except BaseException:
            self._writing = False
            raise

    def _write(self, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        self._must_write()
        self._changed = True
        return self._run(name, **parameters)

    def _write_batch(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> list[tuple[Any, ...]]:
        self._must_write()
        self._changed |= bool(rows)
        return self._run_batch(name, columns, rows)

    def _must_write(self) -> None:
        if not self._writing:
            raise RuntimeError("the database is written outside a transaction")


def _new_stamp() -> str:
    return secrets.token_hex(16)
