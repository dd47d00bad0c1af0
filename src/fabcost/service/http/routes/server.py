"""What operators and programs ask of the server itself."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from fabcost.service.http.answer import HttpAnswer, answer
from fabcost.service.http.operation import ApiCall, Bytes, Operation
from fabcost.service.http.problem import RETRY_SOON, RefusedError
from fabcost.service.metrics import CONTENT_TYPE

_METRICS_TYPE = CONTENT_TYPE.partition(";")[0]


class State(Struct, frozen=True):
    """Of the server."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True, omit_defaults=True):
    """Of a server that is ready; ``degraded`` are models that are not served in full, and why."""

    status: Literal["ready"]
    degraded: dict[str, str] = {}


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
    return answer(Readiness("ready", call.site.service.degraded))


async def get_metrics(call: ApiCall) -> HttpAnswer:
    """Counters and gauges in the text format of Prometheus."""
    metrics = call.site.service.metrics
    metrics.in_flight(call.site.in_flight)
    call.site.service.measure()
    return HttpAnswer(200, metrics.render(), CONTENT_TYPE.encode())


async def get_document(call: ApiCall) -> HttpAnswer:
    """The OpenAPI document."""
    return HttpAnswer(200, call.site.document)


def operations() -> list[Operation]:
    """Open to all but for the metrics."""
    text = Bytes((_METRICS_TYPE,))
    return [
        Operation("GET", "/healthz", get_health, None, State),
        Operation("GET", "/readyz", get_readiness, None, Readiness),
        Operation("GET", "/metrics", get_metrics, "read", text),
        Operation("GET", "/openapi.json", get_document, None, dict[str, Any]),
    ]
