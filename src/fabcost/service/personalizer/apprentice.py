"""How often an apprentice would have done what it was shown, and what that was worth."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from fabcost.service.service import Service
from fabcost.service.store.record import record
from fabcost.service.store.rows import StoredDecision

#: The latest events of a model that are looked at, and how many are read at once.
LATEST: Final = 1_000
PAGE: Final = 100


async def latest_metrics(service: Service, model: str) -> dict[str, Any] | None:
    """Metrics of the latest events, None if none of them was an apprentice's and is settled.

    Examples
    --------
    >>> import tempfile
    >>> from fabcost.wire.messages import DecisionRequest, FeedbackRequest
    >>> from fabcost.wire.settings import ModelSettings
    >>> from fabcost.service.store.address import store_at
    >>> async def measured(path: str) -> dict[str, Any] | None:
    ...     service = await Service.start(lambda: store_at(path))
    ...     await service.create_model("news", ModelSettings(mode="apprentice"))
    ...     await service.decide("news", DecisionRequest(decision_id="e", candidates={"a": {}}))
    ...     await service.feedback("news", [FeedbackRequest(decision_id="e", value=0.5)])
    ...     metrics = await latest_metrics(service, "news")
    ...     await service.stop()
    ...     return metrics
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metrics = asyncio.run(measured(f"{folder}/fabcost.db"))
    >>> metrics["numberOfEvents"], metrics["sumOfImitatedRewards"]
    (1, 0.5)
    """
    first: int | None = None
    for _ in range(LATEST // PAGE):
        _, first = await service.decisions(model, limit=PAGE, before=first)
        if first is None:
            break
    after = 0 if first is None else first - 1
    rows = await service.export_log(model, after=after, limit=LATEST)
    return await asyncio.to_thread(_metrics, rows)


def written(time: float) -> str:
    """A time as the contract writes it.

    Examples
    --------
    >>> written(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def _metrics(rows: Sequence[StoredDecision]) -> dict[str, Any] | None:
    settled = [(row, record(row.record)) for row in rows if row.value is not None]
    seen = [(row, made.would_choose) for row, made in settled if made.mode == "apprentice"]
    if not seen:
        return None
    imitated = [row for row, would in seen if would == row.item]
    return {
        "numberOfEvents": len(seen),
        "numberOfImitatedEvents": len(imitated),
        "sumOfRewards": sum(row.value or 0.0 for row, _ in seen),
        "sumOfImitatedRewards": sum(row.value or 0.0 for row in imitated),
        "startTime": written(seen[0][0].made),
        "lastProcessedEventTime": written(seen[-1][0].made),
    }
