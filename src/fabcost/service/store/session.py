"""A database of the newest version, and the right to write it: epochs and transactions."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from fabcost.service.store.connection import FOLDER, Connection, Dialect, Found, Rows, statements
from fabcost.service.store.rows import DecisionRow
from fabcost.wire.errors import DatabaseUnusableError, TakenOverError

_STAMP_BYTES = 16
_PROGRAM = "fabcost"
_APPENDED = (*DecisionRow._fields, "stamp", "writer")
#: Statements of which other servers need not hear at once, who would only do the same.
_UNTOLD = {
    *("add_counts", "add_calibration", "add_tallies", "mark_counted", "forget_replicas"),
    *("insert_decisions", "put_snapshot", "drop_old_snapshots"),
}
_REPLACED = "the database was replaced: what this server wrote last is not in it"


class Session:
    """Opens a database, runs named statements, and lets only the latest server write.

    Every transaction that writes leaves a new random stamp.  A database with another stamp than the
    last one of ours is not the one we wrote: another server's, or an older copy of our own.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._statements = statements(connection.dialect)
        self._epoch: int | None = None
        #: By which the database knows this server among those that share it.
        self.number = 0
        #: Whether other servers may write, too.
        self.shared = False
        #: Whether this server may be the one of them that leads.
        self.may_lead = True
        #: The one that leads is taken to hang if it asks for nothing for so long.
        self.lease_seconds = 10.0
        self._leads = False
        #: Whether others have written what is not `followed` yet; for within a transaction.
        self.moved = False
        # That of whoever wrote last, and the last whose changes we know.
        self._current = self._followed = ""
        self._stamp = ""
        # Differs from the other after a commit whose end was not heard.
        self._next_stamp = ""
        self._writing = False
        self._changed = self._tells = False
        self._latest = 0.0
        self._appended = 0.0

    def open(self, *, take_over: bool, share: bool = False) -> None:
        """Connect and migrate.

        With ``take_over`` begin a new epoch: any other server finds `TakenOverError` at its next
        transaction; but with ``share`` join those that are there, unless they are of an earlier
        version.  Without it the connection may only read, and may write API keys.
        """
        with self.connecting():
            is_new = migrate(self.connection)
            if take_over:
                with self.begun():
                    self._stamp = self._next_stamp = secrets.token_hex(_STAMP_BYTES)
                    entering = "join" if share and not is_new else "take_over"
                    ((self._epoch, self.number),) = self.run(entering, stamp=self._stamp)
                self.shared = share
                self._be_alive()
                self.connection.hurry()

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Connected, unless something fails meanwhile."""
        self.connection.connect()
        try:
            yield
        except BaseException:
            self.connection.disconnect()
            raise

    def reopen(self) -> None:
        """Connect again, in the same epoch; `TakenOverError` if what was written is not there."""
        self.connection.connect()
        if self._epoch is not None:
            self._check_epoch("epoch")
            self._be_alive()
            if self.latest_time() < self._appended:
                raise TakenOverError(_REPLACED)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; only for the server of the latest epoch."""
        self._own_epoch()
        with self.begun():
            self._check_epoch("epoch_for_writing")
            self._latest = self._appended
            yield
            if self._writing and (self._changed or self._latest > 0.0):
                self._next_stamp = secrets.token_hex(_STAMP_BYTES)
                given = {"stamp": self._next_stamp, "time": self._latest}
                self.run("leave_stamp", **given, own=self.number, tells=self._tells)
                self._current = self._next_stamp
        self._stamp = self._next_stamp
        self._appended = 0.0

    def append_decisions(self, rows: Sequence[DecisionRow]) -> bool:
        """Insert decisions by one statement, a transaction of its own; whether all were new.

        If not, some may be there.  None is once another server has taken over, or the database was
        replaced: the stamp is not ours then.
        """
        if not rows:
            return True
        self._own_epoch()
        self._must_not_nest()
        own = [(*row, self._stamp, self.number) for row in rows]
        _refuse_nul(chain.from_iterable(own))
        text = self._statements["append_decisions"]
        inserted = self.connection.insert_batch(text, _APPENDED, own)
        if inserted < len(rows):
            return False
        self._appended = max(self._appended, *(row.made for row in rows))
        return True

    def latest_time(self) -> float:
        """The latest time that was written, 0.0 for a new database."""
        ((latest,),) = self.run("latest_time")
        return float(latest)

    def reset_time(self, moment: float) -> None:
        """Take a moment for the latest time that was written."""
        self.write("reset_time", moment=moment)
        self._latest = moment

    @contextmanager
    def begun(self) -> Iterator[None]:
        """All or nothing, whoever has taken over: for what servers do not write."""
        self._must_not_nest()
        self.run("begin")
        self._writing = True
        self._changed = self._tells = False
        try:
            yield
            if not self._writing:
                raise RuntimeError("a statement of the transaction failed: nothing was written")
            self.connection.run("COMMIT", {})
        except BaseException:
            self.connection.roll_back()
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
        for epoch, current, stamp in self.run(name, own=self.number):
            if epoch > own:
                raise TakenOverError(
                    f"epoch {epoch} of the database has begun but this server is of epoch {own}"
                )
            if stamp in (self._stamp, self._next_stamp):
                self._stamp = self._next_stamp = stamp
                self._current = current
                self.moved |= self.shared and current not in (stamp, self._followed)
                return
        raise TakenOverError(_REPLACED)

    def followed(self) -> None:
        """All that others have written is known."""
        self._followed, self.moved = self._current, False

    def leads(self) -> bool:
        """Whether this server does what only one of them is to do; asks for it if nobody does.

        The connection of one that leads but hangs is ended, and with it what it had begun.
        """
        if self.shared and self.may_lead and not self._leads:
            ((self._leads,),) = self.run("lead")
            if not self._leads:
                self.run("end_hung", seconds=self.lease_seconds)
        return self._leads or not self.shared

    def dead(self) -> list[int]:
        """The numbers of servers that are gone, none of which comes back in this transaction."""
        name = "dead_replicas" if self.shared else "replicas"
        rows = [] if self.connection.dialect == "sqlite" else self.run(name, own=self.number)
        return [number for (number,) in rows if number != self.number]

    def _be_alive(self) -> None:
        """Hold what a server loses with its connection, by which others see that it is gone."""
        self._leads = False
        if self.shared:
            self.run("end_former", own=self.number)
            self.run("be_alive", own=self.number)

    def note(self, *times: float) -> None:
        """Times that the transaction writes."""
        self._latest = max(self._latest, *times, 0.0)

    def run(self, name: str, /, **parameters: Any) -> Found:
        """Run a named statement; the rows it returns."""
        with self._ended_by_failure():
            _refuse_nul(parameters.values())
            return self.connection.run(self._statements[name], parameters)

    def run_batch(self, name: str, columns: Sequence[str], rows: Rows) -> Found:
        """Run a named statement on a table ``batch`` of these rows."""
        if not rows:
            return []
        with self._ended_by_failure():
            _refuse_nul(chain.from_iterable(rows))
            return self.connection.run_batch(self._statements[name], columns, rows)

    @contextmanager
    def _ended_by_failure(self) -> Iterator[None]:
        # SQLite would go on, and some of its errors end the transaction; PostgreSQL refuses.
        try:
            yield
        except BaseException:
            self._writing = False
            raise

    def write(self, name: str, /, **parameters: Any) -> Found:
        """`run` for a statement that changes something."""
        self._change(name)
        return self.run(name, **parameters)

    def write_batch(self, name: str, columns: Sequence[str], rows: Rows) -> Found:
        """`run_batch` for a statement that changes something."""
        self._change(name, something=bool(rows))
        return self.run_batch(name, columns, rows)

    def _change(self, name: str, *, something: bool = True) -> None:
        self.must_write()
        self._changed |= something
        self._tells |= something and self.shared and name not in _UNTOLD

    def must_write(self) -> None:
        """An error outside a transaction."""
        if not self._writing:
            raise RuntimeError("the database is written outside a transaction")

    def _must_not_nest(self) -> None:
        if self._writing:
            raise RuntimeError("a transaction has begun already: they cannot be nested")


