"""Requests of a site that shows adverts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx

from fabcost.service.http.auth import new_key
from fabcost.service.store.store import store_at

MAKES = ["ford", "kia", "volvo"]


class Adverts:
    """A site that asks the server at an address."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.url = str(http.base_url)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._http.request(method, f"/v1/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def make_model(self, name: str, **settings: Any) -> None:
        """A model with six adverts, a tenth of whose decisions are random."""
        self.ask("POST", "models", {"name": name, "settings": {"holdback": 0.1, **settings}})
        items = {f"advert-{i}": {"make": MAKES[i % 3], "age": i} for i in range(6)}
        self.ask("PUT", f"models/{name}/items", {"items": items})

    def live_through(self, name: str, decisions: int) -> None:
        """Decisions, of which a third each are not clicked, clicked, and still open."""
        for i in range(decisions):
            made = self.decide(name, context={"device": "mobile" if i % 2 else "desktop"}, top_k=3)
            if i % 3 < 2:
                body = {"decision_id": made["decision_id"], "value": float(i % 3)}
                self.ask("POST", f"models/{name}/feedback", body)

    def answer(self, name: str, values: Iterable[float | None]) -> None:
        """Decisions, each with its feedback; None leaves it open."""
        for number, value in enumerate(values):
            made = self.decide(name, decision_id=f"{name}-{number}")
            if value is not None:
                body = {"decision_id": made["decision_id"], "value": value}
                self.ask("POST", f"models/{name}/feedback", body)

    def decide(self, model: str, **request: Any) -> Any:
        return self.ask("POST", f"models/{model}/decisions", request)


@contextlib.contextmanager
def adverts(address: str, key: str = "") -> Iterator[Adverts]:
    with httpx.Client(base_url=address, headers={"X-Api-Key": key}, timeout=120.0) as http:
        yield Adverts(http)


def add_key(database: Path, *roles: str) -> str:
    """A new API key in a database."""
    row, key = new_key("tests", roles, None, now=0.0)
    store = store_at(str(database))
    store.open(take_over=False)
    store.keys.insert(row)
    store.close()
    return key
