"""Logs of a real service whose truth is known, and `fabcost evaluate` on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from fabcost.cli import application
from fabcost.service.service import Service
from fabcost.wire.messages import DecisionRequest, FeedbackRequest
from fabcost.wire.settings import ModelSettings
from tests.service.transfer.playing import exported, served

MAKES = ("kia", "ford", "fiat")
RATES = {"kia": 0.6, "ford": 0.1, "fiat": 0.1}
VALUES, COST = {"kia": 1.0, "ford": 20.0, "fiat": 1.0}, 0.25
ITEMS: dict[str, dict[str, Any]] = {f"a{i}": {"make": MAKES[i % 3]} for i in range(30)}
ROUNDS = 600


class Played:
    """A log of five of thirty adverts a round, and what random choices among them are worth."""

    def __init__(
        self, folder: Path, settings: ModelSettings, *, excluded: int = 0, priced: bool = False
    ) -> None:
        self.log = folder / "log.parquet"
        self.uniform = self.best = self.income = self.best_income = 0.0
        self._settings = settings
        self._excluded = excluded
        self._priced = priced
        served(folder, self._work)

    async def _work(self, service: Service) -> None:
        await service.create_model("here", self._settings)
        rng = np.random.default_rng(3)
        for i in range(ROUNDS):
            names = [f"a{j}" for j in rng.choice(30, 5 + self._excluded, replace=False)]
            await self._round(service, f"d-{i}", names, rng)
        self.log.write_bytes(await exported(service, "here", "parquet"))

    async def _round(
        self, service: Service, decision: str, names: Sequence[str], rng: np.random.Generator
    ) -> None:
        request = DecisionRequest(
            decision_id=decision,
            context={"hour": int(rng.integers(24))},
            candidates={name: ITEMS[name] for name in names},
            exclude=list(names[5:]),
            values={name: VALUES[ITEMS[name]["make"]] for name in names} if self._priced else None,
            costs=dict.fromkeys(names, COST) if self._priced else None,
        )
        answer = await service.decide("here", request)
        clicked = float(rng.random() < _rate(answer.item))
        await service.feedback("here", [FeedbackRequest(decision_id=decision, value=clicked)])
        rates = [_rate(name) for name in names[:5]]
        self.uniform += float(np.mean(rates)) / ROUNDS
        self.best += max(rates) / ROUNDS
        worth = [VALUES[ITEMS[name]["make"]] * _rate(name) - COST for name in names[:5]]
        self.income += float(np.mean(worth)) / ROUNDS
        self.best_income += max(worth) / ROUNDS


def _rate(name: str) -> float:
    return RATES[ITEMS[name]["make"]]


def evaluate(log: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    out = log.parent / "evaluation"
    done = CliRunner().invoke(application, ["evaluate", str(log), "--out", str(out), *arguments])
    assert done.exit_code == 0, done.output
    found = json.loads((out / "evaluation.json").read_text(encoding="utf-8"))
    return found, " ".join(done.output.split())


def rewrite(log: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    """Change the rows of a log."""
    rows = pq.read_table(log).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(log)), log)
    return log
