"""The server of one side, and the processor time that requests cost it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from studies.service.__main__ import SEED, Bench, world

TICKS = os.sysconf("SC_CLK_TCK")
SECONDS, PAIRS = 2.0, 400
#: By name, the model that is asked: all commits have these settings.
MODELS: dict[str, dict[str, Any]] = {
    "one-draw": {"propensities": "none"},
    "many-draws": {"propensities": "fast"},
}
COMMON = {"policy": {"kind": "thompson"}, "prior_variance": 10.0, "reward_wait_seconds": 86_400.0}


class Server:
    """A process that serves models of car adverts, with the sources of one commit."""

    def __init__(self, pid: int, address: str, folder: Path) -> None:
        self._pid, self._cars = pid, world()
        self._bench = Bench(folder, address, address, self._cars)
        self._http = httpx.Client(base_url=address, timeout=120.0)
        for name, settings in MODELS.items():
            given = {**COMMON, **settings, "schema": self._cars.schema.to_dict()}
            self._ask("", {"name": name, "settings": given})
            self._bench.client.put_items(name, self._cars.items)

    def measured(self) -> dict[str, float]:
        """Processor seconds for each request, by what was asked."""
        return {
            "a decision of the server": self._decisions("one-draw"),
            "a decision of the server, 256 draws": self._decisions("many-draws"),
            "a decision of the server and its feedback": self._pairs("one-draw"),
        }

    def _decisions(self, model: str) -> float:
        start = self._used()
        load = self._bench.decisions(model, SECONDS)
        return (self._used() - start) / len(load.latencies)

    def _pairs(self, model: str) -> float:
        start, visitors = self._used(), self._cars.visitors(np.random.default_rng(SEED))
        for visitor in islice(visitors, PAIRS):
            made = self._ask(f"/{model}/decisions", {"context": dict(visitor.context)})
            told = float(visitor.clicked(made["item"]))
            self._ask(f"/{model}/feedback", {"decision_id": made["decision_id"], "value": told})
        return (self._used() - start) / PAIRS

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        """By JSON that all commits know; a client of now sends what only servers of now read."""
        reply = self._http.post(f"/v1/models{path}", json=body)
        return reply.raise_for_status().json()

    def _used(self) -> float:
        told = Path(f"/proc/{self._pid}/stat").read_text(encoding="ascii")
        user, system = told.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / TICKS


@contextmanager
def serving(environment: dict[str, str], folder: Path) -> Iterator[Server]:
    """A server with sources of its own, until it is no longer needed."""
    options = ["--port", "0", "--database", str(folder / "beside.db"), "--log-level", "warning"]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "fabcost", "serve", *options],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        lines = iter(process.stdout or ())
        line = next(each for each in lines if each.startswith("listening on "))
        yield Server(process.pid, line.split()[-1], folder)
    finally:
        process.terminate()
        process.wait()
