"""Calls that take a model or its log somewhere else."""

from __future__ import annotations

import msgspec

from fabcost.client.call import BYTES, TRANSFER, Call, content, no_content, path, reader
from fabcost.wire.messages import LogFormat, ModelAnswer

#: What the bodies of each format are.
MEDIA: dict[LogFormat, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dsjson": "application/x-ndjson",
}


class _Imported(msgspec.Struct):
    imported: int


_model = reader(ModelAnswer)
_imported = reader(_Imported)


def export_model(model: str) -> Call[bytes]:
    """The model as a file of `fabcost.Recommender.save`.

    Examples
    --------
    >>> export_model("news").path
    '/v1/models/news/file'
    """
    return Call("GET", path("v1", "models", model, "file"), content, seconds=TRANSFER)


def import_model(model: str, file: bytes) -> Call[ModelAnswer]:
    """A new model from a file; not repeated if it is unknown whether an attempt succeeded.

    Examples
    --------
    >>> import_model("news", b"...").repeatable
    False
    """
    where = path("v1", "models", model, "file")
    return Call("PUT", where, _model, content=file, media=BYTES, repeatable=False, seconds=TRANSFER)


def export_log(model: str, form: LogFormat) -> Call[None]:
    """The log, whose body a driver hands on piece by piece.

    Examples
    --------
    >>> export_log("news", "dsjson").query
    {'format': 'dsjson'}
    """
    where = path("v1", "models", model, "log")
    return Call("GET", where, no_content, query={"format": form}, seconds=TRANSFER)


def import_log(model: str, form: LogFormat, log: bytes, after: str = "") -> Call[int]:
    """Impressions from elsewhere; a repeated body has the same ids and is learnt once.

    ``after`` names the lines before a part of a file: `fabcost.wire.log.formats.check`.

    Examples
    --------
    >>> import_log("news", "jsonl", b"...").media
    'application/x-ndjson'
    """
    where = path("v1", "models", model, "log")
    return Call(
        "POST",
        where,
        lambda reply: _imported(reply).imported,
        query={"format": form, **({"after": after} if after else {})},
        content=log,
        media=MEDIA[form],
        seconds=TRANSFER,
    )
