"""Logs that are exported: for whoever reads them, and not at the expense of others."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fabcost.service import transfer
from fabcost.service.store.store import Store
from fabcost.service.transfer import line_of
from tests.service.http.serving import Running
from tests.service.http.waiting import PATIENCE, lines_with, wait_until

OCTETS = {"content-type": "application/octet-stream"}
LINES = 600


def large_log() -> bytes:
    """Lines of some 25 kB, of which nothing is learnt: far more than sockets hold."""
    candidates: dict[str, Any] = {f"{k:0250d}": {} for k in range(100)}
    line = {"candidates": candidates, "item": f"{0:0250d}"}
    return b"".join(
        json.dumps({**line, "decision_id": f"d-{k}"}).encode() + b"\n" for k in range(LINES)
    )


@pytest.fixture
def log(http: httpx.Client, model: str) -> str:
    """Where a large log is."""
    where = f"/v1/models/{model}/log"
    http.post(where, content=large_log(), headers=OCTETS).raise_for_status()
    return where


@pytest.fixture
def produced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each decision that was written."""
    made: list[int] = []

    def spied(*given: Any) -> Any:
        made.append(1)
        return line_of(*given)

    monkeypatch.setattr(transfer, "line_of", spied)
    return made


def begun(server: Running, log: str) -> socket.socket:
    """An export of which a little was read."""
    host, port = server.address.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.settimeout(PATIENCE)
    connection.connect((host, int(port)))
    identity = f"X-Request-Id: begun-{connection.fileno()}"
    connection.sendall(f"GET {log} HTTP/1.1\r\nHost: localhost\r\n{identity}\r\n\r\n".encode())
    assert connection.recv(1_000).startswith(b"HTTP/1.1 200 ")
    return connection


def test_an_export_ends_when_its_reader_has_left(
    server: Running, log: str, produced: list[int]
) -> None:
    connection = begun(server, log)
    identity = f"begun-{connection.fileno()}"
    connection.close()
    lines_with(server, identity)
    assert 0 < len(produced) < LINES / 2


def test_so_many_exports_go_on_at_once(server: Running, http: httpx.Client, log: str) -> None:
    assert {http.head(log).status_code for _ in range(20)} == {200}
    others = [begun(server, log) for _ in range(8)]
    refused = http.get(log)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
    assert refused.headers["retry-after"] == "1"
    assert "8 exports" in refused.json()["error"]["message"]
    for each in others:
        each.close()
    wait_until(lambda: http.get(log).status_code == 200)


def test_others_read_the_database_while_logs_are_exported(
    server: Running, http: httpx.Client, log: str, held_back: threading.Event
) -> None:
    """Statistics, and what revokes a key, do not wait for a page."""
    connection = begun(server, log)
    model = log.removesuffix("/log")
    assert http.get(f"{model}/stats").status_code == 200
    assert http.get("/v1/keys").status_code == 200
    held_back.set()
    connection.close()


@pytest.fixture
def held_back(server: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The second page of an export takes until the event is set."""
    may_go_on, read = threading.Event(), Store.history

    def history(store: Any, model: str, *, after: int, limit: int) -> Any:
        if after > 0:
            assert may_go_on.wait(PATIENCE)
        return read(store, model, after=after, limit=limit)

    monkeypatch.setattr(Store, "history", history)
    yield may_go_on
    may_go_on.set()
