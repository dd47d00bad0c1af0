"""Too slow, too much at once, or gone before the end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import uvloop

from fabcost.service.models.decisions import Finish
from fabcost.service.settings import Settings
from fabcost.wire.messages import DecisionRequest
from tests.service.http.serving import Running, running
from tests.service.http.waiting import PATIENCE, wait_until

DECISIONS = "/v1/models/news/decisions"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("hasty") / "bandit.db")
    with running(Settings(database=database, request_seconds=2.0)) as server:
        yield server


def raw(server: Running) -> socket.socket:
    host, port = server.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def test_a_body_that_does_not_come(hasty: Running) -> None:
    head = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with raw(hasty) as connection:
        connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body did not come within 2 s" in answer


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: "])
def test_a_head_that_does_not_come(hasty: Running, begun: bytes) -> None:
    with raw(hasty) as connection:
        connection.sendall(begun)
        assert connection.recv(65_536) == b""


def test_a_head_without_end(server: Running) -> None:
    with raw(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        with pytest.raises(OSError, match="reset|[Bb]roken"):
            send_without_end(connection)


def send_without_end(connection: socket.socket) -> None:
    for i in range(100_000):
        connection.sendall(b"X-Filler-%d: " % i + b"f" * 1000 + b"\r\n")


def test_a_client_that_hangs_up_within_its_body(server: Running) -> None:
    head = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with raw(server) as connection:
        connection.sendall(head + b'Content-Length: 100\r\n\r\n{"name": "half"')
    wait_until(lambda: '"status":400' in server.logged().rpartition("/v1/models")[2])


class OnUvloop(Running):
    loop_factory = staticmethod(uvloop.new_event_loop)


def test_connections_that_came_together_are_accepted_together(tmp_path: Path) -> None:
    came, turns = 50, 0
    held, let_go, all_there = threading.Event(), threading.Event(), threading.Event()

    def turn() -> None:
        nonlocal turns
        turns += 1
        if server.connections() == came:
            all_there.set()
        else:
            server.service.loop.call_soon(turn)

    def hold() -> None:
        held.set()
        let_go.wait(PATIENCE)
        turn()

    settings = Settings(database=str(tmp_path / "bandit.db"))
    with running(settings, OnUvloop) as server, ExitStack() as opened:
        server.service.loop.call_soon_threadsafe(hold)
        assert held.wait(PATIENCE)
        for _ in range(came):
            opened.enter_context(raw(server))
        let_go.set()
        assert all_there.wait(PATIENCE)
    assert turns < 10


class Slow:
    """A model's decisions, held back until they are let go."""

    def __init__(self, server: Running) -> None:
        self._begin = server.service.begin_to_decide
        self._held: list[tuple[str, DecisionRequest, Finish]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self.waiting = threading.Semaphore(0)

    def begin_to_decide(self, name: str, request: DecisionRequest, finish: Finish) -> None:
        self._loop = asyncio.get_running_loop()
        self._held.append((name, request, finish))
        self.waiting.release()

    def let_go(self) -> None:
        assert self._loop is not None
        for each in self._held:
            self._loop.call_soon_threadsafe(self._begin, *each)


def test_more_requests_than_may_be_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        database=str(tmp_path / "bandit.db"), requests_in_flight=2, request_seconds=600.0
    )
    with running(settings) as server, server.client() as http:
        http.post("/v1/models", json={"name": "news"}).raise_for_status()
        slow = Slow(server)
        monkeypatch.setattr(server.service, "begin_to_decide", slow.begin_to_decide)
        answers: list[int] = []

        def ask() -> None:
            with server.client() as own:
                answer = own.post(DECISIONS, json={"candidates": {"a": {"x": 1}}})
                answers.append(answer.status_code)

        asking = [threading.Thread(target=ask) for _ in range(2)]
        for each in asking:
            each.start()
            assert slow.waiting.acquire(timeout=PATIENCE)
        busy = http.get("/v1/models")
        assert code(busy) == (503, "busy")
        assert busy.headers["retry-after"] == "1"
        assert http.get("/healthz").status_code == 200
        slow.let_go()
        for each in asking:
            each.join(PATIENCE)
        assert answers == [200, 200]
        assert http.get("/v1/models").status_code == 200


def test_who_must_be_answered_soon_waits_less_for_the_database(hasty: Running) -> None:
    assert hasty.service._decisions.durable_within == 0.5


def test_an_answer_that_takes_too_long(hasty: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(hasty.service, "decide", never)
    with hasty.client() as http:
        late = http.post(DECISIONS + "?", json={"candidates": {"a": {"x": 1}}})
        assert code(late) == (503, "timeout")
        assert http.get("/v1/models").status_code == 200
