"""Logs of decisions from CSV or Parquet: each row checked, contexts and items made into numbers."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.bandit.environment import crossed
from fabcost.impressions import FloatArray

Record = dict[str, Any]

_MISSING = {"", "na", "nan", "none", "null"}
_WORDS = {"false": 0.0, "true": 1.0}
_MOST_CATEGORIES = 500
_SHOWN = 10


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns.

    Attributes
    ----------
    reward, propensity, action
        Outcome 0 or 1, the logged probability of the action, and the id of the chosen item.
    context
        What was known of the visitor.
    slot
        Where the item was shown: then only items that the log shows in the same slot are
        candidates.
    """

    reward: str
    propensity: str
    action: str
    context: tuple[str, ...] = ()
    slot: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """All of them, each once."""
        slot = () if self.slot is None else (self.slot,)
        return tuple(
            dict.fromkeys((self.reward, self.propensity, self.action, *self.context, *slot))
        )


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Ids of the items, their features as numbers, one row each."""

    ids: tuple[str, ...]
    features: FloatArray


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions of a logging policy.

    Rounds of equal context and slot share a *situation*: S of them, for n rounds over K items.

    Attributes
    ----------
    reward, propensity, action, situation
        One for each round; ``action`` counts items, ``situation`` rows of ``contexts``.
    contexts
        S × C numbers.
    available
        S × K: which items are candidates.
    skipped
        How many rows were left out, for each complaint.
    crosses
        Whether a candidate's row has the products of context and item.
    """

    reward: FloatArray
    propensity: FloatArray
    action: npt.NDArray[np.intp]
    situation: npt.NDArray[np.intp]
    contexts: FloatArray
    available: npt.NDArray[np.bool_]
    catalogue: Catalogue
    skipped: Counter[str]
    crosses: bool = False

    def candidates(self, situation: int) -> npt.NDArray[np.intp]:
        """The items to choose from."""
        return np.flatnonzero(self.available[situation])

    def rows(self, situation: int) -> FloatArray:
        """The features of `candidates`: (1, context, item), and the products if asked for."""
        items, context = (
            self.catalogue.features[self.available[situation]],
            self.contexts[situation],
        )
        if self.crosses:
            return crossed(context, items)
        same = np.broadcast_to(np.append(1.0, context), (items.shape[0], 1 + context.size))
        return np.column_stack([same, items])

    def logged_rows(self) -> FloatArray:
        """The features of each round's logged item."""
        full = np.empty((self.reward.size, self.rows(0).shape[1]))
        for situation in range(self.contexts.shape[0]):
            here = np.flatnonzero(self.situation == situation)
            place = np.searchsorted(self.candidates(situation), self.action[here])
            full[here] = self.rows(situation)[place]
        return full


def read_records(path: Path, columns: Sequence[str] | None = None) -> Iterator[Record]:
    """The rows of a CSV (also .gz) or Parquet file, with the named columns or all."""
    suffixes = path.suffixes[-2:]
    if suffixes[-1:] == [".parquet"]:
        return _parquet_records(path, columns)
    if suffixes[-1:] == [".csv"] or suffixes == [".csv", ".gz"]:
        return _csv_records(path, columns)
    raise ValueError(f"{path} must end in .csv, .csv.gz or .parquet")


def read_catalogue(path: Path, item_id: str) -> Catalogue:
    """Items of a table: all its named columns but the id are features."""
    records = list(read_records(path))
    _check_columns(path, records[0] if records else {}, [item_id])
    ids = [_text(record[item_id]) for record in records]
    for row, (name, count) in enumerate(zip(ids, _running_counts(ids), strict=True), start=1):
        if name is None or count > 1:
            fault = "missing" if name is None else f"{name!r} a second time"
            raise ValueError(f"row {row} of {path}: {item_id} is {fault}")
    named = [column for column in records[0] if column not in ("", item_id)]
    features = _encoded([[record[c] for c in named] for record in records], named, path)
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
    faults = _Faults(columns, _numeric(records, columns.context), catalogue)
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
    number = {name: i for i, name in enumerate(catalogue.ids)}
    action = np.array([number[str(record[columns.action])] for record in records], dtype=np.intp)
    situation, contexts, slots = _situations(path, records, columns)
    return Log(
        np.array([_outcome(record[columns.reward]) for record in records], dtype=np.float64),
        np.array([float(record[columns.propensity]) for record in records]),
        action,
        situation,
        contexts,
        _availability(action, situation, slots, len(catalogue.ids)),
        catalogue,
        skipped,
        crosses,
    )


def _situations(
    path: Path, records: list[Record], columns: Columns
) -> tuple[npt.NDArray[np.intp], FloatArray, list[str] | None]:
    """Each round's situation, the numbers of each one's context, and its slot."""
    slot = () if columns.slot is None else (columns.slot,)
    keys = [tuple(str(record[c]) for c in (*columns.context, *slot)) for record in records]
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    contexts = _encoded([list(k[: len(columns.context)]) for k in distinct], columns.context, path)
    slots = None if columns.slot is None else [key[-1] for key in distinct]
    return np.array([distinct[key] for key in keys], dtype=np.intp), contexts, slots


