"""API keys: read and written next to a server, in transactions of their own."""

from __future__ import annotations

from fabcost.service.store.connection import Connection
from fabcost.service.store.rows import KeyRow
from fabcost.service.store.session import Session, migrate, migrations, version_of
from fabcost.wire.errors import DatabaseUnusableError

#: The table of API keys is as it is since this version.
_KEYS_SINCE = 2


class KeyTable:
    """API keys, written while a server runs in transactions of their own, but for `revoke_of`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> list[KeyRow]:
        """All API keys, revoked ones too."""
        return [KeyRow(*row) for row in self._session.run("keys")]

    def insert(self, row: KeyRow) -> None:
        """A new API key; the same key again changes nothing."""
        with self._session.begun():
            if not self._session.write("insert_key", **row._asdict()):
                raise ValueError(f"the database refused a row: there is another key {row.key_id!r}")

    def revoke(self, key_id: str, now: float) -> bool:
        """Revoke a key; whether one was in force until ``now``."""
        with self._session.begun():
            return bool(self._session.write("revoke_key", key_id=key_id, now=now))

    def revoke_of(self, model: str, now: float) -> None:
        """Revoke all keys of a model, within a transaction."""
        self._session.write("revoke_keys_of", model=model, now=now)


def open_for_keys(session: Session, *, write: bool, make: bool = False) -> None:
    """Connect for API keys alone, next to a server of this version or an earlier one.

    No table is changed, but with ``make`` an empty database gets its tables.  ``write`` needs
    the newest version.
    """
    with session.connecting():
        prepare_for_keys(session.connection, write=write, make=make)


def prepare_for_keys(connection: Connection, *, write: bool, make: bool) -> None:
    """An error if API keys cannot be read, or written, in a database as it is.

    With ``make`` an empty one gets its tables.  Any other may be that of a running server, of this
    version or an earlier one, which a migration would stop.
    """
    version, newest = version_of(connection), len(migrations(connection.dialect))
    if version == 0 and make:
        migrate(connection)
    elif version == 0:
        raise DatabaseUnusableError(
            "the database is empty: make a first key with `fabcost keys add`"
        )
    elif version < (newest if write else _KEYS_SINCE):
        raise DatabaseUnusableError(
            f"the database has version {version} but this program writes version {newest}: use the "
            "fabcost that serves it now; or stop that, make a backup and start `fabcost serve` of "
            "this program, which brings it up to date"
        )
