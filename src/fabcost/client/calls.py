"""What can be asked of a server, and how each answer is read; named as the clients' methods."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fabcost.client.encoding import checked_record, encoded, path, reader
from fabcost.client.errors import ClientError
from fabcost.client.exchange import ClientCall, Reply
from fabcost.wire.messages import (
    TRANSFER_SECONDS,
    DecisionAnswer,
    DecisionRequest,
    DecisionView,
    ExplanationAnswer,
    FeedbackAnswer,
    FeedbackRequest,
    Filter,
    ItemsAnswer,
    LogFormat,
    ModelAnswer,
    PosteriorAnswer,
    Record,
    StatsAnswer,
)
from fabcost.wire.settings import ModelSettings

#: A server takes so much feedback at once.
MOST_FEEDBACK = 1_000
#: Bodies of the catalogue are kept below so many bytes, half of what a server takes by default.
LARGEST_BODY = 512 * 1024
#: How long to wait for whole models, logs and catalogues: a little longer than a server takes.
_LONG = TRANSFER_SECONDS + 10.0

_BYTES = "application/octet-stream"
_MEDIA: dict[LogFormat, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dsjson": "application/x-ndjson",
}


class Decisions(msgspec.Struct, frozen=True):
    """One page of decisions, newest first; ``next`` is what to ask before, if there are more."""

    decisions: list[DecisionView]
    next: int | None


class _Models(msgspec.Struct):
    models: list[ModelAnswer]


class _Version(msgspec.Struct):
    version: int


class _Feedback(msgspec.Struct):
    feedback: list[FeedbackAnswer]


class _Activated(msgspec.Struct):
    activated: bool


class _Imported(msgspec.Struct):
    imported: int


_read_model = reader(ModelAnswer)
_read_models = reader(_Models)
_read_version = reader(_Version)
_read_items = reader(ItemsAnswer)
_read_record: Callable[[Reply], Record] = reader(dict[str, Any])
_read_answer = reader(DecisionAnswer)
_read_feedback = reader(FeedbackAnswer)
_read_bulk = reader(_Feedback)
_read_activated = reader(_Activated)
_read_decision = reader(DecisionView)
_read_decisions = reader(Decisions)
_read_explanation = reader(ExplanationAnswer)
_read_posterior = reader(PosteriorAnswer)
_read_stats = reader(StatsAnswer)
_read_imported = reader(_Imported)


def _version_in(reply: Reply) -> int:
    return _read_version(reply).version


def _read_nothing(_: Reply) -> None:
    """The status says it all."""


# Models


def ready() -> ClientCall[None]:
    """Whether the server can decide and learn."""
    return ClientCall("GET", path("readyz"), _read_nothing)


def models() -> ClientCall[list[ModelAnswer]]:
    """All models."""
    return ClientCall("GET", path("v1", "models"), lambda reply: _read_models(reply).models)


def model(name: str) -> ClientCall[ModelAnswer]:
    """One model."""
    return ClientCall("GET", path("v1", "models", name), _read_model)


def create_model(name: str, settings: ModelSettings) -> ClientCall[ModelAnswer]:
    """A new model; a repeated attempt that finds one with these settings has found its own."""
    content = encoded({"name": name, "settings": settings})
    lookup = ClientCall("GET", path("v1", "models", name), _same(settings))
    return ClientCall("POST", path("v1", "models"), _read_model, content=content, lookup=lookup)


def change_model(name: str, changes: Mapping[str, Any]) -> ClientCall[ModelAnswer]:
    """Other settings for a model."""
    content = encoded(dict(changes))
    return ClientCall("PATCH", path("v1", "models", name), _read_model, content=content)


def delete_model(name: str) -> ClientCall[None]:
    """Forget a model."""
    return ClientCall("DELETE", path("v1", "models", name), _read_nothing, done=404)


# Catalogues


def put_items(model: str, items: Mapping[str, Mapping[str, Any]]) -> list[ClientCall[int]]:
    """Add or replace items, in as many calls as their size needs."""
    if not items:
        raise ValueError("there are no items but there must be at least one")
    where = path("v1", "models", model, "items")
    return [
        ClientCall("PUT", where, _version_in, content=part, seconds=_LONG)
        for part in _bodies(items)
    ]


def items(model: str, limit: int, after: str | None) -> ClientCall[ItemsAnswer]:
    """One page of a catalogue."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    return ClientCall("GET", path("v1", "models", model, "items"), _read_items, query=query)


def item(model: str, item: str) -> ClientCall[Record]:
    """The features of one item."""
    return ClientCall("GET", path("v1", "models", model, "items", item), _read_record)


def delete_item(model: str, item: str) -> ClientCall[None]:
    """Take one item out of the catalogue."""
    where = path("v1", "models", model, "items", item)
    return ClientCall("DELETE", where, _read_nothing, done=404)


# The loop


def decide(
    model: str,
    *,
    context: Mapping[str, Any] | None = None,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    items: Collection[str] | None = None,
    filter: Filter | None = None,  # noqa: A002 - the API's name
    exclude: Collection[str] = (),
    top_k: int = 1,
    deferred: bool = False,
    decision_id: str | None = None,
) -> ClientCall[DecisionAnswer]:
    """Which item to show; the id makes a repeated attempt the same decision."""
    request = DecisionRequest(
        decision_id=_new_id() if decision_id is None else decision_id,
        context=checked_record("the context", context or {}),
        candidates=None if candidates is None else _checked_candidates(candidates),
        items=None if items is None else list(items),
        filter=filter,
        exclude=list(exclude),
        top_k=top_k,
        deferred=deferred,
    )
    where = path("v1", "models", model, "decisions")
    return ClientCall("POST", where, _read_answer, content=encoded(request))


