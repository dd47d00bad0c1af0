"""The service configuration of the contract, and the settings of a model that it stands for."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Annotated, Any, Final, get_args

import msgspec
from msgspec import Meta, Struct

from fabcost.service.personalizer.apprentice import latest_metrics, written
from fabcost.service.personalizer.errors import ContractError
from fabcost.service.personalizer.models import NEW_MODEL, OpenModels
from fabcost.service.personalizer.requests import (
    Body,
    ContractAnswer,
    ContractRequest,
    json_answer,
)
from fabcost.service.service import Service
from fabcost.wire.errors import StoreAwayError, UnknownModelError
from fabcost.wire.messages import ModelAnswer
from fabcost.wire.settings import Aggregation, Changeable, Mode, Share

_LEARNING_MODES: Final[dict[Mode, str]] = {
    "online": "Online",
    "apprentice": "Apprentice",
    "logging-only": "LoggingOnly",
    "off": "LoggingOnly",
}
_SHORTEST_WAIT: Final = timedelta(seconds=5)
_LONGEST_WAIT: Final = timedelta(days=2)

#: What cannot be set here: its only value, and why.
_FIXED: Final[dict[str, tuple[Any, str]]] = {
    "model_export_frequency": (timedelta(minutes=5), "a reward is learnt as soon as it comes"),
    "log_retention_days": (-1, "the log is kept until the model is deleted"),
    "model_retrain_days": (0, "a model learns from each event once and is not retrained"),
    "log_mirror_enabled": (False, "export the log with GET /v1/models/{model}/log?format=dsjson"),
    "log_mirror_sas_uri": ("", "export the log with GET /v1/models/{model}/log?format=dsjson"),
    "is_auto_optimization_enabled": (False, "learning has no settings that need a search"),
    "auto_optimization_frequency": (timedelta(days=7), "learning has no settings to search"),
    "is_inference_explainability_enabled": (
        False,
        "ask GET /v1/models/{model}/explanations/{event id}",
    ),
}


class ServiceConfiguration(Struct, frozen=True, rename="camel", kw_only=True):
    """The configuration; dates, and metrics of the apprentice, are taken but not kept.

    Examples
    --------
    >>> msgspec.convert(configuration_of(Changeable()), ServiceConfiguration).reward_wait_time
    datetime.timedelta(seconds=600)
    """

    reward_wait_time: timedelta
    default_reward: float
    reward_aggregation: str
    exploration_percentage: Share
    model_export_frequency: timedelta
    log_retention_days: Annotated[int, Meta(ge=-1)]
    model_retrain_days: Annotated[int, Meta(ge=0)]
    learning_mode: str | None = None
    log_mirror_enabled: bool | None = None
    log_mirror_sas_uri: str | None = None
    is_auto_optimization_enabled: bool | None = None
    auto_optimization_frequency: timedelta | None = None
    is_inference_explainability_enabled: bool | None = None


_CONFIGURATION: Final = Body(dict[str, Any], "InvalidServiceConfiguration")


class Configurations:
    """The operations on configurations, each from a request to its answer.

    Parameters
    ----------
    service
        The service.
    models
        Its models, with those that are still to be made.
    """

    def __init__(self, service: Service, models: OpenModels) -> None:
        self._service = service
        self._models = models

    async def read(self, request: ContractRequest) -> ContractAnswer:
        """The configuration, of a new model if there is none; reading makes none."""
        model = self._models.find(request.model)
        if model is None:
            return json_answer(configuration_of(NEW_MODEL))
        return await self._shown(model)

    async def replace(self, request: ContractRequest) -> ContractAnswer:
        """Set all of the configuration."""
        given = _CONFIGURATION.read(request.body)
        return await self._set(request.model, given)

    async def change(self, request: ContractRequest) -> ContractAnswer:
        """Set some of the configuration."""
        given = _CONFIGURATION.read(request.body)
        model = self._models.find(request.model)
        settings = NEW_MODEL if model is None else model.settings
        return await self._set(request.model, {**configuration_of(settings), **given})

    async def _set(self, name: str, given: dict[str, Any]) -> ContractAnswer:
        model = self._models.find(name)
        changed = changes(NEW_MODEL if model is None else model.settings, given)
        try:
            model = self._service.model(name)
            if changed:
                model = await self._service.change_model(name, changed)
        except UnknownModelError:
            settings = msgspec.structs.replace(NEW_MODEL, **changed)
            model = await self._service.create_model(name, settings)
        return await self._shown(model)

    async def _shown(self, model: ModelAnswer) -> ContractAnswer:
        """Without metrics while the database cannot be read."""
        configuration = configuration_of(model.settings)
        configuration["lastConfigurationEditDate"] = written(model.edited)
        if model.settings.mode == "apprentice":
            with contextlib.suppress(StoreAwayError):
                if metrics := await latest_metrics(self._service, model.name):
                    configuration["latestApprenticeModeMetrics"] = metrics
        return json_answer(configuration)


def configuration_of(settings: Changeable) -> dict[str, Any]:
    """The configuration that settings stand for, as plain values.

    Examples
    --------
    >>> configuration = configuration_of(Changeable(floor=0.1))
    >>> configuration["rewardWaitTime"], configuration["explorationPercentage"]
    ('PT10M', 0.1)
    """
    own = {
        "reward_wait_time": timedelta(seconds=settings.reward_wait_seconds),
        "default_reward": settings.default_reward,
        "reward_aggregation": settings.aggregation,
        "exploration_percentage": settings.floor,
        "learning_mode": _LEARNING_MODES[settings.mode],
    }
    fixed = {name: value for name, (value, _) in _FIXED.items()}
    return {_camel(name): _plain(value) for name, value in {**own, **fixed}.items()}


def changes(settings: Changeable, given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model that a configuration changes, or a `ContractError`.

    Examples
    --------
    >>> required = {"modelExportFrequency": "PT5M", "logRetentionDays": -1, "modelRetrainDays": 0}
    >>> rewards = {"rewardWaitTime": "PT1H", "defaultReward": 0, "rewardAggregation": "sum"}
    >>> changes(Changeable(), {**required, **rewards, "explorationPercentage": 0})
    {'reward_wait_seconds': 3600.0, 'aggregation': 'sum'}
    """
    try:
        asked = msgspec.convert(given, ServiceConfiguration)
    except msgspec.ValidationError as error:
        raise _error(str(error)) from error
    _check_fixed(asked)
    changed = {**_rewards(settings, asked), **_mode(settings, asked)}
    if "mode" in changed and len(changed) > 1:
        raise ContractError(
            "InvalidLearningModeServiceConfiguration",
            "learningMode and reward settings are changed at once but should be one by one",
        )
    if asked.exploration_percentage != settings.floor:
        changed["floor"] = asked.exploration_percentage
    return changed


