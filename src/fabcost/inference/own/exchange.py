"""What own effects hand out: laws to rules, changes to readers, rows to kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.inference.own.directory import Key, Slots

NOT_OWNED: tuple[()] = ()


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
