"""What is looked at before a log is read: headings of all files, and the first rows of some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fabcost.features.schema import Schema
from fabcost.features.tables.columns import Arrow
from fabcost.features.tables.sheet import Sheet
from fabcost.features.tables.table import Table
from fabcost.offline.fit.encoding import OutcomeColumns, Plan
from fabcost.offline.fit.partitions import Partition
from fabcost.offline.logs.rounds import schema_of

#: Rows from which the schema is inferred, and the files that they are taken from at most.
ROWS, FILES = 2**16, 16
#: Of the rows that were looked at: if fewer are distinct, equal ones are made one.
_SHARE_OF_DISTINCT = 0.5
_MOST_LEVELS = 1000


class Sounded(NamedTuple):
    """Partitions by their headings: those that fit together, and why the others do not."""

    partitions: list[Partition]
    faults: list[str]


def sounded(
    partitions: Sequence[Partition],
    columns: OutcomeColumns,
    context: Sequence[str],
    drop: Sequence[str],
) -> Sounded:
    """Files whose headings have the named columns, and those of the first of them, in its kinds.

    Outcomes may be numbers in one file and booleans in another, items may not.
    """
    free = {*columns._replace(item=None).named, *drop}
    fits: list[Partition] = []
    faults: list[str] = []
    first: tuple[str, dict[str, str]] | None = None
    for each in (part for part in partitions if part.size):
        try:
            kinds = each.kinds()
        except ValueError as error:
            faults.append(str(error))
            continue
        wrong = [_lack(each, name, kinds) for name in (*columns.named, *context)]
        if first is not None and each.kind != "json":
            compared = {k: v for k, v in first[1].items() if k not in free}
            wrong += [_difference(each, *named, kinds, first[0]) for named in compared.items()]
        told = next((words for words in wrong if words is not None), None)
        if told is None:
            fits.append(each)
            first = first or (each.place, kinds)
        else:
            faults.append(told)
    return Sounded(fits, faults)


def _lack(part: Partition, name: str, kinds: dict[str, str]) -> str | None:
    if name in kinds:
        return None
    shown = ", ".join(islice(kinds, 10)) or "none"
    return f"{part.place} has no column {name!r}; it has {shown}"


def _difference(
    part: Partition, name: str, expected: str, kinds: dict[str, str], first: str
) -> str | None:
    if name not in kinds:
        return f"{part.place} has no column {name!r}, which {first} has"
    found = kinds[name]
    if "anything" in (found, expected) or found == expected:
        return None
    return f"{part.place} has {found} in column {name!r}, where {first} has {expected}"


def sample(partitions: Sequence[Partition], drop: Iterable[str]) -> Sheet:
    """The first rows of files that are evenly spaced; a ValueError if there are none."""
    places = {round(at) for at in np.linspace(0, len(partitions) - 1, min(len(partitions), FILES))}
    each, dropped, tables = -(-ROWS // len(places)), frozenset(drop), []
    troubles: list[str] = []
    for place in sorted(places):
        part, many = partitions[place], 0
        names = [name for name in part.kinds() if name not in dropped]
        try:
            for sheet in part.sheets(names, min(each, 2**14)):
                tables.append(sheet.table)
                troubles += [f"{part.place}: {fault}" for fault in sheet.faults[:1]]
                many += len(sheet)
                if many >= each:
                    break
        except ValueError as error:  # it is told of with the others that cannot be read
            troubles.append(str(error))
    return first_rows(tables, "the log", troubles)


def first_rows(tables: Sequence[pa.Table], name: str, troubles: Sequence[str] = ()) -> Sheet:
    """Tables as one, as far as their types allow it."""
    rows = [each for each in tables if each.num_rows]
    if not rows:
        why = f": {troubles[0]}" if troubles else ""
        raise ValueError(f"{name} has no rows to learn from{why}")
    try:
        return Sheet.of(pa.concat_tables(rows, promote_options="permissive"), name)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # kinds differ: it is told of when they are read
        return Sheet.of(rows[0], name)


def schema_for(
    sheet: Sheet, columns: OutcomeColumns, context: Sequence[str], drop: Sequence[str]
) -> Schema:
    """A schema for all columns but those that are no features; new texts share a weight."""
    sheet.check_has([*columns.named, *context])
    others = {*columns.named, *drop}
    values, wrong = sheet.clean(name for name in sheet.columns if name not in others)
    if not values:
        raise ValueError(f"{sheet.name} has no column left to learn from")
    sound = ~np.any([each.rows for each in wrong], axis=0)
    table = Table({k: Arrow(v.filter(sound)) for k, v in values.items()}, int(sound.sum()))
    return schema_of(table, sheet.name, most_levels=_MOST_LEVELS, context=context, other=True)


def repeats(sheet: Sheet, plan: Plan) -> tuple[bool, str]:
    """Whether equal rows are made one, and why."""
    rows, _ = plan.encoded(sheet)
    many, distinct = len(rows.X), len(rows.distinct().X) if len(rows.X) else 0
    if distinct <= _SHARE_OF_DISTINCT * many:
        return True, f"of the first {many:,} rows only {distinct:,} differ"
    return False, f"of the first {many:,} rows {distinct:,} differ"
