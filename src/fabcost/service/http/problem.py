"""Errors as answers: a status, a code for programs and a message for people."""

from __future__ import annotations

from msgspec import Struct

from fabcost.service.http.answer import Header, HttpAnswer, encode
from fabcost.wire.errors import (
    AlreadyThereError,
    BusyError,
    DatabaseUnusableError,
    InvalidRequestError,
    LearningFailedError,
    ServiceError,
    StoreAwayError,
    TakenOverError,
    UnknownDecisionIdError,
    UnknownItemError,
    UnknownModelError,
    UnreadableModelError,
)

RETRY_SOON: Header = (b"retry-after", b"1")
CLOSE: Header = (b"connection", b"close")

_STATUS: dict[type[ServiceError], int] = {
    InvalidRequestError: 422,
    UnknownModelError: 404,
    UnknownItemError: 404,
    UnknownDecisionIdError: 404,
    AlreadyThereError: 409,
    BusyError: 503,
    StoreAwayError: 503,
    TakenOverError: 503,
    DatabaseUnusableError: 503,
    LearningFailedError: 503,
    UnreadableModelError: 503,
}

_PASSING = (BusyError, StoreAwayError, DatabaseUnusableError)


class Problem(Struct, frozen=True):
    """What went wrong; ``request_id`` finds the request in the server's log."""

    code: str
    message: str
    request_id: str


class ErrorAnswer(Struct, frozen=True):
    """The body of every answer that is an error."""

    error: Problem


class RefusedError(Exception):
    """A request that is refused before it reaches the service.

    Examples
    --------
    >>> RefusedError(413, "body_too_large", "the body is larger than 10 bytes").status
    413
    """

    def __init__(self, status: int, code: str, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


def problem(error: RefusedError, identity: bytes) -> HttpAnswer:
    """The answer to a request that is refused.

    Examples
    --------
    >>> problem(RefusedError(404, "not_found", "there is nothing here"), b"trace-17").body
    b'{"error":{"code":"not_found","message":"there is nothing here","request_id":"trace-17"}}'
    """
    return HttpAnswer(error.status, problem_body(error, identity), headers=error.headers)


def problem_body(error: RefusedError, identity: bytes) -> bytes:
    """Its body.

    Examples
    --------
    >>> problem_body(RefusedError(404, "not_found", "nothing"), b"trace-17")
    b'{"error":{"code":"not_found","message":"nothing","request_id":"trace-17"}}'
    """
    return encode(ErrorAnswer(Problem(error.code, str(error), identity.decode())))


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
    status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), None)
    if status is None or not isinstance(error, ServiceError):
        return RefusedError(500, "internal", "something went wrong here; the log has the details")
    retry = (RETRY_SOON,) if isinstance(error, _PASSING) else ()
    return RefusedError(status, error.code, str(error), *retry)
