"""One call of every operation, in an order that works: the examples of the OpenAPI document.

``python -m tests.service.http.story FILE`` asks a server of its own and wrote examples.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.kept.story import served

MODEL = "/v1/models/shop"
LINES = {"content-type": "application/x-ndjson"}
OCTETS = {"content-type": "application/octet-stream"}
PRODUCTS = {"tea": {"price": 4.5, "kind": "green"}, "mug": {"price": 12, "kind": "blue"}}
CONTEXT = {"device": "phone"}
_LONGEST, _BEGINNING = 2_000, 12


class Called(NamedTuple):
    """An operation by its name in the document, what was sent and what came back."""

    name: str
    sent: Any
    answer: httpx.Response

    @property
    def example(self) -> dict[str, Any]:
        """As the document shows it; bytes that are no text are not shown."""
        shown = {} if self.sent is None else {"request": self.sent}
        kind = self.answer.headers.get("content-type", "")
        if kind.startswith("application/json"):
            shown["answer"] = told = self.answer.json()
            if "key" in told:  # a secret, though of a server that is gone
                told["key"] = told["key"][:_BEGINNING] + "…"
        elif kind.startswith(("text/", "application/x-ndjson")):
            shown["answer"] = self.answer.text[:_LONGEST]
        return shown


def calls(http: httpx.Client) -> Iterator[Called]:
    """The whole story, which needs a server without a model of this name."""

    def call(name: str, method: str, path: str, sent: Any = None, **more: Any) -> Called:
        body = {} if sent is None else {"json": sent}
        return Called(name, sent, http.request(method, path, **body, **more).raise_for_status())

    def decided(name: str, **more: Any) -> dict[str, Any]:
        return {"decision_id": name, "context": CONTEXT, **more}

    settings = {"holdback": 0.1, "reward_wait_seconds": 600, "seed": 1}
    yield call("create_model", "POST", "/v1/models", {"name": "shop", "settings": settings})
    yield call("put_items", "PUT", f"{MODEL}/items", {"items": PRODUCTS})
    yield call("put_item", "PUT", f"{MODEL}/items/cup", {"price": 9.0, "kind": "white"})
    yield call("get_item", "GET", f"{MODEL}/items/cup")
    yield call("list_items", "GET", f"{MODEL}/items")
    yield call("delete_item", "DELETE", f"{MODEL}/items/cup")
    asked = decided("visit-1", items=["tea", "mug"])
    yield call("decide", "POST", f"{MODEL}/decisions", asked)
    yield call("give_feedback", "POST", f"{MODEL}/feedback", {"decision_id": "visit-1"})
    for name, shown in (("visit-2", False), ("visit-3", False), ("visit-4", True)):
        call("decide", "POST", f"{MODEL}/decisions", decided(name, deferred=shown))
    yield call("activate", "POST", f"{MODEL}/activations", {"decision_id": "visit-4"})
    feedback = [{"decision_id": "visit-2", "value": 0.0}]
    yield call("give_bulk_feedback", "POST", f"{MODEL}/feedback/bulk", {"feedback": feedback})
    left = {"activations": ["visit-4"], "feedback": [{"decision_id": "visit-3"}]}
    yield call("take_beacon", "POST", f"{MODEL}/beacons", left)
    yield call("list_decisions", "GET", f"{MODEL}/decisions?limit=1")
    yield call("get_decision", "GET", f"{MODEL}/decisions/visit-1")
    yield call("explain", "GET", f"{MODEL}/explanations/visit-4")
    yield call("list_models", "GET", "/v1/models")
    yield call("get_model", "GET", MODEL)
    yield call("change_model", "PATCH", MODEL, {"holdback": 0.05})
    yield call("get_posterior", "GET", f"{MODEL}/posterior")
    yield call("get_contrasts", "GET", f"{MODEL}/contrasts")
    yield call("get_alarms", "GET", f"{MODEL}/alarms")
    yield call("get_stats", "GET", f"{MODEL}/stats?minutes=1")
    log = call("export_log", "GET", f"{MODEL}/log", headers={"accept": LINES["content-type"]})
    yield log
    yield from _moved(http, log)
    key = {"name": "the shop's page", "model": "shop", "rate": 50}
    made = call("create_key", "POST", "/v1/keys", key)
    yield made
    mine = {"authorization": f"Bearer {made.answer.json()['key']}"}
    yield from _watched(http, made, mine)
    yield call("delete_model", "DELETE", MODEL)


def _moved(http: httpx.Client, log: Called) -> Iterator[Called]:
    """A model and its log taken elsewhere."""
    file = http.get(f"{MODEL}/file").raise_for_status()
    yield Called("export_model", None, file)
    put = http.put("/v1/models/copy/file", content=file.content, headers=OCTETS)
    yield Called("import_model", None, put.raise_for_status())
    http.post("/v1/models", json={"name": "other"}).raise_for_status()
    content = log.answer.content
    taken = http.post("/v1/models/other/log", content=content, headers=LINES).raise_for_status()
    yield Called("import_log", content.decode(), taken)


def _watched(http: httpx.Client, made: Called, mine: dict[str, str]) -> Iterator[Called]:
    """What operators look at; keys are not asked for here, nor does showing one do harm."""
    for name, path in (
        ("list_keys", "/v1/keys"),
        ("get_health", "/healthz"),
        ("get_readiness", "/readyz"),
        ("get_metrics", "/metrics"),
    ):
        yield Called(name, None, http.get(path, headers=mine).raise_for_status())
    gone = http.delete(f"/v1/keys/{made.answer.json()['key_id']}").raise_for_status()
    yield Called("revoke_key", None, gone)


def main(file: Path) -> None:
    """Write what a server of the version that is installed answers."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "new.db") as http:
        written = {each.name: each.example for each in calls(http)}
    text = json.dumps(written, indent=1, sort_keys=True, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
