"""Rows of a Parquet file in as much memory as they need: a small file may say a lot.

Equal values are stored once, and so they stay: a thousand rows with one long text, or a list of a
million equal numbers, are a few bytes of a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fabcost.wire.log.limits import Limits
from fabcost.wire.log.parquet_sizes import sizes

#: Rows that are read at once.
BATCH = 100
_REQUIRED = ("action", "candidates")
#: Texts in JSON.
_DOCUMENTS = ("candidates", "context")


def rows(
    body: bytes, wanted: Collection[str], limits: Limits | None = None
) -> Iterator[dict[str, Any]]:
    """The rows with some of their columns, or a ValueError that says why they cannot be read.

    Examples
    --------
    >>> import io
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.table({"action": ["a"], "candidates": ["{}"], "age": [3]}), sink)
    >>> list(rows(sink.getvalue(), {"action", "candidates"}))
    [{'action': 'a', 'candidates': '{}'}]
    """
    if limits is not None:
        expected = sizes(body, wanted)
        limits.check_lines(expected.rows)
        limits.check_decoded(expected.decoded)
    try:
        with _opened(body) as file:
            columns = _checked_columns(file.schema_arrow, wanted)
            for batch in file.iter_batches(BATCH, columns=columns, use_threads=False):
                # What the file says is not checked before, and followed without a look.
                batch.validate(full=True)
                values = [_values(column) for column in batch.columns]
                for row in zip(*values, strict=True):
                    yield dict(zip(batch.schema.names, row, strict=True))
    except (pa.ArrowException, OSError, OverflowError) as error:
        raise ValueError(f"the file is not Parquet: {error}") from error


def _opened(body: bytes) -> Any:
    metadata = pq.read_metadata(pa.BufferReader(body))
    leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    return pq.ParquetFile(pa.BufferReader(body), metadata=metadata, read_dictionary=texts)


def _checked_columns(schema: Any, wanted: Collection[str]) -> list[str]:
    names = schema.names
    for name in _REQUIRED:
        if name not in names:
            raise ValueError(f"there is no column {name!r}; the file has {', '.join(names)}")
    used = [name for name in names if name in wanted]
    for name in used:
        if names.count(name) > 1:
            raise ValueError(f"there are {names.count(name)} columns {name!r} but may be one")
        kind = schema.field(name).type
        if name in _DOCUMENTS and not (pa.types.is_null(kind) or _is_text(kind)):
            raise ValueError(f"column {name!r} is of type {kind} but must be text")
        if not _is_simple(kind):
            raise ValueError(
                f"column {name!r} is of type {kind} but must be of text, numbers, or lists of them"
            )
    return used


def _is_simple(kind: Any) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return any(
        (
            pa.types.is_null(kind),
            pa.types.is_primitive(kind),
            pa.types.is_decimal(kind),
            _is_text(kind),
        )
    )


def _is_text(kind: Any) -> bool:
    """Texts are read by their distinct values, whatever they are."""
    return bool(pa.types.is_dictionary(kind))


def _values(column: Any) -> list[Any]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        known = column.dictionary.to_pylist()
        return [None if place is None else known[place] for place in column.indices.to_pylist()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column)
    found: list[Any] = column.to_pylist()
    return found


def _lists(column: Any) -> list[Any]:
    values, start, lists = _values(column.flatten()), 0, []
    for length in pc.list_value_length(column).to_pylist():
        stop = start + (length or 0)
        lists.append(None if length is None else values[start:stop])
        start = stop
    return lists