def _refuse_nul(values: Iterable[Any]) -> None:
    """A ValueError if some text holds a NUL, which PostgreSQL has no text for."""
    for value in values:
        if type(value) is str and "\0" in value:
            raise ValueError(f"{value!r} holds a NUL character, which the database cannot keep")


class Migration(NamedTuple):
    """The statements that bring a database to a version."""

    version: int
    statements: tuple[str, ...]


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """All migrations in order."""
    found = sorted((FOLDER / "migrations" / dialect).iterdir(), key=lambda each: each.name)
    scripts = [each.read_text(encoding="utf-8").split(";\n") for each in found]
    return tuple(
        Migration(int(each.name.split("_")[0]), tuple(filter(None, map(str.strip, script))))
        for each, script in zip(found, scripts, strict=True)
    )


def migrate(connection: Connection, to: int | None = None) -> bool:
    """Run the migrations that are missing, all or up to a version; whether there were any."""
    known, before = migrations(connection.dialect)[:to], version_of(connection)
    while version_of(connection) != len(known):
        _run(connection, "begin")
        try:
            _step(connection, known)
        except BaseException:
            connection.roll_back()
            raise
        connection.run("COMMIT", {})
    return before != len(known)


def _step(connection: Connection, known: tuple[Migration, ...]) -> None:
    _run(connection, "lock_migrations")
    version = version_of(connection)
    if version == len(known):
        return
    if version == 0:
        _run(connection, "create_version")
        _run(connection, "insert_version")
    migration = known[version]
    for each in migration.statements:
        connection.run(each, {})
    _run(connection, "set_version", version=migration.version)


def version_of(connection: Connection) -> int:
    """The version of a database, 0 if it is empty; an error if it is not ours to read."""
    tables = [name for (name,) in _run(connection, "tables")]
    if not tables:
        return 0
    rows = _run(connection, "version") if "schema_version" in tables else []
    if len(rows) != 1 or rows[0][0] != _PROGRAM:
        raise DatabaseUnusableError(
            f"the database holds tables of another program (such as {tables[0]!r}); "
            f"expected an empty database or one made by {_PROGRAM}"
        )
    newest = migrations(connection.dialect)[-1].version
    if rows[0][1] > newest:
        raise DatabaseUnusableError(
            f"the database has version {rows[0][1]} but this program knows versions up to {newest}:"
            " use the newer fabcost that serves it, or a backup from before"
        )
    return int(rows[0][1])


def _run(connection: Connection, name: str, **parameters: Any) -> Found:
    return connection.run(statements(connection.dialect)[name], parameters)
