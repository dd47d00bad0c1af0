"""How large a Parquet file is in memory, by what it says of itself before any of it is decoded.

The format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from fabcost.wire.log.thrift import Fields, Reader

_MAGIC = b"PAR1"
_LARGEST_FOOTER = 4 * 1024 * 1024
_MOST_PAGES = 100_000
#: Bytes of a value that is a number, or the place of a text among the distinct ones.
_VALUE_BYTES = 8
# Numbers of the fields of a file, a row group, a column and a page.
_FILE_ROWS, _ROW_GROUPS = 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_META = 3
_PATH, _COMPRESSED, _DATA, _DICTIONARY = 3, 7, 9, 11
_PAGE_UNCOMPRESSED, _PAGE_COMPRESSED = 2, 3
_PAGE_HEADERS = (5, 8)
_PAGE_VALUES = 1


class Sizes(NamedTuple):
    """Rows, and the bytes of their columns when they are decoded.

    Examples
    --------
    >>> Sizes(2, 80).rows
    2
    """

    rows: int
    decoded: int


def sizes(body: bytes, columns: Collection[str]) -> Sizes:
    """Those of some columns; a ValueError if the body is no Parquet file.

    Examples
    --------
    >>> import io
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> sink = io.BytesIO()
    >>> pq.write_table(pa.table({"age": [3] * 1000, "make": ["kia"] * 1000}), sink)
    >>> found = sizes(sink.getvalue(), {"make"})
    >>> found.rows, 8_000 <= found.decoded < 8_100
    (1000, True)
    """
    try:
        footer = _footer(body)
        groups = footer.get(_ROW_GROUPS, [])
        rows = max(footer[_FILE_ROWS], sum(group[_GROUP_ROWS] for group in groups))
        decoded, pages = 0, 0
        for uncompressed, values in _pages(body, groups, columns):
            decoded, pages = decoded + uncompressed + _VALUE_BYTES * values, pages + 1
            if pages > _MOST_PAGES:
                raise ValueError(f"it has more than {_MOST_PAGES:,} pages")
        return Sizes(rows, decoded)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"the file is not Parquet: {error}") from error


def _footer(body: bytes) -> Fields:
    length = int.from_bytes(body[-8:-4], "little")
    if body[-4:] != _MAGIC or length > len(body) - 12:
        raise ValueError(f"it does not end with {_MAGIC.decode()} after a footer")
    if length > _LARGEST_FOOTER:
        raise ValueError(f"its footer has {length:,} bytes but may have {_LARGEST_FOOTER:,}")
    return Reader(body, len(body) - 8 - length).struct()


def _pages(body: bytes, groups: list[Any], columns: Collection[str]) -> Iterator[tuple[int, int]]:
    """Of each page its bytes when it is not compressed, and how many values it has."""
    for group in groups:
        for chunk in group[_COLUMNS]:
            column: Fields = chunk[_META]
            if column[_PATH][0].decode() in columns:
                yield from _pages_of(body, column)


def _pages_of(body: bytes, column: Fields) -> Iterator[tuple[int, int]]:
    start = column[_DATA]
    if 0 < column.get(_DICTIONARY, 0) < start:
        start = column[_DICTIONARY]
    reader, stop = Reader(body, start), start + column[_COMPRESSED]
    while reader.place < stop:
        page = reader.struct()
        values = max(page[each][_PAGE_VALUES] if each in page else 0 for each in _PAGE_HEADERS)
        if min(values, page[_PAGE_UNCOMPRESSED], page[_PAGE_COMPRESSED]) < 0:
            raise ValueError("a page has less than nothing")
        yield page[_PAGE_UNCOMPRESSED], values
        reader.place += page[_PAGE_COMPRESSED]
