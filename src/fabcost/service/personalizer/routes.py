"""Which operation answers which method and path, and with which error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fabcost.service.personalizer import configuration, events
from fabcost.service.personalizer.contract import (
    ACTIVATE,
    REWARD,
    ContractAnswer,
    ContractError,
    ContractRequest,
    error_of,
)
from fabcost.service.service import Service
from fabcost.wire.errors import ServiceError

#: By method.
_Handlers = Mapping[str, Callable[[events.OpenModels, ContractRequest], Awaitable[ContractAnswer]]]
#: By operation: the code of what is wrong with a request, and who answers it.
_OPERATIONS: Final[dict[str, tuple[str, _Handlers]]] = {
    "rank": ("InvalidRankRequest", {"POST": events.rank}),
    REWARD: ("InvalidRewardRequest", {"POST": events.reward}),
    ACTIVATE: ("InvalidEventIdToActivate", {"POST": events.activate}),
    "configurations/service": (
        "InvalidServiceConfiguration",
        {"GET": configuration.read, "PUT": configuration.replace, "PATCH": configuration.change},
    ),
    "status": ("BadRequest", {"GET": events.status}),
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


class Personalizer:
    """Rank, Reward, Activate, configuration and status, for every model and family of paths.

    With ``create_models`` a model that does not exist is as good as a new one: a Rank, a Reward or
    a configuration that is written makes it, with an open schema.  Otherwise they are answered
    with 404.
    """

    def __init__(self, service: Service, *, create_models: bool = True) -> None:
        self._models = events.OpenModels(service, create=create_models)

    async def answer(self, request: ContractRequest) -> ContractAnswer:
        """The answer, with an error of the contract if it must be one."""
        blame, handlers = _OPERATIONS.get(request.path.operation, ("BadRequest", None))
        try:
            if handlers is None:
                raise unoffered(request.path.operation)
            if request.method not in handlers:
                raise _wrong_method(request.method, handlers)
            return await handlers[request.method](self._models, request)
        except ContractError as error:
            return error.answer()
        except ServiceError as error:
            return error_of(error, blame).answer()


def _wrong_method(method: str, handlers: _Handlers) -> ContractError:
    allowed = ", ".join(handlers)
    return ContractError(
        "InvalidApiAccess",
        f"The method is {method} but must be one of {allowed}",
        status=405,
        headers=((b"allow", allowed.encode()),),
    )


def unoffered(operation: str) -> ContractError:
    """The answer to an operation that is not offered or not known.

    Examples
    --------
    >>> unoffered("multislot/rank").code, unoffered("ranks").code
    ('InvalidMultiSlotApiAccess', 'ResourceNotFound')
    >>> str(unoffered("logs/interactions"))[:39]
    'Access to the logs is not offered here:'
    """
    for start, name, instead in UNOFFERED:
        if operation == start or operation.startswith(f"{start}/"):
            multislot = start == "multislot"
            code = "InvalidMultiSlotApiAccess" if multislot else "InvalidApiAccess"
            return ContractError(code, f"{name} is not offered here: {instead}")
    return ContractError("ResourceNotFound", f"There is no operation {operation!r}")
