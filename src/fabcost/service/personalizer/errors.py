"""Errors as the contract writes them: a body with a code, and the code again as a header."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from fabcost.wire.errors import (
    DatabaseUnusableError,
    InvalidRequestError,
    ServiceError,
    StoreAwayError,
    TakenOverError,
    UnknownModelError,
)

#: The codes of the contract that are used here, and their status.
STATUS: Final = {
    "BadRequest": 400,
    "InvalidRankRequest": 400,
    "InvalidRewardRequest": 400,
    "InvalidEventIdToActivate": 400,
    "InvalidServiceConfiguration": 400,
    "InvalidLearningModeServiceConfiguration": 400,
    "InvalidMultiSlotApiAccess": 400,
    "InvalidApiAccess": 403,
    "ResourceNotFound": 404,
    "OperationNotAllowed": 503,
}


class RefusedError(Exception):
    """A request that is answered with an error of the contract.

    Examples
    --------
    >>> refused = RefusedError("InvalidRankRequest", "EventId should be non-empty or null")
    >>> refused.response().headers["x-ms-error-code"]
    'InvalidRankRequest'
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS[code] if status is None else status
        self.headers = headers or {}

    def response(self) -> Response:
        """The answer."""
        headers = {"x-ms-error-code": self.code, **self.headers}
        body = error_body(self.code, str(self))
        return Response(body, self.status, headers, media_type="application/json")


def error_body(code: str, message: str) -> bytes:
    """The body of an error.

    Examples
    --------
    >>> error_body("BadRequest", "no")
    b'{"error":{"code":"BadRequest","message":"no"}}'
    """
    return msgspec.json.encode({"error": {"code": code, "message": message}})


def unauthorised_body() -> bytes:
    """The body of the answer 401, to a request without a key in force.

    Examples
    --------
    >>> unauthorised_body()[:24]
    b'{"error":{"code":"401","'
    """
    message = (
        "Access denied due to invalid subscription key or wrong API endpoint. Send a key that is "
        "in force and opens this model in the header Ocp-Apim-Subscription-Key."
    )
    return error_body("401", message)


def refusal_of(error: ServiceError, blame: str) -> RefusedError:
    """What the service could not do, in the terms of the contract.

    ``blame`` is the code of a request that is wrong.

    Examples
    --------
    >>> refusal_of(UnknownModelError("news"), "InvalidRankRequest").code
    'ResourceNotFound'
    """
    if isinstance(error, StoreAwayError | TakenOverError | DatabaseUnusableError):
        return RefusedError("OperationNotAllowed", str(error), headers={"Retry-After": "1"})
    if isinstance(error, UnknownModelError):
        return RefusedError("ResourceNotFound", str(error))
    return RefusedError(
        blame if isinstance(error, InvalidRequestError) else "BadRequest", str(error)
    )
