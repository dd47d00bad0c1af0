"""The database is replaced under a running server: by a new one, or by a backup."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from fabcost.service.store.store import store_at
from tests.service.faults.ledger import check_posterior, reading
from tests.service.faults.replaceable import Databases, Files, Replaceable
from tests.service.faults.servers import PATIENCE, Child, Nursery, is_ready, wait_for
from tests.service.faults.test_disk import decide, decide_durably, feed
from tests.service.faults.visitors import MODEL, make_model

REPLACED = "was replaced"
LONGER_THAN_ITS_PAUSES = 4.0


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Replaceable:
    if request.param == "sqlite":
        return Files(tmp_path)
    server, address = map(request.getfixturevalue, ("postgres", "postgres_address"))
    return Databases(server, address, tmp_path)


@contextmanager
def started(nursery: Nursery, database: Replaceable) -> Iterator[Child]:
    child = nursery.start(database.address)
    try:
        yield child
    finally:
        child.end()


def served(address: str, *decisions: str) -> None:
    """Decisions that are kept, and feedback that is learnt."""
    for each in decisions:
        decide_durably(address, each)
        answer = feed(address, each)
        assert (answer.status_code, answer.json()["status"]) == (200, "applied"), answer.text


def readiness(address: str) -> str:
    return httpx.get(f"{address}/readyz", timeout=PATIENCE).text


def check_stays_out(first: str, second: str) -> None:
    """The first answers from memory only, for longer than it pauses before it tries again."""
    until = time.monotonic() + LONGER_THAN_ITS_PAUSES
    turn = 0
    while time.monotonic() < until:
        turn += 1
        assert not decide(first, f"first-{turn}")["durable"]
        assert feed(first, f"first-{turn}").status_code == 503
        served(second, f"second-{turn}")
        assert not is_ready(first)
        assert is_ready(second)
        time.sleep(0.1)


def check_log(database: Replaceable, second: str, before: set[str]) -> None:
    """The log is the second server's alone, and so is the posterior."""
    with reading(database.address) as store:
        stored = {row.decision for row in store.history(MODEL, after=0, limit=10**6)}
    assert before <= stored
    assert all(each.startswith("second-") for each in stored - before)
    check_posterior(second, database.address)


def test_by_a_new_one_of_the_same_epoch(nursery: Nursery, database: Replaceable) -> None:
    with started(nursery, database) as one:
        first = one.address()
        make_model(first, reward_wait_seconds=3600.0)
        served(first, "a", "b")
        database.delete()
        with started(nursery, database) as other:
            second = other.address()
            make_model(second, reward_wait_seconds=3600.0)
            wait_for(lambda: not is_ready(first))
            wait_for(lambda: REPLACED in readiness(first), told=one.logged)
            check_stays_out(first, second)
            check_log(database, second, set())
        assert "the database is back" not in one.logged()


def wait_until_counted(address: str) -> None:
    assert httpx.get(f"{address}/v1/models/{MODEL}/stats", timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("with_feedback", [True, False])
def test_by_a_backup(nursery: Nursery, database: Replaceable, with_feedback: bool) -> None:
    with started(nursery, database) as one:
        first = one.address()
        make_model(first, reward_wait_seconds=3600.0)
        served(first, "a", "b")
        wait_until_counted(first)
        database.back_up()
        decide_durably(first, "c")
        if with_feedback:
            assert feed(first, "c").json()["status"] == "applied"
        wait_until_counted(first)
        database.restore()
        wait_for(lambda: REPLACED in readiness(first), told=one.logged)
        with started(nursery, database) as other:
            second = other.address()
            check_stays_out(first, second)
            check_log(database, second, {"a", "b"})
        assert "the database is back" not in one.logged()


def test_by_its_own_content_nothing_is_lost(nursery: Nursery, database: Replaceable) -> None:
    with started(nursery, database) as server:
        address = server.address()
        make_model(address, reward_wait_seconds=3600.0)
        served(address, "a", "b")
        wait_until_counted(address)
        database.back_up()
        database.restore()
        wait_for(lambda: "the database is back" in server.logged(), told=server.logged)
        served(address, "c")
        check_posterior(address, database.address)


def set_heads(database: str, head: int) -> None:
    store = store_at(database)
    store.open(take_over=False)
    store.session.connection.run("UPDATE models SET head_lsn = :head", {"head": head})
    store.close()


def test_a_log_that_went_back_is_not_gone_on_with(nursery: Nursery, database: Replaceable) -> None:
    with started(nursery, database) as server:
        address = server.address()
        make_model(address, reward_wait_seconds=3600.0)
        served(address, "a", "b")
        decide_durably(address, "c")
        set_heads(database.address, 1)
        assert feed(address, "c").status_code == 503
        until = time.monotonic() + LONGER_THAN_ITS_PAUSES
        while time.monotonic() < until:
            assert not is_ready(address)
            time.sleep(0.05)
        assert "ends at 1 but" in readiness(address)
