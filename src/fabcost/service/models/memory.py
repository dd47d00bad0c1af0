"""What is made again when it is needed again, kept for a while within so many bytes."""

from __future__ import annotations

from itertools import count
from typing import Any

from fabcost.service.settings import CACHE_BYTES

#: Of the owner of an entry, and what tells it from the owner's others.
Key = tuple[Any, ...]

#: Of an entry itself: its key, its place, and what holds its value.
_ENTRY_BYTES = 500

_owners = count(1)


def new_owner() -> int:
    """What the keys of an owner begin with."""
    return next(_owners)


class Memory:
    """Values by key; those that were not asked for the longest are forgotten first.

    Parameters
    ----------
    most
        Bytes of all values together.

    Examples
    --------
    >>> memory = Memory(2_000)
    >>> for letter in "abc":
    ...     memory.put((1, letter), letter.upper(), 400)
    >>> memory.get((1, "a")), memory.get((1, "c")), memory.held
    (None, 'C', 1800)
    """

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self.most = most
        self.held = 0
        self._entries: dict[Key, tuple[Any, int]] = {}

    def get(self, key: Key) -> Any:
        """The value, or None if it is not known, or no longer."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._entries[key] = entry
        return entry[0]

    def put(self, key: Key, value: Any, size: int) -> None:
        """Remember a value of so many bytes, unless it is larger than all that may be."""
        self.drop(key)
        size += _ENTRY_BYTES
        while self._entries and self.held + size > self.most:
            self.drop(next(iter(self._entries)))
        if size <= self.most:
            self._entries[key] = (value, size)
            self.held += size

    def drop(self, key: Key) -> None:
        """Forget a value, if it is known."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.held -= entry[1]

    def forget(self, owner: int) -> None:
        """All values of an owner."""
        for key in [key for key in self._entries if key[0] == owner]:
            self.drop(key)
