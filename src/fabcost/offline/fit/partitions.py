"""The files of a log in parts: found, checked by headings and first rows, read batch by batch."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet

from fabcost.features.schema import Schema
from fabcost.features.tables.columns import Arrow
from fabcost.features.tables.files import DELIMITERS, csv_heading, csv_sheets, json_sheet
from fabcost.features.tables.sheet import Sheet
from fabcost.features.tables.table import Table
from fabcost.offline.fit.encoding import OutcomeColumns, Plan
from fabcost.offline.fit.folders import located
from fabcost.offline.logs.rounds import schema_of

#: Of a Parquet file: its row groups, until they have so many rows.
ROWS_OF_A_PART = 2**20
_ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
}
_BYTES_OF_A_LINE = 256
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_UNREADABLE = (OSError, EOFError, UnicodeDecodeError, pa.ArrowException)


class Partition(NamedTuple):
    """A file of a log, or some row groups of one.

    ``before`` counts the rows of the file above it; ``rows`` is None if nobody knows yet.  What
    folders are named after, such as ``day=2024-01-01``, is a column as a cell of CSV would be.
    """

    place: str
    kind: str
    size: int
    changed: int
    groups: tuple[int, ...] = ()
    before: int = 0
    rows: int | None = None
    folders: tuple[tuple[str, str | None], ...] = ()

    def sheets(self, columns: Iterable[str], at_once: int) -> Iterator[Sheet]:
        """Its rows batch by batch with their numbers; a ValueError if they cannot be read."""
        wanted, told = list(columns), dict(self.folders)
        reader = {"parquet": _parquet, "csv": _csv, "json": _json}[self.kind]
        try:
            for sheet in reader(self, [name for name in wanted if name not in told], at_once):
                table = sheet.table
                for name in filter(told.__contains__, wanted):
                    cells = pa.repeat(pa.scalar(told[name], pa.string()), len(table))
                    table = table.append_column(name, cells)
                yield replace(sheet, table=table)
        except _UNREADABLE as error:
            raise ValueError(f"{self.place} cannot be read: {error}") from error

    def kinds(self) -> dict[str, str]:
        """What each of its columns holds: numbers, text and so on; or anything."""
        return self._heading() | dict.fromkeys(dict(self.folders), "anything")

    def _heading(self) -> dict[str, str]:
        try:
            if self.kind == "parquet":
                files, path = located(self.place)
                with files.open_input_file(path) as file:
                    found = pyarrow.parquet.read_schema(file)
                return {each.name: _kind(each.type) for each in found}
            if self.kind == "json":  # keys differ from line to line
                with io.TextIOWrapper(_opened(self), encoding="utf-8-sig") as lines:
                    names = list(json.loads(lines.readline() or "{}"))
            else:
                (names, _), _ = csv_heading(self.place, partial(_opened, self), _delimiters(self))
        except (*_UNREADABLE, json.JSONDecodeError) as error:
            raise ValueError(f"{self.place} cannot be read: {error}") from error
        return dict.fromkeys(names, "anything")


def find(source: str | os.PathLike[str]) -> list[Partition]:
    """The partitions of a file or of all files of a folder, in the order of their names.

    Files whose names begin with a dot or an underscore are left out, as elsewhere.
    """
    files, path = located(source)
    info = files.get_file_info(path)
    if info.type == pyarrow.fs.FileType.NotFound:
        raise FileNotFoundError(f"there is no file or folder {os.fspath(source)}")
    if info.type == pyarrow.fs.FileType.File:
        found = [info]
    else:
        chosen = pyarrow.fs.FileSelector(path, recursive=True)
        found = [each for each in files.get_file_info(chosen) if _is_log(each, path)]
    prefix = f"{os.fspath(source).partition('://')[0]}://" if "://" in os.fspath(source) else ""
    ordered = sorted(found, key=lambda each: each.path)
    parts = [_partition(prefix, each, each.path[len(path) :]) for each in ordered]
    if not parts:
        raise ValueError(f"{os.fspath(source)} has no file that ends in {', '.join(_ENDINGS)}")
    return parts


def split(whole: Partition) -> list[Partition]:
    """A Parquet file in parts of about `ROWS_OF_A_PART` rows; any other as it is."""
    if whole.kind != "parquet":
        return [whole]
    files, path = located(whole.place)
    with files.open_input_file(path) as file:
        footer = pyarrow.parquet.ParquetFile(file).metadata
    parts, groups, before, rows = [], [], 0, 0
    for group in range(footer.num_row_groups):
        groups.append(group)
        rows += footer.row_group(group).num_rows
        if rows >= ROWS_OF_A_PART or group == footer.num_row_groups - 1:
            parts.append(whole._replace(groups=tuple(groups), before=before, rows=rows))
            groups, before, rows = [], before + rows, 0
    return parts or [whole._replace(rows=0)]


def _is_log(info: Any, folder: str) -> bool:
    if info.type != pyarrow.fs.FileType.File:
        return False
    inside = info.path[len(folder) :].strip("/").split("/")
    hidden = any(each.startswith((".", "_")) for each in inside)
    return not hidden and _ending(info.path) in _ENDINGS


def _ending(path: str) -> str:
    return os.path.splitext(path.removesuffix(".gz"))[1].lower()


def _partition(prefix: str, info: Any, inside: str) -> Partition:
    kind = _ENDINGS.get(_ending(info.path))
    if kind is None:
        raise ValueError(f"{info.path} must end in {', '.join(_ENDINGS)} (text also in .gz)")
    place = f"{prefix}{info.path}"
    folders = tuple(_named_by(inside.split("/")[:-1]))
    return Partition(place, kind, info.size or 0, info.mtime_ns or 0, folders=folders)


def _named_by(folders: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Columns and their values by the names of folders, as Hive writes them."""
    for name, is_pair, value in (each.partition("=") for each in folders):
        if name and is_pair:
            yield unquote(name), None if value == _NO_VALUE else unquote(value)


