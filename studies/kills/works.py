"""What servers are asked to do while they are killed, besides serving visitors."""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
from tests.service.faults.test_refreshes import impression as wide_impression
from tests.service.faults.test_refreshes import settings as wide_settings

from studies.kills.book import CATALOGUE, Book, Imports

NEWS, WIDE, BRIEF = "news", "wide", "brief"
LINES, FEW_LINES, ITEMS_AT_ONCE, ITEMS = 500, 200, 2_000, 6_000
#: Of 141 weights; each refresh of so many impressions is done in the background.
POINTS = [800 + 100 * k for k in range(60)]
_MADE = 4
_POLL_SECONDS = 0.002
#: Not now; also if a busy machine was too slow with the body.
_AGAIN = (408, 503)


class Work(ABC):
    """Asked of a server again and again, until that dies.

    Attributes
    ----------
    in_flight
        Whether something is under way: asked for, and not answered yet.
    finished
        How often it was done.
    typical
        Seconds that it took the last time.
    """

    def __init__(self, book: Book, rng: np.random.Generator) -> None:
        self.in_flight = False
        self.finished = 0
        self.typical = 0.02
        self._book = book
        self._rng = rng
        self._asked = 0

    @property
    def wrong(self) -> list[str]:
        """Answers that nobody should get."""
        return self._book.wrong

    @abstractmethod
    async def go_on(self, http: httpx.AsyncClient) -> None:
        """Ask for one thing, and write down what was answered."""

    @contextmanager
    def flight(self) -> Iterator[None]:
        """Under way from here on; if no answer comes, for ever."""
        self.in_flight, started = True, time.monotonic()
        yield
        self.in_flight, self.typical = False, time.monotonic() - started
        self.finished += 1

    def is_answered(self, answer: httpx.Response, *expected: int) -> bool:
        """Whether it was done; not if it may be asked for again.  All else is wrong."""
        if answer.status_code not in (*expected, *_AGAIN):
            self._book.wrong.append(f"{answer.request.method} {answer.url}: {answer.text}")
        return answer.status_code in expected

    async def import_lines(
        self, http: httpx.AsyncClient, model: str, lines: list[dict[str, Any]]
    ) -> bool:
        """Import; whether that was acknowledged."""
        imports = self._book.imports.setdefault(model, Imports())
        imports.sent |= {line["decision_id"]: line["value"] for line in lines}
        answer = await http.post(
            f"/models/{model}/log",
            content="\n".join(map(json.dumps, lines)),
            headers={"content-type": "application/x-ndjson"},
        )
        learnt, imports.learnt = imports.learnt, None
        if not self.is_answered(answer, 200):
            return False
        sent = {line["decision_id"]: line["value"] for line in lines}
        new, expected = answer.json()["imported"], len(sent.keys() - (learnt or set()))
        if learnt is not None and new != expected:
            self._book.wrong.append(f"{new} lines of {model} were new, not {expected}")
        imports.kept |= sent
        imports.learnt = None if learnt is None else learnt | sent.keys()
        self._book.acknowledged["imports"] += len(lines)
        return True

    async def make(self, http: httpx.AsyncClient, model: str, **settings: Any) -> bool:
        """Make a model; it may be there if nobody heard of it."""
        self._book.doubtful.add(model)
        answer = await http.post("/models", json={"name": model, "settings": settings})
        if not self.is_answered(answer, 201):
            return False
        self._book.doubtful.discard(model)
        self._book.models.add(model)
        self._book.acknowledged["models"] += 1
        return True

    async def delete(self, http: httpx.AsyncClient, model: str) -> None:
        """Delete a model with its log."""
        self._book.models.discard(model)
        self._book.doubtful.add(model)
        if self.is_answered(await http.delete(f"/models/{model}"), 204):
            self._book.forget(model)
            self._book.acknowledged["models"] += 1

    def new_lines(self, model: str, many: int) -> list[dict[str, Any]]:
        """Lines of a log that came from elsewhere."""
        self._asked += 1
        return [self._line(f"{model}-{self._asked}-{k}") for k in range(many)]

    def _line(self, name: str) -> dict[str, Any]:
        hour, make, value = self._rng.integers((24, 5, 4))
        return {
            "decision_id": name,
            "context": {"hour": int(hour)},
            "candidates": {"a": {"make": f"make-{make}"}},
            "item": "a",
            "value": float(value == 0),
        }


class Importing(Work):
    """Logs from elsewhere; one that broke off is sent again."""

    _lines: list[dict[str, Any]] | None = None

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """One body of lines."""
        self._lines = self._lines or self.new_lines(NEWS, LINES)
        with self.flight():
            kept = await self.import_lines(http, NEWS, self._lines)
        if kept:
            self._lines = None


class Putting(Work):
    """New prices for many items at once."""

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """A part of the catalogue."""
        self._asked += 1
        first = int(self._rng.integers(ITEMS - ITEMS_AT_ONCE))
        prices = {f"item-{first + k}": self._asked for k in range(ITEMS_AT_ONCE)}
        items = {item: {"make": item[-1], "price": price} for item, price in prices.items()}
        self._book.new_prices = prices
        with self.flight():
            answer = await http.put(f"/models/{CATALOGUE}/items", json={"items": items})
        if self.is_answered(answer, 200):
            self._book.prices |= prices
            self._book.new_prices = {}
            self._book.acknowledged["items"] += len(prices)


class Making(Work):
    """New models, and old ones deleted so that there are not too many."""

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """One more."""
        self._asked += 1
        model = f"made-{self._asked % _MADE}"
        if model in self._book.models:
            await self.delete(http, model)
        with self.flight():
            made = await self.make(http, model)
        if made:
            await self.import_lines(http, model, self.new_lines(model, 20))


class Deleting(Work):
    """A model that is deleted and made again."""

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """Once."""
        if BRIEF in self._book.models or await self.make(http, BRIEF):
            await self.import_lines(http, BRIEF, self.new_lines(BRIEF, FEW_LINES))
            with self.flight():
                await self.delete(http, BRIEF)


class Refreshing(Work):
    """Impressions of a wide model, up to the next refresh in the background."""

    _lines: list[dict[str, Any]] | None = None
    _reached = 0

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """One refresh; it is under way if the server says so."""
        if self._lines is None:
            stop = next(point for point in POINTS if point > self._reached) + 30
            self._lines = [wide_impression(k, self._rng) for k in range(self._reached, stop)]
        if not await self.import_lines(http, WIDE, self._lines):
            return
        self._reached, self._lines = self._reached + len(self._lines), None
        with self.flight():
            self.in_flight = False
            while await self._is_refreshing(http):
                self.in_flight = True
                await asyncio.sleep(_POLL_SECONDS)

    async def _is_refreshing(self, http: httpx.AsyncClient) -> bool:
        answer = await http.get(f"/models/{WIDE}/stats")
        return self.is_answered(answer, 200) and bool(answer.json()["refreshing"])


async def prepare(http: httpx.AsyncClient, work: Work) -> None:
    """The models that all works need."""
    refresh = {"kind": "at", "points": POINTS}
    for model, settings in (
        (NEWS, {}),
        (CATALOGUE, {}),
        (WIDE, {**wide_settings(), "refresh": refresh}),
    ):
        if not await work.make(http, model, **settings):
            raise RuntimeError(f"the model {model} could not be made: {work.wrong}")
