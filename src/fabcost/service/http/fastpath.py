"""Paths and what is at them; and decisions without a task and without ASGI messages.

A decision would otherwise spend more time on being passed on than on being made; what this path
earns is told by ``python -m studies.service.fastpath``.  It is for small requests that are all
there soon; whatever else comes goes to the application.  Both ask the same endpoints, and refuse
by the same rules.

It stands on classes of uvicorn that are not its public interface, which is why pyproject.toml
bounds uvicorn by its next minor version.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from http import HTTPStatus
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from fabcost.service.http.exchange import CLOSE, JSON_HEADERS, Header, encode
from fabcost.service.http.protocol import GuardedProtocol
from fabcost.service.http.routing import Endpoint, Site, request_id

T = TypeVar("T")
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 256
_MOST_HELD = 65_536
_HELD_SECONDS = 1.0

#: Sends a head, as it goes over the wire but for its end, and a body; and may end the connection.
SendWhole = Callable[[bytes, bytes, bool], None]
#: Begins to answer, given headers and body.
Begin = Callable[[list[Header], bytes, SendWhole], None]


class Found(NamedTuple, Generic[T]):
    """What is at a path by method, and the parameters in the path."""

    values: dict[str, T]
    parameters: dict[str, str]


class Templates(Generic[T]):
    """Values by method and template of a path; no path may fit two templates.

    ``{name}`` is a segment, ``{name:path}`` all the rest.

    Examples
    --------
    >>> known = Templates([("GET", "/items/{item:path}", "an item"), ("GET", "/items", "all")])
    >>> known.find("/items/cars/ad-1")
    Found(values={'GET': 'an item'}, parameters={'item': 'cars/ad-1'})
    >>> known.find("/nothing") is None
    True
    """

    def __init__(self, entries: Iterable[tuple[str, str, T]]) -> None:
        values: dict[str, dict[str, T]] = {}
        for method, template, value in entries:
            values.setdefault(template, {})[method] = value
        self._patterns = [(_pattern(template), each) for template, each in values.items()]
        self._remembered = lru_cache(maxsize=_MOST_REMEMBERED)(self._find)

    def find(self, path: str) -> Found[T] | None:
        """What is at a path, if anything is; not to be changed."""
        return self._remembered(path) if len(path) <= _LONGEST_REMEMBERED else self._find(path)

    def _find(self, path: str) -> Found[T] | None:
        for pattern, values in self._patterns:
            if (found := pattern.fullmatch(path)) is not None:
                return Found(values, found.groupdict())
        return None


def _pattern(template: str) -> re.Pattern[str]:
    rest = re.sub(r"\\\{(\w+):path\\\}", r"(?P<\1>.*)", re.escape(template))
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", rest), re.DOTALL)


class FastPath:
    """Answers by endpoints that can begin without waiting."""

    def __init__(self, site: Site, endpoints: Templates[Endpoint]) -> None:
        self._site = site
        self._endpoints = endpoints

    def find(self, method: bytes, url: bytes) -> Begin | None:
        """What answers such requests, if they are answered here."""
        if method != b"POST" or b"%" in url or b"?" in url or not url.isascii():
            return None
        found = self._endpoints.find(url.decode())
        endpoint = None if found is None else found.values.get("POST")
        if found is None or endpoint is None or not endpoint.can_begin:
            return None
        service = self._site.service
        if service.shared and found.parameters["model"] not in service.served:
            return None
        return partial(self._begin, endpoint, found.parameters)

    def _begin(
        self,
        endpoint: Endpoint,
        parameters: dict[str, str],
        headers: list[Header],
        content: bytes,
        send: SendWhole,
    ) -> None:
        """Begin to answer; what is refused is answered at once."""
        started, site = perf_counter(), self._site
        named = dict(headers)
        identity = request_id(named.get(b"x-request-id"))
        added = () if site.cors is None else site.cors.headers(named)
        finish = partial(self._finish, endpoint.route, identity, started, added, send)
        site.in_flight += 1
        try:
            site.check_room()
            endpoint.begin(named, parameters, content, finish)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            finish(error)

    def _finish(
        self,
        route: str,
        identity: bytes,
        started: float,
        headers: tuple[Header, ...],
        send: SendWhole,
        result: Any,
    ) -> None:
        site = self._site
        site.in_flight -= 1
        status = 200
        if isinstance(result, Exception):
            refused = site.refusal(result, identity, route)
            status, body = refused.status, refused.body(identity)
            headers = (*refused.headers, *headers)
        else:
            body = encode(result)
        send(_head(status, identity, len(body), headers), body, CLOSE in headers)
        site.told(identity, "POST", route, status, perf_counter() - started)


def _head(status: int, identity: bytes, length: int, headers: tuple[Header, ...]) -> bytes:
    """The head of an answer in JSON as it goes over the wire, but for its end.

    Examples
    --------
    >>> _head(200, b"trace-17", 2, ()).splitlines()[-2:]
    [b'x-request-id: trace-17', b'content-length: 2']
    """
    head = b"%bx-request-id: %b\r\ncontent-length: %d" % (_beginning(status), identity, length)
    others = (b"\r\n%b: %b" % header for header in headers if header != CLOSE)
    return b"".join((head, *others)) if headers else head


@cache
def _beginning(status: int) -> bytes:
    line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()
    return line + b"".join(b"%b: %b\r\n" % header for header in JSON_HEADERS)


class WithFastPath(Protocol):
    """An application; it has none while it still loads."""

    fast_path: FastPath | None


class FastProtocol(GuardedProtocol):
    """Takes each request that is small and all there soon to the fast path."""

    def __init__(self, *, application: WithFastPath, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._application = application
        self._begin: Begin | None = None
        self._held: list[bytes] | None = None
        self._holding: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Hold nothing any longer."""
        self._released()
        super().connection_lost(exc)

    def read(self, data: bytes) -> None:
        """Read; a request whose body is large or slow goes to the application."""
        super().read(data)
        if self._held is None:
            return
        if self.transport.is_closing():
            self._released()
        elif sum(map(len, self._held)) > _MOST_HELD:
            self._let_go()
        elif self._holding is None:
            self._holding = self.loop.call_later(_HELD_SECONDS, self._let_go)

    def on_message_begin(self) -> None:
        """A head begins; only the application needs a scope, which is made then."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._in_head = True
        self._head = 0

    def on_headers_complete(self) -> None:
        """Hold a request that might take the fast path until its body is there."""
        if self.is_asked_to_upgrade():
            return
        if self._may_be_fast():
            self.end_head()
            self._held = []
        else:
            self._begin_for_the_application()

    def on_body(self, body: bytes) -> None:
        """Keep, or pass on."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """Begin to answer at the end of this turn of the loop, one request after the other.

        What they all need then stays in the processor's caches, where receiving in between would
        displace it.
        """
        if self._held is None or self._begin is None:
            super().on_message_complete()
            return
        content = self._released()
        cycle = _FastCycle(keep_alive=self.parser.should_keep_alive())
        self.cycle = cycle  # type: ignore[assignment]
        send = partial(self._send, cycle)
        self.loop.call_soon(self._begin, self.headers, content, send)

    def _may_be_fast(self) -> bool:
        fast, parser = self._application.fast_path, self.parser
        self._begin = None if fast is None else fast.find(parser.get_method(), self.url)
        return (
            self._begin is not None
            and getattr(self.cycle, "response_complete", True)
            and parser.get_http_version() == "1.1"
            and not self.expect_100_continue
        )

    def _begin_for_the_application(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()

    def _released(self) -> bytes:
        if self._holding is not None:
            self._holding.cancel()
            self._holding = None
        content, self._held = b"".join(self._held or ()), None
        return content

    def _let_go(self) -> None:
        content = self._released()
        self._begin_for_the_application()
        if content:
            super().on_body(content)

    def _send(self, cycle: _FastCycle, head: bytes, body: bytes, close: bool) -> None:
        """Do what uvicorn does with an answer in two messages, without looking at each header."""
        cycle.response_started = cycle.response_complete = True
        if cycle.disconnected or self.transport.is_closing():
            return
        more = [b"\r\n%b: %b" % header for header in self.server_state.default_headers]
        ends = close or not cycle.keep_alive
        if ends:
            more.append(b"\r\nconnection: close")
        self.transport.write(b"".join((head, *more, b"\r\n\r\n", body)))
        if ends:
            self.transport.close()
        self.on_response_complete()


class _FastCycle:
    """One request on the fast path; to uvicorn it is a cycle as any other."""

    __slots__ = ("disconnected", "keep_alive", "response_complete", "response_started")
    more_body = False
    # Nobody waits for it.
    message_event = asyncio.Event()

    def __init__(self, *, keep_alive: bool) -> None:
        self.disconnected = False
        self.keep_alive = keep_alive
        self.response_started = False
        self.response_complete = False
