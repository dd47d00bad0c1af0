"""A short way for small requests: no task, no ASGI messages.

What is asked most often would otherwise spend more time on being passed on than on being answered.
Whatever is not plain (a large or slow body, an error, too many requests) goes the long way, which
knows how to refuse; there too an answer in one piece is sent in one piece.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from fabcost.service.http.protocol import GuardedProtocol

_MOST_HELD = 65_536
_OF_A_REQUEST = (
    "parser",
    "cycle",
    "url",
    "headers",
    "expect_100_continue",
    "scope",
    "_in_head",
    "_head",
)
_HELD_SECONDS = 1.0
#: The extension of the scope by which an answer in one piece is sent; it is a `Send`.
WHOLE_ANSWER = "fabcost.whole_answer"

Headers = list[tuple[bytes, bytes]]


class Send(Protocol):
    """How an answer is sent: its head as it goes over the wire but for the end, and its body."""

    def __call__(self, head: bytes, body: bytes) -> None:
        """Send."""
        ...


class Way(Protocol):
    """What answers on the short way, `fabcost.service.http.shortcut.Shortcut`."""

    def find(self, method: bytes, url: bytes) -> Any:
        """Where such requests are answered, or None if they must go the long way."""
        ...

    def begin(self, place: Any, headers: Headers, content: bytes, send: Send) -> bool:
        """Begin to answer, or change nothing and return False."""
        ...


class DirectProtocol(GuardedProtocol):
    """Tries the short way with each request that is small and all there soon."""

    way: Way

    @classmethod
    def over(cls, way: Way, *, seconds_for_a_head: float) -> type[DirectProtocol]:
        """The protocol for a way."""
        given = {"way": way, "seconds_for_a_head": seconds_for_a_head}
        return type(cls.__name__, (cls,), given)

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._place: Any = None
        self._held: list[bytes] | None = None
        self._holding: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Hold nothing any longer."""
        self._released()
        super().connection_lost(exc)

    def read(self, data: bytes) -> None:
        """Read; a request whose body is large or slow goes the long way."""
        super().read(data)
        if self._held is None:
            return
        if self.transport.is_closing():
            self._released()
        elif sum(map(len, self._held)) > _MOST_HELD:
            self._go_the_long_way()
        elif self._holding is None:
            self._holding = self.loop.call_later(_HELD_SECONDS, self._go_the_long_way)

    def on_message_begin(self) -> None:
        """A head begins; only the long way needs a scope, which is made there."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._in_head = True
        self._head = 0

    def on_headers_complete(self) -> None:
        """Hold a request that might go the short way until its body is there."""
        if self.is_asked_to_upgrade():
            return
        if not self._is_plain():
            self._begin_the_long_way()
            return
        self._in_head = False
        if self._waiting is not None:
            self._stop_waiting()
        self._held = []

    def on_body(self, body: bytes) -> None:
        """Keep, or pass on."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """Go the short way at the end of this turn of the loop, one request after the other.

        What they all need then stays in the processor's caches, where receiving in between would
        displace it.
        """
        if self._held is None:
            super().on_message_complete()
            return
        content = self._released()
        exchange = Exchange(keep_alive=self.parser.should_keep_alive())
        self.cycle = exchange  # type: ignore[assignment]
        asked = (self._place, self.url, self.headers, content)
        self.loop.call_soon(self._begin, exchange, *asked)

    def _begin(
        self, exchange: Exchange, place: Any, url: bytes, headers: Headers, content: bytes
    ) -> None:
        send = partial(send_whole, self, exchange)
        if not self.way.begin(place, headers, content, send) and not self.transport.is_closing():
            self._repeat(exchange, url, headers, content)

    def _repeat(self, exchange: Exchange, url: bytes, headers: Headers, content: bytes) -> None:
        """Send a request that was read the long way, as if it came now.

        Another that came after it on the same connection waits for its answer.
        """
        being_read = {name: getattr(self, name) for name in _OF_A_REQUEST}
        self.parser = _Read(exchange.keep_alive)  # type: ignore[assignment]
        self.cycle = None  # type: ignore[assignment]
        self.url, self.headers, self.expect_100_continue = url, headers, False
        self._begin_the_long_way()
        super().on_body(content)
        super().on_message_complete()
        if being_read["cycle"] is exchange:
            del being_read["cycle"]
        for name, value in being_read.items():
            setattr(self, name, value)

    def _is_plain(self) -> bool:
        parser = self.parser
        self._place = self.way.find(parser.get_method(), self.url)
        return (
            self._place is not None
            and getattr(self.cycle, "response_complete", True)
            and parser.get_http_version() == "1.1"
            and not self.expect_100_continue
        )

    def _begin_the_long_way(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None:
            send = partial(send_whole, self, cycle)
            cycle.scope["extensions"] = {WHOLE_ANSWER: send}  # type: ignore[dict-item]

    def _released(self) -> bytes:
        """What was held until now."""
        if self._holding is not None:
            self._holding.cancel()
            self._holding = None
        content, self._held = b"".join(self._held or ()), None
        return content

    def _go_the_long_way(self) -> None:
        content = self._released()
        self._begin_the_long_way()
        if content:
            super().on_body(content)


class _Read:
    """What a parser knows of a request that it has read."""

    def __init__(self, keep_alive: bool) -> None:
        self._keep_alive = keep_alive

    def get_method(self) -> bytes:
        return b"POST"

    def get_http_version(self) -> str:
        return "1.1"

    def should_keep_alive(self) -> bool:
        return self._keep_alive

    def should_upgrade(self) -> bool:
        return False


class Exchange:
    """One request on the short way; to uvicorn it is a cycle as any other."""

    __slots__ = ("disconnected", "keep_alive", "response_complete", "response_started")
    more_body = False

    def __init__(self, *, keep_alive: bool) -> None:
        self.disconnected = False
        self.keep_alive = keep_alive
        self.response_started = False
        self.response_complete = False

    @property
    def message_event(self) -> _Nobody:
        """Who waits for messages."""
        return _NOBODY


class _Nobody:
    def set(self) -> None:
        """Nobody is told."""


_NOBODY = _Nobody()


def send_whole(
    protocol: HttpToolsProtocol, cycle: Exchange | RequestResponseCycle, head: bytes, body: bytes
) -> None:
    """Send an answer whose head is as it goes over the wire, but for what the server adds.

    It does what uvicorn does with an answer in two messages, without looking at each header.
    """
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if cycle.disconnected or protocol.transport.is_closing():
        return
    more = [b"\r\n%b: %b" % header for header in protocol.server_state.default_headers]
    if not cycle.keep_alive:
        more.append(b"\r\nconnection: close")
    protocol.transport.write(b"".join((head, *more, b"\r\n\r\n", body)))
    if not cycle.keep_alive:
        protocol.transport.close()
    protocol.on_response_complete()
