"""JSON Lines: one decision a line, with nothing left out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from fabcost.wire.line import UNLIMITED, Limits, LineError, LogLine

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LogLine)


class JsonLines:
    """Writes pages of a log, each line as the object that ``told`` makes of it.

    Examples
    --------
    >>> JsonLines().page([LogLine(decision_id="d-1", candidates={"a": {}}, item="a")])[:41]
    b'{"decision_id":"d-1","time":null,"context'
    """

    def __init__(self, told: Callable[[LogLine], Any] = lambda line: line) -> None:
        self._told = told

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        return _encoder.encode_lines([self._told(line) for line in lines])

    def end(self) -> bytes:
        """What comes after the last."""
        return b""


def read(body: bytes, limits: Limits = UNLIMITED) -> Iterator[tuple[int, LogLine]]:
    r"""The lines with their numbers from 1; empty ones are passed over.

    Examples
    --------
    >>> [(number, line.item) for number, line in read(b'\n{"candidates": {"a": {}}, "item": "a"}')]
    [(2, 'a')]
    >>> list(read(b'{"item": "a"}'))
    Traceback (most recent call last):
    fabcost.wire.line.LineError: line 1: Object missing required field `candidates`
    """
    return read_lines(body, limits, _decoder.decode)


def read_lines(
    body: bytes, limits: Limits, decode: Callable[[bytes], LogLine | None]
) -> Iterator[tuple[int, LogLine]]:
    """The decisions, each from one line, with the numbers of their lines from 1."""
    limits.check_lines(body.count(b"\n") + (not body.endswith(b"\n")))
    for number, text in enumerate(io.BytesIO(body.removeprefix(b"\xef\xbb\xbf")), start=1):
        stripped = text.strip()
        try:
            limits.check_size(len(stripped))
            line = decode(stripped) if stripped else None
        except (ValueError, OverflowError, RecursionError) as error:
            raise LineError(number, error) from error
        if line is not None:
            yield number, line
