"""A server that is killed under clients in TypeScript loses nothing that they said was sent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from fabcost.client import Client, Retries
from tests.client import speaking
from tests.client.test_against_server import ADVERTS
from tests.client.typescript import TypeScriptClient
from tests.service.faults.servers import Nursery, wait_for
from tests.service.postgres import find_port

chromium, package = speaking.chromium, speaking.package
origin, speaker = speaking.origin, speaking.speaker


def test_what_was_said_to_be_sent_survives_kills(
    tmp_path: Path,
    origin: str,
    speaker: Any,
    nursery: Nursery,
) -> None:
    """In Node and in a page at once, while the server is killed and started again, twice."""
    port, flags = find_port(), [f"--set=cors_origins={origin}"]
    serve = partial(nursery.start, str(tmp_path / "bandit.db"), port=port, more=flags)
    patient = {"attempts": 10_000, "first": 50, "longest": 400, "deadline": 600_000}
    server = serve()
    address = server.address()
    clients = [
        TypeScriptClient(speaker(where), address, "fp_x_y", retries=patient)
        for where in ("node", "chromium")
    ]
    with Client(address, retries=Retries(attempts=10_000, deadline=600.0)) as admin:
        admin.create_model("m")
        admin.put_items("m", ADVERTS)
        for each in clients:
            each.begin("m", "visits", {"count": 60, "lanes": 5})
        for after in (20, 60):
            wait_for(lambda least=after: admin.model("m").impressions >= least)  # type: ignore[misc]
            server.end()
            server = serve()
        visits = [visit for each in clients for visit in each.end()]
        assert {each["status"] for each in visits} == {"applied"}
        assert admin.stats("m").impressions == len(visits) == 120
        views = admin.decisions("m", limit=1000).decisions
        assert {each["decision_id"]: (each["item"], each["value"]) for each in visits} == {
            each.decision_id: (each.item, each.value) for each in views
        }
    server.end()
