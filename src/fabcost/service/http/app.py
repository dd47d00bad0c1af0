"""The application: one layer around all routes, for limits, errors, headers and metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, MutableMapping
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from structlog.typing import FilteringBoundLogger

from fabcost.service import dashboard, personalizer
from fabcost.service.http.exchange import (
    CLOSE,
    NO_STORE,
    POLICY,
    RETRY_SOON,
    SECURITY,
    Cors,
    Header,
    HttpAnswer,
    RefusedError,
    answer,
    too_large,
)
from fabcost.service.http.fastpath import FastPath, Templates
from fabcost.service.http.openapi import document
from fabcost.service.http.routes import operations
from fabcost.service.http.routes.server import State
from fabcost.service.http.routing import Endpoint, Site, check_allowed, check_origin, request_id
from fabcost.service.service import Service
from fabcost.service.settings import Settings

#: The parts of an ASGI application.
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_NOWHERE = "(none)"
_BODILESS = frozenset({204, 304})
#: Answered however busy the server is.
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_PAGES = "/dashboard"
_FIRST = {"/": "index.html", "/docs": "docs.html"}
_TEXT = b"text/plain; charset=utf-8"
_CONTRACT = {"decide": "/personalizer/rank", "feedback": "/personalizer/events/{event}"}
_SECONDS_FOR_A_CHUNK = 60.0
_LOOK_EVERY_SECONDS = 0.25


class HttpRequest:
    """A request whose body may not have come yet; ``scope`` and ``receive`` are ASGI's."""

    __slots__ = ("headers", "receive", "scope", "waits_for_body")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.waits_for_body = False

    async def body(self, limit: int) -> bytes:
        """The whole body, or an error as soon as it is known to be longer than ``limit``."""
        announced = self.headers.get(b"content-length", b"0")
        if len(announced) > 15 or int(announced) > limit:
            raise too_large(limit)
        self.waits_for_body = True
        message = await self.receive()
        content: bytes = message.get("body", b"")
        if message.get("more_body", False):
            content = await self._rest(bytearray(content), limit)
        if len(content) > limit:
            raise too_large(limit)
        self.waits_for_body = False
        return content

    async def disconnected(self) -> None:
        """Until whoever asked has left; only when the body has come, or is not wanted."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def _rest(self, content: bytearray, limit: int) -> bytes:
        more = True
        while more and len(content) <= limit:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "disconnected", "the connection ended within the body")
            content += message.get("body", b"")
            more = message.get("more_body", False)
        return bytes(content)


class Application:
    """The ASGI application of a service: its own API, the Personalizer contract, the dashboard.

    Keys are read by ``site.access.reread_keys``, which whoever serves it must call.
    """

    def __init__(
        self,
        service: Service,
        settings: Settings,
        log: FilteringBoundLogger,
        *,
        asks_for_keys: bool,
    ) -> None:
        declared, create = operations(settings), settings.create_personalizer_models
        written = msgspec.json.encode(document(declared))
        site = Site(service, settings, log, asks_for_keys=asks_for_keys, document=written)
        endpoints = (Endpoint(each, site) for each in declared)
        self.site = site
        self._endpoints = Templates((each.method, each.route, each) for each in endpoints)
        self._contract = personalizer.Personalizer(service, create_models=create)
        images = " ".join(settings.image_origins)
        self._assets = dashboard.read_assets(images)
        self._policy = (POLICY[0], b" ".join([POLICY[1], *images.encode().split()]))
        self._deadlines = Deadlines()
        self.fast_path: FastPath | None = FastPath(site, self._endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"the scope is {scope['type']} but only http is served")
        started = perf_counter()
        request = HttpRequest(scope, receive)
        identity = request_id(request.headers.get(b"x-request-id"))
        self.site.in_flight += 1
        try:
            route, answered = await self._answer(request, identity)
            await _deliver(answered, identity, request, self.site.cors, send)
        finally:
            self.site.in_flight -= 1
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.site.told(identity, method, route, answered.status, perf_counter() - started)

    async def _answer(self, request: HttpRequest, identity: bytes) -> tuple[str, HttpAnswer]:
        route = _NOWHERE
        try:
            if (told := _preflight(request, self.site.cors)) is not None:
                return route, told
            route, seconds, answering = self._find(request)
            return route, await self._deadlines.within(seconds, request, answering)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            refused = self.site.refusal(error, identity, route)
            if personalizer.parse(request.scope["path"]) is None:
                return route, refused.answer(identity)
            said = personalizer.refused(refused.code, str(refused), refused.headers)
            return route, HttpAnswer(said.status, said.body, headers=said.headers)

    def _find(self, request: HttpRequest) -> tuple[str, float, Awaitable[HttpAnswer]]:
        """Who answers: the name of the route, how long it may take, and the answer to come."""
        path, method = request.scope["path"], request.scope["method"]
        if path not in _ALWAYS:
            self.site.check_room()
        if (found := self._endpoints.find(path)) is not None:
            endpoint = found.values.get("GET" if method == "HEAD" else method)
            if endpoint is None:
                raise _wrong_method(method, found.values)
            return endpoint.route, endpoint.seconds, endpoint.answer(request, found.parameters)
        seconds = self.site.settings.request_seconds
        if (place := personalizer.parse(path)) is not None:
            route = _CONTRACT.get(place.role(method), "/personalizer")
            return route, seconds, self._by_contract(request, place)
        if path in _FIRST or path.startswith(f"{_PAGES}/"):
            return _PAGES, seconds, self._page(request)
        raise RefusedError(404, "not_found", "there is nothing at this path")

    async def _by_contract(
        self, request: HttpRequest, place: personalizer.ContractPath
    ) -> HttpAnswer:
        method, access = request.scope["method"], self.site.access
        principal = access.admit(request.headers)
        if not access.asks_for_keys:
            check_origin(request.headers, self.site.cors)
        check_allowed(principal, place.role(method), place.model)
        body = await request.body(self.site.settings.body_bytes)
        own = principal.model == place.model and principal.allowance is None
        may_make = own or "admin" in principal.roles
        if self.site.service.shared:
            await self.site.service.find(place.model)
        asked = personalizer.ContractRequest(method, place, request.headers, body, may_make)
        told = await self._contract.answer(asked)
        return HttpAnswer(told.status, told.body, headers=told.headers)

    async def _page(self, request: HttpRequest) -> HttpAnswer:
        """A file of the pages, open to all; 304 if the browser has it already."""
        if request.scope["method"] not in {"GET", "HEAD"}:
            return HttpAnswer(405, b"Method Not Allowed", _TEXT, ((b"allow", b"GET, HEAD"),))
        path = request.scope["path"]
        name = _FIRST.get(path) or path.removeprefix(f"{_PAGES}/")
        asset = self._assets.get(name)
        if asset is None:
            return HttpAnswer(404, f"the dashboard has no file {name!r}\n".encode(), _TEXT)
        headers = ((b"etag", asset.tag), (b"cache-control", b"no-cache"), self._policy)
        if asset.tag in request.headers.get(b"if-none-match", b""):
            return HttpAnswer(304, b"", headers=headers)
        return HttpAnswer(200, asset.content, asset.media_type, headers)


class Startup:
    """An ASGI application that says how far loading is, until there is one to pass requests to."""

    def __init__(self, progress: Callable[[], str], cors: Cors | None = None) -> None:
        self._progress = progress
        self._cors = cors
        self._application: Application | None = None
        self.fast_path: FastPath | None = None

    def end(self, application: Application) -> None:
        """Pass all requests to the application from now on."""
        self._application = application
        self.fast_path = application.fast_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._application is not None:
            await self._application(scope, receive, send)
            return
        request = HttpRequest(scope, receive)
        identity = request_id(request.headers.get(b"x-request-id"))
        # Nobody reads the body of a request that is refused here.
        refused = RefusedError(503, "not_ready", self._progress(), RETRY_SOON, CLOSE)
        healthy = scope["path"] == "/healthz"
        answered = answer(State("ok")) if healthy else refused.answer(identity)
        with contextlib.suppress(RefusedError):
            answered = _preflight(request, self._cors) or answered
        await _deliver(answered, identity, request, self._cors, send)


def _preflight(request: HttpRequest, cors: Cors | None) -> HttpAnswer | None:
    return None if cors is None else cors.preflight(request.scope["method"], request.headers)


def _headers_of(answer: HttpAnswer, identity: bytes, added: tuple[Header, ...]) -> list[Header]:
    """All headers of an answer; one that says nothing of caching is not to be cached."""
    own = {name for name, _ in answer.headers}
    headers = [each for each in SECURITY if each[0] not in own]
    headers += [(b"x-request-id", identity), *answer.headers, *added]
    if b"cache-control" not in own:
        headers.append(NO_STORE)
    if answer.status not in _BODILESS:
        headers.append((b"content-type", answer.content_type))
        if isinstance(answer.body, bytes):
            headers.append((b"content-length", b"%d" % len(answer.body)))
    return headers


async def _deliver(
    answer: HttpAnswer, identity: bytes, request: HttpRequest, cors: Cors | None, send: Send
) -> None:
    body, is_head = answer.body, request.scope["method"] == "HEAD"
    headers = _headers_of(answer, identity, () if cors is None else cors.headers(request.headers))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if isinstance(body, bytes):
        await send({"type": "http.response.body", "body": b"" if is_head else body})
        return
    async with contextlib.aclosing(body):
        if not is_head:
            await _pass_on(body, request, send)
    await send({"type": "http.response.body", "body": b""})


async def _pass_on(chunks: AsyncGenerator[bytes], request: HttpRequest, send: Send) -> None:
    """Piece by piece, for as long as somebody is there to read them."""
    gone = asyncio.ensure_future(request.disconnected())
    try:
        async for chunk in chunks:
            if gone.done():
                return
            await asyncio.wait_for(
                send({"type": "http.response.body", "body": chunk, "more_body": True}),
                _SECONDS_FOR_A_CHUNK,
            )
    finally:
        gone.cancel()


def _wrong_method(method: str, allowed: Collection[str]) -> RefusedError:
    listed = ", ".join(sorted({*allowed, *({"HEAD"} if "GET" in allowed else ())}))
    message = f"the method is {method} but must be one of {listed}"
    return RefusedError(405, "wrong_method", message, (b"allow", listed.encode()))


class _Underway(NamedTuple):
    until: float
    seconds: float
    request: HttpRequest

    def refusal(self) -> RefusedError:
        if self.request.waits_for_body:
            message = f"the body did not come within {self.seconds:g} s"
            return RefusedError(408, "too_slow", message, CLOSE)
        message = f"no answer within {self.seconds:g} s; what was asked for may still be done"
        return RefusedError(503, "timeout", message, RETRY_SOON)


class Deadlines:
    """Looks four times a second whose time is over.

    A timer for each request would cost several times as much as everything else here.
    """

    def __init__(self) -> None:
        self._underway: dict[asyncio.Task[object], _Underway] = {}
        self._overdue: dict[asyncio.Task[object], RefusedError] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def within(
        self, seconds: float, request: HttpRequest, answering: Awaitable[HttpAnswer]
    ) -> HttpAnswer:
        """The answer, or an error if it takes longer."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            raise RuntimeError("requests are answered in tasks")
        self._underway[task] = _Underway(loop.time() + seconds, seconds, request)
        if self._looking is None:
            self._looking = loop.call_later(_LOOK_EVERY_SECONDS, self._look, loop)
        try:
            return await answering
        except asyncio.CancelledError:
            if task not in self._overdue or task.uncancel() > 0:
                raise
            raise self._overdue[task] from None
        finally:
            del self._underway[task]
            if self._overdue:
                self._overdue.pop(task, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task, each in self._underway.items():
            if each.until < now and task not in self._overdue:
                self._overdue[task] = each.refusal()
                task.cancel()
        again = bool(self._underway)
        self._looking = loop.call_later(_LOOK_EVERY_SECONDS, self._look, loop) if again else None
