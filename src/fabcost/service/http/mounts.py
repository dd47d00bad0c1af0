"""Routes that are written for Starlette: the Personalizer contract and the dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import Route, Router
from starlette.types import Message

from fabcost.service.http.answer import Header, HttpAnswer
from fabcost.service.http.auth import check_allowed
from fabcost.service.http.problem import RefusedError
from fabcost.service.http.request import HttpRequest
from fabcost.service.http.site import Site
from fabcost.service.personalizer import (
    ContractPath,
    ContractRequest,
    Personalizer,
    error_body,
    unauthorised_body,
)

_LENGTH_AND_TYPE = frozenset({b"content-length", b"content-type"})
_OPERATIONS = {"decide": "/personalizer/rank", "feedback": "/personalizer/events/{event}"}
_BUG = (500, "InternalServerError")
# Clients repeat 503 as if nothing was done, so an answer that came too late has another status.
_TERMS = {
    "disconnected": (400, "BadRequest"),
    "body_too_large": (400, "PayloadSizeExceeded"),
    "forbidden": (403, "InvalidApiAccess"),
    "too_slow": (408, "RequestTimeout"),
    "timeout": (408, "RequestTimeout"),
    "wrong_host": (421, "InvalidApiAccess"),
    "busy": (503, "OperationNotAllowed"),
}


class Pages:
    """Files of the dashboard, open to all."""

    route = "/dashboard"

    def __init__(self, routes: Sequence[Route], site: Site) -> None:
        self.seconds = site.settings.request_seconds
        self._router = Router(routes, redirect_slashes=False)

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        """The file, or 404."""
        return await collect(self._router, request, b"")


class Contract:
    """The Personalizer contract; refusals have its bodies."""

    def __init__(self, contract: Personalizer, site: Site) -> None:
        self.seconds = site.settings.request_seconds
        self._contract = contract
        self._site = site

    def route(self, method: str, path: ContractPath) -> str:
        """What a request is counted as."""
        return _OPERATIONS.get(path.role(method), "/personalizer")

    async def answer(self, request: HttpRequest, path: ContractPath) -> HttpAnswer:
        """What the contract answers."""
        method = request.scope["method"]
        principal = self._site.access.admit(request.headers)
        if not self._site.access.asks_for_keys:
            check_origin(request.headers)
        check_allowed(principal, path.role(method), path.model)
        body = await request.body(self._site.settings.body_bytes)
        may_make = principal.may_make(path.model)
        asked = ContractRequest(method, path, request.headers, body, may_make)
        answer = await self._contract.answer(asked)
        return HttpAnswer(answer.status, answer.body, headers=answer.headers)

    def refused(self, error: RefusedError) -> HttpAnswer:
        """A refusal in the terms of the contract."""
        if error.code == "not_authenticated":
            return HttpAnswer(401, unauthorised_body(), headers=error.headers)
        status, code = _TERMS.get(error.code, _BUG)
        headers = ((b"x-ms-error-code", code.encode()), *error.headers)
        return HttpAnswer(status, error_body(code, str(error)), headers=headers)


def check_origin(headers: Mapping[bytes, bytes]) -> None:
    """An error if a page of another site asks.

    The contract takes JSON under any content type, so browsers send it without asking first.

    Examples
    --------
    >>> check_origin({b"host": b"localhost:8000", b"origin": b"http://localhost:8000"})
    >>> check_origin({b"host": b"localhost:8000", b"origin": b"https://evil.example"})
    Traceback (most recent call last):
    fabcost.service.http.problem.RefusedError: without keys pages of other sites are not served
    """
    origin = headers.get(b"origin")
    if origin is None:
        return
    site = origin.partition(b"://")[2]
    if not site or site.lower() != headers.get(b"host", b"").lower():
        raise RefusedError(403, "forbidden", "without keys pages of other sites are not served")


async def collect(router: Router, request: HttpRequest, body: bytes) -> HttpAnswer:
    """The whole answer of a Starlette router to a request whose body was read."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await router(request.scope, receive, send)
    headers: list[Header] = sent[0].get("headers", [])
    kind = next((value for name, value in headers if name == b"content-type"), b"text/plain")
    others = tuple(each for each in headers if each[0] not in _LENGTH_AND_TYPE)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return HttpAnswer(sent[0]["status"], content, kind, others)