def _parquet(part: Partition, columns: list[str], at_once: int) -> Iterator[Sheet]:
    files, path = located(part.place)
    with files.open_input_file(path) as stream:
        file = pyarrow.parquet.ParquetFile(stream, page_checksum_verification=True)
        groups = list(part.groups) if part.rows is not None else None
        batches = file.iter_batches(at_once, row_groups=groups, columns=columns, use_threads=False)
        yield from numbered(part.place, batches, part.before)


def numbered(name: str, batches: Iterable[Any], before: int = 0) -> Iterator[Sheet]:
    """Record batches as sheets, whose rows are counted through."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        yield Sheet(name, table, np.arange(before + 1, before + len(batch) + 1))
        before += len(batch)


def _csv(part: Partition, columns: list[str], at_once: int) -> Iterator[Sheet]:
    """Batches are as large as the reader's blocks, and only about as long as was asked for."""
    opened = partial(_opened, part)
    yield from csv_sheets(
        part.place, opened, _delimiters(part), columns, at_once * _BYTES_OF_A_LINE
    )


def _delimiters(part: Partition) -> Sequence[str]:
    return DELIMITERS[-1:] if _ending(part.place) == ".tsv" else DELIMITERS


def _opened(part: Partition) -> Any:
    files, path = located(part.place)
    return files.open_input_stream(path)


def _json(part: Partition, columns: list[str], at_once: int) -> Iterator[Sheet]:
    before = 0
    with _opened(part) as stream:
        lines = filter(str.strip, io.TextIOWrapper(stream, encoding="utf-8-sig"))
        while some := list(islice(lines, at_once)):
            yield json_sheet(part.place, some, columns, before)
            before += len(some)


def _kind(given: Any) -> str:
    """The family of an Arrow type: within one, files may differ."""
    types = pa.types
    if types.is_dictionary(given):
        return _kind(given.value_type)
    if types.is_integer(given) or types.is_floating(given) or types.is_decimal(given):
        return "numbers"
    if types.is_null(given):
        return "anything"
    for test, name in ((types.is_boolean, "booleans"), (types.is_temporal, "dates")):
        if test(given):
            return name
    is_text = types.is_string(given) or types.is_large_string(given) or types.is_string_view(given)
    return "text" if is_text else str(given)


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
