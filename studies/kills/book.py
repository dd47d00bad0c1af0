"""What servers acknowledged before they were killed, and whether it is all there afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
from tests.service.faults.ledger import model_row, reading, rebuilt_digest, served_digest
from tests.service.faults.promises import Broken, broken, broken_numbers
from tests.service.faults.servers import PATIENCE
from tests.service.faults.visitors import MODEL, Told

from fabcost.service.models.registry import ITEMS_AT_ONCE
from fabcost.service.store.rows import StoredDecision

CATALOGUE = "shop"
_PAGE = 1000


@dataclass
class Imports:
    """Lines of a model's log by id, with their values: those that were sent and acknowledged."""

    sent: dict[str, float] = field(default_factory=dict)
    kept: dict[str, float] = field(default_factory=dict)
    #: Those that have been learnt, if that is known.
    learnt: set[str] | None = field(default_factory=set)


@dataclass
class Book:
    """All promises of one database."""

    told: Told = field(default_factory=Told)
    imports: dict[str, Imports] = field(default_factory=dict)
    #: Models that are there for sure, and those of which nobody knows.
    models: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    #: The price of each item, and what it is if the last request was heard.
    prices: dict[str, int] = field(default_factory=dict)
    new_prices: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    acknowledged: Counter[str] = field(default_factory=Counter)

    def totals(self) -> Counter[str]:
        """How much was acknowledged so far, of each kind."""
        return self.acknowledged + self.told.totals()

    def forget(self, model: str) -> None:
        """It was deleted."""
        self.models.discard(model)
        self.doubtful.discard(model)
        self.imports.pop(model, None)


@dataclass
class Checked:
    """What a look at everything found."""

    broken: list[Broken]
    digests: int
    equal: int


class Checker:
    """Compares a database and its server with a book; only deadlines pass meanwhile."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._rebuilt: dict[tuple[object, ...], str] = {}
        self._reported: set[str] = set()

    def check(self, address: str, database: str) -> Checked:
        """Everything that was ever acknowledged, and the posterior of every model."""
        with httpx.Client(base_url=f"{address}/v1", timeout=PATIENCE) as http:
            made = {each["name"]: each["created"] for each in http.get("/models").json()["models"]}
            found = [*self._models(set(made)), *self._items(http)]
            for model in made:
                found += self._log(http, database, model)
        found += (Broken("wrong", each) for each in self._book.wrong)
        self._book.wrong.clear()
        equal = 0
        for model, created in made.items():
            impressions, digest = served_digest(address, model)
            if digest == self._digest(database, model, created, impressions):
                equal += 1
            else:
                found.append(Broken("wrong", f"digest of {model} after {impressions} impressions"))
        return Checked(self._news(found), len(made), equal)

    def _news(self, found: list[Broken]) -> list[Broken]:
        """What was lost once is not lost again at the next look."""
        news = [each for each in found if repr(each) not in self._reported]
        self._reported |= {repr(each) for each in news}
        return news

    def _digest(self, database: str, model: str, created: float, impressions: int) -> str:
        """Learnt from the log by this process, once for each length."""
        key = (database, model, created, impressions)
        if key not in self._rebuilt:
            self._rebuilt[key] = rebuilt_digest(database, model, to=impressions)[1]
        return self._rebuilt[key]

    def _models(self, found: set[str]) -> Iterator[Broken]:
        book = self._book
        for model in book.doubtful - found:
            book.forget(model)
        book.models |= book.doubtful & found
        book.doubtful.clear()
        yield from (Broken("lost", f"model {each}") for each in book.models - found)
        yield from (Broken("wrong", f"{each} was deleted") for each in found - book.models)

    def _items(self, http: httpx.Client) -> Iterator[Broken]:
        """Of a request without an answer, all items of the first pieces are there, or none."""
        book, found = self._book, prices(http)
        asked = list(book.new_prices.items())
        written = [
            {**book.prices, **dict(asked[:many])}
            for many in (*range(0, len(asked), ITEMS_AT_ONCE), len(asked))
        ]
        expected = next((each for each in written if each == found), book.prices)
        yield from (Broken("lost", f"item {each}") for each in expected.keys() - found.keys())
        for item, price in found.items():
            if price != expected.get(item):
                yield Broken("wrong", f"item {item} is {price}, not {expected.get(item)}")
        book.prices, book.new_prices = found, {}

    def _log(self, http: httpx.Client, database: str, model: str) -> Iterator[Broken]:
        rows, head = list[StoredDecision](), -1
        with reading(database) as store:
            # Deadlines pass meanwhile: rows and head belong together if no number was given.
            while head != (found := model_row(store, model).head_lsn):
                rows, head = store.history(model, after=0, limit=10**6), found
        if model == MODEL:
            yield from broken(rows, head, self._book.told)
        else:
            yield from broken_numbers(rows, head)
            yield from _broken_imports(rows, self._book.imports.setdefault(model, Imports()))
            self._book.imports[model].learnt = {row.decision for row in rows if row.lsn}
        counted = http.get(f"/models/{model}/stats").json()["decisions"]
        if counted != len(rows):
            how: Literal["lost", "doubled"] = "doubled" if counted > len(rows) else "lost"
            yield Broken(how, f"{model} counts {counted} decisions, not {len(rows)}")


def _broken_imports(rows: list[StoredDecision], imports: Imports) -> Iterator[Broken]:
    stored = {row.decision: row for row in rows}
    for line in imports.kept.keys() - stored.keys():
        yield Broken("lost", f"line {line}")
    for line, row in stored.items():
        if line not in imports.sent:
            yield Broken("wrong", f"nobody sent the line {line}")
        elif line in imports.kept and row.outcome is None:
            yield Broken("lost", f"the value of line {line}")
        elif row.outcome is not None and row.value != imports.sent[line]:
            yield Broken("wrong", f"line {line} has the value {row.value}")


def prices(http: httpx.Client) -> dict[str, int]:
    """All items of the catalogue, page by page."""
    found: dict[str, int] = {}
    asked: dict[str, Any] = {"limit": _PAGE}
    while True:
        page = http.get(f"/models/{CATALOGUE}/items", params=asked).json()
        found |= {item: features["price"] for item, features in page["items"].items()}
        if page["next"] is None:
            return found
        asked["after"] = page["next"]
