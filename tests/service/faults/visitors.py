"""Visitors who ask for decisions and say what became of them, whatever happens to the server."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

import httpx
import numpy as np

from tests.service.faults.servers import LONGEST_WAIT, PATIENCE

MODEL = "cars"
ADVERTS = {f"ad-{k}": {"make": ("kia", "ford", "audi")[k % 3], "age": k % 5} for k in range(6)}
WAIT_SECONDS = 3.0
_PAUSE = 0.05


class Said(NamedTuple):
    """Feedback that was acknowledged."""

    value: float
    status: str


class Told:
    """What servers acknowledged: the promise that the log is compared with."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.answers = 0
        self.wrong: list[object] = []
        self.decisions: dict[str, dict[str, Any]] = {}
        self.feedback: dict[tuple[str, str], Said] = {}

    def decided(self, answer: dict[str, Any]) -> None:
        """An answer; it is wrong to answer the same id in two ways."""
        self.answers += 1
        first = self.decisions.setdefault(answer["decision_id"], answer)
        if {**first, "durable": True} != {**answer, "durable": True}:
            self.wrong.append((first, answer))

    def fed_back(self, decision: str, key: str, value: float, status: str) -> None:
        """A status; it is wrong to answer the same key in two ways.

        But parked feedback is told later what became of it.
        """
        self.answers += 1
        first = self.feedback.setdefault((decision, key), Said(value, status))
        if first not in (Said(value, status), Said(value, "parked")):
            self.wrong.append((decision, key, first, status))

    async def wait_for_answers(self, count: int) -> None:
        """Until there are so many more."""
        enough = self.answers + count
        async with asyncio.timeout(LONGEST_WAIT):
            while self.answers < enough:
                await asyncio.sleep(0.005)

    def statuses(self) -> Counter[str]:
        return Counter(said.status for said in self.feedback.values())

    def totals(self) -> Counter[str]:
        """How many promises there are."""
        return Counter({"decisions": self.durable()[True], "feedback": len(self.feedback)})

    def durable(self) -> Counter[bool]:
        return Counter(bool(answer["durable"]) for answer in self.decisions.values())


def make_model(address: str, **settings: Any) -> None:
    """A model whose schema grows with the visitors' contexts, and a few adverts."""
    given = {"reward_wait_seconds": WAIT_SECONDS, **settings}
    made = httpx.post(
        f"{address}/v1/models", json={"name": MODEL, "settings": given}, timeout=PATIENCE
    )
    assert made.status_code == 201, made.text
    items = httpx.put(
        f"{address}/v1/models/{MODEL}/items", json={"items": ADVERTS}, timeout=PATIENCE
    )
    assert items.status_code == 200, items.text


class Visitors:
    """Several at a time, each with a plan drawn from ``seed``; they go to ``address``.

    They ask again if nobody answers, or the answer is that the database is away; some of them
    give up instead.  A fifth of the decisions is left to its deadline.  The others get feedback,
    some of it twice at the same moment, some of it contradicted, a little of it before the
    decision is asked for.
    """

    def __init__(self, told: Told, *, seed: int, count: int = 6, name: str = "v") -> None:
        self.told = told
        self.address: str | None = None
        self._seed = seed
        self._count = count
        self._name = name
        self._over = False

    async def come(self) -> None:
        """Until `leave`."""
        limits = httpx.Limits(max_connections=4 * self._count)
        async with httpx.AsyncClient(timeout=10.0, limits=limits) as self._http:
            await asyncio.gather(*(self._visit_often(k) for k in range(self._count)))

    def leave(self) -> None:
        self._over = True

    async def look(self, decision: str) -> bool:
        """Ask for one decision and leave it to its deadline; whether it is durable."""
        self.told.asked.add(decision)
        answer = await self._ask("decisions", {"decision_id": decision}, patient=True)
        assert answer is not None
        self.told.decided(answer)
        return bool(answer["durable"])

    async def _visit_often(self, visitor: int) -> None:
        rng = np.random.default_rng([self._seed, visitor])
        visit = 0
        while not self._over:
            await self._visit(f"{self._name}{visitor}-{visit}", rng)
            visit += 1

    async def _visit(self, decision: str, rng: np.random.Generator) -> None:
        kind, value, patient = rng.random(), float(rng.random() < 0.3), bool(rng.random() < 0.8)
        context = {"device": f"device-{rng.integers(8)}", "hour": int(rng.integers(24))}
        self.told.asked.add(decision)
        if kind < 0.05:
            await self._say(decision, "early", value, patient)
        body = {"decision_id": decision, "context": context, "top_k": 2}
        answer = await self._ask("decisions", body, patient)
        if answer is None:
            return
        self.told.decided(answer)
        if kind < 0.6:
            await self._say(decision, "first", value, patient)
        elif kind < 0.8:
            says = [("first", value), ("first", value), ("other", 1.0 - value)]
            await asyncio.gather(*(self._say(decision, *each, patient) for each in says))

    async def _say(self, decision: str, key: str, value: float, patient: bool) -> None:
        body = {"decision_id": decision, "key": key, "value": value}
        answer = await self._ask("feedback", body, patient)
        if answer is not None:
            self.told.fed_back(decision, key, value, answer["status"])

    async def _ask(self, what: str, body: dict[str, Any], patient: bool) -> dict[str, Any] | None:
        """The answer; None if there was none, for those who are not patient or leave."""
        while not self._over:
            with suppress(httpx.TransportError):
                path = f"{self.address}/v1/models/{MODEL}/{what}"
                answer = await self._http.post(path, json=body)
                if answer.status_code == 200:
                    return dict(answer.json())
                if answer.status_code != 503:
                    self.told.wrong.append(answer.text)
            if not patient:
                return None
            await asyncio.sleep(_PAUSE)
        return None
