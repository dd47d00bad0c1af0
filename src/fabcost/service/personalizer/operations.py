"""What each operation of the contract asks of the service."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Collection
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fabcost.features.schema import Schema
from fabcost.service.errors import (
    AlreadyThereError,
    InvalidRequestError,
    ServiceError,
    StoreAwayError,
    UnknownModelError,
)
from fabcost.service.messages import (
    LONGEST_ID,
    DecisionAnswer,
    DecisionRequest,
    FeedbackRequest,
    ModelAnswer,
    ModelName,
)
from fabcost.service.model_settings import ModelSettings
from fabcost.service.personalizer.apprentice import latest_metrics, written
from fabcost.service.personalizer.bodies import Body, RankRequest, RewardRequest
from fabcost.service.personalizer.configuration import changes, configuration_of
from fabcost.service.personalizer.ranking import checked_id, decision_request, rank_response
from fabcost.service.personalizer.refusals import RefusedError
from fabcost.service.service import Service

#: A model that a first Rank makes: its schema is open and it tells its propensities.
NEW_MODEL: Final = ModelSettings(propensities="fast")
LARGEST_REWARD: Final = 1e6
REQUEST_ID: Final = "x-ms-client-request-id"

_RANK: Final = Body(RankRequest, "InvalidRankRequest")
_REWARD: Final = Body(RewardRequest, "InvalidRewardRequest")
_CONFIGURATION: Final = Body(dict[str, Any], "InvalidServiceConfiguration")


class Operations:
    """The operations that are offered, each from a request to its answer.

    Parameters
    ----------
    service
        The service.
    create_models
        Whether a Rank or a configuration for a model that does not exist makes it.

    Examples
    --------
    >>> [name for name in vars(Operations) if not name.startswith("_")][:3]
    ['rank', 'reward', 'activate']
    """

    def __init__(self, service: Service, *, create_models: bool) -> None:
        self._service = service
        self._create_models = create_models

    async def rank(self, request: Request) -> Response:
        """Rank: decide."""
        given = _RANK.read(await request.body())
        name, asked = _model(request), decision_request(given)
        answer = await self._decided(name, asked)
        return _json(rank_response(await self._candidates(name, asked, answer), answer), 201)

    async def reward(self, request: Request) -> Response:
        """Reward: feedback, whatever becomes of it."""
        event = _event(request, "InvalidRewardRequest")
        value = _REWARD.read(await request.body()).value
        if abs(value) > LARGEST_REWARD:
            raise RefusedError(
                "InvalidRewardRequest", f"value is {value:g} but must be from -1e6 to 1e6"
            )
        feedback = FeedbackRequest(decision_id=event, value=value, key=_key(request))
        await self._service.feedback(_model(request), [feedback])
        return Response(status_code=204)

    async def activate(self, request: Request) -> Response:
        """Activate: a deferred decision counts from now on."""
        event = _event(request, "InvalidEventIdToActivate")
        await self._service.activate(_model(request), event)
        return Response(status_code=204)

    async def configuration(self, request: Request) -> Response:
        """The configuration of a model."""
        return await self._configuration(self._service.model(_model(request)))

    async def replace_configuration(self, request: Request) -> Response:
        """Set all of the configuration."""
        given = _CONFIGURATION.read(await request.body())
        return await self._configured(_model(request), given)

    async def change_configuration(self, request: Request) -> Response:
        """Set some of the configuration."""
        given = _CONFIGURATION.read(await request.body())
        name = _model(request)
        return await self._configured(name, {**configuration_of(self._settings(name)), **given})

    async def status(self, _: Request) -> Response:
        """Whether the service works."""
        reason = self._service.ready
        status = "Valid" if reason is None else "Unavailable"
        message = "The service is ready." if reason is None else reason
        return _json({"service": "personalizer", "apiStatus": status, "apiStatusMessage": message})

    async def _decided(self, name: str, asked: DecisionRequest) -> DecisionAnswer:
        try:
            return await self._service.decide(name, asked)
        except UnknownModelError:
            if not self._create_models:
                raise
        _check_readable(asked)
        with contextlib.suppress(AlreadyThereError):  # another Rank may have been first
            await self._service.create_model(_checked_name(name), NEW_MODEL)
        return await self._service.decide(name, asked)

    async def _candidates(
        self, name: str, asked: DecisionRequest, answer: DecisionAnswer
    ) -> Collection[str]:
        """Among which it was decided: those of another request if the event was ranked before."""
        if asked.decision_id is not None and answer.durable:
            with contextlib.suppress(ServiceError):  # the answer holds, whatever happened since
                return (await self._service.decision(name, asked.decision_id)).candidates
        return asked.candidates or ()

    async def _configured(self, name: str, given: dict[str, Any]) -> Response:
        changed = changes(self._settings(name), given)
        try:
            model = self._service.model(name)
            if changed:
                model = await self._service.change_model(name, changed)
        except UnknownModelError:
            settings = msgspec.structs.replace(NEW_MODEL, **changed)
            model = await self._service.create_model(_checked_name(name), settings)
        return await self._configuration(model)

    async def _configuration(self, model: ModelAnswer) -> Response:
        """Without metrics while the database cannot be read."""
        configuration = configuration_of(model.settings)
        configuration["lastConfigurationEditDate"] = written(model.edited)
        if model.settings.mode == "apprentice":
            with contextlib.suppress(StoreAwayError):
                if metrics := await latest_metrics(self._service, model.name):
                    configuration["latestApprenticeModeMetrics"] = metrics
        return _json(configuration)

    def _settings(self, name: str) -> ModelSettings:
        """Of the model, or of the one that would be made."""
        try:
            return self._service.model(name).settings
        except UnknownModelError:
            if not self._create_models:
                raise
            return NEW_MODEL


def _json(body: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def _model(request: Request) -> str:
    name: str = request.path_params["model"]
    return name


def _checked_name(name: str) -> str:
    try:
        return msgspec.convert(name, ModelName)
    except msgspec.ValidationError as error:
        raise RefusedError(
            "ResourceNotFound",
            f"The model is {name!r} but its name must be of at most 64 letters, digits, '.', '_' "
            "and '-', a letter or digit first",
        ) from error


def _event(request: Request, code: str) -> str:
    return checked_id(code, "EventId", request.path_params["event"])


def _key(request: Request) -> str:
    """Clients that repeat a request send its id again; those that send none do not repeat it."""
    key = request.headers.get(REQUEST_ID) or uuid.uuid4().hex
    if len(key) > LONGEST_ID:
        raise RefusedError(
            "InvalidRewardRequest",
            f"{REQUEST_ID} has {len(key)} characters but may have at most {LONGEST_ID}",
        )
    return key


def _check_readable(asked: DecisionRequest) -> None:
    """An error if a new model could not read it, so that none is made for it."""
    schema = Schema.open()
    try:
        schema.folded(asked.context, schema.encode_items(asked.candidates or {}))
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
