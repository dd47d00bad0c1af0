"""A small body cannot fill the memory: what it would become is counted before it is made."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import httpx

LEVELS = [str(level) for level in range(1_500)]


def answered(send: Callable[[], httpx.Response]) -> tuple[int, str, int]:
    """Status and message of an answer, and the memory that it took."""
    tracemalloc.start()
    try:
        answer = send()
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return answer.status_code, answer.json()["error"]["message"], taken


def test_crossed_categories_are_counted_before_they_are_made(http: httpx.Client) -> None:
    of_item = {"kind": "categorical", "levels": LEVELS}
    features = {"make": of_item, "place": {**of_item, "role": "context"}}
    schema = {"features": features, "crosses": [["make", "place"]]}
    body = {"name": "wide", "settings": {"schema": schema}}
    status, message, taken = answered(lambda: http.post("/v1/models", json=body))
    assert (status, message) == (422, "the schema needs 1,501 columns but may have 1,000")
    assert taken < 20_000_000
    body["settings"] = {"schema": schema, "most_weights": 5_000}
    status, message, taken = answered(lambda: http.post("/v1/models", json=body))
    assert (status, message) == (422, "the schema needs 2,253,001 columns but may have 5,000")
    assert taken < 20_000_000
