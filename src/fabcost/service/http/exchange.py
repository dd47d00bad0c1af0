"""Answers, errors as answers, and what browsers are told of other origins (CORS)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from fabcost.wire.errors import (
    BusyError,
    DatabaseUnusableError,
    ServiceError,
    StaleError,
    StoreAwayError,
    in_words,
)

Header = tuple[bytes, bytes]

JSON = b"application/json"
RETRY_SOON: Header = (b"retry-after", b"1")
CLOSE: Header = (b"connection", b"close")
POLICY: Header = (b"content-security-policy", b"default-src 'self'; img-src 'self' data:")
SECURITY: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    POLICY,
    (b"x-frame-options", b"DENY"),
)
NO_STORE: Header = (b"cache-control", b"no-store")
#: What every answer in JSON has.
JSON_HEADERS = (*SECURITY, NO_STORE, (b"content-type", JSON))

_MOST_PARAMETERS = 20

_PASSING = BusyError | StoreAwayError | DatabaseUnusableError | StaleError

#: To JSON.
encode = msgspec.json.Encoder().encode


def read_query(query: bytes, kind: Any) -> Any:
    """The parameters after the question mark, in their types.

    Examples
    --------
    >>> class Page(Struct, forbid_unknown_fields=True):
    ...     limit: int = 10
    >>> read_query(b"limit=5", Page)
    Page(limit=5)
    >>> read_query(b"limti=5", Page)
    Traceback (most recent call last):
    fabcost.service.http.exchange.RefusedError: 'limti' is not known
    """
    try:
        text = query.decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
        return msgspec.convert(dict(pairs), kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "invalid_request", in_words(error)) from error
    except ValueError as error:
        raise RefusedError(422, "invalid_request", str(error)) from error


class HttpAnswer(NamedTuple):
    """Status, body and what differs from the headers that every answer has."""

    status: int
    body: bytes | AsyncGenerator[bytes]
    content_type: bytes = JSON
    headers: tuple[Header, ...] = ()


#: Done, and nothing to say.
NOTHING = HttpAnswer(204, b"")


def answer(value: Any, status: int = 200) -> HttpAnswer:
    """``value`` as JSON."""
    return HttpAnswer(status, encode(value))


class Problem(Struct, frozen=True):
    """What went wrong; ``request_id`` finds the request in the server's log."""

    code: str
    message: str
    request_id: str


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer that is an error."""

    error: Problem


class RefusedError(Exception):
    """Why a request is refused: a status, a code for programs and a message for people."""

    def __init__(self, status: int, code: str, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers

    def body(self, identity: bytes) -> bytes:
        """What the caller is told.

        Examples
        --------
        >>> RefusedError(404, "not_found", "there is nothing here").body(b"trace-17")
        b'{"error":{"code":"not_found","message":"there is nothing here","request_id":"trace-17"}}'
        """
        return encode(ErrorAnswer(Problem(self.code, str(self), identity.decode())))

    def answer(self, identity: bytes) -> HttpAnswer:
        """What the caller gets."""
        return HttpAnswer(self.status, self.body(identity), headers=self.headers)


def too_large(limit: int) -> RefusedError:
    """What is said of a body beyond the limit."""
    return RefusedError(413, "body_too_large", f"the body is larger than {limit} bytes", CLOSE)


def refusal(error: Exception) -> RefusedError:
    """What the caller is told of an error; of an unexpected one only that it happened.

    Examples
    --------
    >>> refusal(BusyError("later")).status
    503
    >>> str(refusal(ZeroDivisionError("of a secret")))
    'something went wrong here; the log has the details'
    """
    if isinstance(error, RefusedError):
        return error
    if isinstance(error, ServiceError) and error.http_status is not None:
        retry = (RETRY_SOON,) if isinstance(error, _PASSING) else ()
        return RefusedError(error.http_status, error.code, str(error), *retry)
    return RefusedError(500, "internal", "something went wrong here; the log has the details")


#: Any page; written in place of origins.
EVERYONE = "*"
_VARY: Header = (b"vary", b"Origin")
_EXPOSED: Header = (b"access-control-expose-headers", b"retry-after, x-request-id")
#: Browsers ask again after so long, at the latest.
_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, ocp-apim-subscription-key, x-api-key, x-request-id",
    ),
    (b"access-control-max-age", b"7200"),
)


class Cors:
    """Lets pages of some origins read what is answered.

    Examples
    --------
    >>> cors = Cors(["https://shop.example"])
    >>> cors.headers({b"origin": b"https://shop.example"})[0]
    (b'access-control-allow-origin', b'https://shop.example')
    >>> cors.headers({b"origin": b"https://evil.example"})
    ((b'vary', b'Origin'),)
    """

    def __init__(self, origins: Iterable[str]) -> None:
        known = [origin.lower().encode() for origin in origins]
        allow = b"access-control-allow-origin"
        self._known = {origin: ((allow, origin), _VARY, _EXPOSED) for origin in known}
        self._others: tuple[Header, ...] = self._known.get(EVERYONE.encode(), (_VARY,))

    def allows(self, origin: bytes) -> bool:
        """Whether pages of this origin may ask."""
        return origin in self._known or EVERYONE.encode() in self._known

    def headers(self, asked: Mapping[bytes, bytes]) -> tuple[Header, ...]:
        """What is added to every answer, errors too; ``asked`` are the headers of the request."""
        return self._known.get(asked.get(b"origin", b""), self._others)

    def preflight(self, method: str, asked: Mapping[bytes, bytes]) -> HttpAnswer | None:
        """What a browser is told that asks whether it may ask; None if that is not asked."""
        origin = asked.get(b"origin")
        if method != "OPTIONS" or origin is None or b"access-control-request-method" not in asked:
            return None
        if not self.allows(origin):
            message = f"{origin.decode('latin-1')} is not among the origins in cors_origins"
            raise RefusedError(403, "forbidden", message)
        return HttpAnswer(204, b"", headers=_PREFLIGHT)
