"""A small body cannot fill the memory: what it would become is counted before it is made."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable

import httpx
import pytest

from tests.wire.test_bounds import a_long_line, equal_rows, long_texts, parquet, peak

NO_OBJECT = b'{"c":{"context":3,"_multi":[{}]},"fabcost":{"value":1,"time":1}}'
LEVELS = [str(level) for level in range(1_500)]


def no_texts() -> bytes:
    return parquet(action=["a"], candidates=[3])


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


@pytest.mark.parametrize(
    ("form", "written", "complaint"),
    [
        (
            "parquet",
            long_texts,
            "the log has 26.,...,... bytes or more when it is not",
        ),
        ("parquet", equal_rows, "the log has 300,000 lines but may have 250,000 at once"),
        ("parquet", no_texts, "column 'candidates' is of type int64"),
        ("jsonl", a_long_line, "line 1: it has 14,000,030 bytes but may have 8,388,608"),
        (
            "dsjson",
            lambda: NO_OBJECT,
            "line 1: c.c",
        ),
    ],
    ids=["long texts", "equal rows", "no text", "a long line", "no object"],
)
def test_a_log_that_cannot_be_read_is_refused_in_words(
    form: str, written: Callable[[], bytes], complaint: str, http: httpx.Client, model: str
) -> None:
    body = written()
    where, octets = f"/v1/models/{model}/log", {"content-type": "application/octet-stream"}
    with peak() as taken:
        answer = http.post(where, params={"format": form}, content=body, headers=octets)
    assert answer.status_code == 422
    assert re.match(complaint, answer.json()["error"]["message"])
    assert taken[0] < 6 * len(body) + 30_000_000