def duration(seconds: float) -> str:
    """An ISO 8601 duration, in the largest units.

    Examples
    --------
    >>> duration(600), duration(90_000), duration(0.5), duration(0)
    ('PT10M', 'P1DT1H', 'PT0.5S', 'PT0S')
    """
    microseconds = round(seconds * 1e6)
    sign = "-" if microseconds < 0 else ""
    minutes, rest = divmod(abs(microseconds), 60_000_000)
    days, minutes = divmod(minutes, 24 * 60)
    fraction = f"{rest / 1e6:.6f}".rstrip("0").rstrip(".")
    parts = ((minutes // 60, "H"), (minutes % 60, "M"), (rest and fraction, "S"))
    clock = "".join(f"{number}{unit}" for number, unit in parts if number)
    date = f"{days}D" if days else ""
    return f"{sign}P{date}T{clock}" if clock else f"{sign}P{date or 'T0S'}"


def _rewards(settings: Changeable, asked: ServiceConfiguration) -> dict[str, Any]:
    """Only what changes is checked: the native API may have set more than the contract allows."""
    changed: dict[str, Any] = {}
    if asked.reward_wait_time != timedelta(seconds=settings.reward_wait_seconds):
        changed["reward_wait_seconds"] = _checked_wait(asked.reward_wait_time)
    if asked.default_reward != settings.default_reward:
        changed["default_reward"] = _checked_default(asked.default_reward)
    if asked.reward_aggregation.lower() != settings.aggregation:
        changed["aggregation"] = _checked_aggregation(asked.reward_aggregation.lower())
    return changed


def _checked_wait(given: timedelta) -> float:
    if not _SHORTEST_WAIT <= given <= _LONGEST_WAIT:
        shown = duration(given.total_seconds())
        raise _error(f"rewardWaitTime is {shown} but must be from PT5S to P2D")
    return given.total_seconds()


def _checked_default(given: float) -> float:
    if not -1.0 <= given <= 1.0:
        raise _error(f"defaultReward is {given} but must be from -1 to 1")
    return given


def _checked_aggregation(given: str) -> str:
    known = get_args(Aggregation)
    if given not in known:
        raise _error(f"rewardAggregation is {given!r} but must be one of {', '.join(known)}")
    return given


def _mode(settings: Changeable, asked: ServiceConfiguration) -> dict[str, Any]:
    """A model that is "off" reads as LoggingOnly, and writing that back leaves it off."""
    wanted = asked.learning_mode
    if wanted is None or wanted == _LEARNING_MODES[settings.mode]:
        return {}
    for mode, name in _LEARNING_MODES.items():
        if name == wanted:
            return {"mode": mode}
    raise _error(f"learningMode is {wanted!r} but must be Online, Apprentice or LoggingOnly")


def _check_fixed(asked: ServiceConfiguration) -> None:
    for name, (value, reason) in _FIXED.items():
        given = getattr(asked, name)
        if given is not None and given != value:
            raise _error(
                f"{_camel(name)} is {_plain(given)!r} but can only be {_plain(value)!r}: {reason}"
            )


def _plain(value: Any) -> Any:
    return duration(value.total_seconds()) if isinstance(value, timedelta) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _error(message: str) -> ContractError:
    return ContractError("InvalidServiceConfiguration", message)
