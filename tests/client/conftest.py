from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on a new SQLite file, for all tests of a module; it asks for no keys."""
    folder = tmp_path_factory.mktemp("service")
    with running(Settings(database=str(folder / "bandit.db"))) as server:
        yield server
