"""Which item has which slot of a table."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

Key = str | int
Slots = npt.NDArray[np.int64]

NOBODY = -1  # the slot of a row without an item, and of an item that is not known
_KINDS: frozenset[type] = frozenset((str, int, type(None)))


class Directory:
    """Items by their keys, strings or integers, each with a slot; slots given up are used again.

    Attributes
    ----------
    keys : list
        Whose each slot is, None if it is free.

    Examples
    --------
    >>> items = Directory()
    >>> items.add(["ad-1", "ad-2"])
    array([0, 1])
    >>> items.release(["ad-1"]), items.add([7]), items.look_up([7, "ad-1", None])
    (array([0]), array([0]), [0, -1, -1])
    """

    def __init__(self, keys: Iterable[Key | None] = ()) -> None:
        self.keys: list[Key | None] = []
        self._slots: dict[Key, int] = {}
        self._free: list[int] = []
        for slot, key in enumerate(keys):
            self.assign(slot, key)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: object) -> bool:
        return key in self._slots

    def look_up(self, keys: Sequence[Key | None]) -> list[int]:
        """The slot of each item, or `NOBODY`; a ValueError if one can be no item."""
        if not _KINDS.issuperset(map(type, keys)):
            _check(keys)
        get: Any = self._slots.get
        return list(map(get, keys, repeat(NOBODY)))

    def slot_of(self, key: Key | None) -> int | None:
        """`look_up` for one item, in less time; None if it is not known."""
        if type(key) not in _KINDS:
            _check((key,))
        return self._slots.get(key)  # type: ignore[arg-type]

    def add(self, keys: Iterable[Key | None]) -> Slots:
        """Slots for those items that have none yet."""
        slots = []
        for key in keys:
            if key is not None and key not in self._slots:
                slots.append(self._free_slot())
                self.assign(slots[-1], key)
        return np.array(slots, dtype=np.int64)

    def release(self, keys: Iterable[Key]) -> Slots:
        """Free the slots of those items that are known; which these were."""
        gone = [self._slots[key] for key in dict.fromkeys(keys) if key in self._slots]
        for slot in gone:
            self.assign(slot, None)
        return np.array(gone, dtype=np.int64)

    def assign(self, slot: int, key: Key | None) -> None:
        """Give a slot, or the one after the last, to an item, or to none."""
        if slot == len(self.keys):
            self.keys.append(None)
        before = self.keys[slot]
        if before is not None and self._slots.get(before) == slot:
            del self._slots[before]
        self.keys[slot] = key
        if key is None:
            heapq.heappush(self._free, slot)
        else:
            self._slots[key] = slot

    def reassign(self, slots: Iterable[int], keys: Iterable[Key | None]) -> bool:
        """Let these slots be those of these items, or of none; whether one was another's."""
        moved = False
        for slot, key in zip(slots, keys, strict=True):
            if slot == len(self.keys) or self.keys[slot] != key:
                self.assign(slot, key)
                moved = True
        return moved

    def _free_slot(self) -> int:
        """The first that was given up and not taken since, or one more."""
        while self._free:
            slot = heapq.heappop(self._free)
            if self.keys[slot] is None:
                return slot
        return len(self.keys)


def _check(keys: Sequence[object]) -> None:
    for key in keys:
        if not isinstance(key, tuple(_KINDS)) or isinstance(key, bool):
            raise ValueError(f"an item is {key!r:.80} but must be a string or an integer")


def as_keys(items: Iterable[Any] | None, rows: int) -> list[Key | None]:
    """An item for each row, or None for each if there are none; a ValueError if they do not fit.

    Examples
    --------
    >>> as_keys(np.array([3, 4]), 2), as_keys(None, 1)
    ([3, 4], [None])
    """
    if items is None:
        return [None] * rows
    keys = items.tolist() if isinstance(items, np.ndarray) else list(items)
    if len(keys) != rows:
        raise ValueError(f"there are {len(keys)} items but {rows} rows")
    return keys
