"""API keys, which may be written while a server runs."""

from __future__ import annotations

from fabcost.service.store.rows import KeyRow
from fabcost.service.store.session import Session


class KeyTable(Session):
    """API keys; the methods are those of the protocol."""

    def keys(self) -> list[KeyRow]:
        """All API keys, revoked ones too."""
        return [KeyRow(*row) for row in self._run("keys")]

    def insert_key(self, row: KeyRow) -> None:
        """A new API key, in a transaction of its own; the same key again changes nothing."""
        with self._begun():
            if not self._write("insert_key", **row._asdict()):
                raise ValueError(f"the database refused a row: there is another key {row.key_id!r}")

    def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke a key, in a transaction of its own; whether one was in force until ``now``."""
        with self._begun():
            return bool(self._write("revoke_key", key_id=key_id, now=now))

    def revoke_keys_of(self, model: str, now: float) -> None:
        """Revoke all keys of a model."""
        self._write("revoke_keys_of", model=model, now=now)
