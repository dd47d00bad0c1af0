"""The contract in process: the real service on SQLite, without a server before it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from fabcost.service.models.views import Looked
from fabcost.service.personalizer import ContractRequest, Personalizer, parse
from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from tests.service.core.running import Hands

T = TypeVar("T")

ACTIONS: list[dict[str, Any]] = [
    {"id": "pasta", "features": [{"taste": "salty", "spice": 1}, {"nutrition": {"level": 5}}]},
    {"id": "ice cream", "features": [{"taste": "sweet", "spice": 0}]},
    {"id": "juice", "features": [{"taste": "sweet"}, {"drink": True}]},
]
CONTEXT = [{"user": {"profileType": "new", "age": 3}}, {"timeOfDay": "morning"}]


class Http(NamedTuple):
    """Requests to an application in the event loop of its service."""

    portal: BlockingPortal
    client: httpx.AsyncClient

    def request(self, method: str, url: str, **options: Any) -> httpx.Response:
        return self.portal.call(partial(self.client.request, method, url, **options))

    def get(self, url: str) -> httpx.Response:
        return self.request("GET", url)

    def post(self, url: str, **options: Any) -> httpx.Response:
        return self.request("POST", url, **options)

    def put(self, url: str, **options: Any) -> httpx.Response:
        return self.request("PUT", url, **options)

    def patch(self, url: str, **options: Any) -> httpx.Response:
        return self.request("PATCH", url, **options)

    def delete(self, url: str) -> httpx.Response:
        return self.request("DELETE", url)


class Served(NamedTuple):
    """The application, and the service behind it."""

    http: Http
    service: Service
    hands: Hands

    def call(self, function: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        return self.http.portal.call(partial(function, *args, **options))

    def rank(self, base: str = "/personalizer", **changes: Any) -> dict[str, Any]:
        body = {"actions": ACTIONS, "contextFeatures": CONTEXT, **changes}
        answer = self.http.post(f"{base}/rank", json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def reward(self, event: str, value: float = 1.0, base: str = "/personalizer") -> None:
        answer = self.http.post(f"{base}/events/{event}/reward", json={"value": value})
        assert (answer.status_code, answer.content) == (204, b"")

    def activate(self, event: str, base: str = "/personalizer") -> None:
        answer = self.http.post(f"{base}/events/{event}/activate")
        assert (answer.status_code, answer.content) == (204, b"")

    def impressions(self, name: str = "default") -> int:
        return self.service.model(name).impressions

    def state(self) -> Any:
        """Everything that a refused request must leave as it is, with no count from memory."""
        names = [each.name for each in self.service.models()]
        with patch.object(Looked, "is_fresh", return_value=False):
            stats = [self.call(self.service.stats, name, minutes=10**6) for name in names]
        return self.service.models(), stats


async def answer(contract: Personalizer, request: httpx.Request) -> httpx.Response:
    """What whoever may do everything is answered."""
    path = parse(request.url.path)
    assert path is not None, request.url.path
    headers = {name.lower(): value for name, value in request.headers.raw}
    asked = ContractRequest(request.method, path, headers, request.content, may_make=True)
    found = await contract.answer(asked)
    kind = [(b"content-type", b"application/json")] if found.body else []
    return httpx.Response(found.status, headers=[*kind, *found.headers], content=found.body)


@contextlib.contextmanager
def serving(database: Path, **options: Any) -> Iterator[Served]:
    hands = Hands(1_000.0)
    with start_blocking_portal() as portal:
        start = partial(Service.start, lambda: store_at(str(database)), clock=hands.clock())
        service = portal.call(start)
        transport = httpx.MockTransport(partial(answer, Personalizer(service, **options)))
        client = httpx.AsyncClient(transport=transport, base_url="http://service")
        yield Served(Http(portal, client), service, hands)
        portal.call(client.aclose)
        portal.call(service.stop)
