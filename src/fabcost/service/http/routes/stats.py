"""Counts of a model."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fabcost.service.http.answer import Answer, answer
from fabcost.service.http.operation import Call


class StatsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """How far back the counts by minute go."""

    minutes: Annotated[int, Meta(ge=1, le=10_080)] = 60


async def get_stats(call: Call) -> Answer:
    """Counts by minute and arm, calibration, top items and the state of the learner."""
    query: StatsQuery = call.query
    return answer(await call.site.service.stats(call.model, minutes=query.minutes))
