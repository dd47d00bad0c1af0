"""Parquet: one row a decision, with the columns that `fabcost evaluate` asks for.

A small file may say a lot: equal values are stored once, so that a thousand rows with one long
text, or a list of a million equal numbers, are a few bytes of it.  In memory they stay so.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import UNSET

from fabcost.wire.line import UNLIMITED, Limits, LineError, LogLine
from fabcost.wire.parquet_sizes import sizes

#: Rows of a row group, and about its bytes, which stay in memory until it is full.
GROUP = 2_000
GROUP_BYTES = 16 * 1024 * 1024

SCHEMA = pa.schema(
    [
        ("decision_id", pa.string()),
        ("time", pa.float64()),
        ("action", pa.string()),
        ("reward", pa.float64()),
        ("propensity", pa.float64()),
        ("value", pa.float64()),
        ("label", pa.int8()),
        ("arm", pa.string()),
        ("outcome", pa.string()),
        ("resolved", pa.float64()),
        ("deadline", pa.float64()),
        ("lsn", pa.int64()),
        ("click_value", pa.float64()),
        ("cost", pa.float64()),
        ("context", pa.string()),
        ("candidates", pa.string()),
        ("propensities", pa.list_(pa.float64())),
        ("ranking", pa.list_(pa.string())),
        ("scores", pa.list_(pa.float64())),
        ("posterior_version", pa.string()),
        ("mode", pa.string()),
        ("would_choose", pa.string()),
        ("deferred", pa.bool_()),
        ("active", pa.bool_()),
        ("changed", pa.bool_()),
        ("excluded", pa.list_(pa.string())),
        ("missing", pa.list_(pa.string())),
    ]
)
_NAMES = {field.name for field in msgspec.structs.fields(LogLine)}
_COLUMNS = _NAMES | {"action", "reward"}
_REQUIRED = ("action", "candidates")
#: Texts in JSON.
_DOCUMENTS = ("candidates", "context")
#: Numbers of the item that a line leaves out.
_AMOUNTS = {"click_value": 1.0, "cost": 0.0}
#: Rows that are read at once.
_BATCH = 100


class ParquetPieces:
    """Writes row groups, and the footer at the end.

    Examples
    --------
    >>> pieces = ParquetPieces()
    >>> line = LogLine(decision_id="d-1", candidates={"a": {}}, item="a", label=1)
    >>> content = pieces.page([line]) + pieces.end()
    >>> pq.read_table(io.BytesIO(content), columns=["action", "reward"]).to_pylist()
    [{'action': 'a', 'reward': 1.0}]
    """

    def __init__(self) -> None:
        self._sink = _Drain()
        self._writer = pq.ParquetWriter(self._sink, SCHEMA, compression="zstd")
        self._batches: list[Any] = []

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of a row group if one is full."""
        self._batches.append(pa.RecordBatch.from_pylist([_row(line) for line in lines], SCHEMA))
        rows = sum(batch.num_rows for batch in self._batches)
        if rows >= GROUP or sum(batch.nbytes for batch in self._batches) >= GROUP_BYTES:
            self._write_group()
        return self._sink.taken()

    def end(self) -> bytes:
        """The last row group and the footer."""
        if self._batches:
            self._write_group()
        self._writer.close()
        return self._sink.taken()

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._batches))
        self._batches.clear()


class _Drain(io.BytesIO):
    """A file that is handed on while it is written: only the count of its bytes stays."""

    _gone = 0

    def tell(self) -> int:
        return self._gone + super().tell()

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = self.getvalue()
        self._gone += len(piece)
        self.seek(0)
        self.truncate()
        return piece


def _row(line: LogLine) -> dict[str, Any]:
    row = msgspec.structs.asdict(line)
    place = list(line.candidates).index(line.item)
    row["action"] = row.pop("item")
    row["reward"] = None if line.label is None else float(line.label > 0)
    fraction = row.pop("fraction")
    if fraction is not UNSET:
        row["reward"] = fraction
    row |= {name: default for name, default in _AMOUNTS.items() if row[name] is UNSET}
    row["propensity"] = None if line.propensities is None else line.propensities[place]
    row["context"] = msgspec.json.encode(line.context).decode()
    row["candidates"] = msgspec.json.encode(line.candidates).decode()
    return row


