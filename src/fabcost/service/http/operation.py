"""One declaration of each route, from which requests are answered and the document is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from fabcost.service.http.answer import HttpAnswer
from fabcost.service.http.auth import ANYONE, Principal, Role, check_allowed
from fabcost.service.http.request import (
    HttpRequest,
    check_media_type,
    read_json,
    read_query,
    too_large,
)
from fabcost.service.http.site import Site
from fabcost.wire.checks import check_ids, may_hold_control_characters
from fabcost.wire.messages import TRANSFER_SECONDS


class ApiCall(NamedTuple):
    """A request that was let in, with its parts read and checked."""

    site: Site
    principal: Principal
    parameters: dict[str, str]
    query: Any
    body: Any
    content: bytes

    def check_ids(self, *ids: Iterable[str]) -> None:
        """An error if one has a control character; most bodies need no look at each.

        Examples
        --------
        >>> ApiCall(None, None, {}, None, None, b'["ad-1"]').check_ids(["ad-1"])
        """
        if self.may_hold_control_characters:
            check_ids(chain.from_iterable(ids))

    @property
    def may_hold_control_characters(self) -> bool:
        """Whether ids of the body need a look.

        Examples
        --------
        >>> ApiCall(None, None, {}, None, None, b'["ad-1"]').may_hold_control_characters
        False
        """
        return may_hold_control_characters(self.content)

    @property
    def model(self) -> str:
        """The model of the path.

        Examples
        --------
        >>> ApiCall(None, None, {"model": "news"}, None, None, b"").model
        'news'
        """
        return self.parameters["model"]


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """For routes that have no parameters after a question mark."""


class Bytes(NamedTuple):
    """Content that is not JSON, by its media types."""

    media_types: tuple[str, ...]


Handler = Callable[[ApiCall], Awaitable[HttpAnswer]]
Finish = Callable[[Any], object]
#: Where the routes of one model are.
MODEL = "/v1/models/{model}"
_JSON_TYPES = ("application/json",)


class Operation(NamedTuple):
    """A method on a path, what goes in and what comes out.

    Parameters
    ----------
    method, path
        ``{model}`` is one segment of a path, ``{item:path}`` all the rest of it.
    handler
        Its docstring is the description.
    role
        What a key needs; None if none is asked for.
    answer
        The type of the body, or `Bytes`, or None for none.
    status
        Of success.
    query
        Its fields are the parameters after the question mark.
    body
        The type of the body, or `Bytes`, or None for none.
    errors
        Statuses of errors that not every route has.
    of_any_model
        Whether a key of one model is let in though the path names no model.
    begin
        Does what the handler does without waiting: it is given who to tell the value that is to be
        answered with status 200, or an error.
    transfer
        Whether bodies may be as large, and answers as slow, as those of whole models and logs.
    """

    method: str
    path: str
    handler: Handler
    role: Role | None
    answer: Any
    status: int = 200
    query: Any = NoQuery
    body: Any = None
    errors: tuple[int, ...] = ()
    of_any_model: bool = False
    transfer: bool = False
    begin: Callable[[ApiCall, Finish], None] | None = None

    @property
    def media_types(self) -> tuple[str, ...]:
        """Those that the body may have.

        Examples
        --------
        >>> Operation("PUT", "/", None, None, None, body=Bytes(("text/csv",))).media_types
        ('text/csv',)
        """
        return self.body.media_types if isinstance(self.body, Bytes) else _JSON_TYPES


class Endpoint:
    """An operation ready to answer: lets in, reads and checks, then asks the handler.

    Parameters
    ----------
    operation
        What to do.
    site
        What to do it with.
    """

    def __init__(self, operation: Operation, site: Site) -> None:
        self.method = operation.method
        self.can_begin = operation.begin is not None
        self.route = operation.path
        self.seconds = TRANSFER_SECONDS if operation.transfer else site.settings.request_seconds
        self._operation = operation
        self._site = site
        self._of_a_model = "{model}" in operation.path
        settings = site.settings
        self._limit = settings.import_bytes if operation.transfer else settings.body_bytes
        plain = operation.body is None or isinstance(operation.body, Bytes)
        self._decoder = None if plain else msgspec.json.Decoder(operation.body)
        self._no_query = operation.query()

    async def answer(self, request: HttpRequest, parameters: dict[str, str]) -> HttpAnswer:
        """The answer, or an error."""
        principal = self._admit(request.headers, parameters)
        query = request.scope["query_string"]
        asked = read_query(query, self._operation.query) if query else self._no_query
        content = b"" if self._operation.body is None else await self._content(request)
        call = self._call(principal, parameters, asked, content)
        return await self._operation.handler(call)

    def begin(
        self,
        headers: Mapping[bytes, bytes],
        parameters: dict[str, str],
        content: bytes,
        finish: Finish,
    ) -> None:
        """Let ``finish`` have what is to be answered, at once or later; errors change nothing."""
        if self._operation.begin is None:
            raise ValueError(f"{self.route} cannot begin without waiting")
        principal = self._admit(headers, parameters)
        check_media_type(headers, self._operation.media_types)
        if len(content) > self._limit:
            raise too_large(self._limit)
        self._operation.begin(self._call(principal, parameters, self._no_query, content), finish)

    def _call(
        self, principal: Principal, parameters: dict[str, str], asked: Any, content: bytes
    ) -> ApiCall:
        body: Any = content if self._decoder is None else read_json(content, self._decoder)
        return ApiCall(self._site, principal, parameters, asked, body, content)

    def _admit(self, headers: Mapping[bytes, bytes], parameters: dict[str, str]) -> Principal:
        role = self._operation.role
        if role is None:
            return ANYONE
        principal = self._site.access.admit(headers)
        own = principal.model if self._operation.of_any_model else None
        check_allowed(principal, role, parameters["model"] if self._of_a_model else own)
        return principal

    async def _content(self, request: HttpRequest) -> bytes:
        check_media_type(request.headers, self._operation.media_types)
        return await request.body(self._limit)
