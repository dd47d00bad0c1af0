"""A request as it comes in, and the time it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

from fabcost.service.http.answer import HttpAnswer
from fabcost.service.http.problem import CLOSE, RETRY_SOON, RefusedError

_MOST_PARAMETERS = 20
_LOOK_EVERY_SECONDS = 0.25


class HttpRequest:
    """A request whose body may not have come yet.

    Parameters
    ----------
    scope, receive
        As the server gave them.
    """

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


class _Underway(NamedTuple):
    until: float
    seconds: float
    request: HttpRequest


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
                self._overdue[task] = _refusal(each)
                task.cancel()
        again = bool(self._underway)
        self._looking = loop.call_later(_LOOK_EVERY_SECONDS, self._look, loop) if again else None


def _refusal(late: _Underway) -> RefusedError:
    if late.request.waits_for_body:
        message = f"the body did not come within {late.seconds:g} s"
        return RefusedError(408, "too_slow", message, CLOSE)
    message = f"no answer within {late.seconds:g} s; what was asked for may still be done"
    return RefusedError(503, "timeout", message, RETRY_SOON)


def check_media_type(headers: Mapping[bytes, bytes], expected: tuple[str, ...]) -> None:
    """An error if the body is said to be something else, or nothing is said.

    Examples
    --------
    >>> check_media_type({b"content-type": b"text/csv; charset=utf-8"}, ("text/csv",))
    """
    header = headers.get(b"content-type", b"").decode("latin-1")
    if header in expected:
        return
    given = header.partition(";")[0].strip().lower()
    if given not in expected:
        said = f"the content type is {given or 'not given'} but must be {' or '.join(expected)}"
        raise RefusedError(415, "unsupported_media_type", said, CLOSE)


def read_query(query: bytes, kind: Any) -> Any:
    """The parameters after the question mark, in their types.

    Examples
    --------
    >>> class Page(msgspec.Struct, forbid_unknown_fields=True):
    ...     limit: int = 10
    >>> read_query(b"limit=5", Page)
    Page(limit=5)
    >>> read_query(b"limti=5", Page)
    Traceback (most recent call last):
    fabcost.service.http.problem.RefusedError: Object contains unknown field `limti`
    """
    try:
        text = query.decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
        return msgspec.convert(dict(pairs), kind, strict=False)
    except ValueError as error:
        raise RefusedError(422, "invalid_request", str(error)) from error


def read_json(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The body in its type: 400 if it is no JSON, 422 if it is not what is expected.

    Examples
    --------
    >>> read_json(b"[1]", msgspec.json.Decoder(list[int]))
    [1]
    >>> read_json(b"[", msgspec.json.Decoder(list[int]))
    Traceback (most recent call last):
    fabcost.service.http.problem.RefusedError: the body is not JSON: Input data was truncated
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid_request", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, "malformed_json", f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise RefusedError(400, "malformed_json", "the body is nested too deeply") from error


def too_large(limit: int) -> RefusedError:
    """What is said of a body beyond the limit.

    Examples
    --------
    >>> too_large(10).status
    413
    """
    message = f"the body is larger than {limit} bytes"
    return RefusedError(413, "body_too_large", message, CLOSE)
