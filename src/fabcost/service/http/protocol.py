"""HTTP/1.1 as uvicorn speaks it, but for what anyone could fill the memory with.

A server that reads on while its answers are not read, or while requests that came before are still
being answered, keeps in memory whatever anyone likes to send; so does one that waits for the end of
every head.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httptools
from structlog.typing import FilteringBoundLogger
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

#: So much is read before it is looked whether a request is there that must be answered first.
_PIECE = 4_096
_STALLED_SECONDS = 60.0
_LARGEST_HEAD = 65_536
_REFUSED = "Invalid HTTP request received."


class GuardedProtocol(HttpToolsProtocol):
    """Reads no faster than answers are taken, and no head that is too slow or too long.

    What comes after a request is held until that is answered and the client takes its answers.  A
    connection whose client takes nothing for a minute is ended.  Requests to go over to another
    protocol are answered as if they did not ask for that.
    """

    def __init__(self, *, seconds_for_a_head: float, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._seconds_for_a_head = seconds_for_a_head
        self._unread = b""
        self._owes_an_end = False
        self._stalled: asyncio.TimerHandle | None = None
        self._head = 0
        self._in_head = False
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head, and read only when there is room."""
        super().connection_made(transport)
        self.flow = _Flow(self, transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer, and hold nothing."""
        self._stop_waiting()
        self._unread, self._owes_an_end = b"", False
        self.pipeline.clear()
        self._stop_looking()
        super().connection_lost(exc)

    @property
    def holds_back(self) -> bool:
        """Whether something must be answered, or answers be taken, before more is read."""
        if self.flow.write_paused or self.pipeline:
            return True
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not (cycle.response_complete or cycle.more_body)

    @property
    def has_unread(self) -> bool:
        """Whether something came that was not read yet."""
        return bool(self._unread)

    def data_received(self, data: bytes) -> None:
        """Read, or keep for later."""
        if self._unread or self.holds_back:
            self._keep(self._unread + data)
        elif len(data) <= _PIECE:
            self.read(data)
        else:
            self._read_pieces(data)

    def read(self, data: bytes) -> None:
        """Read a piece, unless the head has become too large."""
        if self._in_head:
            if self._head > _LARGEST_HEAD:
                self.send_400_response("The head of the request is too large.")
                return
            self._head += len(data)
        self._feed(data)
        # Only a head in parts needs a timer.
        if self._in_head and self._waiting is None and not self.holds_back:
            self._wait()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head = True
        self._head = 0

    def on_headers_complete(self) -> None:
        """The head is there, unless the one that is answered instead is still to be parsed."""
        if not self.is_asked_to_upgrade():
            self.end_head()
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there, unless it is still to be parsed as one that does not upgrade."""
        if not self.is_asked_to_upgrade():
            super().on_message_complete()

    def end_head(self) -> None:
        """The head is there, and not waited for any longer."""
        self._in_head = False
        if self._waiting is not None:
            self._stop_waiting()

    def _feed(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._parse(data)
        except httptools.HttpParserError:
            self.logger.warning(_REFUSED)
            self.send_400_response(_REFUSED)

    def on_response_complete(self) -> None:
        """Go on with what came after, once there is room for its answer."""
        if self.flow.write_paused and not self.transport.is_closing():
            self._owes_an_end = True
            return
        super().on_response_complete()
        self._read_on_soon()

    def pause_writing(self) -> None:
        """Stop reading, and look from time to time whether anything is taken.

        A head that is not read is not waited for.
        """
        self._stop_waiting()
        super().pause_writing()
        self.flow.pause_reading()
        self._look(self.transport.get_write_buffer_size() + 1)

    def resume_writing(self) -> None:
        """Go on where it was stopped."""
        super().resume_writing()
        self._stop_looking()
        if self._owes_an_end:
            self._owes_an_end = False
            self.on_response_complete()
        else:
            self.flow.resume_reading()
            self._read_on_soon()

    def is_asked_to_upgrade(self) -> bool:
        """Whether the request that is being parsed asks for another protocol."""
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _parse(self, data: bytes) -> bytes:
        """Parse; what is to be parsed instead of the rest, if something is."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            if self.parser.get_method() != b"CONNECT":
                head = self._head_without_upgrade()
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                return head + data[stopped.args[0] :]
        return b""

    def _head_without_upgrade(self) -> bytes:
        # The parser takes what follows a head that asks for an upgrade for another protocol.
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        named = (header for header in self.headers if header[0] != b"upgrade")
        lines = b"".join(b"%b: %b\r\n" % header for header in named)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, lines)

    def _keep(self, data: bytes) -> None:
        self._unread = data
        self.flow.pause_reading()

    def _read_on_soon(self) -> None:
        if self._unread:
            self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if not self._unread or self.holds_back or self.transport.is_closing():
            return
        data, self._unread = self._unread, b""
        self._read_pieces(data)
        if not self._unread:
            self.flow.resume_reading()

    def _read_pieces(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            if self.holds_back:
                self._keep(data[start:])
                return
            self.read(data[start : start + _PIECE])

    def _look(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= before:
            self.transport.abort()
        else:
            self._stalled = self.loop.call_later(_STALLED_SECONDS, self._look, left)

    def _stop_looking(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self._seconds_for_a_head, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Flow(FlowControl):
    """Whether there is room to write, and so to read."""

    def __init__(self, protocol: GuardedProtocol, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        """Read on if nothing is held back."""
        if not self.write_paused and not self._protocol.has_unread:
            super().resume_reading()


def forward(name: str, log: FilteringBoundLogger) -> None:
    """Send what a library logs under ``name`` to our log.

    Examples
    --------
    >>> import io, msgspec
    >>> from fabcost.service.telemetry import logger
    >>> stream = io.TextIOWrapper(io.BytesIO())
    >>> forward("fabcost.example", logger("info", "json", stream))
    >>> logging.getLogger("fabcost.example").warning("a request was not HTTP")
    >>> msgspec.json.decode(stream.buffer.getvalue())["event"]
    'a request was not HTTP'
    """
    library = logging.getLogger(name)
    library.handlers = [_Forwarding(log)]
    library.propagate = False
    library.setLevel(logging.WARNING)


class _Forwarding(logging.Handler):
    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.log(record.levelno, record.getMessage(), exc_info=record.exc_info, by=record.name)
