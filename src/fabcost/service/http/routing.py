"""Routes: how each is declared, found and answered."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct
from structlog.typing import FilteringBoundLogger

from fabcost.service.http.auth import ANYONE, Access, Principal, Role, check_allowed
from fabcost.service.http.exchange import (
    CLOSE,
    RETRY_SOON,
    HttpAnswer,
    RefusedError,
    read_query,
    refusal,
    too_large,
)
from fabcost.service.service import Service
from fabcost.service.settings import Settings
from fabcost.wire.checks import check_ids
from fabcost.wire.messages import LONGEST_ID, TRANSFER_SECONDS

if TYPE_CHECKING:
    from fabcost.service.http.app import HttpRequest

T = TypeVar("T")
#: Where the routes of one model are.
MODEL = "/v1/models/{model}"
_JSON_TYPES = ("application/json",)
_MOST_REMEMBERED = 1024
_LONGEST_REMEMBERED = 256

_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_THIS_PROCESS = secrets.token_hex(6).encode()
_NUMBERS = count(1)


def request_id(given: bytes | None) -> bytes:
    """The id that the caller gave if it is sane, else a new one.

    Examples
    --------
    >>> request_id(b"trace-17")
    b'trace-17'
    >>> request_id(b"two" + bytes([10]) + b"lines") != request_id(None)
    True
    """
    if given is not None and _SANE_ID.fullmatch(given):
        return given
    return b"%b-%d" % (_THIS_PROCESS, next(_NUMBERS))


class Site:
    """What routes work with: a running service, its settings, who is let in, what is under way.

    ``document`` is the OpenAPI document.
    """

    def __init__(
        self,
        service: Service,
        settings: Settings,
        log: FilteringBoundLogger,
        *,
        asks_for_keys: bool,
        document: bytes,
    ) -> None:
        self.service = service
        self.settings = settings
        self.access = Access(service.keys, log, asks_for_keys=asks_for_keys)
        self.document = document
        self.in_flight = 0
        self._log = log
        self._logs_requests = log.is_enabled_for(logging.INFO)

    def check_room(self) -> None:
        """An error if too many requests are being answered."""
        if self.in_flight > self.settings.requests_in_flight:
            raise RefusedError(503, "busy", "too many requests are being answered", RETRY_SOON)

    def refusal(self, error: Exception, identity: bytes, route: str) -> RefusedError:
        """What the caller is told of an error; the log has the details of an unexpected one."""
        refused = refusal(error)
        if refused.status == 500:
            told = {"request_id": identity.decode(), "route": route}
            self._log.error("request failed", **told, exc_info=error)
        return refused

    def told(self, identity: bytes, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a request that was answered."""
        self.service.metrics.requested(route, method, status, seconds)
        if self._logs_requests:
            self._log.info(
                "request",
                request_id=identity.decode(),
                method=method,
                route=route,
                status=status,
                ms=round(1e3 * seconds, 3),
            )


class ApiCall(NamedTuple):
    """A request that was let in, with its parts read and checked."""

    site: Site
    principal: Principal
    parameters: dict[str, str]
    query: Any
    body: Any
    content: bytes

    def check_ids(self, *ids: Iterable[str]) -> None:
        """An error if one has a control character: plain text without escapes holds none."""
        content = self.content
        if b"\\" in content or not content.isascii() or b"\x7f" in content:
            check_ids(chain.from_iterable(ids))

    @property
    def model(self) -> str:
        """The model of the path."""
        return self.parameters["model"]


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """For routes that have no parameters after a question mark."""


class Bytes(NamedTuple):
    """Content that is not JSON, by its media types."""

    media_types: tuple[str, ...]


Handler = Callable[[ApiCall], Awaitable[HttpAnswer]]
Finish = Callable[[Any], object]


