"""Several processes behind one port: killed, started again, and stopped together."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import httpx

from tests.service.faults.replicas import has_catalogue
from tests.service.faults.servers import PATIENCE, Nursery, wait_for
from tests.service.faults.test_disk import decide_durably, feed
from tests.service.faults.visitors import make_model


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(each) for each in text.split()]


def worker(address: str) -> str:
    """The number of the one that answers this connection."""
    text = httpx.get(f"{address}/metrics", timeout=PATIENCE).text
    (found,) = re.findall(r'^fabcost_store_away{worker="(\d)"} 0.0$', text, re.MULTILINE)
    return str(found)


def answering(address: str) -> set[str]:
    return {worker(address) for _ in range(20)}


def test_workers_share_a_port(nursery: Nursery, postgres_address: str) -> None:
    parent = nursery.start(postgres_address, more=["--workers", "2"])
    address = parent.address()
    wait_for(lambda: answering(address) == {"1", "2"})
    make_model(address, reward_wait_seconds=3600.0)
    wait_for(lambda: all(has_catalogue(address) for _ in range(20)))
    for k in range(10):
        decide_durably(address, f"d-{k}")
        assert feed(address, f"d-{k}").json()["status"] == "applied"
    before = children(parent.pid)
    os.kill(before[0], signal.SIGKILL)
    wait_for(lambda: len(children(parent.pid)) == 2 and before[0] not in children(parent.pid))
    wait_for(lambda: answering(address) == {"1", "2"})
    decide_durably(address, "after")
    workers = children(parent.pid)
    assert parent.end(signal.SIGTERM) == 0, parent.logged()
    assert not any(Path(f"/proc/{each}").exists() for each in workers)


def test_workers_end_with_the_one_that_started_them(
    nursery: Nursery, postgres_address: str
) -> None:
    parent = nursery.start(postgres_address, more=["--workers", "2"])
    parent.address()
    workers = children(parent.pid)
    parent.end()
    wait_for(lambda: not any(Path(f"/proc/{each}").exists() for each in workers))


def test_a_file_has_one_worker(nursery: Nursery, tmp_path: Path) -> None:
    parent = nursery.start(f"sqlite:///{tmp_path}/bandit.db", more=["--workers", "2"])
    assert nursery.wait(parent.pid) == 2
    assert "a file of SQLite is for one server" in parent.logged()
    assert not (tmp_path / "bandit.db").exists()


def test_workers_that_cannot_start_say_why_once(nursery: Nursery) -> None:
    nowhere = "postgresql://postgres@127.0.0.1:1/nothing"
    parent = nursery.start(nowhere, more=["--workers", "2"])
    assert nursery.wait(parent.pid) == 2
    assert "Error: " in parent.logged()
