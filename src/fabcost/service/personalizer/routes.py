"""The routes: which operation answers which method and path, and with which error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fabcost.service.personalizer import paths
from fabcost.service.personalizer.configuring import Configuring
from fabcost.service.personalizer.errors import RefusedError, refusal_of
from fabcost.service.personalizer.events import Operations
from fabcost.service.personalizer.models import Newcomers
from fabcost.service.personalizer.unoffered import refusal_of_operation
from fabcost.service.service import Service
from fabcost.wire.errors import ServiceError

Operation = Callable[[Request], Awaitable[Response]]

_BASE: Final = f"/{{model:{paths.BASE}}}"
_EVENT: Final = f"/events/{{event:{paths.ANYTHING}}}"
_OTHER: Final = f"/{{operation:{paths.ANYTHING}}}"


class _Endpoint:
    """All methods of a path; ``blame`` is the code of what is wrong with a request."""

    def __init__(self, blame: str, operations: Mapping[str, Operation]) -> None:
        self._blame = blame
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with an error of the contract if it must be one."""
        try:
            response = await self._operation(scope["method"])(Request(scope, receive))
        except RefusedError as refusal:
            response = refusal.response()
        except ServiceError as error:
            response = refusal_of(error, self._blame).response()
        await response(scope, receive, send)

    def _operation(self, method: str) -> Operation:
        if method in self._operations:
            return self._operations[method]
        allowed = ", ".join(self._operations)
        raise RefusedError(
            "InvalidApiAccess",
            f"The method is {method} but must be one of {allowed}",
            status=405,
            headers={"Allow": allowed},
        )


class _Elsewhere:
    """The answer to every other operation."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say what is not offered, and what is instead."""
        refusal = refusal_of_operation(scope["path_params"]["operation"])
        await refusal.response()(scope, receive, send)


def routes(service: Service, *, create_models: bool = True) -> list[Route]:
    """Rank, Reward, Activate, configuration and status, for every model and family of paths.

    Parameters
    ----------
    service
        Answers.
    create_models
        Whether a model that does not exist is as good as a new one: a Rank, a Reward or a
        configuration that is written makes it, with an open schema.  Otherwise they are answered
        with 404.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from fabcost.service.store.address import store_at
    >>> async def operations(folder: str) -> list[str]:
    ...     service = await Service.start(lambda: store_at(f"{folder}/bandit.db"))
    ...     await service.stop()
    ...     return [route.path.partition("}")[2] for route in routes(service)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(operations(folder))[:3]
    ['/rank', '/events/{event:anything}/reward', '/events/{event:anything}/activate']
    """
    newcomers = Newcomers(service, create=create_models)
    known, settings = Operations(service, newcomers), Configuring(service, newcomers)
    configuration: dict[str, Operation] = {
        "GET": settings.read,
        "PUT": settings.replace,
        "PATCH": settings.change,
    }
    table: list[tuple[str, str, dict[str, Operation]]] = [
        ("/rank", "InvalidRankRequest", {"POST": known.rank}),
        (f"{_EVENT}/reward", "InvalidRewardRequest", {"POST": known.reward}),
        (f"{_EVENT}/activate", "InvalidEventIdToActivate", {"POST": known.activate}),
        ("/configurations/service", "InvalidServiceConfiguration", configuration),
        ("/status", "BadRequest", {"GET": known.status}),
    ]
    offered = [Route(_BASE + path, _Endpoint(blame, each)) for path, blame, each in table]
    return [*offered, Route(_BASE + _OTHER, _Elsewhere())]