class Operation(NamedTuple):
    """A method on a path, what goes in and what comes out.

    ``{model}`` in a path is one segment of it, ``{item:path}`` all the rest.  Types of bodies are
    those of JSON, or `Bytes`, or None for none.
    """

    method: str
    path: str
    #: Its docstring is the description.
    handler: Handler
    #: What a key needs; None if none is asked for.
    role: Role | None
    answer: Any
    #: Of success.
    status: int = 200
    #: Its fields are the parameters after the question mark.
    query: Any = NoQuery
    body: Any = None
    #: Statuses of errors that not every route has.
    errors: tuple[int, ...] = ()
    #: Whether a key of one model is let in though the path names no model.
    of_any_model: bool = False
    #: Whether bodies may be as large, and answers as slow, as those of whole models and logs.
    transfer: bool = False
    #: Does what the handler does without waiting: it is given who to tell the value that is to be
    #: answered with status 200, or an error.
    begin: Callable[[ApiCall, Finish], None] | None = None


def record_type(settings: Settings) -> Any:
    """The type of a record of features."""
    text = Annotated[str, Meta(max_length=settings.text_length)]
    name = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
    return Annotated[
        dict[name, text | bool | int | float | None],
        Meta(max_length=settings.features),
    ]


def narrowed(kind: Any, *fields: Any) -> Any:
    """The same type with some fields of narrower types, which its JSON Schema tells too."""
    return msgspec.defstruct(
        kind.__name__,
        fields,
        bases=(kind,),
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": kind.__doc__},
        module=kind.__module__,
    )


class Endpoint:
    """An operation ready to answer: lets in, reads and checks, then asks the handler."""

    def __init__(self, operation: Operation, site: Site) -> None:
        settings, body = site.settings, operation.body
        self.method = operation.method
        self.route = operation.path
        self.seconds = TRANSFER_SECONDS if operation.transfer else settings.request_seconds
        self.can_begin = operation.begin is not None
        self._operation = operation
        self._site = site
        self._of_a_model = "{model}" in operation.path
        self._limit = settings.import_bytes if operation.transfer else settings.body_bytes
        self._media_types = body.media_types if isinstance(body, Bytes) else _JSON_TYPES
        plain = body is None or isinstance(body, Bytes)
        self._decoder = None if plain else msgspec.json.Decoder(body)
        self._no_query = operation.query()

    async def answer(self, request: HttpRequest, parameters: dict[str, str]) -> HttpAnswer:
        """The answer, or an error."""
        principal = self._admit(request.headers, parameters)
        query, content = request.scope["query_string"], b""
        asked = read_query(query, self._operation.query) if query else self._no_query
        if self._operation.body is not None:
            self._check_media_type(request.headers)
            content = await request.body(self._limit)
        return await self._operation.handler(self._call(principal, parameters, asked, content))

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
        self._check_media_type(headers)
        if len(content) > self._limit:
            raise too_large(self._limit)
        self._operation.begin(self._call(principal, parameters, self._no_query, content), finish)

    def _admit(self, headers: Mapping[bytes, bytes], parameters: dict[str, str]) -> Principal:
        role = self._operation.role
        if role is None:
            return ANYONE
        principal = self._site.access.admit(headers)
        own = principal.model if self._operation.of_any_model else None
        check_allowed(principal, role, parameters["model"] if self._of_a_model else own)
        return principal

    def _call(
        self, principal: Principal, parameters: dict[str, str], asked: Any, content: bytes
    ) -> ApiCall:
        body: Any = content if self._decoder is None else _read(content, self._decoder)
        return ApiCall(self._site, principal, parameters, asked, body, content)

    def _check_media_type(self, headers: Mapping[bytes, bytes]) -> None:
        """An error if the body is said to be something else, or nothing is said."""
        header, expected = headers.get(b"content-type", b"").decode("latin-1"), self._media_types
        if header in expected:
            return
        given = header.partition(";")[0].strip().lower()
        if given not in expected:
            said = f"the content type is {given or 'not given'} but must be {' or '.join(expected)}"
            raise RefusedError(415, "unsupported_media_type", said, CLOSE)


def _read(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The body in its type: 400 if it is no JSON, 422 if it is not what is expected."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid_request", str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, "malformed_json", f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise RefusedError(400, "malformed_json", "the body is nested too deeply") from error


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
