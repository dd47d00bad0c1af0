"""Logs of decisions from CSV or Parquet: each row checked, contexts and items made into numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.logs.encoding import encoded
from fabcost.offline.logs.faults import (
    Columns,
    Faults,
    numeric_columns,
    outcome,
    text,
)
from fabcost.offline.logs.rounds import Catalogue, Log, Places
from fabcost.offline.logs.rows import Record, check_columns, read_records

__all__ = ["Catalogue", "Columns", "Log", "read_catalogue", "read_log"]


def read_catalogue(path: Path, item_id: str) -> Catalogue:
    """Items of a table: all its named columns but the id are features."""
    records = list(read_records(path))
    check_columns(path, records[0] if records else {}, [item_id])
    ids = [text(record[item_id]) for record in records]
    for row, (name, count) in enumerate(zip(ids, _running_counts(ids), strict=True), start=1):
        if name is None or count > 1:
            fault = "missing" if name is None else f"{name!r} a second time"
            raise ValueError(f"row {row} of {path}: {item_id} is {fault}")
    named = [column for column in records[0] if column not in ("", item_id)]
    features = encoded([[record[c] for c in named] for record in records], named, "item", path)
    return Catalogue(tuple(str(name) for name in ids), features)


def read_log(
    path: Path,
    columns: Columns,
    *,
    catalogue: Catalogue | None = None,
    skip_bad_rows: bool = False,
    crosses: bool = False,
) -> Log:
    """The log in ``path``.

    A bad row is a ValueError that names its number (from 1, without the heading) and what is
    wrong, or is skipped and counted.  Without a catalogue the items are those of the log, told
    apart by a feature each.
    """
    records = list(read_records(path, columns.named))
    known = None if catalogue is None else frozenset(catalogue.ids)
    faults = Faults(columns, numeric_columns(records, columns.context), known)
    skipped: Counter[str] = Counter()
    sound = []
    for row, record in enumerate(records, start=1):
        fault = faults.of(record)
        if fault is None:
            sound.append(record)
        elif not skip_bad_rows:
            raise ValueError(f"row {row} of {path}: {' '.join(fault)}")
        else:
            skipped[f"{fault[0]} {fault[2]}"] += 1
    if not sound:
        raise ValueError(f"{path} has no sound row ({skipped.total()} bad ones were skipped)")
    return _assembled(path, sound, columns, catalogue, skipped, crosses)


def _assembled(
    path: Path,
    records: list[Record],
    columns: Columns,
    catalogue: Catalogue | None,
    skipped: Counter[str],
    crosses: bool,
) -> Log:
    if catalogue is None:
        ids = tuple(sorted({str(record[columns.action]) for record in records}))
        catalogue = Catalogue(ids, np.eye(len(ids)))
    place = {name: i for i, name in enumerate(catalogue.ids)}
    action = np.array([place[str(record[columns.action])] for record in records], dtype=np.intp)
    situation, contexts, slots = _situations(path, records, columns)
    return Log(
        np.array([outcome(record[columns.reward]) for record in records], dtype=np.float64),
        np.array([float(record[columns.propensity]) for record in records]),
        action,
        situation,
        contexts,
        _offered(action, situation, slots, len(catalogue.ids)),
        catalogue,
        skipped,
        crosses,
    )


def _situations(
    path: Path, records: list[Record], columns: Columns
) -> tuple[Places, FloatArray, list[str] | None]:
    """Each round's situation, the numbers of each one's context, and its slot."""
    slot = () if columns.slot is None else (columns.slot,)
    keys = [tuple(str(record[c]) for c in (*columns.context, *slot)) for record in records]
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    contexts = encoded(list(distinct), columns.context, "context", path)
    slots = None if columns.slot is None else [key[-1] for key in distinct]
    return np.array([distinct[key] for key in keys], dtype=np.intp), contexts, slots


def _offered(
    action: Places, situation: Places, slots: list[str] | None, items: int
) -> list[Places]:
    if slots is None:
        return [np.arange(items)] * (int(situation.max()) + 1)
    names, slot = np.unique(slots, return_inverse=True)
    shown = np.zeros((names.size, items), dtype=bool)
    shown[slot[situation], action] = True
    by_slot = [np.flatnonzero(each) for each in shown]
    return [by_slot[each] for each in slot]


def _running_counts(names: Iterable[str | None]) -> Iterator[int]:
    seen: Counter[str | None] = Counter()
    for name in names:
        seen[name] += 1
        yield seen[name]
