"""Who asks to go over to another protocol is answered in HTTP/1.1, body and all."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from tests.service.http.serving import Running
from tests.service.http.test_fastpath import answers, connect, request

H2C = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
)
WEBSOCKET = (
    b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
)
HEADS = {"h2c": H2C, "websocket": WEBSOCKET}
NAMED = b'{"decision_id": "%b", "candidates": {"a": {"x": 1}}}'


@pytest.fixture(scope="module")
def news(server: Running) -> Running:
    with server.client() as http:
        http.post("/v1/models", json={"name": "news"}).raise_for_status()
    return server


@pytest.fixture
def connection(news: Running) -> Iterator[socket.socket]:
    with connect(news) as found:
        yield found


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cut", [None, 30, 150, -40, -1])
def test_a_decision(connection: socket.socket, head: str, cut: int | None) -> None:
    name = f"{head}{cut}".encode()
    asked = request(NAMED % name, head=HEADS[head])
    connection.sendall(asked[:cut])
    if cut is not None:
        connection.sendall(asked[cut:])
    ((status, headers, body),) = answers(connection, 1)
    assert (status, body.get("decision_id")) == (200, name.decode())
    assert "upgrade" not in headers


def test_a_body_that_goes_the_long_way(connection: socket.socket) -> None:
    body = json.dumps({"name": "made"}).encode()
    connection.sendall(request(body + b" " * 100_000, path="/v1/models", head=H2C))
    ((status, _, made),) = answers(connection, 1)
    assert (status, made["name"]) == (201, "made")


def test_a_body_in_chunks(connection: socket.socket) -> None:
    body = NAMED % b"chunks"
    asked = request(b"", head=H2C).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    pieces = [b"%x\r\n%b\r\n" % (len(each), each) for each in (body[:9], body[9:])]
    connection.sendall(asked + b"".join(pieces) + b"0\r\n\r\n")
    ((status, _, answer),) = answers(connection, 1)
    assert (status, answer["decision_id"]) == (200, "chunks")


def test_requests_before_and_after(connection: socket.socket) -> None:
    names = [b"first", b"second", b"third", b"fourth"]
    heads = [b"", H2C, H2C, b""]
    both = zip(names, heads, strict=True)
    connection.sendall(b"".join(request(NAMED % name, head=head) for name, head in both))
    found = answers(connection, 4)
    assert [body["decision_id"].encode() for _, _, body in found] == names


def test_what_has_no_body(connection: socket.socket) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + H2C + b"\r\n")
    assert [status for status, _, _ in answers(connection, 1)] == [200]


def test_the_connection_ends_if_asked(connection: socket.socket) -> None:
    head = H2C.replace(b"Connection: ", b"Connection: close, ")
    connection.sendall(request(NAMED % b"last", head=head))
    ((status, headers, _),) = answers(connection, 1)
    assert (status, headers["connection"], connection.recv(1)) == (200, "close", b"")


def test_a_tunnel_is_refused(connection: socket.socket) -> None:
    connection.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\nanything")
    assert connection.makefile("rb").read().startswith(b"HTTP/1.1 400 ")


def test_it_is_not_complained_about(news: Running, connection: socket.socket) -> None:
    before = len(news.logged())
    connection.sendall(request(NAMED % b"quiet", head=H2C))
    assert answers(connection, 1)[0][0] == 200
    assert "upgrade" not in news.logged()[before:].lower()
