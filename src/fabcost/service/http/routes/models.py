"""Models, what they have learnt, and the items of their catalogues."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fabcost.service.http.exchange import NOTHING, HttpAnswer, answer
from fabcost.service.http.openapi import MODEL, Operation, narrowed, record_type
from fabcost.service.http.routing import ApiCall
from fabcost.service.settings import Settings
from fabcost.wire.checks import check_depth, check_path_id
from fabcost.wire.messages import (
    Id,
    Items,
    ItemsAnswer,
    ModelAnswer,
    ModelName,
    PosteriorAnswer,
    Record,
)
from fabcost.wire.settings import Discount, ModelSettings
from fabcost.wire.statistics import AlarmView, ContrastsAnswer, StatsAnswer


class StartSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Another model, whose posterior is the prior of columns of the same name.

    Without a discount the outcomes decide how much of it to believe.
    """

    model: ModelName
    discount: Discount | None = None


class NewModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model to be made."""

    name: ModelName
    settings: ModelSettings = ModelSettings()
    start: StartSettings | None = None


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
    service, start = call.site.service, request.start
    if start is None:
        return answer(await service.create_model(request.name, request.settings), 201)
    content = await service.export_model(start.model)
    made = await service.start_model(request.name, content, request.settings, start.discount)
    return answer(made, 201)


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
    return NOTHING


async def get_posterior(call: ApiCall) -> HttpAnswer:
    """The weights of a model by name, with their means and sds."""
    return answer(call.site.service.posterior(call.model))


async def get_contrasts(call: ApiCall) -> HttpAnswer:
    """What a model has learnt: each level beside its feature's mean, and who likes what.

    By the joint posterior, on the scale of log-odds.
    """
    return answer(await call.site.service.contrasts(call.model))


async def get_stats(call: ApiCall) -> HttpAnswer:
    """Counts by minute and arm, calibration, top items and the state of the learner."""
    query: StatsQuery = call.query
    return answer(await call.site.service.stats(call.model, minutes=query.minutes))


class AlarmsAnswer(Struct, frozen=True):
    """What is wrong with the data of a model, if anything is."""

    alarms: list[AlarmView]


async def get_alarms(call: ApiCall) -> HttpAnswer:
    """What is wrong with the data of a model, in words: features, items, and feedback."""
    return answer(AlarmsAnswer(await call.site.service.alarms(call.model)))


class ItemsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of a catalogue: so many items after one id."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    after: Id | None = None


class CatalogueVersion(Struct, frozen=True):
    """The version of the catalogue from now on."""

    version: int


async def put_items(call: ApiCall) -> HttpAnswer:
    """Add or replace many items at once: all of them, or none if one is wrong."""
    request: Items = call.body
    call.check_ids(request.items)
    version = await call.site.service.put_items(call.model, request.items)
    return answer(CatalogueVersion(version))


async def list_items(call: ApiCall) -> HttpAnswer:
    """One page of the catalogue, in the order in which the items first came."""
    query: ItemsQuery = call.query
    return answer(call.site.service.items(call.model, limit=query.limit, after=query.after))


async def put_item(call: ApiCall) -> HttpAnswer:
    """Add or replace one item."""
    item = check_path_id(call.parameters["item"])
    version = await call.site.service.put_items(call.model, {item: call.body})
    return answer(CatalogueVersion(version))


async def get_item(call: ApiCall) -> HttpAnswer:
    """The features of one item."""
    return answer(call.site.service.item(call.model, check_path_id(call.parameters["item"])))


async def delete_item(call: ApiCall) -> HttpAnswer:
    """Remove one item; what was learnt from it stays."""
    await call.site.service.delete_items(call.model, [check_path_id(call.parameters["item"])])
    return NOTHING


def operations(settings: Settings) -> list[Operation]:
    """Models and items, one by one and all of them."""
    path, items, item = "/v1/models", MODEL + "/items", MODEL + "/items/{item:path}"
    stats, changes, record = MODEL + "/stats", dict[str, Any], record_type(settings)
    many: Any = Annotated[dict[Id, record], Meta(min_length=1, max_length=settings.import_lines)]  # type: ignore[valid-type]
    body = narrowed(Items, ("items", many))
    return [
        Operation("GET", path, list_models, "read", ModelsAnswer, of_any_model=True),
        Operation(
            "POST", path, create_model, "admin", ModelAnswer, 201, body=NewModel, errors=(404, 409)
        ),
        Operation("GET", MODEL, get_model, "read", ModelAnswer),
        Operation("PATCH", MODEL, change_model, "admin", ModelAnswer, body=changes),
        Operation("DELETE", MODEL, delete_model, "admin", None, 204),
        Operation("GET", MODEL + "/posterior", get_posterior, "read", PosteriorAnswer),
        Operation("GET", MODEL + "/contrasts", get_contrasts, "read", ContrastsAnswer),
        Operation("GET", MODEL + "/alarms", get_alarms, "read", AlarmsAnswer),
        Operation("GET", stats, get_stats, "read", StatsAnswer, query=StatsQuery),
        Operation("PUT", items, put_items, "admin", CatalogueVersion, body=body, transfer=True),
        Operation("GET", items, list_items, "read", ItemsAnswer, query=ItemsQuery),
        Operation("PUT", item, put_item, "admin", CatalogueVersion, body=record),
        Operation("GET", item, get_item, "read", Record),
        Operation("DELETE", item, delete_item, "admin", None, 204),
    ]
