"""Calls about models and their catalogues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from fabcost.client.call import (
    TRANSFER,
    Call,
    Reply,
    body,
    checked_record,
    no_content,
    path,
    reader,
)
from fabcost.client.errors import ClientError
from fabcost.wire.messages import ItemsAnswer, ModelAnswer, Record
from fabcost.wire.settings import ModelSettings

#: Bodies of the catalogue are kept below so many bytes, half of what a server takes by default.
LARGEST_BODY = 512 * 1024


class _Models(msgspec.Struct):
    models: list[ModelAnswer]


class _Version(msgspec.Struct):
    version: int


_models = reader(_Models)
_model = reader(ModelAnswer)
_items = reader(ItemsAnswer)
_version = reader(_Version)
_record: Callable[[Reply], Record] = reader(dict[str, Any])


def list_models() -> Call[list[ModelAnswer]]:
    """All models.

    Examples
    --------
    >>> list_models().path
    '/v1/models'
    """
    return Call("GET", path("v1", "models"), lambda reply: _models(reply).models)


def get_model(name: str) -> Call[ModelAnswer]:
    """One model.

    Examples
    --------
    >>> get_model("news").path
    '/v1/models/news'
    """
    return Call("GET", path("v1", "models", name), _model)


def create_model(name: str, settings: ModelSettings) -> Call[ModelAnswer]:
    """A new model; a repeated attempt that finds one with these settings has found its own.

    Examples
    --------
    >>> create_model("news", ModelSettings()).lookup.path
    '/v1/models/news'
    """
    content = body({"name": name, "settings": settings})
    lookup = Call("GET", path("v1", "models", name), _same(settings))
    return Call("POST", path("v1", "models"), _model, content=content, lookup=lookup)


def change_model(name: str, changes: Mapping[str, Any]) -> Call[ModelAnswer]:
    """Other settings for a model.

    Examples
    --------
    >>> change_model("news", {"mode": "off"}).content
    b'{"mode":"off"}'
    """
    return Call("PATCH", path("v1", "models", name), _model, content=body(dict(changes)))


def delete_model(name: str) -> Call[None]:
    """Forget a model.

    Examples
    --------
    >>> delete_model("news").method
    'DELETE'
    """
    return Call("DELETE", path("v1", "models", name), no_content, done=404)


def put_items(name: str, items: Mapping[str, Mapping[str, Any]]) -> list[Call[int]]:
    """Add or replace items, in as many calls as their size needs.

    Examples
    --------
    >>> [call.content for call in put_items("news", {"ad-1": {"make": "kia"}})]
    [b'{"items":{"ad-1":{"make":"kia"}}}']
    """
    if not items:
        raise ValueError("there are no items but there must be at least one")
    where = path("v1", "models", name, "items")
    return [
        Call("PUT", where, lambda reply: _version(reply).version, content=part, seconds=TRANSFER)
        for part in _bodies(items)
    ]


def list_items(name: str, limit: int, after: str | None) -> Call[ItemsAnswer]:
    """One page of a catalogue.

    Examples
    --------
    >>> list_items("news", 100, "ad-17").query
    {'limit': 100, 'after': 'ad-17'}
    """
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    return Call("GET", path("v1", "models", name, "items"), _items, query=query)


def get_item(name: str, item: str) -> Call[Record]:
    """The features of one item.

    Examples
    --------
    >>> get_item("news", "a/b").path
    '/v1/models/news/items/a%2Fb'
    """
    return Call("GET", path("v1", "models", name, "items", item), _record)


def delete_item(name: str, item: str) -> Call[None]:
    """Take one item out of the catalogue.

    Examples
    --------
    >>> delete_item("news", "ad-1").done
    404
    """
    return Call("DELETE", path("v1", "models", name, "items", item), no_content, done=404)


def _same(settings: ModelSettings) -> Callable[[Reply], ModelAnswer]:
    wanted = msgspec.json.decode(body(settings), type=ModelSettings)

    def read(reply: Reply) -> ModelAnswer:
        found = _model(reply)
        if found.settings != wanted:
            why = f"there is a model {found.name!r} already, with other settings"
            raise ClientError("already_there", why, 409)
        return found

    return read


def _bodies(items: Mapping[str, Mapping[str, Any]]) -> Iterator[bytes]:
    part: dict[str, Record] = {}
    size = 0
    for item, given in items.items():
        record = checked_record(f"item {item!r}", given)
        length = len(body({item: record}))
        if part and size + length > LARGEST_BODY:
            yield body({"items": part})
            part, size = {}, 0
        part[item] = record
        size += length
    yield body({"items": part})
