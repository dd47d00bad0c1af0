"""Models, and what they have learnt."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fabcost.service.http.answer import HttpAnswer, answer, nothing
from fabcost.service.http.operation import MODEL, ApiCall, Operation
from fabcost.wire.checks import check_depth
from fabcost.wire.messages import ModelAnswer, ModelName, PosteriorAnswer, StatsAnswer
from fabcost.wire.settings import ModelSettings


class NewModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model to be made."""

    name: ModelName
    settings: ModelSettings = ModelSettings()


class ModelsAnswer(Struct, frozen=True):
    """All models, or those that the key opens."""

    models: list[ModelAnswer]


class StatsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How far back the counts by minute go."""

    minutes: Annotated[int, Meta(ge=1, le=10_080)] = 60


async def list_models(call: ApiCall) -> HttpAnswer:
    """All models, or the one that the key opens."""
    only = call.principal.model
    models = call.site.service.models()
    return answer(ModelsAnswer([each for each in models if only in (None, each.name)]))


async def create_model(call: ApiCall) -> HttpAnswer:
    """Make a model."""
    request: NewModel = call.body
    check_depth(request.settings.schema)
    return answer(await call.site.service.create_model(request.name, request.settings), 201)


async def get_model(call: ApiCall) -> HttpAnswer:
    """A model as it is now."""
    return answer(call.site.service.model(call.model))


async def change_model(call: ApiCall) -> HttpAnswer:
    """Change settings; those of how a model learns are fixed.

    They hold for decisions to come. `default_reward`, `click_threshold` and `aggregation` also
    touch decisions that are still open.
    """
    return answer(await call.site.service.change_model(call.model, call.body))


async def delete_model(call: ApiCall) -> HttpAnswer:
    """Forget a model, its items, its decisions and all that it has learnt."""
    await call.site.service.delete_model(call.model)
    call.site.service.metrics.forget(call.model)
    return nothing()


async def get_posterior(call: ApiCall) -> HttpAnswer:
    """The weights of a model by name, with their means and sds."""
    return answer(call.site.service.posterior(call.model))


async def get_stats(call: ApiCall) -> HttpAnswer:
    """Counts by minute and arm, calibration, top items and the state of the learner."""
    query: StatsQuery = call.query
    return answer(await call.site.service.stats(call.model, minutes=query.minutes))


def operations() -> list[Operation]:
    """Models one by one, and all of them."""
    path, stats, changes = "/v1/models", MODEL + "/stats", dict[str, Any]
    return [
        Operation("GET", path, list_models, "read", ModelsAnswer, of_any_model=True),
        Operation(
            "POST", path, create_model, "admin", ModelAnswer, 201, body=NewModel, errors=(409,)
        ),
        Operation("GET", MODEL, get_model, "read", ModelAnswer),
        Operation("PATCH", MODEL, change_model, "admin", ModelAnswer, body=changes),
        Operation("DELETE", MODEL, delete_model, "admin", None, 204),
        Operation("GET", MODEL + "/posterior", get_posterior, "read", PosteriorAnswer),
        Operation("GET", stats, get_stats, "read", StatsAnswer, query=StatsQuery),
    ]
