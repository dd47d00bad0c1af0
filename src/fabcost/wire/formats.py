"""The formats of a log by name, and files of any of them in parts that a server takes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from fabcost.wire import dsjson
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.line import (
    UNLIMITED,
    JsonLines,
    Limits,
    LineError,
    LoggedImpression,
    LogLine,
    Names,
    impression_of,
    read_lines,
)
from fabcost.wire.messages import LogFormat, check_ids

#: A part of a file has about so many bytes, or rows of Parquet; fewer if those would be larger.
PART_BYTES = 2 * 1024 * 1024
_PART_ROWS = 500
_ROW_BYTES = 16 * 1024 * 1024


class LogWriter(Protocol):
    """Turns pages of a log into bytes."""

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        ...

    def end(self) -> bytes:
        """What comes after the last."""
        ...


def _parquet() -> Any:
    from fabcost.wire import parquet  # noqa: PLC0415 - pyarrow is not for everyone

    return parquet


WRITERS: dict[LogFormat, Callable[[], LogWriter]] = {
    "jsonl": JsonLines,
    "parquet": lambda: _parquet().ParquetPieces(),
    "dsjson": partial(JsonLines, dsjson.object_of),
}
_READERS: dict[LogFormat, Callable[[bytes, Limits], Iterator[tuple[int, LogLine]]]] = {
    "jsonl": read_lines,
    "parquet": lambda body, limits: _parquet().read(body, limits),
    "dsjson": dsjson.read,
}


def read_impressions(
    body: bytes, form: LogFormat, *, names: Names | None = None, limits: Limits = UNLIMITED
) -> Iterator[tuple[int, LoggedImpression]]:
    """The impressions of a log with the numbers of their lines, or a ValueError that names one.

    Parameters
    ----------
    body, form
        A file, or a part of one.
    names
        For those without an id; it knows the lines before the body.
    limits
        Of a server.

    Examples
    --------
    >>> body = b'{"candidates": {"a": {"age": 3}}, "item": "a", "value": 1}'
    >>> [impression.item for _, impression in read_impressions(body, "jsonl")]
    ['a']
    """
    names = names or Names()
    for number, line in _READERS[form](body, limits):
        try:
            impression = impression_of(line)
            check_ids([impression.decision_id or "", *impression.candidates])
            limits.check(impression)
        except (ValueError, InvalidRequestError) as error:
            raise LineError(number, error) from error
        made = names.next(impression)
        if impression.decision_id is None:
            impression = msgspec.structs.replace(impression, decision_id=made)
        yield number, impression


class LogPart(NamedTuple):
    """Some lines of a file, after ``before`` others; they are ``size`` of its bytes."""

    before: int
    body: bytes
    size: int


class Checked(NamedTuple):
    """How many impressions a file has, and for each part what names the lines before it."""

    many: int
    after: list[str]


def parts_of(path: Path, form: LogFormat) -> Iterator[LogPart]:
    """The file in parts, each a file of the same format; Parquet's rows count as lines."""
    return _parts_of_rows(path) if form == "parquet" else _parts_of_lines(path)


def check(path: Path, form: LogFormat, advance: Callable[[int], object] = int) -> Checked:
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
    for part in parts_of(path, form):
        after.append(names.state)
        try:
            many += sum(1 for _ in read_impressions(part.body, form, names=names))
        except LineError as error:
            raise LineError(part.before + error.number, error.why) from error
        advance(part.size)
    return Checked(many, after)


def _parts_of_lines(path: Path) -> Iterator[LogPart]:
    with path.open("rb") as file:
        before = 0
        while lines := file.readlines(PART_BYTES):
            body = b"".join(lines)
            yield LogPart(before, body, len(body))
            before += len(lines)


def _parts_of_rows(path: Path) -> Iterator[LogPart]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(path) as file:
            before, rows, size = 0, file.metadata.num_rows, path.stat().st_size
            for batch in _small(file.iter_batches(_PART_ROWS)):
                sink = io.BytesIO()
                pq.write_table(pa.Table.from_batches([batch]), sink)
                after = before + batch.num_rows
                yield LogPart(before, sink.getvalue(), size * after // rows - size * before // rows)
                before = after
    except pa.ArrowException as error:
        raise ValueError(f"{path} is not Parquet: {error}") from error


def _small(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of no more than some megabytes, as long as a row is not larger by itself."""
    for batch in batches:
        rows = max(1, _ROW_BYTES * batch.num_rows // max(batch.nbytes, 1))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)
