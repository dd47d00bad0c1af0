"""A full disk: decisions go on, operators are told, and it is survived."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.service.faults.ledger import check_posterior, reading
from tests.service.faults.servers import PATIENCE, is_ready, store_away, wait_for
from tests.service.faults.visitors import MODEL, make_model
from tests.service.http.serving import process

NO_FILE_GROWS = 0


@contextmanager
def full_disk(pid: int) -> Iterator[None]:
    """Whatever the process writes to a file is refused, as on a disk without space."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (NO_FILE_GROWS, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def decide(address: str, decision: str) -> dict[str, Any]:
    body = {"decision_id": decision, "context": {"device": "mobile"}}
    answer = httpx.post(f"{address}/v1/models/{MODEL}/decisions", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def decide_durably(address: str, decision: str) -> None:
    """A decision that is in the database; on a slow disk, when it is asked for again."""
    wait_for(lambda: decide(address, decision)["durable"])


def feed(address: str, decision: str, value: float = 1.0) -> httpx.Response:
    body = {"decision_id": decision, "value": value}
    return httpx.post(f"{address}/v1/models/{MODEL}/feedback", json=body, timeout=PATIENCE)


def test_disk_full_and_then_not(tmp_path: Path) -> None:
    database = str(tmp_path / "bandit.db")
    with process(database, "--log-level", "warning") as server:
        address = server.address
        make_model(address, reward_wait_seconds=3600.0)
        decide_durably(address, "before")
        with full_disk(server.pid):
            check_full(address)
        wait_for(lambda: is_ready(address))
        wait_for(lambda: not store_away(address))
        check_written(address, database)
        code, logged = server.stop()
    assert code == 0
    assert "the database is away" in logged
    assert "the database is back" in logged
    assert "Traceback" not in logged


def check_full(address: str) -> None:
    """Decisions go on in memory, feedback is to be repeated, and operators are told."""
    answers = [decide(address, f"full-{k}") for k in range(20)]
    assert not any(answer["durable"] for answer in answers)
    refused = feed(address, "before")
    assert refused.status_code == 503, refused.text
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["error"]["code"] == "store_away"
    readiness = httpx.get(f"{address}/readyz", timeout=PATIENCE)
    assert readiness.status_code == 503
    assert "the database is away: the disk " in readiness.text
    assert store_away(address)
    assert httpx.get(f"{address}/healthz", timeout=PATIENCE).status_code == 200
    repeated = decide(address, "full-0")
    assert not repeated["durable"]


def check_written(address: str, database: str) -> None:
    """What was decided in memory is in the log, and can be learnt from."""
    with reading(database) as store:
        keys = [(MODEL, f"full-{k}") for k in range(20)]
        assert store.find_decisions(keys).keys() == set(keys)
    for decision in ("before", *(f"full-{k}" for k in range(20))):
        answer = feed(address, decision, value=float(decision != "full-3"))
        assert answer.json()["status"] == "applied", answer.text
    assert httpx.get(f"{address}/v1/models/{MODEL}", timeout=PATIENCE).json()["impressions"] == 21
    check_posterior(address, database)
