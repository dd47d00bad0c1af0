"""A log file in bodies that a server takes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from fabcost.wire.log.formats import Format, read_impressions
from fabcost.wire.log.line import LineError
from fabcost.wire.log.naming import Names

#: A body has about so many bytes, or rows of Parquet; fewer if those would be larger.
BYTES = 2 * 1024 * 1024
ROWS = 500
ROW_BYTES = 16 * 1024 * 1024


class Block(NamedTuple):
    """Some lines of a file, after ``before`` others; they are ``size`` of its bytes.

    Examples
    --------
    >>> Block(0, b"{}", 2).before
    0
    """

    before: int
    body: bytes
    size: int


class Checked(NamedTuple):
    """How many impressions a file has, and for each block what names the lines before it.

    Examples
    --------
    >>> Checked(1, [""]).many
    1
    """

    many: int
    after: list[str]


def blocks(path: Path, form: Format) -> Iterator[Block]:
    """The file in parts, each a file of the same format; Parquet's rows count as lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_bytes(b"{}")
    ...     list(blocks(path, "jsonl"))
    [Block(before=0, body=b'{}', size=2)]
    """
    return _row_blocks(path) if form == "parquet" else _line_blocks(path)


def check(path: Path, form: Format, advance: Callable[[int], object] = int) -> Checked:
    """What a file has, or a ValueError that names the line which is wrong.

    ``advance`` is told of the bytes that were read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.jsonl"
    ...     _ = path.write_bytes(b'{"item": "a", "candidates": {"a": {}}}')
    ...     check(path, "jsonl")
    Checked(many=1, after=[''])
    """
    many, names, after = 0, Names(), []
    for block in blocks(path, form):
        after.append(names.state)
        try:
            many += sum(1 for _ in read_impressions(block.body, form, names=names))
        except LineError as error:
            raise LineError(block.before + error.number, error.why) from error
        advance(block.size)
    return Checked(many, after)


def _line_blocks(path: Path) -> Iterator[Block]:
    with path.open("rb") as file:
        before = 0
        while lines := file.readlines(BYTES):
            body = b"".join(lines)
            yield Block(before, body, len(body))
            before += len(lines)


def _row_blocks(path: Path) -> Iterator[Block]:
    try:
        with pq.ParquetFile(path) as file:
            before, rows, size = 0, file.metadata.num_rows, path.stat().st_size
            for batch in _parts(file.iter_batches(ROWS)):
                sink = io.BytesIO()
                pq.write_table(pa.Table.from_batches([batch]), sink)
                after = before + batch.num_rows
                yield Block(before, sink.getvalue(), size * after // rows - size * before // rows)
                before = after
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not Parquet: {error}") from error


def _parts(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of no more than some megabytes, as long as a row is not larger by itself."""
    for batch in batches:
        rows = max(1, ROW_BYTES * batch.num_rows // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