def read(body: bytes, limits: Limits = UNLIMITED) -> Iterator[tuple[int, LogLine]]:
    """The rows with their numbers from 1.

    ``action`` and ``candidates`` (JSON) must be there; an outcome is ``value``, or else ``reward``.

    Examples
    --------
    >>> table = pa.table({"action": ["a"], "candidates": ['{"a": {"age": 3}}'], "reward": [1]})
    >>> sink = io.BytesIO()
    >>> pq.write_table(table, sink)
    >>> [(number, line.value) for number, line in read(sink.getvalue())]
    [(1, 1.0)]
    """
    expected = sizes(body, _COLUMNS)
    limits.check_lines(expected.rows)
    limits.check_decoded(expected.decoded)
    decoded = 0
    for number, row in enumerate(_rows(body), start=1):
        size = sum(len(row.get(name) or "") for name in _DOCUMENTS)
        decoded += size
        limits.check_decoded(decoded)
        try:
            limits.check_size(size)
            yield number, _line(row)
        except (ValueError, RecursionError) as error:
            raise LineError(number, error) from error


def _line(row: dict[str, Any]) -> LogLine:
    row["item"] = row["action"]
    row["candidates"] = msgspec.json.decode(row["candidates"] or "null")
    row["context"] = msgspec.json.decode(row.get("context") or "{}")
    row["value"] = row.get("reward") if row.get("value") is None else row["value"]
    left_out = [name for name, default in _AMOUNTS.items() if row.get(name) == default]
    names = (_NAMES & row.keys()).difference(left_out)
    given = {name: row[name] for name in names if row[name] is not None}
    return msgspec.convert(given, LogLine)


def _rows(body: bytes) -> Iterator[dict[str, Any]]:
    """The rows with the columns that are read, or a ValueError that says why they cannot be."""
    try:
        metadata = pq.read_metadata(pa.BufferReader(body))
        leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        source = pa.BufferReader(body)
        with pq.ParquetFile(source, metadata=metadata, read_dictionary=texts) as file:
            columns = _checked_columns(file.schema_arrow)
            for batch in file.iter_batches(_BATCH, columns=columns, use_threads=False):
                # What the file says is not checked before, and followed without a look.
                batch.validate(full=True)
                values = [_values(column) for column in batch.columns]
                for row in zip(*values, strict=True):
                    yield dict(zip(batch.schema.names, row, strict=True))
    except (pa.ArrowException, OSError, OverflowError) as error:
        raise ValueError(f"the file is not Parquet: {error}") from error


def _checked_columns(schema: Any) -> list[str]:
    names = schema.names
    for name in _REQUIRED:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; the file has {', '.join(names)}")
    used = [name for name in names if name in _COLUMNS]
    for name in used:
        if names.count(name) > 1:
            raise ValueError(f"there are {names.count(name)} columns {name!r} but may be one")
        kind = schema.field(name).type
        # Texts are read by their distinct values, whatever they are.
        if name in _DOCUMENTS and not (pa.types.is_null(kind) or pa.types.is_dictionary(kind)):
            raise ValueError(f"column {name!r} is of type {kind} but must be text")
        inner = kind.value_type if _is_list(kind) else kind
        if pa.types.is_nested(inner) or pa.types.is_fixed_size_binary(inner):
            raise ValueError(
                f"column {name!r} is of type {kind} but must be of text, numbers, or lists of them"
            )
    return used


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _values(column: Any) -> list[Any]:
    """What is in a column, equal texts as one."""
    if pa.types.is_dictionary(column.type):
        known = column.dictionary.to_pylist()
        return [None if place is None else known[place] for place in column.indices.to_pylist()]
    if _is_list(column.type):
        values, lengths = iter(_values(column.flatten())), pc.list_value_length(column).to_pylist()
        return [None if many is None else list(islice(values, many)) for many in lengths]
    return list(column.to_pylist())
