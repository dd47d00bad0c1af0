"""Candidates of a catalogue by its version, where naming each in every record would be much."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import compress

import msgspec
import numpy as np

from fabcost.service.store.record import MANY, encoded, pack, record, unpack
from fabcost.service.store.rows import StoredDecision
from fabcost.service.store.store import Store

_ALL = "all"
_MARK = '"listed":'


def listing(names: Sequence[str], catalogue: Mapping[str, object]) -> str | None:
    """Which items of a catalogue these are, as text; None if they are few.

    Examples
    --------
    >>> items = dict.fromkeys(map(str, range(1_000)))
    >>> listing(list(items), items), listing(["1", "2"], items)
    ('all', None)
    >>> even = [item for item in items if int(item) % 2 == 0]
    >>> told(listing(even, items), list(items)) == even
    True
    """
    if len(names) < MANY:
        return None
    if len(names) == len(catalogue):
        return _ALL
    among = set(names)
    bits = np.fromiter((item in among for item in catalogue), dtype=bool, count=len(catalogue))
    return pack(np.packbits(bits))


def told(listed: str, items: Sequence[str]) -> list[str]:
    """The names that `listing` was made of, from the items of the catalogue.

    Examples
    --------
    >>> told("all", ["a", "b"])
    ['a', 'b']
    """
    if listed == _ALL:
        return list(items)
    bits = np.unpackbits(unpack(listed, np.dtype(np.uint8)), count=len(items))
    return list(compress(items, bits.tolist()))


def in_full(store: Store, rows: Collection[StoredDecision]) -> list[StoredDecision]:
    """Decisions whose records name all candidates, as the database has them or not."""
    known: dict[tuple[str, int], list[str]] = {}
    return [_in_full(store, row, known) if _MARK in row.record else row for row in rows]


def _in_full(
    store: Store, row: StoredDecision, known: dict[tuple[str, int], list[str]]
) -> StoredDecision:
    made = record(row.record)
    if made.listed is None:
        return row
    at = (row.model, made.catalogue_version)
    if at not in known:
        known[at] = store.listed_items(*at)
    candidates = told(made.listed, known[at])
    named = msgspec.structs.replace(made, candidates=candidates, listed=None)
    return row._replace(record=encoded(named))
