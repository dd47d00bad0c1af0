"""The application: one layer around all routes, for limits, errors, headers and metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable
from time import perf_counter

import msgspec
from starlette.types import Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from fabcost.service import dashboard, personalizer
from fabcost.service.http.answer import Header, HttpAnswer, answer, headers_of, request_id
from fabcost.service.http.fastpath import FastPath
from fabcost.service.http.mounts import Contract, Pages
from fabcost.service.http.openapi import document
from fabcost.service.http.operation import Endpoint
from fabcost.service.http.problem import CLOSE, RETRY_SOON, RefusedError, problem
from fabcost.service.http.request import Deadlines, HttpRequest
from fabcost.service.http.routes import operations
from fabcost.service.http.routes.server import State
from fabcost.service.http.site import Site
from fabcost.service.http.tree import Tree
from fabcost.service.service import Service
from fabcost.service.settings import Settings

_NOWHERE = "(none)"
#: Answered however busy the server is.
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS_FOR_A_CHUNK = 60.0


def application(
    service: Service, settings: Settings, log: FilteringBoundLogger, *, asks_for_keys: bool
) -> Application:
    """The ASGI application of a service.

    Keys are read by ``site.access.reread_keys`` of the result, which whoever serves it must call.
    """
    declared = operations(settings)
    written = msgspec.json.encode(document(declared))
    site = Site(service, settings, log, asks_for_keys=asks_for_keys, document=written)
    contract = personalizer.Personalizer(service, create_models=settings.create_personalizer_models)
    return Application(
        site,
        [Endpoint(each, site) for each in declared],
        Contract(contract, site),
        Pages(dashboard.routes(), site),
    )


class Application:
    """The ASGI application.

    Parameters
    ----------
    site
        What routes work with.
    endpoints
        The native API.
    contract, pages
        All other routes.
    """

    def __init__(
        self, site: Site, endpoints: Iterable[Endpoint], contract: Contract, pages: Pages
    ) -> None:
        self.site = site
        self._tree = Tree((each.method, each.route, each) for each in endpoints)
        self._contract = contract
        self._pages = pages
        self._deadlines = Deadlines()
        self.fast_path = FastPath(site, self._tree)

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
            await _deliver(answered, headers_of(answered, identity), request, send)
        finally:
            self.site.in_flight -= 1
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.site.told(identity, method, route, answered.status, perf_counter() - started)

    async def _answer(self, request: HttpRequest, identity: bytes) -> tuple[str, HttpAnswer]:
        route = _NOWHERE
        try:
            route, seconds, answering = self._find(request)
            return route, await self._deadlines.within(seconds, request, answering)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            refused = self.site.refusal(error, identity, route)
            if personalizer.parse(request.scope["path"]) is not None:
                return route, self._contract.refused(refused)
            return route, problem(refused, identity)

    def _find(self, request: HttpRequest) -> tuple[str, float, Awaitable[HttpAnswer]]:
        """Who answers: the name of the route, how long it may take, and the answer to come."""
        path = request.scope["path"]
        if path not in _ALWAYS:
            self.site.check_room()
        found = self._tree.find(path)
        if found is None:
            return self._find_mounted(request, path)
        method = request.scope["method"]
        endpoint = found.values.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            raise _wrong_method(method, found.values)
        return endpoint.route, endpoint.seconds, endpoint.answer(request, found.parameters)

    def _find_mounted(
        self, request: HttpRequest, path: str
    ) -> tuple[str, float, Awaitable[HttpAnswer]]:
        if (found := personalizer.parse(path)) is not None:
            contract, method = self._contract, request.scope["method"]
            answering = contract.answer(request, found)
            return contract.route(method, found), contract.seconds, answering
        if path == "/" or path.startswith("/dashboard/"):
            return self._pages.route, self._pages.seconds, self._pages.answer(request)
        raise RefusedError(404, "not_found", "there is nothing at this path")


class Startup:
    """An ASGI application that says how far loading is, until there is one to pass requests to.

    Parameters
    ----------
    progress
        How far loading is, in words.
    """

    def __init__(self, progress: Callable[[], str]) -> None:
        self._progress = progress
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
        answered = self._answer(scope["path"], identity)
        await _deliver(answered, headers_of(answered, identity), request, send)

    def _answer(self, path: str, identity: bytes) -> HttpAnswer:
        if path == "/healthz":
            return answer(State("ok"))
        # Nobody reads the body of a request that is refused here.
        refused = RefusedError(503, "not_ready", self._progress(), RETRY_SOON, CLOSE)
        return problem(refused, identity)


async def _deliver(
    answer: HttpAnswer, headers: list[Header], request: HttpRequest, send: Send
) -> None:
    body, is_head = answer.body, request.scope["method"] == "HEAD"
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
    names = sorted({*allowed, *({"HEAD"} if "GET" in allowed else ())})
    listed = ", ".join(names)
    message = f"the method is {method} but must be one of {listed}"
    return RefusedError(405, "wrong_method", message, (b"allow", listed.encode()))
