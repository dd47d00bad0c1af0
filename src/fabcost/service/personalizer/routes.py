"""Which operation answers which method and path, and with which error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fabcost.service.personalizer.configuration import Configurations
from fabcost.service.personalizer.errors import ContractError, error_body, error_of, unoffered
from fabcost.service.personalizer.events import Events
from fabcost.service.personalizer.models import OpenModels
from fabcost.service.personalizer.paths import ACTIVATE, REWARD
from fabcost.service.personalizer.requests import ContractAnswer, ContractRequest
from fabcost.service.service import Service
from fabcost.wire.errors import ServiceError

#: By method.
_Handlers = Mapping[str, Callable[[ContractRequest], Awaitable[ContractAnswer]]]


class Personalizer:
    """Rank, Reward, Activate, configuration and status, for every model and family of paths.

    Parameters
    ----------
    service
        Answers.
    create_models
        Whether a model that does not exist is as good as a new one: a Rank, a Reward or a
        configuration that is written makes it, with an open schema.  Otherwise they are answered
        with 404.
    """

    def __init__(self, service: Service, *, create_models: bool = True) -> None:
        models = OpenModels(service, create=create_models)
        events, configurations = Events(service, models), Configurations(service, models)
        configuration: _Handlers = {
            "GET": configurations.read,
            "PUT": configurations.replace,
            "PATCH": configurations.change,
        }
        #: The code of what is wrong with a request, and who answers it.
        self._operations: dict[str, tuple[str, _Handlers]] = {
            "rank": ("InvalidRankRequest", {"POST": events.rank}),
            REWARD: ("InvalidRewardRequest", {"POST": events.reward}),
            ACTIVATE: ("InvalidEventIdToActivate", {"POST": events.activate}),
            "configurations/service": ("InvalidServiceConfiguration", configuration),
            "status": ("BadRequest", {"GET": events.status}),
        }

    async def answer(self, request: ContractRequest) -> ContractAnswer:
        """The answer, with an error of the contract if it must be one."""
        blame, handlers = self._operations.get(request.path.operation, ("BadRequest", None))
        try:
            if handlers is None:
                raise unoffered(request.path.operation)
            if request.method not in handlers:
                raise _wrong_method(request.method, handlers)
            return await handlers[request.method](request)
        except ContractError as error:
            return _refused(error)
        except ServiceError as error:
            return _refused(error_of(error, blame))


def _refused(error: ContractError) -> ContractAnswer:
    """A body with a code, and the code again as a header."""
    headers = ((b"x-ms-error-code", error.code.encode()), *error.headers)
    return ContractAnswer(error.status, error_body(error.code, str(error)), headers)


def _wrong_method(method: str, handlers: _Handlers) -> ContractError:
    allowed = ", ".join(handlers)
    return ContractError(
        "InvalidApiAccess",
        f"The method is {method} but must be one of {allowed}",
        status=405,
        headers=((b"allow", allowed.encode()),),
    )
