"""Reading and writing the configuration of a model."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fabcost.service.personalizer.apprentice import latest_metrics, written
from fabcost.service.personalizer.bodies import Body
from fabcost.service.personalizer.configuration import changes, configuration_of
from fabcost.service.personalizer.models import NEW_MODEL, Newcomers
from fabcost.service.personalizer.requests import json_response, model_in
from fabcost.service.service import Service
from fabcost.wire.errors import StoreAwayError, UnknownModelError
from fabcost.wire.messages import ModelAnswer

_CONFIGURATION: Final = Body(dict[str, Any], "InvalidServiceConfiguration")


class Configuring:
    """The operations on configurations, each from a request to its answer.

    Parameters
    ----------
    service
        The service.
    newcomers
        Models that are still to be made.

    Examples
    --------
    >>> [name for name in vars(Configuring) if not name.startswith("_")]
    ['read', 'replace', 'change']
    """

    def __init__(self, service: Service, newcomers: Newcomers) -> None:
        self._service = service
        self._newcomers = newcomers

    async def read(self, request: Request) -> Response:
        """The configuration, of a new model if there is none; reading makes none."""
        model = self._newcomers.find(model_in(request))
        if model is None:
            return json_response(configuration_of(NEW_MODEL))
        return await self._shown(model)

    async def replace(self, request: Request) -> Response:
        """Set all of the configuration."""
        given = _CONFIGURATION.read(await request.body())
        return await self._set(model_in(request), given)

    async def change(self, request: Request) -> Response:
        """Set some of the configuration."""
        given = _CONFIGURATION.read(await request.body())
        model = self._newcomers.find(model_in(request))
        settings = NEW_MODEL if model is None else model.settings
        return await self._set(model_in(request), {**configuration_of(settings), **given})

    async def _set(self, name: str, given: dict[str, Any]) -> Response:
        model = self._newcomers.find(name)
        changed = changes(NEW_MODEL if model is None else model.settings, given)
        try:
            model = self._service.model(name)
            if changed:
                model = await self._service.change_model(name, changed)
        except UnknownModelError:
            settings = msgspec.structs.replace(NEW_MODEL, **changed)
            model = await self._service.create_model(name, settings)
        return await self._shown(model)

    async def _shown(self, model: ModelAnswer) -> Response:
        """Without metrics while the database cannot be read."""
        configuration = configuration_of(model.settings)
        configuration["lastConfigurationEditDate"] = written(model.edited)
        if model.settings.mode == "apprentice":
            with contextlib.suppress(StoreAwayError):
                if metrics := await latest_metrics(self._service, model.name):
                    configuration["latestApprenticeModeMetrics"] = metrics
        return json_response(configuration)
