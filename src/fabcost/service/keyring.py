"""API keys, as the service keeps them."""

from __future__ import annotations

from fabcost.service.clock import Clock
from fabcost.service.store.rows import KeyRow
from fabcost.service.threads import StoreThread


class Keyring:
    """Reads and writes API keys, next to the writer: their transactions are their own."""

    def __init__(self, reader: StoreThread, clock: Clock) -> None:
        self._reader = reader
        self._clock = clock
        self._untold: set[str] = set()

    async def keys(self) -> list[KeyRow]:
        """All API keys, once those that nobody was told are revoked."""
        for key_id in list(self._untold):
            await self.revoke_key(key_id)
            self._untold.discard(key_id)
        return await self._reader.ask(lambda store: store.keys.all())

    async def insert_key(self, row: KeyRow) -> None:
        """A new API key."""
        await self._reader.ask(lambda store: store.keys.insert(row))

    def take_back_key(self, key_id: str) -> None:
        """Revoke a key when the database can: whoever asked for it was not told its text."""
        self._untold.add(key_id)

    async def revoke_key(self, key_id: str) -> bool:
        """Revoke an API key; whether it was in force."""
        now = self._clock.now()
        return await self._reader.ask(lambda store: store.keys.revoke(key_id, now))
