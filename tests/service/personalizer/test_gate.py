"""What is refused before the contract is asked has the contract's errors all the same."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from azure.ai.personalizer import PersonalizerClient
from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import HttpResponseError

from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running
from tests.service.http.waiting import PATIENCE
from tests.service.personalizer.serving import ACTIONS
from tests.service.personalizer.test_contract import check_refused

RANK = "/news/personalizer/v1.0/rank"
HEAD = b"POST /news/personalizer/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("strict") / "bandit.db")
    with running(Settings(database=database, body_bytes=2_000)) as server:
        with server.client() as http:
            assert http.post(RANK, json={"actions": ACTIONS}).status_code == 201
        yield server


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("hasty") / "bandit.db")
    with running(Settings(database=database, request_seconds=2.0)) as server:
        yield server


@pytest.fixture
def http(strict: Running) -> Iterator[httpx.Client]:
    with strict.client() as client:
        yield client


def raw(server: Running) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


async def never(*_: object) -> None:
    await asyncio.Event().wait()


async def fail(*_: object) -> None:
    raise RuntimeError("the password is hunter2")


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("path", [RANK, "/personalizer/events/e/reward", "/personalizer/model"])
def test_a_body_that_is_too_large(http: httpx.Client, path: str, announced: bool) -> None:
    content = b" " * 2_001
    sent: Any = content if announced else iter([content[:1000], content[1000:]])
    answer = http.post(path, content=sent)
    message = check_refused(answer, 400, "PayloadSizeExceeded")
    assert message == "the body is larger than 2000 bytes"
    assert answer.headers["connection"] == "close"


def test_a_body_that_does_not_come(hasty: Running) -> None:
    with raw(hasty) as connection:
        connection.sendall(HEAD + b"{")
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"x-ms-error-code: RequestTimeout\r\n" in answer
    body = b'{"error":{"code":"RequestTimeout","message":"the body did not come within 2 s"}}'
    assert answer.endswith(body)


def test_an_answer_that_comes_too_late(hasty: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hasty.service, "decide", never)
    with hasty.client() as http:
        answer = http.post(RANK, json={"actions": ACTIONS})
    assert "may still be done" in check_refused(answer, 408, "RequestTimeout")
    assert answer.headers["retry-after"] == "1"


def test_what_goes_wrong_inside_is_not_told(
    strict: Running, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict.service, "decide", fail)
    answer = http.post(RANK, json={"actions": ACTIONS})
    assert "the log has the details" in check_refused(answer, 500, "InternalServerError")
    assert "hunter2" not in answer.text
    assert "hunter2" in strict.logged()


def test_a_name_that_is_not_this_machine(http: httpx.Client) -> None:
    answer = http.post(RANK, json={"actions": ACTIONS}, headers={"host": "evil.example"})
    check_refused(answer, 421, "InvalidApiAccess")


def test_more_requests_than_may_be_in_flight(tmp_path: Path) -> None:
    settings = Settings(
        database=str(tmp_path / "bandit.db"), requests_in_flight=1, request_seconds=600.0
    )
    with running(settings) as server, server.client() as http, raw(server) as connection:
        connection.sendall(HEAD)
        deadline = time.monotonic() + PATIENCE
        while (answer := http.get("/personalizer/status")).status_code == 200:
            assert time.monotonic() < deadline
        check_refused(answer, 503, "OperationNotAllowed")
        assert answer.headers["retry-after"] == "1"
        assert http.get("/v1/models").json()["error"]["code"] == "busy"


def test_the_code_reaches_a_client_of_azure(strict: Running) -> None:
    endpoint = f"{strict.address}/news"
    client: Any = PersonalizerClient(endpoint, AzureKeyCredential("any"))
    actions = [{"id": "a", "features": [{"text": "x" * 2_000}]}]
    with pytest.raises(HttpResponseError) as refused:
        client.rank({"actions": actions})
    assert refused.value.error is not None
    assert refused.value.error.code == "PayloadSizeExceeded"
