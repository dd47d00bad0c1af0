"""How many modules of ours a request passes through, from the socket to its answer."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import numpy as np
import pytest

from fabcost import FabCost, Gaussian
from fabcost.service.service import start_service
from fabcost.service.settings import Settings
from fabcost.service.telemetry import logger
from tests.service.http.serving import Running, running

_QUIET_SECONDS = 0.1
ITEMS = {f"ad-{k}": {"make": ("kia", "ford")[k % 2], "age": k} for k in range(6)}
ACTIONS = [{"id": name, "features": [{"taste": name}]} for name in ("tea", "cola")]


class Trace:
    """Names of the modules whose functions were called, in any thread."""

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("fabcost.") and frame.f_code.co_name != "<module>":
            self.entered.add(name)
            self.calls += 1

    def settled(self) -> set[str]:
        """Those since the last time, when nothing is called any more: the log comes last."""
        known = -1
        while known != self.calls:
            known = self.calls
            time.sleep(_QUIET_SECONDS)
        entered, self.entered = self.entered, set()
        return entered


@contextmanager
def tracing() -> Iterator[Trace]:
    """Trace this thread, and all that are started within."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


class Walk:
    """A server that is asked, and nothing else: it does not look for what is overdue."""

    def __init__(self, trace: Trace, server: Running, http: httpx.Client) -> None:
        self._trace = trace
        self._http = http
        self._service = server.service
        self._service.loop.call_soon_threadsafe(self._service._upkeep._sweeping.cancel)
        self._post("/v1/models", {"name": "cars", "settings": {}}, 201)
        assert self._http.put("/v1/models/cars/items", json={"items": ITEMS}).status_code == 200
        self.decide()
        self.rank()
        self.feed()

    def decide(self) -> set[str]:
        """A decision among the catalogue."""
        return self._post("/v1/models/cars/decisions", {"context": {"device": "mobile"}}, 200)

    def feed(self) -> set[str]:
        """Feedback, answered when it is learnt and published."""
        url = "/v1/models/cars/decisions"
        decision = self._http.post(url, json={"context": {}}).json()["decision_id"]
        before = self._service.model("cars").impressions
        body = {"decision_id": decision, "value": 1.0}
        entered = self._post("/v1/models/cars/feedback", body, 200)
        assert self._service.model("cars").impressions == before + 1
        return entered

    def rank(self) -> set[str]:
        """A Rank of the other contract."""
        body = {"actions": ACTIONS, "contextFeatures": [{"user": {"age": 3}}]}
        return self._post("/personalizer/v1.0/rank", body, 201)

    def _post(self, url: str, body: dict[str, Any], status: int) -> set[str]:
        self._trace.settled()
        assert self._http.post(url, json=body).status_code == status
        return self._trace.settled()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flows") / "bandit.db"


@pytest.fixture(scope="module")
def flows(database: Path) -> dict[str, set[str]]:
    """The modules of each flow."""
    settings = Settings(database=str(database))
    with tracing() as trace, running(settings) as server, server.client() as http:
        walk = Walk(trace, server, http)
        asked = {"decision": walk.decide, "feedback": walk.feed, "rank": walk.rank}
        found = {name: always(ask) for name, ask in asked.items()}
    return {**found, "start": started(database), "observe": observed()}


def always(ask: Callable[[], set[str]]) -> set[str]:
    """What every such request enters: now and then keys are reread, or an item is met first."""
    return set.intersection(*(ask() for _ in range(len(ITEMS) + 1)))


def started(database: Path) -> set[str]:
    """A start with a model that has a catalogue, decisions and a learner."""

    async def start() -> set[str]:
        log = logger("error", "json", io.TextIOWrapper(io.BytesIO()))
        with tracing() as trace:
            service = await start_service(Settings(database=str(database)), log)
            entered = set(trace.entered)
        assert service.model("cars").items == len(ITEMS)
        await service.stop()
        return entered

    return asyncio.run(start())


def observed() -> set[str]:
    """Impressions in process, through a refresh."""
    learner = FabCost(Gaussian.isotropic(3))
    rows = np.random.default_rng(0).normal(size=(8, 3))
    with tracing() as trace:
        for row in rows:
            learner.observe(row, bool(row[0] > 0))
    assert learner.refreshes > 0
    return trace.entered


@pytest.mark.parametrize(
    ("flow", "most"),
    [("decision", 20), ("feedback", 22), ("rank", 26), ("start", 47), ("observe", 5)],
)
def test_a_flow_passes_through_few_modules(
    flows: dict[str, set[str]], flow: str, most: int
) -> None:
    entered = sorted(flows[flow])
    assert len(entered) <= most, "\n".join(entered)
