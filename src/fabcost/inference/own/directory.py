"""Which item has which slot of a table, and what is handed out by slots."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray

Key = str | int
Slots = npt.NDArray[np.int64]

NOBODY = -1  # the slot of a row without an item, and of an item that is not known
NOT_OWNED: tuple[()] = ()
KINDS: frozenset[type] = frozenset((str, int, type(None)))


class Directory:
    """Items by their keys, strings or integers, each with a slot; slots given up are used again.

    Attributes
    ----------
    keys : list
        Whose each slot is, None if it is free.
    slots : dict
        That of each item.

    Examples
    --------
    >>> items = Directory()
    >>> items.add(["ad-1", "ad-2"])
    array([0, 1])
    >>> items.release(["ad-1"]), items.add([7]), items.slots
    (array([0]), array([0]), {'ad-2': 1, 7: 0})
    """

    def __init__(self, keys: Iterable[Key | None] = ()) -> None:
        self.keys: list[Key | None] = []
        self.slots: dict[Key, int] = {}
        self._free: list[int] = []
        for slot, key in enumerate(keys):
            self.assign(slot, key)

    def slot_of(self, key: Key | None) -> int | None:
        """The slot of an item; None if it is not known, a ValueError if it can be no item."""
        if type(key) not in KINDS:
            check_keys((key,))
        return self.slots.get(key)  # type: ignore[arg-type]

    def add(self, keys: Iterable[Key | None]) -> Slots:
        """Slots for those items that have none yet."""
        slots = []
        for key in keys:
            if key is not None and key not in self.slots:
                slots.append(self._free_slot())
                self.assign(slots[-1], key)
        return np.array(slots, dtype=np.int64)

    def release(self, keys: Iterable[Key]) -> Slots:
        """Free the slots of those items that are known; which these were."""
        gone = [self.slots[key] for key in dict.fromkeys(keys) if key in self.slots]
        for slot in gone:
            self.assign(slot, None)
        return np.array(gone, dtype=np.int64)

    def assign(self, slot: int, key: Key | None) -> None:
        """Give a slot, or the one after the last, to an item, or to none."""
        if slot == len(self.keys):
            self.keys.append(None)
        before = self.keys[slot]
        if before is not None and self.slots.get(before) == slot:
            del self.slots[before]
        self.keys[slot] = key
        if key is None:
            heapq.heappush(self._free, slot)
        else:
            self.slots[key] = slot

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


def check_keys(keys: Iterable[object]) -> None:
    """A ValueError if one can be no item.

    Examples
    --------
    >>> check_keys(["ad-1", 7, None])
    >>> check_keys([1.5])
    Traceback (most recent call last):
    ValueError: an item is 1.5 but must be a string or an integer
    """
    for key in keys:
        if not isinstance(key, tuple(KINDS)) or isinstance(key, bool):
            raise ValueError(f"an item is {key!r:.80} but must be a string or an integer")


class OwnLaw(NamedTuple):
    """What is known of some items' effects given θ: b = offset − tiltᵀθ + noise · z.

    Those of the same place are one item: they have one z.  Tilts that are zero are not ``tilted``.

    Examples
    --------
    >>> from fabcost.inference.own.effects import OwnEffects
    >>> OwnEffects(1, 4.0).law(["twice", "other", "twice"]).places
    array([0, 1, 0])
    """

    tilt: FloatArray
    offset: FloatArray
    noise: FloatArray
    tilted: npt.NDArray[np.bool_]
    places: Slots


class OwnChanges(NamedTuple):
    """What a reader needs to catch up: the slots that changed, whose they are, and their rows.

    ``slots`` is None where all did.

    Examples
    --------
    >>> from fabcost.inference.own.effects import OwnEffects
    >>> own = OwnEffects(1, 4.0)
    >>> _ = own.enter(["ad-1", "ad-2"])
    >>> own.changes(since=0).keys
    ('ad-1', 'ad-2')
    """

    slots: Slots | None
    keys: tuple[Key | None, ...]
    rows: FloatArray
    version: int


class Owned(NamedTuple):
    """Whose effect each row has, and the table of effects, as the kernels take them.

    Examples
    --------
    >>> from fabcost.inference.own.effects import OwnEffects
    >>> own = OwnEffects(1, 4.0)
    >>> own.written(own.enter(["ad-1", None])).slots
    array([ 0, -1])
    """

    slots: Slots
    table: FloatArray


class FoundItems(NamedTuple):
    """Items that were looked up: their slots, and where each is first named among ``many``.

    A slot is −1 for an item that is not known, and −2 where there is none.

    Examples
    --------
    >>> from fabcost.inference.own.effects import OwnEffects
    >>> OwnEffects(1, 4.0).find(["new", None]).slots
    array([-1, -2])
    """

    keys: Sequence[Key | None]
    slots: Slots
    places: Slots
    many: int
