"""How large a Parquet file is in memory, by what it says of itself before any of it is decoded.

It says so in Thrift's compact protocol, which is read here and never written.

The format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
The protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

#: A structure: what its fields hold by their numbers.
Fields = dict[int, Any]

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
# Types of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
#: Bytes of the values that always have as many.
_FIXED = {_BYTE: 1, _DOUBLE: 8}
_DEEPEST = 16
_LONGEST_NUMBER = 10


class Sizes(NamedTuple):
    """Rows, and the bytes of their columns when they are decoded."""

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
    return ThriftReader(body, len(body) - 8 - length).struct()


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
    reader, stop = ThriftReader(body, start), start + column[_COMPRESSED]
    while reader.place < stop:
        page = reader.struct()
        values = max(page[each][_PAGE_VALUES] if each in page else 0 for each in _PAGE_HEADERS)
        if min(values, page[_PAGE_UNCOMPRESSED], page[_PAGE_COMPRESSED]) < 0:
            raise ValueError("a page has less than nothing")
        yield page[_PAGE_UNCOMPRESSED], values
        reader.place += page[_PAGE_COMPRESSED]


class ThriftReader:
    """Reads one structure after the other from bytes that may hold anything.

    Examples
    --------
    >>> reader = ThriftReader(bytes([0x15, 0x0E, 0x18, 0x02, 0x68, 0x69, 0x00]), 0)
    >>> reader.struct(), reader.place
    ({1: 7, 2: b'hi'}, 7)
    """

    def __init__(self, content: bytes, place: int) -> None:
        self.place = place
        self._content = content

    def struct(self, depth: int = 0) -> Fields:
        """The structure that begins here; a ValueError if there is none."""
        if depth > _DEEPEST:
            raise ValueError("its structures are nested too deeply")
        fields: Fields = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_BYTE, _DOUBLE, _BINARY):
            return self._bytes(_FIXED[kind] if kind in _FIXED else self._number())
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _MAP:
            return self._map(depth + 1)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"there is a field of type {kind}, which is none")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        many = head >> 4 if head >> 4 < 15 else self._number()
        return [self._element(head & 15, depth) for _ in range(many)]

    def _map(self, depth: int) -> list[Any]:
        many = self._number()
        kinds = self._byte() if many else 0
        return [
            (self._element(kinds >> 4, depth), self._element(kinds & 15, depth))
            for _ in range(many)
        ]

    def _element(self, kind: int, depth: int) -> Any:
        return self._byte() == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _number(self) -> int:
        number = 0
        for place in range(_LONGEST_NUMBER):
            byte = self._byte()
            number |= (byte & 127) << 7 * place
            if byte < 128:
                return number
        raise ValueError("a number has too many digits")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, many: int) -> bytes:
        if not 0 <= self.place <= len(self._content) - many:
            raise ValueError("it ends too early")
        found = self._content[self.place : self.place + many]
        self.place += many
        return found
