"""Errors as the contract writes them, and the answers to all that is not offered."""

from __future__ import annotations

from typing import Final

import msgspec

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

_LOG: Final = "the log is exported by GET /v1/models/{model}/log?format=dsjson"
_EVALUATE: Final = (
    "`fabcost evaluate` estimates the value of policies from the Parquet file of "
    "GET /v1/models/{model}/log?format=parquet"
)

#: The beginning of an operation's path, what it is called, and what there is instead.
UNOFFERED: Final = (
    ("multislot", "Multi-slot ranking", "rank once for each slot, excluding what is shown already"),
    ("configurations/policy", "The learning policy", "PATCH /v1/models/{model} sets `policy`"),
    ("configurations/applyFromEvaluation", "Applying an evaluation", _EVALUATE),
    (
        "model",
        "Access to the model",
        "GET and PUT /v1/models/{model}/file copy a model, DELETE /v1/models/{model} forgets it",
    ),
    ("logs", "Access to the logs", f"{_LOG}; DELETE /v1/models/{{model}} forgets it"),
    ("evaluations", "Evaluation", _EVALUATE),
    (
        "featureImportances",
        "Feature importance",
        "GET /v1/models/{model}/posterior has every weight with its uncertainty",
    ),
)


class ContractError(Exception):
    """A request that is answered with an error of the contract."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS[code] if status is None else status
        self.headers = headers


def error_body(code: str, message: str) -> bytes:
    """The body of an error.

    Examples
    --------
    >>> error_body("BadRequest", "no")
    b'{"error":{"code":"BadRequest","message":"no"}}'
    """
    return msgspec.json.encode({"error": {"code": code, "message": message}})


def unauthorised_body() -> bytes:
    """The body of the answer 401, to a request without a key in force."""
    message = (
        "Access denied due to invalid subscription key or wrong API endpoint. Send a key that is "
        "in force and opens this model in the header Ocp-Apim-Subscription-Key."
    )
    return error_body("401", message)


def error_of(error: ServiceError, blame: str) -> ContractError:
    """What the service could not do, in the terms of the contract.

    ``blame`` is the code of a request that is wrong.

    Examples
    --------
    >>> error_of(UnknownModelError("news"), "InvalidRankRequest").code
    'ResourceNotFound'
    """
    if isinstance(error, StoreAwayError | TakenOverError | DatabaseUnusableError):
        return ContractError("OperationNotAllowed", str(error), headers=((b"retry-after", b"1"),))
    if isinstance(error, UnknownModelError):
        return ContractError("ResourceNotFound", str(error))
    code = blame if isinstance(error, InvalidRequestError) else "BadRequest"
    return ContractError(code, str(error))


def unoffered(operation: str) -> ContractError:
    """The answer to an operation that is not offered or not known.

    Examples
    --------
    >>> unoffered("multislot/rank").code
    'InvalidMultiSlotApiAccess'
    >>> str(unoffered("logs/interactions"))[:39]
    'Access to the logs is not offered here:'
    >>> str(unoffered("evaluations")).endswith("/log?format=parquet")
    True
    >>> unoffered("ranks").code
    'ResourceNotFound'
    """
    for start, name, instead in UNOFFERED:
        if operation == start or operation.startswith(f"{start}/"):
            multislot = start == "multislot"
            code = "InvalidMultiSlotApiAccess" if multislot else "InvalidApiAccess"
            return ContractError(code, f"{name} is not offered here: {instead}")
    return ContractError("ResourceNotFound", f"There is no operation {operation!r}")
