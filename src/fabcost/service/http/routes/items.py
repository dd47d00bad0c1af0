"""Items of a model's catalogue."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fabcost.service.http.answer import HttpAnswer, answer, nothing
from fabcost.service.http.operation import MODEL, ApiCall, Operation
from fabcost.service.http.routes.limits import narrowed, record_type
from fabcost.service.settings import Settings
from fabcost.wire.checks import check_path_id
from fabcost.wire.messages import Id, Items, ItemsAnswer, Record


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
    return nothing()


def operations(settings: Settings) -> list[Operation]:
    """The catalogue, at once and one by one."""
    path, one, record = MODEL + "/items", MODEL + "/items/{item:path}", record_type(settings)
    many: Any = Annotated[dict[Id, record], Meta(min_length=1, max_length=settings.import_lines)]  # type: ignore[valid-type]
    body = narrowed(Items, ("items", many))
    return [
        Operation("PUT", path, put_items, "admin", CatalogueVersion, body=body, transfer=True),
        Operation("GET", path, list_items, "read", ItemsAnswer, query=ItemsQuery),
        Operation("PUT", one, put_item, "admin", CatalogueVersion, body=record),
        Operation("GET", one, get_item, "read", Record),
        Operation("DELETE", one, delete_item, "admin", None, 204),
    ]
