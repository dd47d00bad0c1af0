from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.postgres import (
    PostgresMissingError,
    PostgresServer,
    find_binaries,
    throw_away_server,
)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of one process; whoever stops it starts it again."""
    try:
        find_binaries()
    except PostgresMissingError as error:
        if os.environ.get("FABCOST_REQUIRE_POSTGRES") == "1":
            raise
        pytest.skip(f"PostgreSQL is not installed: {error}")
    with throw_away_server() as server:
        yield server


@pytest.fixture
def postgres_address(postgres: PostgresServer) -> Iterator[str]:
    """The address of a new, empty database."""
    with postgres.database() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def store_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/bandit.db"
    return str(request.getfixturevalue("postgres_address"))
