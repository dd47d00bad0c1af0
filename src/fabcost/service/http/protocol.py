"""HTTP/1.1 as uvicorn speaks it, with limits on the time and the size of a head."""

from __future__ import annotations

import asyncio
from typing import Any

from fabcost.service.http.pacing import PacedProtocol

_LARGEST_HEAD = 65_536


class GuardedProtocol(PacedProtocol):
    """Closes connections that send the head of a request too slowly, or without end."""

    seconds_for_a_head = 10.0

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._head = 0
        self._in_head = False
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def read(self, data: bytes) -> None:
        """Read on, unless the head has become too large; only a head in parts needs a timer."""
        if self._in_head:
            if self._head > _LARGEST_HEAD:
                self.send_400_response("The head of the request is too large.")
                return
            self._head += len(data)
        super().read(data)
        if self._in_head and self._waiting is None and not self.holds_back:
            self._wait()

    def pause_writing(self) -> None:
        """A head that is not read is not waited for."""
        self._stop_waiting()
        super().pause_writing()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._in_head = True
        self._head = 0

    def on_headers_complete(self) -> None:
        """The head is there, unless the one that is answered instead is still to be parsed."""
        if self.is_asked_to_upgrade():
            return
        self._in_head = False
        if self._waiting is not None:
            self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there, unless it is still to be parsed as one that does not upgrade."""
        if not self.is_asked_to_upgrade():
            super().on_message_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.seconds_for_a_head, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
