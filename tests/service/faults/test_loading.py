"""A server that loads: it listens from the first moment, and says how far it is."""

from __future__ import annotations

import asyncio
import signal
import socket

import httpx
import pytest
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.service.processes import CannotStartError, bind
from tests.service.core.running import cars, serving
from tests.service.faults.locks import held_up
from tests.service.faults.servers import PATIENCE, Nursery, is_ready, wait_for
from tests.service.postgres import find_port
from tests.service.store.test_versions import connect, make_version


def database_with_a_model(address: str) -> None:
    async def main() -> None:
        async with serving(address) as service:
            await cars(service)

    asyncio.run(main())


class Loading:
    """A server whose database is held up: it cannot take it over yet."""

    def __init__(self, nursery: Nursery, database: str) -> None:
        port = find_port()
        self.address = f"http://127.0.0.1:{port}"
        self.child = nursery.start(database, port=port)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.address}{path}", timeout=PATIENCE)

    def wait_until_alive(self) -> None:
        wait_for(lambda: self.get("/healthz").status_code == 200, told=self.child.logged)


def test_a_loading_server_answers(nursery: Nursery, store_address: str) -> None:
    database_with_a_model(store_address)
    with held_up(store_address):
        server = Loading(nursery, store_address)
        server.wait_until_alive()
        readiness = server.get("/readyz")
        assert readiness.status_code == 503
        assert readiness.json()["error"]["message"].startswith("loading")
        asked = {"candidates": {"a": {"x": 1}}}
        decisions = f"{server.address}/v1/models/cars/decisions"
        refused = httpx.post(decisions, json=asked, timeout=PATIENCE)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "not_ready"
        assert refused.headers["retry-after"] == "1"
        head = httpx.head(f"{server.address}/v1/models", timeout=PATIENCE)
        assert (head.status_code, head.content) == (503, b"")
    wait_for(lambda: is_ready(server.address), told=server.child.logged)
    assert httpx.post(decisions, json=asked, timeout=PATIENCE).status_code == 200
    assert server.child.end(signal.SIGTERM) == 0


def test_a_loading_server_stops(nursery: Nursery, store_address: str) -> None:
    database_with_a_model(store_address)
    with held_up(store_address):
        server = Loading(nursery, store_address)
        server.wait_until_alive()
        assert server.child.end(signal.SIGTERM) == 0, server.child.logged()


def test_a_taken_port_leaves_an_older_database_as_it_is(store_address: str) -> None:
    make_version(store_address, 4)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = ["serve", "--port", port, "--database", store_address]
        done = CliRunner().invoke(application, command)
    assert (done.exit_code, "in use" in done.stderr) == (2, True), done.stderr
    connection = connect(store_address)
    assert connection.run("SELECT version FROM schema_version", {}) == [(4,)]
    connection.disconnect()


def test_an_address_that_is_bound_is_taken() -> None:
    """Also by a server that has only begun to start."""
    with bind("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(CannotStartError, match=f"port {port}"):
            bind("127.0.0.1", port)
