from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running
from tests.service.http.waiting import wait_for_the_database


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on a new SQLite file, for all tests of a module; it asks for no keys."""
    folder: Path = tmp_path_factory.mktemp("service")
    with running(Settings(database=str(folder / "bandit.db"))) as server:
        wait_for_the_database(server)
        yield server


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    """Requests to the server."""
    with server.client() as client:
        yield client


@pytest.fixture
def model(http: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """A model with an open schema, deleted in the end."""
    name = "".join(each for each in request.node.name if each.isalnum() or each in "_-")[:60]
    http.post("/v1/models", json={"name": name}).raise_for_status()
    yield name
    http.delete(f"/v1/models/{name}")
