"""Items of a model's catalogue."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fabcost.service.http.answer import Answer, answer, nothing
from fabcost.service.http.bodies import CatalogueVersion
from fabcost.service.http.operation import Call
from fabcost.wire.checks import check_path_id
from fabcost.wire.messages import Id, Items


class ItemsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which page of a catalogue: so many items after one id."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    after: Id | None = None


async def put_items(call: Call) -> Answer:
    """Add or replace many items at once: all of them, or none if one is wrong."""
    request: Items = call.body
    call.check_ids(request.items)
    version = await call.site.service.put_items(call.model, request.items)
    return answer(CatalogueVersion(version))


async def list_items(call: Call) -> Answer:
    """One page of the catalogue, in the order in which the items first came."""
    query: ItemsQuery = call.query
    return answer(call.site.service.items(call.model, limit=query.limit, after=query.after))


async def put_item(call: Call) -> Answer:
    """Add or replace one item."""
    item = check_path_id(call.parameters["item"])
    version = await call.site.service.put_items(call.model, {item: call.body})
    return answer(CatalogueVersion(version))


async def get_item(call: Call) -> Answer:
    """The features of one item."""
    return answer(call.site.service.item(call.model, check_path_id(call.parameters["item"])))


async def delete_item(call: Call) -> Answer:
    """Remove one item; what was learnt from it stays."""
    await call.site.service.delete_items(call.model, [check_path_id(call.parameters["item"])])
    return nothing()