def feedback(
    model: str, decision_id: str, value: float, key: str | None
) -> ClientCall[FeedbackAnswer]:
    """What became of a decision; the key makes a repeated attempt the same feedback."""
    request = _keyed(FeedbackRequest(decision_id=decision_id, value=value, key=key or ""))
    where = path("v1", "models", model, "feedback")
    return ClientCall("POST", where, _read_feedback, content=encoded(request))


def feedback_bulk(
    model: str, feedback: Iterable[FeedbackRequest]
) -> list[ClientCall[list[FeedbackAnswer]]]:
    """Feedback on many decisions, in as many calls as a server needs."""
    where = path("v1", "models", model, "feedback", "bulk")
    keyed = [_keyed(each) for each in feedback]
    bodies = [
        encoded({"feedback": keyed[at : at + MOST_FEEDBACK]})
        for at in range(0, len(keyed), MOST_FEEDBACK)
    ]
    return [
        ClientCall("POST", where, lambda reply: _read_bulk(reply).feedback, content=each)
        for each in bodies
    ]


def activate(model: str, decision_id: str) -> ClientCall[bool]:
    """Make a deferred decision count."""
    where = path("v1", "models", model, "activations")
    content = encoded({"decision_id": decision_id})
    return ClientCall(
        "POST", where, lambda reply: _read_activated(reply).activated, content=content
    )


# Looking


def decision(model: str, decision_id: str) -> ClientCall[DecisionView]:
    """A decision and what became of it."""
    return ClientCall("GET", path("v1", "models", model, "decisions", decision_id), _read_decision)


def decisions(model: str, limit: int, before: int | None) -> ClientCall[Decisions]:
    """One page of the latest decisions."""
    query = {"limit": limit, **({} if before is None else {"before": before})}
    return ClientCall("GET", path("v1", "models", model, "decisions"), _read_decisions, query=query)


def explain(model: str, decision_id: str) -> ClientCall[ExplanationAnswer]:
    """Why an item was chosen."""
    where = path("v1", "models", model, "explanations", decision_id)
    return ClientCall("GET", where, _read_explanation)


def posterior(model: str) -> ClientCall[PosteriorAnswer]:
    """The weights with their means and sds."""
    return ClientCall("GET", path("v1", "models", model, "posterior"), _read_posterior)


def stats(model: str, minutes: int) -> ClientCall[StatsAnswer]:
    """What a dashboard shows."""
    query = {"minutes": minutes}
    return ClientCall("GET", path("v1", "models", model, "stats"), _read_stats, query=query)


# Transfer


def export_model(model: str) -> ClientCall[bytes]:
    """The model as a file of `fabcost.Recommender.save`."""
    where = path("v1", "models", model, "file")
    return ClientCall("GET", where, lambda reply: reply.content, seconds=_LONG)


def import_model(model: str, file: bytes) -> ClientCall[ModelAnswer]:
    """A new model from a file; not repeated if it is unknown whether an attempt succeeded."""
    where = path("v1", "models", model, "file")
    return ClientCall(
        "PUT", where, _read_model, content=file, media=_BYTES, repeatable=False, seconds=_LONG
    )


def export_log(model: str, form: LogFormat) -> ClientCall[None]:
    """The log, whose body a driver hands on piece by piece."""
    where = path("v1", "models", model, "log")
    return ClientCall("GET", where, _read_nothing, query={"format": form}, seconds=_LONG)


def import_log(model: str, form: LogFormat, log: bytes, after: str = "") -> ClientCall[int]:
    """Impressions from elsewhere; a repeated body has the same ids and is learnt once.

    ``after`` names the lines before a part of a file: `fabcost.wire.log.formats.check`.
    """
    return ClientCall(
        "POST",
        path("v1", "models", model, "log"),
        lambda reply: _read_imported(reply).imported,
        query={"format": form, **({"after": after} if after else {})},
        content=log,
        media=_MEDIA[form],
        seconds=_LONG,
    )


def _checked_candidates(candidates: Mapping[str, Mapping[str, Any]]) -> dict[str, Record]:
    return {
        name: checked_record(f"candidate {name!r}", given) for name, given in candidates.items()
    }


def _new_id() -> str:
    return uuid.uuid4().hex


def _keyed(request: FeedbackRequest) -> FeedbackRequest:
    return request if request.key else msgspec.structs.replace(request, key=_new_id())


def _same(settings: ModelSettings) -> Callable[[Reply], ModelAnswer]:
    wanted = msgspec.json.decode(encoded(settings), type=ModelSettings)

    def read(reply: Reply) -> ModelAnswer:
        found = _read_model(reply)
        if found.settings != wanted:
            why = f"there is a model {found.name!r} already, with other settings"
            raise ClientError("already_there", why, 409)
        return found

    return read


def _bodies(items: Mapping[str, Mapping[str, Any]]) -> Iterator[bytes]:
    part: dict[str, Record] = {}
    size = 0
    for name, given in items.items():
        record = checked_record(f"item {name!r}", given)
        length = len(encoded({name: record}))
        if part and size + length > LARGEST_BODY:
            yield encoded({"items": part})
            part, size = {}, 0
        part[name] = record
        size += length
    yield encoded({"items": part})
