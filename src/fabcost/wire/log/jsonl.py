"""JSON Lines: one decision a line, with nothing left out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import msgspec

from fabcost.wire.log.limits import Limits
from fabcost.wire.log.line import LineError, LogLine

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LogLine)


class JsonLines:
    """Writes pages of a log.

    Examples
    --------
    >>> JsonLines().page([LogLine(decision_id="d-1", candidates={"a": {}}, item="a")])[:41]
    b'{"decision_id":"d-1","time":null,"context'
    """

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        return _encoder.encode_lines(lines)

    def end(self) -> bytes:
        """What comes after the last."""
        return b""


def read(body: bytes, limits: Limits | None = None) -> Iterator[tuple[int, LogLine]]:
    r"""The lines with their numbers from 1; empty ones are passed over.

    Examples
    --------
    >>> [(number, line.item) for number, line in read(b'\n{"candidates": {"a": {}}, "item": "a"}')]
    [(2, 'a')]
    >>> list(read(b'{"item": "a"}'))
    Traceback (most recent call last):
    fabcost.wire.log.line.LineError: line 1: Object missing required field `candidates`
    """
    for number, text in numbered(body, limits):
        try:
            yield number, _decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise LineError(number, error) from error


def numbered(body: bytes, limits: Limits | None = None) -> Iterator[tuple[int, bytes]]:
    r"""The lines that are not blank, with their numbers from 1.

    Examples
    --------
    >>> list(numbered(b"a\r\n \nb"))
    [(1, b'a'), (3, b'b')]
    """
    if limits is not None:
        limits.check_lines(body.count(b"\n") + (not body.endswith(b"\n")))
    for number, line in enumerate(io.BytesIO(body.removeprefix(b"\xef\xbb\xbf")), start=1):
        text = line.strip()
        if limits is not None:
            _check_line(number, text, limits)
        if text:
            yield number, text


def _check_line(number: int, text: bytes, limits: Limits) -> None:
    try:
        limits.check_line(len(text))
    except ValueError as error:
        raise LineError(number, error) from error
