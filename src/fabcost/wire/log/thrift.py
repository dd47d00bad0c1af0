"""Thrift's compact protocol, in which a Parquet file says what it holds: read, never written.

The protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A structure: what its fields hold by their numbers.
Fields = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 16
_LONGEST_NUMBER = 10


class Reader:
    """Reads one structure after the other from bytes that may hold anything.

    Parameters
    ----------
    content, place
        The bytes, and where to begin.

    Examples
    --------
    >>> reader = Reader(bytes([0x15, 0x0E, 0x18, 0x02, 0x68, 0x69, 0x00]), 0)
    >>> reader.struct(), reader.place
    ({1: 7, 2: b'hi'}, 7)
    """

    def __init__(self, content: bytes, place: int) -> None:
        self.place = place
        self._content = content
        self._read: dict[int, Callable[[int], Any]] = {
            _BYTE: lambda _: self._bytes(1),
            _I16: lambda _: self._signed(),
            _I32: lambda _: self._signed(),
            _I64: lambda _: self._signed(),
            _DOUBLE: lambda _: self._bytes(8),
            _BINARY: lambda _: self._bytes(self._number()),
            _LIST: self._list,
            _SET: self._list,
            _MAP: self._map,
            _STRUCT: self.struct,
        }

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
        if kind not in self._read:
            raise ValueError(f"there is a field of type {kind}, which is none")
        return self._read[kind](depth + 1)

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
