"""A backup is put in place after a crash, by the commands that the documentation gives."""

from __future__ import annotations

import shlex
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.faults.ledger import check_posterior, reading, served_digest
from tests.service.faults.servers import PATIENCE, ROOT, Nursery, wait_for
from tests.service.faults.visitors import MODEL, make_model
from tests.service.http.test_server import command

KEPT = [f"kept-{k}" for k in range(100)]
LOST = [f"lost-{k}" for k in range(400)]


def documented_commands() -> list[str]:
    """The indented lines about backup and restore, but for that of PostgreSQL."""
    text = (ROOT / "docs" / "how-to" / "operations.md").read_text(encoding="utf-8")
    section = text.partition("## Backup and restore\n")[2].partition("\n## ")[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    return [line for line in lines if "postgresql" not in line]


def run(line: str, folder: Path) -> None:
    """As a shell in that folder does; a process of our own program would take long to start."""
    if not line.startswith("fabcost "):
        subprocess.run(["/bin/sh", "-e", "-c", line], cwd=folder, check=True)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = command(*shlex.split(line)[1:])
    assert done.exit_code == 0, done.stderr


def decide_durably(http: httpx.Client, body: dict[str, Any]) -> None:
    """A decision that is in the database; on a slow disk, when it is asked for again."""
    wait_for(lambda: http.post("decisions", json=body).json()["durable"])


def visit(address: str, decisions: list[str]) -> None:
    """Decisions, with feedback about two of three."""
    with httpx.Client(base_url=f"{address}/v1/models/{MODEL}", timeout=PATIENCE) as http:
        for number, each in enumerate(decisions):
            decide_durably(http, {"decision_id": each, "context": {"hour": number % 24}})
            if number % 3:
                said = {"decision_id": each, "value": float(number % 2)}
                assert http.post("feedback", json=said).json()["status"] == "applied"


@pytest.fixture
def killed(nursery: Nursery, tmp_path: Path) -> tuple[int, str]:
    """A server was killed long after a backup; how far its posterior was at the backup."""
    server = nursery.start(str(tmp_path / "fabcost.db"))
    address = server.address()
    make_model(address, reward_wait_seconds=3600.0)
    visit(address, KEPT)
    run(documented_commands()[0], tmp_path)
    then = served_digest(address)
    visit(address, LOST)
    server.end(signal.SIGKILL)
    return then


def test_all_of_the_backup_is_there(
    nursery: Nursery, tmp_path: Path, killed: tuple[int, str]
) -> None:
    assert (tmp_path / "fabcost.db-wal").stat().st_size > 0
    for line in documented_commands()[1:]:
        run(line, tmp_path)
    database = str(tmp_path / "fabcost.db")
    server = nursery.start(database)
    address = server.address()
    assert served_digest(address) == killed
    check_posterior(address, database)
    with reading(database) as store:
        stored = [row.decision for row in store.history(MODEL, after=0, limit=10**6)]
    assert stored == KEPT
    visit(address, ["after-0", "after-1"])
    check_posterior(address, database)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    server.end()
