"""Parquet: one row a decision, with the columns that `fabcost evaluate` asks for."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fabcost.wire.log.limits import Limits
from fabcost.wire.log.line import LineError, LogLine
from fabcost.wire.log.parquet_rows import rows

#: Rows of a row group, and about its bytes, which stay in memory until it is full.
GROUP = 2_000
GROUP_BYTES = 16 * 1024 * 1024

SCHEMA = pa.schema(
    [
        ("decision_id", pa.string()),
        ("time", pa.float64()),
        ("action", pa.string()),
        ("reward", pa.int8()),
        ("propensity", pa.float64()),
        ("value", pa.float64()),
        ("label", pa.int8()),
        ("arm", pa.string()),
        ("outcome", pa.string()),
        ("resolved", pa.float64()),
        ("deadline", pa.float64()),
        ("lsn", pa.int64()),
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


class ParquetPieces:
    """Writes row groups, and the footer at the end.

    Examples
    --------
    >>> pieces = ParquetPieces()
    >>> line = LogLine(decision_id="d-1", candidates={"a": {}}, item="a", label=1)
    >>> content = pieces.page([line]) + pieces.end()
    >>> pq.read_table(io.BytesIO(content), columns=["action", "reward"]).to_pylist()
    [{'action': 'a', 'reward': 1}]
    """

    def __init__(self) -> None:
        self._sink = _Drain()
        self._writer = pq.ParquetWriter(self._sink, SCHEMA, compression="zstd")
        self._batches: list[Any] = []

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of a row group if one is full."""
        rows = [_row(line) for line in lines]
        self._batches.append(pa.RecordBatch.from_pylist(rows, SCHEMA))
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


def read(body: bytes, limits: Limits | None = None) -> Iterator[tuple[int, LogLine]]:
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
    decoded = 0
    for number, row in enumerate(rows(body, _COLUMNS, limits), start=1):
        size = sum(len(row.get(name) or "") for name in ("context", "candidates"))
        decoded += size
        if limits is not None:
            limits.check_decoded(decoded)
        try:
            if limits is not None:
                limits.check_line(size)
            yield number, _line(row)
        except (ValueError, RecursionError) as error:
            raise LineError(number, error) from error


class _Drain(io.RawIOBase):
    """A file that is handed on while it is written: only the count of its bytes stays."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._place = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._held += piece
        self._place += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._place

    def taken(self) -> bytes:
        """What was written since the last time."""
        piece = bytes(self._held)
        self._held.clear()
        return piece


def _row(line: LogLine) -> dict[str, Any]:
    row = msgspec.structs.asdict(line)
    place = list(line.candidates).index(line.item)
    row["action"] = row.pop("item")
    row["reward"] = None if line.label is None else int(line.label > 0)
    row["propensity"] = None if line.propensities is None else line.propensities[place]
    row["context"] = msgspec.json.encode(line.context).decode()
    row["candidates"] = msgspec.json.encode(line.candidates).decode()
    return row


def _line(row: dict[str, Any]) -> LogLine:
    row["item"] = row["action"]
    row["candidates"] = msgspec.json.decode(row["candidates"] or "null")
    row["context"] = msgspec.json.decode(row.get("context") or "{}")
    row["value"] = row.get("reward") if row.get("value") is None else row["value"]
    given = {name: row[name] for name in _NAMES & row.keys() if row[name] is not None}
    return msgspec.convert(given, LogLine)
