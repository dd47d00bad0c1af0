"""A real service whose log is exported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from fabcost.service import transfer
from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, LogFormat
from tests.service.core.running import serving

CANDIDATES: dict[str, dict[str, Any]] = {
    "ad-1": {"make": "kia", "age": 3},
    "ad-2": {"make": "ford", "age": 1.5},
    "ad-3": {"make": "Škoda", "new": True},
}


def served(path: Path, work: Callable[[Service], Awaitable[None]]) -> None:
    """Do something with a service on a new database."""

    async def run() -> None:
        async with serving(str(path / "service.db")) as service:
            await work(service)

    asyncio.run(run())


async def exported(service: Service, model: str, form: LogFormat) -> bytes:
    return b"".join([piece async for piece in transfer.export(service, model, form)])


async def play(service: Service, model: str, rounds: int, **request: Any) -> None:
    rng = np.random.default_rng(5)
    for i in range(rounds):
        asked = DecisionRequest(
            decision_id=f"d-{i}",
            context={"device": ("tv", "phone")[rng.integers(2)], "hour": int(rng.integers(24))},
            **({"candidates": CANDIDATES} | request),
        )
        answer = await service.decide(model, asked)
        value = float(rng.random() < 0.3)
        feedback = FeedbackRequest(decision_id=answer.decision_id, value=value)
        await service.feedback(model, [feedback])
