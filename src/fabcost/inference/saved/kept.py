"""The impressions that a saved learner keeps, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.impressions import LARGEST_FEATURE, as_rows, check_weights
from fabcost.inference.history import SPARSE
from fabcost.inference.own.directory import NOBODY, Slots
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.saved.checks import SavedCounts, entry, numbers
from fabcost.sparse import SparseRows


def kept_of(
    arrays: Mapping[str, npt.NDArray[Any]],
    counts: SavedCounts,
    limit: int | None,
    weights: int,
    own: OwnEffects | None = None,
    *,
    fades: bool = False,
) -> dict[str, npt.NDArray[Any]]:
    """The impressions that are kept, with their sites, for `fabcost.inference.history`.

    Examples
    --------
    >>> kept_of({}, SavedCounts(3, 0, 0, unconverged=0, next=4, slot=2), None, 1)
    Traceback (most recent call last):
    ValueError: slot is 2 but 3 impressions are kept
    """
    kept = 0 if counts.next is None else min(counts.seen, limit or counts.seen)
    if own is not None or fades:  # some may have been forgotten
        kept = min(kept, entry(arrays, "y").size)
    if counts.slot != kept and not (kept == limit and counts.slot < kept):
        raise ValueError(f"slot is {counts.slot} but {kept} impressions are kept")
    checked = {
        **_rows_of(arrays, kept, weights),
        **{name: numbers(arrays, name, kept) for name in ("y", "site_precision", "site_shift")},
    }
    if not (np.abs(checked["y"]) == 1.0).all():
        raise ValueError("y has labels that are not -1 or +1")
    for name in ("site_precision", "site_shift"):
        for wrong in checked[name][np.abs(checked[name]) > LARGEST_FEATURE]:
            raise ValueError(f"{name} contains {wrong} but no site can be so large")
    if own is not None:
        checked["items"] = _items_of(arrays, kept, own)
    if "counts" in arrays:  # of a learner whose rows had weights
        checked["counts"] = numbers(arrays, "counts", kept, 2)
        check_weights(checked["counts"], "counts")
        if not checked["counts"].any(axis=1).all():
            raise ValueError("counts has a row of no impressions but each must have some")
    return checked


def _rows_of(
    arrays: Mapping[str, npt.NDArray[Any]], kept: int, weights: int
) -> dict[str, npt.NDArray[Any]]:
    if not any(name in arrays for name in SPARSE):
        return {"X": as_rows(numbers(arrays, "X", kept, weights), weights)}
    size = entry(arrays, SPARSE[2]).size
    starts, columns = (
        numbers(arrays, name, many, kind="i")
        for name, many in zip(SPARSE, (kept + 1, size), strict=False)
    )
    rows = SparseRows(starts, columns, numbers(arrays, SPARSE[2], size), weights)
    return dict(zip(SPARSE, rows.arrays, strict=True))


def _items_of(arrays: Mapping[str, npt.NDArray[Any]], kept: int, own: OwnEffects) -> Slots:
    items = numbers(arrays, "items", kept, kind="i")
    taken = [slot for slot, key in enumerate(own.keys) if key is not None]
    for wrong in items[~np.isin(items, [NOBODY, *taken])]:
        raise ValueError(f"items contains slot {wrong}, which is no item's")
    return items
