"""At every entrance, what is refused is said in words, without the path of a validator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from fabcost import archive
from fabcost.recommend.document import FORMAT
from tests.service.http.serving import Running
from tests.service.http.test_server import command

LINE = b'{"item": "a", "candidates": {"a": {"age": [3]}}}'


def in_words(text: str, words: str) -> bool:
    return words in text and "`" not in text and "$" not in text


def said(answer: httpx.Response) -> str:
    assert 400 <= answer.status_code < 500, answer.text
    found: dict[str, Any] = answer.json()
    return str(found["error"]["message"])


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("PATCH", "", {"holdback": "x"}, "'holdback' must be a number but is text"),
        ("PATCH", "", {"policy": {}}, "'kind' in 'policy' is missing"),
        ("POST", "/decisions", {"items": [3]}, "entry 1 in 'items' must be text"),
        ("GET", "/decisions?limit=x", None, "'limit' must be a whole number but is text"),
        ("POST", "/log", LINE, "line 1: 'age' in 'a' in 'candidates' must be "),
    ],
)
def test_answers_of_a_model(
    http: httpx.Client, model: str, method: str, path: str, body: Any, words: str
) -> None:
    sent = {"content": body} if isinstance(body, bytes) else {"json": body}
    lines = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else {}
    answer = http.request(method, f"/v1/models/{model}{path}", headers=lines, **sent)
    assert in_words(said(answer), words), answer.text


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("POST", "rank", {"actions": [{"id": 3}]}, "'id' in entry 1 in 'actions' must be text"),
        ("PUT", "configurations/service", {"rewardWaitTime": 3}, "'rewardWaitTime' must be "),
        ("PUT", "configurations/service", {"rewardWaitTime": "soon"}, "'rewardWaitTime': "),
        ("POST", "events/e/reward", {"value": "x"}, "'value' must be a number but is text"),
    ],
)
def test_answers_of_the_personalizer(
    http: httpx.Client, model: str, method: str, path: str, body: Any, words: str
) -> None:
    answer = http.request(method, f"/{model}/personalizer/v1.0/{path}", json=body)
    assert in_words(said(answer), words), answer.text


def test_a_file_of_a_model(http: httpx.Client, model: str) -> None:
    address = f"/v1/models/{model}"
    document, arrays = archive.unpack(FORMAT, http.get(f"{address}/file").content)
    document["service"]["holdback"] = "x"
    content = archive.pack(FORMAT, document, arrays)
    kind = {"content-type": "application/octet-stream"}
    answer = http.put(f"{address}-again/file", content=content, headers=kind)
    assert in_words(said(answer), "'holdback' must be a number but is text"), answer.text


def test_commands(server: Running, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(LINE)
    for words, arguments in {
        "'port' must be a whole number <= 65535": ["serve", "--set", "port=70000"],
        "'holdback' must be a number": ["create-model", "m", "--set", "holdback=x"],
        "line 1: 'age' in 'a' in ": ["import-log", "m", str(tmp_path / "log.jsonl")],
    }.items():
        where = [] if arguments[0] == "serve" else ["--url", server.address]
        done = command(*arguments, *where)
        assert (done.exit_code, in_words(done.stderr, words)) == (2, True), done.output
