"""Servers killed while expectation propagation refreshes a large posterior in the background."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np

from tests.service.faults.ledger import check_posterior
from tests.service.faults.servers import Nursery

MODEL = "wide"
LEVELS = [f"level-{k}" for k in range(50)]
SIDES = ("context", "item")
#: With 101 weights a refresh of so many impressions is more than what is done at once.
POINTS = [600, 700, 800]
AFTER = 30
SEED = 21


def settings() -> dict[str, Any]:
    features = {
        side: {"kind": "categorical", "role": side, "levels": LEVELS, "missing": "error"}
        for side in SIDES
    }
    return {"schema": {"features": features}, "refresh": {"kind": "at", "points": POINTS}}


def impression(decision: int, rng: np.random.Generator) -> dict[str, Any]:
    context, item = (LEVELS[int(k)] for k in rng.integers(len(LEVELS), size=2))
    return {
        "decision_id": f"d{decision}",
        "context": {"context": context},
        "candidates": {"a": {"item": item}},
        "item": "a",
        "value": float(rng.random() < 0.3),
    }


def import_log(address: str, start: int, stop: int) -> None:
    """Impressions that were made elsewhere."""
    rng = np.random.default_rng([SEED, start])
    lines = [json.dumps(impression(k, rng)) for k in range(start, stop)]
    imported = httpx.post(
        f"{address}/v1/models/{MODEL}/log",
        content="\n".join(lines),
        headers={"content-type": "application/x-ndjson"},
        timeout=60.0,
    )
    assert imported.json() == {"imported": stop - start}, imported.text


def is_refreshing(address: str) -> bool:
    return bool(httpx.get(f"{address}/v1/models/{MODEL}/stats").json()["refreshing"])


def test_killed_in_refreshes(nursery: Nursery, store_address: str) -> None:
    """Impressions of the seed 21; each refresh has impressions waiting behind it."""
    server = nursery.start(store_address)
    address = server.address()
    made = httpx.post(f"{address}/v1/models", json={"name": MODEL, "settings": settings()})
    assert made.status_code == 201, made.text
    learnt, in_refresh = 0, 0
    for point in POINTS:
        import_log(address, learnt, point + AFTER)
        learnt = point + AFTER
        in_refresh += is_refreshing(address)
        server.end()
        server = nursery.start(store_address)
        address = server.address()
        check_posterior(address, store_address, MODEL)
    assert in_refresh > 0
    import_log(address, learnt, learnt + AFTER)
    check_posterior(address, store_address, MODEL)
    server.end()
