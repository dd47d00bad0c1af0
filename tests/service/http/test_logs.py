"""Logs that are sent by hand."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

GOOD: dict[str, Any] = {"candidates": {"a": {"m": 1}}, "item": "a", "value": 1}


def post(http: httpx.Client, model: str, *lines: dict[str, Any], query: str = "") -> httpx.Response:
    body = "\n".join(map(json.dumps, lines))
    headers = {"content-type": "application/x-ndjson"}
    return http.post(f"/v1/models/{model}/log{query}", content=body, headers=headers)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time": -1e300},
        {"propensities": [-5]},
        {"value": 1e308},
        {"candidates": {"a": {"m": "x" * 5_000}}},
        {"candidates": {"a": {"m" * 5_000: 1}}},
        {"candidates": {"a": {}, **{f"a{i}": {} for i in range(5_000)}}},
    ],
    ids=lambda wrong: f"{wrong}"[:30],
)
def test_a_line_over_a_limit_changes_nothing(
    http: httpx.Client, model: str, wrong: dict[str, Any]
) -> None:
    answer = post(http, model, GOOD, GOOD | wrong)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith("line 2: ")
    for form in ("jsonl", "parquet", "dsjson"):
        assert http.get(f"/v1/models/{model}/log", params={"format": form}).status_code == 200
    assert http.get(f"/v1/models/{model}/decisions").json()["decisions"] == []


def test_the_candidates_of_a_large_catalogue_may_be_imported(
    http: httpx.Client, model: str
) -> None:
    items: dict[str, dict[str, Any]] = {f"a{i}": {} for i in range(1_200)}
    line = {"candidates": items, "item": "a7", "value": 1}
    assert post(http, model, line).status_code == 422
    http.put(f"/v1/models/{model}/items", json={"items": items}).raise_for_status()
    assert post(http, model, line).json() == {"imported": 1}


def test_a_part_of_a_file_says_what_was_before(http: httpx.Client, model: str) -> None:
    found = [
        post(http, model, GOOD, query=query).json() for query in ("", "", "?after=00ff", "?after=")
    ]
    assert found == [{"imported": 1}, {"imported": 0}, {"imported": 1}, {"imported": 0}]
    assert post(http, model, GOOD, query="?after=xyz").status_code == 422
