"""A database that is spoilt while the server runs: tables renamed, the file overwritten."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import httpx
import psycopg

from tests.service.faults.ledger import check_posterior
from tests.service.faults.servers import PATIENCE, is_ready, store_away, wait_for
from tests.service.faults.test_disk import decide, decide_durably, feed
from tests.service.faults.visitors import MODEL, make_model
from tests.service.http.serving import process

DECISIONS = [f"spoilt-{k}" for k in range(5)]
OF_THE_MODEL = ("", "/items", "/posterior", "/stats", "/decisions", "/decisions/before", "/log")
FROM_MEMORY = ("", "/items", "/posterior")


def execute(database: str, statement: str) -> None:
    """As another program would."""
    if database.startswith("postgresql"):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(statement.encode())
    else:
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
            connection.execute(statement)


@contextmanager
def renamed_table(database: str) -> Iterator[None]:
    """A table is missing; unlike a dropped one it can be brought back."""
    execute(database, "ALTER TABLE decisions RENAME TO elsewhere")
    yield
    execute(database, "ALTER TABLE elsewhere RENAME TO decisions")


@contextmanager
def overwritten_file(database: str) -> Iterator[None]:
    """Something else is in the file, until a copy is put back."""
    file = Path(database.removeprefix("sqlite:///"))
    copy = file.with_suffix(".copy")
    execute(database, "PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(file, copy)
    with file.open("r+b") as opened:
        opened.write(b"a letter to a friend" * (file.stat().st_size // 20))
    yield
    with file.open("r+b") as opened:
        opened.write(copy.read_bytes())


Spoilt = Callable[[str], AbstractContextManager[None]]


def check_spoilt_for(database: str, spoilt: Spoilt, reasons: set[str], details: set[str]) -> None:
    with process(database, "--log-level", "warning") as server:
        address = server.address
        make_model(address, reward_wait_seconds=3600.0)
        decide_durably(address, "before")
        # Whoever asks for counts waits until all is counted: nothing more is written by itself.
        assert httpx.get(f"{address}/v1/models/{MODEL}/stats", timeout=PATIENCE).status_code == 200
        with spoilt(database):
            check_spoilt(address, reasons)
        wait_for(lambda: is_ready(address))
        wait_for(lambda: not store_away(address))
        check_mended(address, database)
        code, logged = server.stop()
    assert code == 0
    assert any(detail in logged for detail in details)
    assert "the database is back" in logged
    assert "Traceback" not in logged


def check_spoilt(address: str, reasons: set[str]) -> None:
    """Decisions go on in memory, feedback is to be repeated, operators are told; no bug is told."""
    assert not any(decide(address, decision)["durable"] for decision in DECISIONS)
    refused = feed(address, "before")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1"), refused.text
    readiness = httpx.get(f"{address}/readyz", timeout=PATIENCE)
    assert readiness.status_code == 503
    assert readiness.json()["error"]["message"].removeprefix("the database is away: ") in reasons
    assert refused.json()["error"]["message"] in reasons
    assert store_away(address)
    assert httpx.get(f"{address}/healthz", timeout=PATIENCE).status_code == 200
    for path in OF_THE_MODEL:
        looked = httpx.get(f"{address}/v1/models/{MODEL}{path}", timeout=PATIENCE)
        expected = {200} if path in FROM_MEMORY else {200, 503}
        assert looked.status_code in expected, (path, looked.text)
    items = httpx.put(
        f"{address}/v1/models/{MODEL}/items", json={"items": {"new": {"age": 1}}}, timeout=PATIENCE
    )
    assert items.status_code == 503


def check_mended(address: str, database: str) -> None:
    """What was decided in memory is in the log, and is learnt from."""
    for decision in ("before", *DECISIONS):
        answer = feed(address, decision, value=float(decision != "before"))
        assert answer.json()["status"] == "applied", answer.text
    listed = httpx.get(f"{address}/v1/models/{MODEL}/decisions", timeout=PATIENCE).json()
    assert {each["decision_id"] for each in listed["decisions"]} == {"before", *DECISIONS}
    check_posterior(address, database)


def test_missing_table(store_address: str) -> None:
    detail = "does not exist" if store_address.startswith("postgresql") else "no such table"
    reason = "the tables of the database are not as they were made"
    check_spoilt_for(store_address, renamed_table, {reason}, {detail})


def test_overwritten_file(tmp_path: Path) -> None:
    """SQLite says that it is no database or, if it still knows the first page, damaged."""
    file = tmp_path / "bandit.db"
    reasons = {"the file is not a database", "the file of the database is damaged"}
    said = ("file is not a database", "database disk image is malformed")
    details = {f"{file} cannot be used: {each}" for each in said}
    check_spoilt_for(f"sqlite:///{file}", overwritten_file, reasons, details)


def test_nobody_decides_meanwhile(store_address: str) -> None:
    """The server looks by itself, and is not ready for as long as the table is missing."""
    with process(store_address, "--log-level", "warning") as server:
        address = server.address
        make_model(address, reward_wait_seconds=3600.0)
        with renamed_table(store_address):
            wait_for(lambda: not is_ready(address))
            for _ in range(20):
                assert not is_ready(address)
                time.sleep(0.05)
        wait_for(lambda: is_ready(address))
        _, logged = server.stop()
    assert logged.count("the database is away") == 1