def _availability(
    action: npt.NDArray[np.intp],
    situation: npt.NDArray[np.intp],
    slots: list[str] | None,
    items: int,
) -> npt.NDArray[np.bool_]:
    if slots is None:
        return np.ones((int(situation.max()) + 1, items), dtype=bool)
    names, slot = np.unique(slots, return_inverse=True)
    shown = np.zeros((names.size, items), dtype=bool)
    shown[slot[situation], action] = True
    return np.asarray(shown[slot])


class _Faults:
    """What is wrong with a row: the column, its value, and what was expected."""

    def __init__(
        self, columns: Columns, numeric: frozenset[str], catalogue: Catalogue | None
    ) -> None:
        self._columns = columns
        self._numeric = numeric
        self._known = None if catalogue is None else frozenset(catalogue.ids)

    def of(self, record: Record) -> tuple[str, str, str] | None:
        columns = self._columns
        for name in columns.named:
            if _text(record[name]) is None:
                return name, f"is missing ({record[name]!r})", "but must have a value"
        if _outcome(record[columns.reward]) is None:
            return columns.reward, f"is {record[columns.reward]}", "but must be 0 or 1"
        if not 0.0 < (_number(record[columns.propensity]) or 0.0) <= 1.0:
            return columns.propensity, f"is {record[columns.propensity]}", "but must lie in (0, 1]"
        if self._known is not None and str(record[columns.action]) not in self._known:
            return columns.action, f"is {record[columns.action]}", "but must be a known item"
        for name in self._numeric:
            number = _number(record[name])
            if number is None or not math.isfinite(number):
                return name, f"is {record[name]}", "but must be a finite number"
        return None


def _numeric(records: list[Record], names: Sequence[str]) -> frozenset[str]:
    """Columns of which more than half of the values are numbers."""
    found = Counter(n for record in records for n in names if _number(record[n]) is not None)
    return frozenset(name for name in names if 2 * found[name] > len(records))


def _encoded(table: list[list[Any]], names: Sequence[str], path: Path) -> FloatArray:
    """Numbers standardised, text as one column for each value."""
    blocks = [
        _encoded_column([row[j] for row in table], name, path) for j, name in enumerate(names)
    ]
    return np.column_stack([np.zeros((len(table), 0)), *blocks])


def _encoded_column(values: list[Any], name: str, path: Path) -> FloatArray:
    missing = next((i for i, value in enumerate(values, start=1) if _text(value) is None), None)
    if missing is not None:
        raise ValueError(f"row {missing} of {path}: {name} is missing")
    numbers = [_number(value) for value in values]
    if all(number is not None and math.isfinite(number) for number in numbers):
        column = np.array(numbers, dtype=np.float64)
        return np.asarray((column - column.mean()) / (column.std() or 1.0))[:, None]
    names = sorted({str(value) for value in values})
    if len(names) > _MOST_CATEGORIES:
        text = next(v for v, n in zip(values, numbers, strict=True) if n is None)
        raise ValueError(
            f"{name} of {path} has {len(names)} different values and is not numeric ({text!r} is "
            f"not a number) but a column of text may have at most {_MOST_CATEGORIES}"
        )
    return np.array([[str(value) == each for each in names] for value in values], dtype=np.float64)


def _csv_records(path: Path, columns: Sequence[str] | None) -> Iterator[Record]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines)
        heading = next(reader, [])
        wanted = heading if columns is None else list(columns)
        _check_columns(path, heading, wanted)
        places = [heading.index(name) for name in wanted]
        for fields in reader:
            if fields:
                yield {
                    name: fields[place] if place < len(fields) else None
                    for name, place in zip(wanted, places, strict=True)
                }


def _parquet_records(path: Path, columns: Sequence[str] | None) -> Iterator[Record]:
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ValueError(
            f"{path} is Parquet, which needs the extra 'reports': pip install 'fabcost[reports]'"
        ) from error
    with pq.ParquetFile(path) as file:
        wanted = file.schema_arrow.names if columns is None else list(columns)
        _check_columns(path, file.schema_arrow.names, wanted)
        for batch in file.iter_batches(columns=wanted):
            yield from batch.to_pylist()


def _check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    names = [name for name in present if name]
    for name in wanted:
        if name and name not in names:
            shown = ", ".join(islice(names, _SHOWN)) + (", …" if len(names) > _SHOWN else "")
            raise ValueError(f"{path} has no column {name!r}; it has {shown or 'none'}")


def _text(value: Any) -> str | None:
    text = "" if value is None else str(value)
    return None if text.strip().lower() in _MISSING else text


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _outcome(value: Any) -> float | None:
    number = _WORDS.get(str(value).strip().lower(), _number(value))
    return number if number in (0.0, 1.0) else None


def _running_counts(names: Iterable[str | None]) -> Iterator[int]:
    seen: Counter[str | None] = Counter()
    for name in names:
        seen[name] += 1
        yield seen[name]
