"""The server itself, for operators and programs, and its API keys."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fabcost.service.http.auth import Role, new_key
from fabcost.service.http.exchange import NOTHING, RETRY_SOON, HttpAnswer, RefusedError, answer
from fabcost.service.http.openapi import Bytes, Operation
from fabcost.service.http.routing import ApiCall
from fabcost.service.store.rows import KeyRow
from fabcost.service.telemetry import CONTENT_TYPE
from fabcost.wire.messages import Id, ModelName

_METRICS_TYPE = CONTENT_TYPE.partition(";")[0]


class State(Struct, frozen=True):
    """Of the server."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True, omit_defaults=True):
    """Of a server that is ready; ``degraded`` are models that are not served in full, and why.

    Where servers share a database, ``stale_seconds`` ago all that others wrote was known.
    """

    status: Literal["ready"]
    degraded: dict[str, str] = {}
    stale_seconds: float | None = None


async def get_health(_call: ApiCall) -> HttpAnswer:
    """Whether the server runs at all."""
    return answer(State("ok"))


async def get_readiness(call: ApiCall) -> HttpAnswer:
    """Whether the server can serve; 503 and the reason if it cannot.

    Models that are not served in full are named, and do not keep others from being served.
    """
    reason = call.site.service.ready
    if reason is not None:
        raise RefusedError(503, "not_ready", reason, RETRY_SOON)
    service = call.site.service
    return answer(Readiness("ready", service.degraded, service.stale))


async def get_metrics(call: ApiCall) -> HttpAnswer:
    """Counters and gauges in the text format of Prometheus."""
    metrics = call.site.service.metrics
    metrics.in_flight(call.site.in_flight)
    call.site.service.measure()
    return HttpAnswer(200, metrics.render(), CONTENT_TYPE.encode())


async def get_document(call: ApiCall) -> HttpAnswer:
    """The OpenAPI document."""
    return HttpAnswer(200, call.site.document)


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key to be made; without ``model`` it opens all.

    With a ``rate``, its requests in a second, it is publishable: its roles are decide and feedback.
    """

    name: Id
    roles: Annotated[list[Role], Meta(max_length=4)] = []
    model: ModelName | None = None
    rate: float | None = None


class KeyAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key; ``key``, its text, is there only when it was just made."""

    key_id: str
    name: str
    roles: list[str]
    model: str | None
    created: float
    revoked: float | None
    rate: float | None = None
    key: str | None = None


class KeysAnswer(Struct, frozen=True):
    """All keys, revoked ones too."""

    keys: list[KeyAnswer]


async def list_keys(call: ApiCall) -> HttpAnswer:
    """All keys without their secrets, revoked ones too."""
    return answer(KeysAnswer([_shown(row) for row in await call.site.service.keys()]))


async def create_key(call: ApiCall) -> HttpAnswer:
    """Make a key; its text is in this answer and nowhere else."""
    request: NewKey = call.body
    call.check_ids([request.name])
    try:
        row, text = new_key(
            request.name, request.roles, request.model, now=time.time(), rate=request.rate
        )
    except ValueError as error:
        raise RefusedError(422, "invalid_request", str(error)) from error
    try:
        await call.site.service.insert_key(row)
        await call.site.access.reread_keys()
    except BaseException:  # also if it took too long
        call.site.service.take_back_key(row.key_id)
        raise
    return answer(_shown(row, text), 201)


async def revoke_key(call: ApiCall) -> HttpAnswer:
    """Revoke a key, at once here and within two seconds elsewhere."""
    key_id = call.parameters["key_id"]
    if not await call.site.service.revoke_key(key_id):
        raise RefusedError(404, "unknown_key", f"there is no key {key_id!r} in force")
    await call.site.access.reread_keys()
    return NOTHING


def _shown(row: KeyRow, text: str | None = None) -> KeyAnswer:
    return KeyAnswer(
        key_id=row.key_id,
        name=row.name,
        roles=row.roles.split(","),
        model=row.model,
        created=row.created,
        revoked=row.revoked,
        rate=row.rate,
        key=text,
    )


def operations() -> list[Operation]:
    """Health, metrics and the document, open to all but for the metrics; and keys."""
    keys, text = "/v1/keys", Bytes((_METRICS_TYPE,))
    return [
        Operation("GET", keys, list_keys, "admin", KeysAnswer),
        Operation("POST", keys, create_key, "admin", KeyAnswer, 201, body=NewKey),
        Operation("DELETE", keys + "/{key_id}", revoke_key, "admin", None, 204),
        Operation("GET", "/healthz", get_health, None, State),
        Operation("GET", "/readyz", get_readiness, None, Readiness),
        Operation("GET", "/metrics", get_metrics, "read", text),
        Operation("GET", "/openapi.json", get_document, None, dict[str, Any]),
    ]
