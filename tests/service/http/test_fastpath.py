"""The fast path for decisions answers as the application does, byte by byte over real sockets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabcost.service.http import fastpath
from fabcost.service.http.app import Application
from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running
from tests.service.http.test_overload import Slow
from tests.service.http.waiting import (
    PATIENCE,
    lines_with,
    wait_for_in_flight,
    wait_for_the_database,
    wait_until_refused,
)

PATH = "/v1/models/news/decisions"
BODY = json.dumps({"candidates": {"a": {"x": 1}, "b": {"x": 2}}}).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("direct") / "bandit.db")
    settings = Settings(database=database, request_seconds=600.0, body_bytes=200_000)
    with running(settings) as server:
        wait_for_the_database(server)
        with server.client() as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
        yield server


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The application is closed: what is answered took the fast path, however slowly."""

    async def closed(*_: object) -> None:
        raise AssertionError("a request went to the application")

    monkeypatch.setattr(Application, "__call__", closed)
    monkeypatch.setattr(fastpath, "_HELD_SECONDS", 60.0)


def request(body: bytes = BODY, path: str = PATH, head: bytes = b"", version: str = "1.1") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body)
    line = f"POST {path} HTTP/{version}\r\nHost: localhost\r\n".encode()
    return line + b"Content-Type: application/json\r\n" + length + head + b"\r\n" + body


def connect(server: Running) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answers(connection: socket.socket, count: int) -> list[tuple[int, dict[str, str], Any]]:
    file, found = connection.makefile("rb"), []
    for _ in range(count):
        status = int(file.readline().split()[1])
        lines = iter(lambda: file.readline().decode().strip(), "")
        headers = dict(line.split(": ", 1) for line in lines)
        found.append((status, headers, json.loads(file.read(int(headers["content-length"])))))
    return found


def talk(server: Running, *pieces: bytes, count: int = 1) -> list[tuple[int, dict[str, str], Any]]:
    with connect(server) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(0.05)
        return answers(connection, count)


@pytest.mark.parametrize("cut", [None, 20, -len(BODY), -5])
@pytest.mark.usefixtures("short")
def test_in_one_piece_or_two(server: Running, cut: int | None) -> None:
    whole = request()
    pieces = [whole] if cut is None else [whole[:cut], whole[cut:]]
    ((status, _, body),) = talk(server, *pieces)
    assert (status, body["durable"], body["item"] in "ab") == (200, True, True)


def test_has_the_headers_of_the_application(server: Running) -> None:
    named = b"X-Request-Id: trace-17\r\n"
    short, long = talk(server, request(head=named) + request(path=PATH + "?", head=named), count=2)
    assert short[0] == long[0] == 200
    assert short[1].keys() == long[1].keys()
    for name in short[1].keys() - {"date", "content-length"}:
        assert short[1][name] == long[1][name], name
    assert short[2].keys() == long[2].keys()


def test_answers_keep_the_order_of_requests(server: Running) -> None:
    first, second, third = (
        json.dumps({"decision_id": name, "candidates": {"a": {"x": 1}}}).encode()
        for name in ("first", "second", "third")
    )
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = request(first) + health + request(second) + request(third)
    found = talk(server, sent, count=4)
    assert [body.get("decision_id") for _, _, body in found] == ["first", None, "second", "third"]


@pytest.mark.parametrize("cut", [10, 70, -5])
def test_one_that_is_refused_does_not_disturb_the_next(server: Running, cut: int) -> None:
    named = request(b'{"decision_id": "next%d", "candidates": {"a": {"x": 1}}}' % abs(cut))
    found = talk(server, request(b"{}") + named[:cut], named[cut:], count=2)
    assert [status for status, _, _ in found] == [422, 200]
    assert found[1][2]["decision_id"] == f"next{abs(cut)}"


@pytest.mark.parametrize("head", [b"Connection: close\r\n", b""])
def test_ends_the_connection_if_asked(server: Running, head: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(request(head=head, version="1.1" if head else "1.0"))
        ((status, headers, _),) = answers(connection, 1)
        assert (status, headers["connection"]) == (200, "close")
        assert connection.recv(1) == b""


REFUSED = {
    "no JSON": (request(b"{"), 400, "malformed_json"),
    "not a request": (request(b'{"wrong": 1}'), 422, "invalid_request"),
    "no candidates": (request(b"{}"), 422, "invalid_request"),
    "a control character": (request(b'{"decision_id": "a\\u0000"}'), 422, "invalid_request"),
    "no such model": (request(path="/v1/models/none/decisions"), 404, "unknown_model"),
    "too large": (request(b" " * 300_000), 413, "body_too_large"),
    "another type": (
        request().replace(b"application/json", b"text/html"),
        415,
        "unsupported_media_type",
    ),
    "another host": (request().replace(b"localhost", b"evil.example"), 421, "wrong_host"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_those_of_the_application(server: Running, name: str) -> None:
    sent, status, code = REFUSED[name]
    ((found, _, body),) = talk(server, sent)
    assert (found, body["error"]["code"]) == (status, code)


def test_a_body_that_does_not_come(tmp_path: Path) -> None:
    with running(Settings(database=str(tmp_path / "bandit.db"), request_seconds=2.0)) as hasty:
        ((status, _, body),) = talk(hasty, request()[:-1])
    assert (status, body["error"]["code"]) == (408, "too_slow")


def test_a_large_body_goes_to_the_application(server: Running) -> None:
    many = {f"ad-{k}": {"x": k, "make": "k" * 60} for k in range(1_000)}
    ((status, _, body),) = talk(server, request(json.dumps({"candidates": many}).encode()))
    assert (status, body["item"] in many) == (200, True)


def test_what_it_expects_is_said(server: Running) -> None:
    whole = request(head=b"Expect: 100-continue\r\n")
    with connect(server) as connection:
        connection.sendall(whole[: -len(BODY)])
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert answers(connection, 1)[0][0] == 200


def test_who_hangs_up_is_not_waited_for(server: Running) -> None:
    for cut in (None, -1):
        for _ in range(20):
            with connect(server) as connection:
                connection.sendall(request()[:cut])
    with server.client() as http:
        assert http.post(PATH, content=BODY, headers=JSON).status_code == 200
    wait_for_in_flight(server.address, 0)


JSON = {"content-type": "application/json"}


@pytest.mark.usefixtures("short")
def test_it_is_counted_and_logged(server: Running) -> None:
    ((_, headers, _),) = talk(server, request())
    (line,) = lines_with(server, headers["x-request-id"])
    logged = json.loads(line)
    assert (logged["route"], logged["status"]) == ("/v1/models/{model}/decisions", 200)


def test_one_that_waits_is_answered_before_the_server_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(Settings(database=str(tmp_path / "bandit.db"))) as server:
        with server.client() as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
        slow = Slow(server)
        monkeypatch.setattr(server.service, "begin_to_decide", slow.begin_to_decide)
        with connect(server) as connection:
            connection.sendall(request())
            assert slow.waiting.acquire(timeout=PATIENCE)
            server._server.should_exit = True
            wait_until_refused(server.address)
            slow.let_go()
            assert answers(connection, 1)[0][0] == 200
            assert connection.recv(1) == b""
