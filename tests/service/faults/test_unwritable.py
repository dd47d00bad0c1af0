"""A database that cannot be written: the server says so and does not start."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.service.faults.ledger import reading
from tests.service.faults.servers import Child, Nursery


def check_refused(nursery: Nursery, server: Child, reason: str) -> None:
    """The last line says why, for people."""
    assert nursery.wait(server.pid) == 2, server.logged()
    said = server.logged()
    assert said.splitlines()[-1].startswith("Error: "), said
    assert reason in said
    assert "Traceback" not in said
    assert "listening" not in said


@pytest.fixture
def unwritable_file() -> Iterator[Path]:
    """A database that others than root may read but not write; theirs are not pytest's folders."""
    with tempfile.TemporaryDirectory(prefix="fabcost-unwritable-") as name:
        folder, file = Path(name), Path(name) / "bandit.db"
        with reading(str(file)):
            pass
        file.chmod(0o444)
        folder.chmod(0o555)
        yield file
        folder.chmod(0o755)


def test_file(nursery: Nursery, unwritable_file: Path) -> None:
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    server = nursery.start(str(unwritable_file), user=user)
    check_refused(nursery, server, f"{unwritable_file} cannot be used")


def test_postgres(nursery: Nursery, postgres_address: str) -> None:
    with reading(postgres_address):
        pass
    name = postgres_address.rpartition("/")[2]
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        statement = f"ALTER DATABASE {name} SET default_transaction_read_only = on"
        connection.execute(statement.encode())
    check_refused(nursery, nursery.start(postgres_address), "read-only")
