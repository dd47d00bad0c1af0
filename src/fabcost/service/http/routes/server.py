"""What operators and programs ask of the server itself."""

from __future__ import annotations

from fabcost.service.http.answer import Answer, answer
from fabcost.service.http.bodies import Readiness, State
from fabcost.service.http.operation import Call
from fabcost.service.http.problem import RETRY_SOON, RefusedError
from fabcost.service.metrics import CONTENT_TYPE

METRICS_TYPE = CONTENT_TYPE.partition(";")[0]


async def get_health(_call: Call) -> Answer:
    """Whether the server runs at all."""
    return answer(State("ok"))


async def get_readiness(call: Call) -> Answer:
    """Whether the server can serve; 503 and the reason if it cannot.

    Models that are not served in full are named, and do not keep others from being served.
    """
    reason = call.site.service.ready
    if reason is not None:
        raise RefusedError(503, "not_ready", reason, RETRY_SOON)
    return answer(Readiness("ready", call.site.service.degraded))


async def get_metrics(call: Call) -> Answer:
    """Counters and gauges in the text format of Prometheus."""
    metrics = call.site.service.metrics
    metrics.in_flight(call.site.in_flight)
    call.site.service.measure()
    return Answer(200, metrics.render(), CONTENT_TYPE.encode())


async def get_document(call: Call) -> Answer:
    """The OpenAPI document."""
    return Answer(200, call.site.document)
