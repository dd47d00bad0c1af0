"""The service configuration of the contract, and the settings of a model that it stands for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, get_args

import msgspec
from msgspec import Meta, Struct

from fabcost.service.personalizer.contract import (
    NEW_MODEL,
    Body,
    ContractAnswer,
    ContractError,
    ContractRequest,
    OpenModels,
    json_answer,
)
from fabcost.service.service import Service
from fabcost.service.store.rows import StoredDecision, record
from fabcost.wire.errors import StoreAwayError, UnknownModelError, in_words
from fabcost.wire.messages import ModelAnswer
from fabcost.wire.settings import Aggregation, Changeable, Mode, Share

_LEARNING_MODES: Final[dict[Mode, str]] = {
    "online": "Online",
    "apprentice": "Apprentice",
    "logging-only": "LoggingOnly",
    "off": "LoggingOnly",
}
#: The latest events of a model that are looked at, and how many are read at once.
LATEST: Final = 1_000
PAGE: Final = 100
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
    """The configuration; dates, and metrics of the apprentice, are taken but not kept."""

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


async def read(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """The configuration, of a new model if there is none; reading makes none."""
    model = models.find(request.model)
    if model is None:
        return json_answer(configuration_of(NEW_MODEL))
    return await _shown(models.service, model)


async def replace(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """Set all of the configuration."""
    return await _set(models, request.model, _CONFIGURATION.read(request.body))


async def change(models: OpenModels, request: ContractRequest) -> ContractAnswer:
    """Set some of the configuration."""
    given = _CONFIGURATION.read(request.body)
    model = models.find(request.model)
    settings = NEW_MODEL if model is None else model.settings
    return await _set(models, request.model, {**configuration_of(settings), **given})


async def _set(models: OpenModels, name: str, given: dict[str, Any]) -> ContractAnswer:
    service, model = models.service, models.find(name)
    changed = changes(NEW_MODEL if model is None else model.settings, given)
    try:
        model = service.model(name)
        if changed:
            model = await service.change_model(name, changed)
    except UnknownModelError:
        settings = msgspec.structs.replace(NEW_MODEL, **changed)
        model = await service.create_model(name, settings)
    return await _shown(service, model)


async def _shown(service: Service, model: ModelAnswer) -> ContractAnswer:
    """Without metrics while the database cannot be read."""
    configuration = configuration_of(model.settings)
    configuration["lastConfigurationEditDate"] = _written(model.edited)
    if model.settings.mode == "apprentice":
        with contextlib.suppress(StoreAwayError):
            if metrics := await _latest_metrics(service, model.name):
                configuration["latestApprenticeModeMetrics"] = metrics
    return json_answer(configuration)


def configuration_of(settings: Changeable) -> dict[str, Any]:
    """The configuration that settings stand for, as plain values."""
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
    """The settings of a model that a configuration changes, or a `ContractError`."""
    try:
        asked = msgspec.convert(given, ServiceConfiguration)
    except msgspec.ValidationError as error:
        raise _error(in_words(error)) from error
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
    """An ISO 8601 duration, in the largest units."""
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
    wait, default = asked.reward_wait_time, asked.default_reward
    aggregation, known = asked.reward_aggregation.lower(), get_args(Aggregation)
    if wait != timedelta(seconds=settings.reward_wait_seconds):
        if not _SHORTEST_WAIT <= wait <= _LONGEST_WAIT:
            raise _error(f"rewardWaitTime is {_plain(wait)} but must be from PT5S to P2D")
        changed["reward_wait_seconds"] = wait.total_seconds()
    if default != settings.default_reward:
        if not -1.0 <= default <= 1.0:
            raise _error(f"defaultReward is {default} but must be from -1 to 1")
        changed["default_reward"] = default
    if aggregation != settings.aggregation:
        if aggregation not in known:
            said = f"rewardAggregation is {aggregation!r} but must be one of {', '.join(known)}"
            raise _error(said)
        changed["aggregation"] = aggregation
    return changed


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


async def _latest_metrics(service: Service, model: str) -> dict[str, Any] | None:
    """Metrics of the latest events, None if none of them was an apprentice's and is settled."""
    first: int | None = None
    for _ in range(LATEST // PAGE):
        _, first = await service.decisions(model, limit=PAGE, before=first)
        if first is None:
            break
    after = 0 if first is None else first - 1
    rows = await service.export_log(model, after=after, limit=LATEST)
    return await asyncio.to_thread(_metrics, rows)


def _metrics(rows: Sequence[StoredDecision]) -> dict[str, Any] | None:
    settled = [(row, record(row.record)) for row in rows if row.value is not None]
    seen = [(row, made.would_choose) for row, made in settled if made.mode == "apprentice"]
    if not seen:
        return None
    imitated = [row for row, would in seen if would == row.item]
    return {
        "numberOfEvents": len(seen),
        "numberOfImitatedEvents": len(imitated),
        "sumOfRewards": sum(row.value or 0.0 for row, _ in seen),
        "sumOfImitatedRewards": sum(row.value or 0.0 for row in imitated),
        "startTime": _written(seen[0][0].made),
        "lastProcessedEventTime": _written(seen[-1][0].made),
    }


def _written(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")
