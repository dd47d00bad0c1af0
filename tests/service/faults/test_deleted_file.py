"""The file is deleted while the server runs."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import httpx

from tests.service.faults.servers import PATIENCE, is_ready, wait_for
from tests.service.faults.test_disk import decide, decide_durably, feed
from tests.service.faults.visitors import make_model
from tests.service.http.serving import process


def test_what_nobody_will_find_again_is_not_durable(tmp_path: Path) -> None:
    file = tmp_path / "bandit.db"
    with process(file, "--log-level", "warning", "--set=request_seconds=3") as server:
        make_model(server.address, reward_wait_seconds=3600.0)
        decide_durably(server.address, "before")
        for each in tmp_path.glob("bandit.db*"):
            each.unlink()
        names = (f"after-{number}" for number in count())
        wait_for(lambda: not decide(server.address, next(names))["durable"])
        assert feed(server.address, "before").status_code == 503
        readiness = f"{server.address}/readyz"
        wait_for(lambda: "cannot be opened" in httpx.get(readiness, timeout=PATIENCE).text)
        assert not is_ready(server.address)
        assert not file.exists()
