"""The native API from a model's making to what it learnt."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

CANDIDATES = {"ad-1": {"make": "ford", "age": 3}, "ad-2": {"make": "kia", "age": 1}}
CATALOGUE = {"cars/1 a": {"make": "ford"}, "käse": {"make": "kia"}, "c": {"make": "kia"}}


def test_decision_feedback_and_what_was_learnt(http: httpx.Client, model: str) -> None:
    asked = {"context": {"device": "mobile"}, "candidates": CANDIDATES, "top_k": 2}
    decision = http.post(f"/v1/models/{model}/decisions", json=asked).json()
    assert set(decision["ranking"]) == set(CANDIDATES)
    assert decision["durable"] is True
    given = {"decision_id": decision["decision_id"]}
    answered = http.post(f"/v1/models/{model}/feedback", json=given)
    assert answered.json() == {**given, "status": "applied"}
    assert http.post(f"/v1/models/{model}/feedback", json=given).json() == answered.json()
    other = http.post(f"/v1/models/{model}/feedback", json={**given, "key": "2"}).json()
    assert other["status"] == "duplicate"
    weights = http.get(f"/v1/models/{model}/posterior").json()["weights"]
    assert any(weight["mean"] > 0 for weight in weights)
    seen = http.get(f"/v1/models/{model}/decisions/{decision['decision_id']}").json()
    assert (seen["item"], seen["value"], seen["applied_lsn"]) == (decision["item"], 1.0, 1)


def test_a_repeated_decision_is_the_same(http: httpx.Client, model: str) -> None:
    asked = {"decision_id": "order/17 ü", "candidates": CANDIDATES}
    first = http.post(f"/v1/models/{model}/decisions", json=asked).json()
    assert http.post(f"/v1/models/{model}/decisions", json=asked).json() == first
    seen = http.get(f"/v1/models/{model}/decisions/order%2F17%20%C3%BC").json()
    assert seen["decision_id"] == "order/17 ü"
    why = http.get(f"/v1/models/{model}/explanations/order%2F17%20%C3%BC").json()
    assert why["decision"] == seen
    assert {each["name"] for each in why["contributions"]}


def test_bulk_feedback_is_answered_one_by_one(http: httpx.Client, model: str) -> None:
    ids = [f"d{i}" for i in range(3)]
    for each in ids:
        asked = {"decision_id": each, "candidates": CANDIDATES}
        http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
    given = [{"decision_id": each, "value": float(i)} for i, each in enumerate([*ids, "absent"])]
    answered = http.post(f"/v1/models/{model}/feedback/bulk", json={"feedback": given}).json()
    assert [each["status"] for each in answered["feedback"]] == ["applied"] * 3 + ["parked"]
    assert [each["decision_id"] for each in answered["feedback"]] == [*ids, "absent"]


def test_deferred_decisions_wait_for_their_activation(http: httpx.Client, model: str) -> None:
    asked = {"decision_id": "later", "candidates": CANDIDATES, "deferred": True}
    http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
    activation = {"decision_id": "later"}
    first = http.post(f"/v1/models/{model}/activations", json=activation).json()
    again = http.post(f"/v1/models/{model}/activations", json=activation).json()
    assert (first["activated"], again["activated"]) == (True, False)


def test_catalogue(http: httpx.Client, model: str) -> None:
    items = f"/v1/models/{model}/items"
    first = http.put(items, json={"items": CATALOGUE}).json()["version"]
    assert http.get(f"{items}/cars%2F1%20a").json() == {"make": "ford"}
    assert http.put(f"{items}/cars%2F1%20a", json={"make": "fiat"}).json()["version"] > first
    page = http.get(items, params={"limit": 2}).json()
    assert page["items"] == {"cars/1 a": {"make": "fiat"}, "käse": {"make": "kia"}}
    rest = http.get(items, params={"limit": 2, "after": page["next"]}).json()
    assert (rest["items"], rest["next"]) == ({"c": {"make": "kia"}}, None)
    assert http.delete(f"{items}/käse").status_code == 204
    assert http.delete(f"{items}/käse").status_code == 404
    chosen = http.post(f"/v1/models/{model}/decisions", json={"filter": {"make": "kia"}}).json()
    assert chosen["item"] == "c"


def test_decisions_are_listed_newest_first_in_pages(http: httpx.Client, model: str) -> None:
    for i in range(5):
        asked = {"decision_id": f"d{i}", "candidates": CANDIDATES}
        http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
    seen: list[str] = []
    parameters = {"limit": 2}
    while True:
        page = http.get(f"/v1/models/{model}/decisions", params=parameters).json()
        seen += [each["decision_id"] for each in page["decisions"]]
        if page["next"] is None:
            break
        parameters["before"] = page["next"]
    assert seen == [f"d{i}" for i in reversed(range(5))]


def test_models_are_made_changed_and_forgotten(http: httpx.Client) -> None:
    made = http.post("/v1/models", json={"name": "shop", "settings": {"holdback": 0.1}})
    assert (made.status_code, made.json()["settings"]["holdback"]) == (201, 0.1)
    assert http.post("/v1/models", json={"name": "shop"}).status_code == 409
    changed = http.patch("/v1/models/shop", json={"mode": "apprentice"}).json()
    assert changed == http.get("/v1/models/shop").json()
    assert changed["settings"]["mode"] == "apprentice"
    fixed = http.patch("/v1/models/shop", json={"seed": 3})
    assert (fixed.status_code, "'seed'" in fixed.json()["error"]["message"]) == (422, True)
    assert "shop" in [each["name"] for each in http.get("/v1/models").json()["models"]]
    assert http.delete("/v1/models/shop").status_code == 204
    assert http.get("/v1/models/shop").status_code == 404


def test_stats_count_decisions(http: httpx.Client, model: str) -> None:
    http.post(f"/v1/models/{model}/decisions", json={"candidates": CANDIDATES})
    stats = http.get(f"/v1/models/{model}/stats", params={"minutes": 5}).json()
    assert (stats["decisions"], stats["pending"], stats["store_away"]) == (1, 1, False)


def test_a_model_moves_as_a_file(http: httpx.Client, model: str) -> None:
    asked = {"decision_id": "d", "candidates": CANDIDATES}
    http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
    http.post(f"/v1/models/{model}/feedback", json={"decision_id": "d"}).raise_for_status()
    file = http.get(f"/v1/models/{model}/file")
    assert file.headers["content-type"] == "application/octet-stream"
    octets = {"content-type": "application/octet-stream"}
    made = http.put("/v1/models/copy/file", content=file.content, headers=octets)
    assert made.status_code == 201, made.text
    weights = [
        http.get(f"/v1/models/{name}/posterior").json()["weights"] for name in (model, "copy")
    ]
    assert weights[0] == weights[1]
    again = http.put("/v1/models/copy/file", content=file.content, headers=octets)
    assert again.status_code == 409
    http.delete("/v1/models/copy")


@pytest.mark.parametrize("form", ["jsonl", "parquet", "dsjson"])
def test_a_log_moves_in_every_format(http: httpx.Client, model: str, form: str) -> None:
    for i in range(3):
        asked = {"decision_id": f"d{i}", "candidates": CANDIDATES}
        http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
        given = {"decision_id": f"d{i}", "value": i % 2}
        http.post(f"/v1/models/{model}/feedback", json=given).raise_for_status()
    log = http.get(f"/v1/models/{model}/log", params={"format": form})
    assert log.status_code == 200, log.text
    http.post("/v1/models", json={"name": "elsewhere"})
    read = http.post(
        "/v1/models/elsewhere/log",
        params={"format": form},
        content=log.content,
        headers={"content-type": "application/octet-stream"},
    )
    assert read.json() == {"imported": 3}, read.text
    assert http.get("/v1/models/elsewhere").json()["impressions"] == 3
    http.delete("/v1/models/elsewhere")


def test_a_model_has_a_prior_or_one_variance(http: httpx.Client) -> None:
    usual = {"constant": 100.0, "numbers": 1.0, "categories": 1.0, "crosses": 1.0, "items": 0.3}

    def made(name: str, settings: dict[str, Any]) -> httpx.Response:
        return http.post("/v1/models", json={"name": name, "settings": settings})

    by_groups = made("by-groups", {}).json()["settings"]
    assert by_groups["prior"] == usual
    assert "prior_variance" not in by_groups
    assert made("some", {"prior": {"items": 0}}).json()["settings"]["prior"] == usual | {"items": 0}
    by_one = made("by-one", {"prior_variance": 10.0}).json()["settings"]
    assert by_one["prior_variance"] == 10.0
    assert "prior" not in by_one
    both = made("both", {"prior_variance": 10.0, "prior": {}})
    assert both.status_code == 422
    assert "must be only one of them" in both.text
    for name, change in (("by-groups", "prior"), ("by-one", "prior_variance")):
        fixed = http.patch(f"/v1/models/{name}", json={change: 2.0})
        assert fixed.status_code == 422
        assert "cannot be changed" in fixed.text
        assert http.patch(f"/v1/models/{name}", json={"floor": 0.1}).status_code == 200
    assert http.get("/v1/models/by-groups").json()["settings"]["prior"] == usual
