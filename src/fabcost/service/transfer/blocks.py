"""A log file in bodies that a server takes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fabcost.service.transfer.formats import Format, read_impressions
from fabcost.service.transfer.lines import LineError

#: A body has about so many bytes, or rows of Parquet.
BYTES = 2 * 1024 * 1024
ROWS = 500


class Block(NamedTuple):
    """Some lines of a file, after ``before`` others.

    Examples
    --------
    >>> Block(0, b"{}").before
    0
    """

    before: int
    body: bytes


def blocks(path: Path, form: Format) -> Iterator[Block]:
    """The file in parts, each a file of the same format; Parquet's rows count as lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_bytes(b"{}")
    ...     list(blocks(path, "jsonl"))
    [Block(before=0, body=b'{}')]
    """
    return _row_blocks(path) if form == "parquet" else _line_blocks(path)


def check(path: Path, form: Format) -> int:
    """How many impressions a file has, or a ValueError that names the line which is wrong.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_bytes(b'{"item": "a", "candidates": {"a": {}}}')
    ...     check(path, "jsonl")
    1
    """
    many = 0
    for block in blocks(path, form):
        try:
            many += sum(1 for _ in read_impressions(block.body, form))
        except LineError as error:
            raise LineError(block.before + error.number, error.why) from error
    return many


def _line_blocks(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        before = 0
        while lines := file.readlines(BYTES):
            yield Block(before, b"".join(lines))
            before += len(lines)


def _row_blocks(path: Path) -> Iterator[Block]:
    try:
        with pq.ParquetFile(path) as file:
            before = 0
            for batch in file.iter_batches(ROWS):
                sink = io.BytesIO()
                pq.write_table(pa.Table.from_batches([batch]), sink)
                yield Block(before, sink.getvalue())
                before += batch.num_rows
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not Parquet: {error}") from error
