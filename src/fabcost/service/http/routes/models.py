"""Models, what they have learnt, the items of their catalogues, and models and logs as files."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from msgspec import Meta, Struct

from fabcost.service import transfer
from fabcost.service.http.exchange import NOTHING, HttpAnswer, answer
from fabcost.service.http.openapi import MODEL, Bytes, Operation, narrowed, record_type
from fabcost.service.http.routing import ApiCall
from fabcost.service.settings import Settings
from fabcost.wire.messages import (
    MEDIA_TYPES,
    Id,
    Items,
    ItemsAnswer,
    LogFormat,
    ModelAnswer,
    ModelName,
    PosteriorAnswer,
    Record,
    check_depth,
    check_model_name,
    check_path_id,
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


_OCTETS = "application/octet-stream"
_LOG_TYPES = (_OCTETS, *dict.fromkeys(MEDIA_TYPES.values()))


class LogQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The format of a log: JSON Lines, Parquet, or what Vowpal Wabbit reads."""

    format: LogFormat = "jsonl"


class ImportQuery(LogQuery, frozen=True, forbid_unknown_fields=True):
    """And what names the lines before the body, if it is a part of a file."""

    after: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$(?!\n)")] = ""


class FileQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a new model starts from the file, and at which discount, or goes on from it."""

    start: bool = False
    discount: Discount | None = None


class Imported(Struct, frozen=True):
    """How many lines told something new: a decision, or the outcome of one that had none."""

    imported: int


async def export_model(call: ApiCall) -> HttpAnswer:
    """The model as a file that ``fabcost.Recommender.load`` reads."""
    content = await call.site.service.export_model(call.model)
    return HttpAnswer(200, content, _OCTETS.encode())


async def import_model(call: ApiCall) -> HttpAnswer:
    """Make a model from a file of ``fabcost.Recommender.save``.

    With `start` it is a new one of default settings, whose prior is what the file has learnt.
    """
    check_model_name(call.model)
    query: FileQuery = call.query
    service = call.site.service
    if query.start:
        settings, discount = ModelSettings(), query.discount
        return answer(await service.start_model(call.model, call.body, settings, discount), 201)
    return answer(await service.import_model(call.model, call.body, None), 201)


async def export_log(call: ApiCall) -> HttpAnswer:
    """All decisions of a model with what became of them, oldest first."""
    query: LogQuery = call.query
    call.site.service.model(call.model)
    chunks = transfer.export(call.site.service, call.model, query.format)
    first = await anext(chunks, b"")
    return HttpAnswer(200, _joined(first, chunks), MEDIA_TYPES[query.format].encode())


async def import_log(call: ApiCall) -> HttpAnswer:
    """Learn from decisions that were made elsewhere; those without an outcome wait for one."""
    query: ImportQuery = call.query
    service = call.site.service
    limits = transfer.limits_of(call.site.settings, catalogue=service.model(call.model).items)
    many = await transfer.load(
        service, call.model, query.format, call.body, after=query.after, limits=limits
    )
    return answer(Imported(many))


async def _joined(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The first chunk was awaited before the status was sent, so that its errors have one."""
    async with contextlib.aclosing(rest):
        yield first
        async for chunk in rest:
            yield chunk


def operations_on_files() -> list[Operation]:
    """Models and logs, out and in."""
    file, log, octets, lines = MODEL + "/file", MODEL + "/log", Bytes((_OCTETS,)), Bytes(_LOG_TYPES)
    return [
        Operation("GET", file, export_model, "read", octets, transfer=True),
        Operation(
            "PUT",
            file,
            import_model,
            "admin",
            ModelAnswer,
            201,
            query=FileQuery,
            body=octets,
            errors=(409,),
            transfer=True,
        ),
        Operation("GET", log, export_log, "read", lines, query=LogQuery, transfer=True),
        Operation(
            "POST", log, import_log, "admin", Imported, query=ImportQuery, body=lines, transfer=True
        ),
    ]
