"""The one layer around all routes: limits, errors, headers, metrics and the log."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Collection, Iterable
from time import perf_counter

from starlette.types import Receive, Scope, Send

from fabcost.service import personalizer
from fabcost.service.http.answer import JSON, Answer, Header
from fabcost.service.http.deadlines import Deadlines
from fabcost.service.http.fastpath import WHOLE_ANSWER
from fabcost.service.http.headers import head_of_json, of_answer, request_id
from fabcost.service.http.mounts import Contract, Pages
from fabcost.service.http.native import Native
from fabcost.service.http.problem import RETRY_SOON, RefusedError, problem, refusal
from fabcost.service.http.request import Incoming
from fabcost.service.http.shortcut import Shortcut
from fabcost.service.http.site import Site
from fabcost.service.http.tree import Tree

_NOWHERE = "(none)"
#: Answered however busy the server is.
_ALWAYS = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS_FOR_A_CHUNK = 60.0


class Gate:
    """The ASGI application.

    Parameters
    ----------
    site
        What routes work with.
    natives
        The native API, by method and path.
    contract, pages
        All other routes.
    """

    def __init__(
        self, site: Site, natives: Iterable[Native], contract: Contract, pages: Pages
    ) -> None:
        self.site = site
        self._tree = Tree((each.method, each.route, each) for each in natives)
        self._contract = contract
        self._pages = pages
        self._deadlines = Deadlines()
        self.shortcut = Shortcut(site, self._tree)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"the scope is {scope['type']} but only http is served")
        started = perf_counter()
        incoming = Incoming(scope, receive)
        identity = request_id(incoming.headers.get(b"x-request-id"))
        self.site.in_flight += 1
        try:
            route, answer = await self._answer(incoming, identity)
            if not _sent_whole(answer, identity, scope):
                await _deliver(answer, of_answer(answer, identity), incoming, send)
        finally:
            self.site.in_flight -= 1
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.site.told(identity, method, route, answer.status, perf_counter() - started)

    async def _answer(self, incoming: Incoming, identity: bytes) -> tuple[str, Answer]:
        route = _NOWHERE
        try:
            route, seconds, answering = self._find(incoming)
            return route, await self._deadlines.within(seconds, incoming, answering)
        except Exception as error:  # whatever it is, the caller gets an answer
            refused = refusal(error)
            if refused.status == 500:
                told = {"request_id": identity.decode(), "route": route}
                self.site.log.error("request failed", **told, exc_info=error)
            if personalizer.is_personalizer_path(incoming.scope["path"]):
                return route, self._contract.refused(refused)
            return route, problem(refused, identity)

    def _find(self, incoming: Incoming) -> tuple[str, float, Awaitable[Answer]]:
        """Who answers: the name of the route, how long it may take, and the answer to come."""
        path = incoming.scope["path"]
        if self.site.in_flight > self.site.settings.requests_in_flight and path not in _ALWAYS:
            raise RefusedError(503, "busy", "too many requests are being answered", RETRY_SOON)
        found = self._tree.find(path)
        if found is None:
            return self._find_foreign(incoming, path)
        method = incoming.scope["method"]
        native = found.values.get("GET" if method == "HEAD" else method)
        if native is None:
            raise _wrong_method(method, found.values)
        return native.route, native.seconds, native.answer(incoming, found.parameters)

    def _find_foreign(self, incoming: Incoming, path: str) -> tuple[str, float, Awaitable[Answer]]:
        if personalizer.is_personalizer_path(path):
            contract = self._contract
            return contract.route(incoming), contract.seconds, contract.answer(incoming)
        if path == "/" or path.startswith("/dashboard/"):
            return self._pages.route, self._pages.seconds, self._pages.answer(incoming)
        raise RefusedError(404, "not_found", "there is nothing at this path")


def _sent_whole(answer: Answer, identity: bytes, scope: Scope) -> bool:
    """Send an answer in one piece, if it is in one piece and the server knows how to."""
    send = scope.get("extensions", {}).get(WHOLE_ANSWER)
    body = answer.body
    if send is None or scope["method"] == "HEAD" or not isinstance(body, bytes):
        return False
    if answer.content_type is not JSON or answer.headers or answer.status == 204:
        return False
    send(head_of_json(answer.status, identity, len(body)), body)
    return True


async def _deliver(answer: Answer, headers: list[Header], incoming: Incoming, send: Send) -> None:
    body, is_head = answer.body, incoming.scope["method"] == "HEAD"
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if isinstance(body, bytes):
        await send({"type": "http.response.body", "body": b"" if is_head else body})
        return
    async with contextlib.aclosing(body):
        if not is_head:
            await _pass_on(body, incoming, send)
    await send({"type": "http.response.body", "body": b""})


async def _pass_on(chunks: AsyncGenerator[bytes], incoming: Incoming, send: Send) -> None:
    """Piece by piece, for as long as somebody is there to read them."""
    gone = asyncio.ensure_future(incoming.disconnected())
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
