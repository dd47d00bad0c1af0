"""What is in a request after the question mark, answers, and errors as answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from fabcost.wire.errors import (
    AlreadyThereError,
    BusyError,
    DatabaseUnusableError,
    InvalidRequestError,
    LearningFailedError,
    ServiceError,
    StaleError,
    StoreAwayError,
    TakenOverError,
    UnknownDecisionIdError,
    UnknownItemError,
    UnknownModelError,
    UnreadableModelError,
)
from fabcost.wire.refusal import in_words

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
_STATUSES = {
    422: InvalidRequestError,
    404: UnknownModelError | UnknownItemError | UnknownDecisionIdError,
    409: AlreadyThereError,
    503: _PASSING | TakenOverError | LearningFailedError | UnreadableModelError,
}

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
    >>> refusal(UnknownModelError("news")).status
    404
    >>> str(refusal(ZeroDivisionError("of a secret")))
    'something went wrong here; the log has the details'
    """
    if isinstance(error, RefusedError):
        return error
    retry = (RETRY_SOON,) if isinstance(error, _PASSING) else ()
    for status, kinds in _STATUSES.items():
        if isinstance(error, ServiceError) and isinstance(error, kinds):
            return RefusedError(status, error.code, str(error), *retry)
    return RefusedError(500, "internal", "something went wrong here; the log has the details")
