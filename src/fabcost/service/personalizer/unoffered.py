"""Operations of the contract that are not offered, and what to use instead."""

from __future__ import annotations

from typing import Final

from fabcost.service.personalizer.errors import RefusedError

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


def refusal_of_operation(operation: str) -> RefusedError:
    """The answer to an operation that is not offered or not known.

    Examples
    --------
    >>> refusal_of_operation("multislot/rank").code
    'InvalidMultiSlotApiAccess'
    >>> str(refusal_of_operation("logs/interactions"))[:39]
    'Access to the logs is not offered here:'
    >>> str(refusal_of_operation("evaluations")).endswith("/log?format=parquet")
    True
    >>> refusal_of_operation("ranks").code
    'ResourceNotFound'
    """
    for start, name, instead in UNOFFERED:
        if operation == start or operation.startswith(f"{start}/"):
            multislot = start == "multislot"
            code = "InvalidMultiSlotApiAccess" if multislot else "InvalidApiAccess"
            return RefusedError(code, f"{name} is not offered here: {instead}")
    return RefusedError("ResourceNotFound", f"There is no operation {operation!r}")
