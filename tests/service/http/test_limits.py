"""What is too large, too much, too slow or malformed is refused and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running

SMALL: dict[str, Any] = {
    "body_bytes": 2_000,
    "import_bytes": 4_000,
    "import_lines": 5,
    "candidates": 3,
    "features": 2,
    "text_length": 10,
    "bulk_feedback": 2,
}
JSON = {"content-type": "application/json"}
DECISIONS = "/v1/models/news/decisions"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("small") / "bandit.db")
    with running(Settings(database=database, **SMALL)) as server:
        with server.client() as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
            http.post(DECISIONS, json={"candidates": {"a": {"x": 1}}}).raise_for_status()
        yield server


@pytest.fixture
def http(small: Running) -> Iterator[httpx.Client]:
    """Requests, after which the model is as it was."""
    with small.client() as client:
        before = [client.get(path).json() for path in ("/v1/models/news", DECISIONS)]
        yield client
        assert [client.get(path).json() for path in ("/v1/models/news", DECISIONS)] == before


def code(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["message"]
    return answer.status_code, error["code"]


def test_so_many_items_come_at_once(http: httpx.Client) -> None:
    answer = http.put("/v1/models/news/items", json={"items": records(6)})
    assert code(answer) == (422, "invalid_request")
    assert "of length <= 5" in answer.json()["error"]["message"]


def records(many: int, features: int = 1, text: str = "t") -> dict[str, Any]:
    return {f"i{i}": {f"f{j}": text for j in range(features)} for i in range(many)}


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": records(4)},
        {"candidates": records(1, features=3)},
        {"candidates": records(1, text="t" * 11)},
        {"candidates": {}},
        {"candidates": {"": {"x": 1}}},
        {"candidates": {"i" * 257: {"x": 1}}},
        {"candidates": {"a\x00": {"x": 1}}},
        {"candidates": {"a\x85": {"x": 1}}},
        {"candidates": records(1), "decision_id": "d\n"},
        {"candidates": records(1), "exclude": ["\x7f"]},
        {"candidates": records(1), "context": records(3)},
        {"candidates": records(1), "top_k": 0},
        {"candidates": records(1), "top_q": 1},
        {"candidates": {"a": {"x": {"y": 1}}}},
        {"items": [f"i{i}" for i in range(4)]},
        {"items": ["absent"]},
        {"candidates": records(1), "items": ["absent"]},
        {"candidates": records(1), "values": {"absent": 1.0}},
        {"candidates": records(1), "values": {"i0": -0.5}},
        {"candidates": records(1), "values": {"i0": "much"}},
        {"candidates": records(1), "values": {f"i{i}": 1.0 for i in range(4)}},
        {"candidates": records(1), "costs": {"i0": 1e10}},
        {"candidates": records(1), "costs": {"i0": None}},
        {"candidates": {"a": {"x": 1e300}}},
        [],
        None,
        1,
    ],
)
def test_decisions_over_a_limit_or_misspelled(http: httpx.Client, body: Any) -> None:
    answer = http.post(DECISIONS, content=json.dumps(body), headers=JSON)
    assert code(answer)[0] in {404, 422}, answer.text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"candidates": NaN}',
        b'{"decision_id": "\xff"}',
        b'{"decision_id": "\\ud800"}',
        b"\x00",
    ],
)
def test_what_is_not_json(http: httpx.Client, content: bytes) -> None:
    assert code(http.post(DECISIONS, content=content, headers=JSON)) == (400, "malformed_json")


def test_json_may_not_be_nested_without_end(server: Running) -> None:
    content = b'{"name": "deep", "settings": {"schema": {"a": ' + b"[" * 100_000
    with server.client() as client:
        answer = client.post("/v1/models", content=content, headers=JSON)
    assert code(answer) == (400, "malformed_json")


def test_a_schema_may_not_be_nested_deeply(server: Running) -> None:
    deep: Any = 1
    for _ in range(40):
        deep = {"a": deep}
    with server.client() as client:
        body = {"name": "deep", "settings": {"schema": deep}}
        assert code(client.post("/v1/models", json=body)) == (422, "invalid_request")


def test_bulk_feedback_over_the_limit(http: httpx.Client) -> None:
    body = {"feedback": [{"decision_id": f"d{i}"} for i in range(3)]}
    assert code(http.post("/v1/models/news/feedback/bulk", json=body))[0] == 422


@pytest.mark.parametrize("value", [1e7, -1e7, "1", None, [1.0], {}])
def test_feedback_that_is_no_reward(http: httpx.Client, value: Any) -> None:
    body = {"decision_id": "d", "value": value}
    assert code(http.post("/v1/models/news/feedback", json=body))[0] == 422


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_the_limit(http: httpx.Client, announced: bool) -> None:
    content = b" " * 2_001
    sent: Any = content if announced else iter([content[:1000], content[1000:]])
    answer = http.post(DECISIONS, content=sent, headers=JSON)
    assert code(answer) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"


def test_transfers_may_be_larger(http: httpx.Client) -> None:
    octets = {"content-type": "application/octet-stream"}
    within = http.put("/v1/models/copy/file", content=b" " * 4_000, headers=octets)
    over = http.put("/v1/models/copy/file", content=b" " * 4_001, headers=octets)
    assert (within.status_code, over.status_code) == (422, 413)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/models/absent", 404),
        ("GET", "/v1/models/absent/posterior", 404),
        ("GET", "/v1/models/news/items/absent", 404),
        ("GET", "/v1/models/news/decisions/absent", 404),
        ("GET", "/v1/models/news/explanations/absent", 404),
        ("GET", "/v1/models/news/items/" + "i" * 257, 422),
        ("GET", "/v1/models/news/items/a%00", 422),
        ("GET", "/v1/models/news/items/", 422),
        ("GET", "/v1/models/", 404),
        ("GET", "/v1", 404),
        ("GET", "/v1/models/news/stats?minutes=0", 422),
        ("GET", "/v1/models/news/stats?minuets=1", 422),
        ("GET", "/v1/models/news/stats?minutes=a&minutes=%FF", 422),
        ("GET", "/v1/models/news/decisions?" + "&".join(["limit=1"] * 30), 422),
        ("DELETE", "/v1/keys/absent", 404),
        ("PUT", "/v1/models", 405),
        ("OPTIONS", "/v1/models", 405),
        ("BREW", "/v1/models", 400),
    ],
)
def test_requests_that_ask_for_nothing(
    http: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = http.request(method, path)
    assert answer.status_code == status
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, POST"


def test_head_is_get_without_the_body(http: httpx.Client) -> None:
    head, get = http.head("/v1/models"), http.get("/v1/models")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(get.content))


def test_what_goes_wrong_inside_is_logged_and_not_told(
    small: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the password is hunter2")

    with small.client() as http, monkeypatch.context() as patch:
        patch.setattr(small.service, "begin_to_decide", fail)
        patch.setattr(small.service, "decide", fail)
        answer = http.post(DECISIONS, json={"candidates": {"a": {"x": 1}}})
    assert code(answer) == (500, "internal")
    assert "hunter2" not in answer.text
    (line,) = (each for each in small.logged().splitlines() if "hunter2" in each)
    logged = json.loads(line)
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" in logged["exception"]


@pytest.mark.parametrize("name", ["", "-a", "a b", "é", "a" * 65, "news\n", "news\n\n", "a/b"])
def test_a_name_that_no_model_can_have(http: httpx.Client, name: str) -> None:
    assert code(http.post("/v1/models", json={"name": name})) == (422, "invalid_request")
