"""Servers killed while expectation propagation refreshes a large posterior in the background."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np

from tests.service.faults.ledger import check_posterior
from tests.service.faults.servers import PATIENCE, Child, Nursery

MODEL = "wide"
LEVELS = [f"level-{k}" for k in range(70)]
SIDES = ("context", "item")
#: With 141 weights a refresh of so many impressions is four times what is done at once.
POINTS = [800 + 100 * k for k in range(12)]
KILLS = 3
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


def import_log(http: httpx.Client, start: int, stop: int) -> None:
    """Impressions that were made elsewhere."""
    rng = np.random.default_rng([SEED, start])
    lines = [json.dumps(impression(k, rng)) for k in range(start, stop)]
    imported = http.post(
        f"/v1/models/{MODEL}/log",
        content="\n".join(lines),
        headers={"content-type": "application/x-ndjson"},
    )
    assert imported.json() == {"imported": stop - start}, imported.text


def killed_in_refresh(server: Child, start: int, stop: int) -> bool:
    """Import, and kill at once; whether a refresh was running just before."""
    with httpx.Client(base_url=server.address(), timeout=60.0) as http:
        import_log(http, start, stop)
        stats = http.get(f"/v1/models/{MODEL}/stats").json()
    server.end()
    return bool(stats["refreshing"])


def test_killed_in_refreshes(nursery: Nursery, store_address: str) -> None:
    """Impressions of the seed 21; each refresh has impressions waiting behind it.

    Where a refresh is over before anybody can look, there are more of them, each a longer one.
    """
    server = nursery.start(store_address)
    named = {"name": MODEL, "settings": settings()}
    made = httpx.post(f"{server.address()}/v1/models", json=named, timeout=PATIENCE)
    assert made.status_code == 201, made.text
    learnt, in_refresh = 0, 0
    for kills, point in enumerate(POINTS):
        if kills >= KILLS and in_refresh:
            break
        in_refresh += killed_in_refresh(server, learnt, point + AFTER)
        learnt = point + AFTER
        server = nursery.start(store_address)
        check_posterior(server.address(), store_address, MODEL)
    assert in_refresh > 0
    with httpx.Client(base_url=server.address(), timeout=60.0) as http:
        import_log(http, learnt, learnt + AFTER)
    check_posterior(server.address(), store_address, MODEL)
    server.end()
