"""Effects that items have of their own, beside what their features say."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from typing import Any

import numpy as np

from fabcost import kernels
from fabcost.gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, Gaussian, Marginal
from fabcost.impressions import FloatArray
from fabcost.inference.own.directory import (
    KINDS,
    NOBODY,
    Directory,
    FoundItems,
    Key,
    OwnChanges,
    Owned,
    OwnLaw,
    Slots,
    check_keys,
)

NO_ITEM = -2
_FIRST_CAPACITY = 64
_SPARE_COLUMNS = 1.25
_CORRECTED = 8  # changes after which a law is rather made anew
_REMEMBERED = 4096  # changes that a reader can catch up with one by one
_NOTHING = FoundItems((), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), 0)


class OwnEffects:
    r"""An effect :math:`b_i \sim \mathcal N(0, \tau^2)` of every item: :math:`x^\top\theta + b_i`.

    The joint precision of weights and effects is an arrowhead: an item meets the weights, but no
    other item.  So beside the marginal belief of θ it is enough to keep, for each item, its
    precision :math:`d_i`, its shift :math:`h_i` and what it shares with the weights, :math:`c_i`:
    given θ, :math:`b_i` is :math:`\mathcal N((h_i - c_i^\top\theta)/d_i, 1/d_i)`.  That is
    8 (D + 2) bytes an item, beside its key.

    Parameters
    ----------
    weights
        D, the number of weights.
    variance
        τ², of each effect before anything is known of its item.

    Attributes
    ----------
    version : int
        Grows with every change; see `changes`.
    table : ndarray
        `rows` with room to grow, as the kernels take them.

    Examples
    --------
    >>> own = OwnEffects(2, 4.0)
    >>> own.enter(["ad-1", "ad-2", "ad-1"])
    array([0, 1, 0])
    >>> own.law(["ad-2", "never seen"]).noise
    array([2., 2.])
    >>> len(own)
    2
    """

    def __init__(self, weights: int, variance: float) -> None:
        if not (math.isfinite(variance) and SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE):
            raise ValueError(
                f"the variance of items' own effects is {variance} but must lie between "
                f"{SMALLEST_VARIANCE:g} and {LARGEST_VARIANCE:g}"
            )
        self.variance = float(variance)
        self.weights = weights
        self.version = 0
        self.table = np.zeros((_FIRST_CAPACITY, weights + 2))
        self._directory = Directory()
        self._recent: deque[int] = deque(maxlen=_REMEMBERED)
        self._found = _NOTHING
        self._law: OwnLaw | None = None  # that of what was found last
        self._law_version = 0

    def __len__(self) -> int:
        return len(self._directory.slots)

    def __contains__(self, key: object) -> bool:
        return key in self._directory.slots

    @property
    def keys(self) -> tuple[Key | None, ...]:
        """Whose each slot is, None if it is free."""
        return tuple(self._directory.keys)

    @property
    def rows(self) -> FloatArray:
        """dᵢ, hᵢ and cᵢ of each slot: a view."""
        return self.table[: len(self._directory.keys), : self.weights + 2]

    def enter(self, keys: Sequence[Key | None]) -> Slots:
        """The slot of each item, made for those that are new; None is no item.

        A key that is neither a string nor an integer is a ValueError, and none is entered.
        """
        found = self._slots_of(keys)
        if NOBODY in found:
            self._empty(self._directory.add(keys))
            found = self._slots_of(keys)
        return np.array(found, dtype=np.int64)

    def touch(self, key: Key | None) -> int:
        """The slot of an item, made if it is new, whose row is written next, which is noted."""
        slot = self._directory.slot_of(key)
        if slot is None:
            slot = NOBODY if key is None else int(self.enter((key,))[0])
        self._recent.append(slot)
        self.version += 1
        return slot

    def find(self, keys: Sequence[Key | None]) -> FoundItems:
        """The slots of items, which may be unknown; the same tuple is looked up once."""
        if keys is self._found.keys:
            return self._found
        slots = np.array(self._slots_of(keys), dtype=np.int64)
        if None in keys:
            slots[[key is None for key in keys]] = NO_ITEM
        places = _places(keys)
        found = FoundItems(keys, slots, places, 1 + int(places.max(initial=-1)))
        if type(keys) is tuple:
            self._found, self._law = found, None
        return found

    def _slots_of(self, keys: Sequence[Key | None]) -> list[int]:
        if not KINDS.issuperset(map(type, keys)):
            check_keys(keys)
        get: Any = self._directory.slots.get
        return list(map(get, keys, repeat(NOBODY)))

    def law(self, keys: Sequence[Key | None]) -> OwnLaw:
        r"""For each item :math:`c/d`, :math:`h/d` and :math:`1/\sqrt d`; zeros where there is none.

        An item that is not known has 0, 0 and τ.  That of the same tuple is kept, and corrected
        where it changed: the law is valid until the next call.

        Examples
        --------
        >>> law = OwnEffects(1, 4.0).law(["new", None])
        >>> law.tilt.tolist(), law.offset, law.noise
        ([[0.0], [0.0]], array([0., 0.]), array([2., 0.]))
        """
        found = self.find(keys)
        if found is not self._found:
            return self._law_of(found)
        behind = self.version - self._law_version
        if self._law is None or behind > _CORRECTED:
            self._law = self._law_of(found)
        elif behind:
            self._correct_law({*islice(reversed(self._recent), behind)} - {NOBODY})
        self._law_version = self.version
        return self._law

    def _law_of(self, found: FoundItems) -> OwnLaw:
        given = (self.table, found.slots, self.weights, self.variance)
        tilt, offset, noise, tilted = kernels.own_law(*given)
        return OwnLaw(tilt, offset, noise, tilted, found.places)

    def _correct_law(self, slots: Iterable[int]) -> None:
        if self._law is not None:
            for slot in slots:
                kernels.correct_own_law(self.table, self._found.slots, slot, *self._law[:4])

    def marginal(self, belief: Gaussian, X: FloatArray, keys: Sequence[Key | None]) -> Marginal:
        r"""Mean and variance of :math:`x^\top\theta + b_i` for each row and its item.

        Examples
        --------
        >>> OwnEffects(1, 4.0).marginal(Gaussian([1.0], [[9.0]]), np.ones((1, 1)), ["new"])
        Marginal(mean=array([1.]), variance=array([13.]))
        """
        law = self.law(keys)
        centre, variance = belief.marginal(X - law.tilt)
        return Marginal(centre + law.offset, variance + law.noise * law.noise)

    def predict(self, belief: Gaussian, X: FloatArray, keys: Sequence[Key | None]) -> FloatArray:
        """Click probability of each row and its item, as `Gaussian.predict` has it.

        Examples
        --------
        >>> belief = Gaussian([2.0], [[1e-12]])
        >>> OwnEffects(1, 1e-9).predict(belief, np.ones((1, 1)), ["new"]).round(3)
        array([0.881])
        """
        centre, variance = self.marginal(belief, X, keys)
        # A row of zeros without an item has variance zero; any tiny one gives the same ½.
        clicks: FloatArray = kernels.predictions(centre, np.maximum(variance, 1e-300), True)
        return clicks

    def effects(self, belief: Gaussian, keys: Sequence[Key | None]) -> Marginal:
        """Mean and variance of the items' effects, under what is known of the weights.

        Examples
        --------
        >>> OwnEffects(1, 4.0).effects(Gaussian([1.0], [[9.0]]), ["new"])
        Marginal(mean=array([0.]), variance=array([4.]))
        """
        return self.marginal(belief, np.zeros((len(keys), self.weights)), keys)

    def written(self, slots: Slots) -> Owned:
        """What a kernel needs that writes the rows of ``slots``, which is noted."""
        self._note(slots)
        return Owned(slots, self.table)

    def widen(self, count: int) -> None:
        """Follow ``count`` new weights, with which no item has met yet; amortised."""
        self.weights += count
        self._reserve()
        self._law = None
        self._note(np.array([NOBODY]))

    def forget(self, keys: Iterable[Key]) -> Slots:
        """Integrate out those of the items that are known; what is believed of θ stays.

        Examples
        --------
        >>> own = OwnEffects(1, 4.0)
        >>> _ = own.enter(["old", "new"])
        >>> own.forget(["old", "never seen"]), own.keys
        (array([0]), (None, 'new'))
        """
        slots = self._directory.release(keys)
        self._empty(slots)
        return slots

    def clear(self) -> None:
        """Back to the prior, with the same items in the same slots."""
        self._empty(np.arange(len(self._directory.keys)))

    def changes(self, since: int) -> OwnChanges:
        """Copies of what changed after a version, for a reader in another thread.

        One row after an impression; all after a refresh of many.

        Examples
        --------
        >>> own = OwnEffects(1, 4.0)
        >>> reader, _ = own.copy(), own.enter(["ad-1"])
        >>> reader.follow(own.changes(reader.version))
        >>> reader.keys
        ('ad-1',)
        """
        if not 0 <= self.version - since <= _REMEMBERED:
            return OwnChanges(None, self.keys, self.rows.copy(), self.version)
        recent = sorted({*islice(reversed(self._recent), self.version - since)} - {NOBODY})
        keys = tuple([self._directory.keys[slot] for slot in recent])
        slots = np.array(recent, dtype=np.int64)
        return OwnChanges(slots, keys, self.rows[slots], self.version)

    def follow(self, changes: OwnChanges) -> None:
        """Become equal to those whose `changes` since this version these are."""
        width, self.weights = self.weights, changes.rows.shape[1] - 2
        slots = changes.slots
        if slots is None:
            self._directory = Directory(changes.keys)
            slots, moved = np.arange(len(changes.keys)), True
        else:
            moved = self._directory.reassign(slots.tolist(), changes.keys)
        self._reserve()
        self.table[slots, : self.weights + 2] = changes.rows
        self.version = self._law_version = changes.version
        if moved:
            self._found, self._law = _NOTHING, None
        elif width != self.weights or slots.size > _CORRECTED:
            self._law = None
        else:
            self._correct_law(slots.tolist())

    def copy(self) -> OwnEffects:
        """Others that are equal."""
        other = OwnEffects(self.weights, self.variance)
        other.follow(self.changes(self.version + 1))
        return other

    def _empty(self, slots: Slots) -> None:
        """Nothing is known of the items of these slots, which may have got them just now."""
        self._reserve()
        self.table[slots] = 0.0
        self.table[slots, 0] = 1.0 / self.variance
        self._found, self._law = _NOTHING, None
        self._note(slots)

    def _note(self, slots: Slots) -> None:
        if slots.size < _REMEMBERED:
            self._recent.extend(slots.tolist())
            self.version += slots.size
        else:
            self.note_all()

    def note_all(self) -> None:
        """All rows may have changed: no reader can catch up with this one by one."""
        self.version += _REMEMBERED + 1

    def _reserve(self) -> None:
        """Room for all slots and all weights; growth is amortised."""
        slots, before = len(self._directory.keys), self.table
        capacity, columns = before.shape
        if slots <= capacity and self.weights + 2 <= columns:
            return
        if slots > capacity:
            capacity = max(slots, 2 * capacity)
        if self.weights + 2 > columns:
            columns = max(self.weights + 2, int(_SPARE_COLUMNS * columns))
        self.table = np.zeros((capacity, columns))
        self.table[: len(before), : before.shape[1]] = before


def _places(keys: Sequence[Key | None]) -> Slots:
    if len(set(keys)) == len(keys):
        return np.arange(len(keys))
    first: dict[Key | None, int] = {}
    return np.array([first.setdefault(key, place) for place, key in enumerate(keys)])


def effects_of(weights: int, variance: float) -> OwnEffects | None:
    """Effects of this variance, or none at all if it is zero.

    Examples
    --------
    >>> effects_of(2, 0.0) is None
    True
    """
    return None if variance == 0.0 else OwnEffects(weights, variance)
