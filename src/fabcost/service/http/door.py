"""What a server answers while it loads its models, and the way to the gate after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from fabcost.service.http.answer import Answer, answer
from fabcost.service.http.bodies import State
from fabcost.service.http.fastpath import Headers, Way
from fabcost.service.http.fastpath import Send as SendWhole
from fabcost.service.http.gate import Gate
from fabcost.service.http.headers import of_answer, request_id
from fabcost.service.http.problem import CLOSE, RETRY_SOON, RefusedError, problem


class Door:
    """An ASGI application that says how far loading is, until it is opened.

    Parameters
    ----------
    progress
        How far loading is, in words.

    Examples
    --------
    >>> door = Door(lambda: "loading, 1 of 3 models")
    >>> door.find(b"POST", b"/v1/models/news/decisions") is None
    True
    """

    def __init__(self, progress: Callable[[], str]) -> None:
        self._progress = progress
        self._gate: Gate | None = None

    def open(self, gate: Gate) -> None:
        """Let requests through to the gate from now on."""
        self._gate = gate
        # Without a step in between: these are called with every request.
        self.find = gate.shortcut.find  # type: ignore[method-assign]
        self.begin = gate.shortcut.begin  # type: ignore[method-assign]

    @property
    def shortcut(self) -> Way:
        """Itself: the short way leads through the same door."""
        return self

    def find(self, method: bytes, url: bytes) -> Any:  # noqa: ARG002
        """Nothing is answered on the short way yet."""
        return None

    def begin(self, place: Any, headers: Headers, content: bytes, send: SendWhole) -> bool:  # noqa: ARG002
        """Nothing is answered on the short way yet."""
        return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._gate is not None:
            await self._gate(scope, receive, send)
            return
        identity = request_id(dict(scope["headers"]).get(b"x-request-id"))
        made = self._answer(scope["path"], identity)
        headers = of_answer(made, identity)
        await send({"type": "http.response.start", "status": made.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else made.body
        await send({"type": "http.response.body", "body": body})

    def _answer(self, path: str, identity: bytes) -> Answer:
        if path == "/healthz":
            return answer(State("ok"))
        # Nobody reads the body of a request that is refused here.
        refused = RefusedError(503, "not_ready", self._progress(), RETRY_SOON, CLOSE)
        return problem(refused, identity)
