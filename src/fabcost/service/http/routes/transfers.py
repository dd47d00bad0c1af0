"""Models and logs as files."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Annotated

from msgspec import Meta, Struct

from fabcost.service import transfer
from fabcost.service.http.exchange import HttpAnswer, answer
from fabcost.service.http.openapi import MODEL, Bytes, Operation
from fabcost.service.http.routing import ApiCall
from fabcost.wire.checks import check_model_name
from fabcost.wire.messages import MEDIA_TYPES, LogFormat, ModelAnswer
from fabcost.wire.settings import Discount, ModelSettings

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


def operations() -> list[Operation]:
    """Out and in."""
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
