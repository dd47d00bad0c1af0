"""Who does not read what it is answered is not read from."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import pytest
import uvloop

from fabcost.service.http import protocol
from fabcost.service.settings import Settings
from tests.service.http.serving import Running
from tests.service.http.test_fastpath import PATH, connect, request
from tests.service.http.waiting import PATIENCE, wait_for_the_database, wait_until

HIGH_WATER = 65_536
MANY = 400
NEWS = {"name": "news"}
KERNEL_BYTES = 8_192


def get(path: str, head: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode()


DECISION = request(json.dumps({"candidates": {"a": {"x": 1}}}).encode())
ASKED = {"the document": get("/openapi.json"), "decisions": DECISION, "a page": get("/")}


class Small(Running):
    """A server whose sockets keep little, so that what is not read stays in its own memory."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)

    @property
    def answered(self) -> int:
        return self._server.server_state.total_requests

    def protocols_of(self, connection: socket.socket) -> list[Any]:
        own, connections = connection.getsockname(), self._server.server_state.connections
        return [each for each in connections if getattr(each, "client", None) == own]

    def protocol_of(self, connection: socket.socket) -> Any:
        (found,) = self.protocols_of(connection)
        return found

    def kept(self, connection: socket.socket) -> int:
        """Bytes of answers that wait in the server's memory."""
        size: int = self.protocol_of(connection).transport.get_write_buffer_size()
        return size

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call in the server's loop, and wait for the end."""
        done = threading.Event()
        loop = self.service.loop
        loop.call_soon_threadsafe(function, *arguments)
        loop.call_soon_threadsafe(done.set)
        assert done.wait(PATIENCE)

    def wait_until_idle(self, connection: socket.socket) -> None:
        """Until three decisions for another client were written and nothing else was answered."""
        found: list[tuple[int, int]] = []
        with self.client() as other:
            while len(found) < 3 or len(set(found[-3:])) > 1:
                other.post(PATH, json={"candidates": {"a": {"x": 1}}}).raise_for_status()
                found.append((self.answered - len(found), self.kept(connection)))


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Small]:
    found = Small(Settings(database=str(tmp_path_factory.mktemp("unread") / "bandit.db")))
    found.loop_factory = uvloop.new_event_loop if request.param == "uvloop" else None
    found.start()
    wait_for_the_database(found)
    with found.client() as http:
        http.post("/v1/models", json=NEWS).raise_for_status()
    try:
        yield found
    finally:
        found.stop()


@pytest.fixture
def silent(server: Small) -> Iterator[socket.socket]:
    """A client that does not read until it is asked to."""
    host, port = server.address.removeprefix("http://").split(":")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL_BYTES)
        connection.settimeout(PATIENCE)
        connection.connect((host, int(port)))
        yield connection


def size_of_an_answer(server: Small, asked: bytes) -> int:
    with connect(server) as connection:
        connection.sendall(asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        return len(connection.makefile("rb").read())


def rest_of(connection: socket.socket) -> bytes:
    """What still comes; the end may be a reset, because not all that was asked was read."""
    found = b""
    try:
        while more := connection.recv(HIGH_WATER):
            found += more
    except ConnectionResetError:
        pass
    return found


def statuses(answers: BinaryIO, count: int) -> list[int]:
    found = []
    for _ in range(count):
        found.append(int(answers.readline().split()[1]))
        headers = dict(line.lower().split(b": ", 1) for line in iter(answers.readline, b"\r\n"))
        answers.read(int(headers.get(b"content-length", b"0")))
    return found


@pytest.mark.parametrize("name", ASKED)
def test_what_is_not_read_is_not_made(server: Small, silent: socket.socket, name: str) -> None:
    """At most one answer beyond what the transport takes is kept, however many are asked for."""
    asked, answers = ASKED[name], silent.makefile("rb")
    one = size_of_an_answer(server, asked)
    silent.sendall(asked * MANY)
    server.wait_until_idle(silent)
    assert server.kept(silent) <= HIGH_WATER + one
    assert statuses(answers, MANY) == [200] * MANY
    silent.sendall(asked)
    assert statuses(answers, 1) == [200]


def test_what_cannot_be_answered_yet_is_not_parsed(server: Small, silent: socket.socket) -> None:
    silent.sendall(get("/dashboard/none") * 5_000)
    server.wait_until_idle(silent)
    assert len(server.protocol_of(silent).pipeline) < 200
    with silent.makefile("rb") as answers:
        assert statuses(answers, 5_000) == [404] * 5_000


@pytest.mark.parametrize("name", ASKED)
def test_who_takes_nothing_for_long_is_hung_up_on(
    server: Small, silent: socket.socket, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_STALLED_SECONDS", 0.05)
    wait_until(lambda: server.protocols_of(silent))
    silent.sendall(ASKED[name] * MANY)
    wait_until(lambda: not server.protocols_of(silent))
    assert rest_of(silent).count(b"HTTP/1.1 200 OK") < MANY


def test_who_takes_little_at_a_time_is_waited_for(server: Small, silent: socket.socket) -> None:
    silent.sendall(ASKED["the document"] * MANY)
    server.wait_until_idle(silent)
    protocol, before = server.protocol_of(silent), server.kept(silent)
    silent.recv(4 * KERNEL_BYTES, socket.MSG_WAITALL)
    wait_until(lambda: server.kept(silent) < before)
    server.call(protocol._look, before)
    assert server.protocols_of(silent)
    server.call(protocol._look, server.kept(silent))
    wait_until(lambda: not server.protocols_of(silent))


def test_a_request_in_two_parts_around_an_answer_that_is_not_read(
    server: Small, silent: socket.socket
) -> None:
    """Its time begins when the server reads on, not when it stopped reading."""
    body = json.dumps({"candidates": {"a": {"x": 1}}}).encode() + b" " * 100_000
    late, answers = request(body), silent.makefile("rb")
    silent.sendall(ASKED["the document"] * 5 + late[:50])
    server.wait_until_idle(silent)
    assert server.protocol_of(silent)._waiting is None
    assert statuses(answers, 5) == [200] * 5
    silent.sendall(late[50:] + get("/healthz"))
    assert statuses(answers, 2) == [200, 200]


@pytest.mark.parametrize("step", [1, 7, 1_000, 4_095, 4_097])
def test_requests_may_be_cut_anywhere(server: Small, step: int) -> None:
    asked = (DECISION + get("/healthz") + get("/v1/models?")) * (2 if step < 10 else 30)
    count = asked.count(b"HTTP/1.1")
    with connect(server) as connection:
        for start in range(0, len(asked), step):
            connection.sendall(asked[start : start + step])
        assert statuses(connection.makefile("rb"), count) == [200] * count


def test_nothing_stays_of_a_client_that_has_said_all(server: Small, silent: socket.socket) -> None:
    """It has closed its half of the connection, and then reads."""
    wait_until(lambda: server.protocols_of(silent))
    silent.sendall(ASKED["the document"] * 20)
    silent.shutdown(socket.SHUT_WR)
    assert silent.makefile("rb").read().startswith(b"HTTP/1.1 200 OK")
    wait_until(lambda: not server.protocols_of(silent))


def test_a_client_that_leaves_while_it_is_not_read_from(server: Small) -> None:
    connection = connect(server)
    connection.sendall(ASKED["the document"] * MANY)
    server.wait_until_idle(connection)
    (protocol,) = server.protocols_of(connection)
    connection.close()
    wait_until(lambda: protocol not in server._server.server_state.connections)
    assert (protocol._unread, len(protocol.pipeline)) == (b"", 0)
