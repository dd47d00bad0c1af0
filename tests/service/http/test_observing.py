"""Metrics, request ids and the log."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fabcost.service.telemetry import Metrics, logger
from tests.service.http.serving import Running
from tests.service.http.waiting import lines_with, wait_until

CANDIDATES = {"a": {"x": 1}, "b": {"x": 2}}


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def counted_when(http: httpx.Client, line: str) -> dict[tuple[str, frozenset[Any]], float]:
    """The metrics once a line is among them: an answer may come just before it is counted."""
    deadline = time.monotonic() + 60.0
    while line not in (text := http.get("/metrics").text):
        assert time.monotonic() < deadline, text
        time.sleep(0.05)
    return samples(text)


def test_the_loop_is_counted(http: httpx.Client, model: str) -> None:
    for i in range(3):
        asked = {"decision_id": f"d{i}", "candidates": CANDIDATES}
        http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
    http.post(f"/v1/models/{model}/feedback", json={"decision_id": "d0"}).raise_for_status()
    http.post(f"/v1/models/{model}/feedback", json={"decision_id": "?"}).raise_for_status()
    counted = counted_when(http, f'fabcost_feedback_total{{model="{model}",status="parked"}} 1.0')

    def count(name: str, **labels: str) -> float:
        return counted[f"fabcost_{name}", frozenset({"model": model, **labels}.items())]

    assert count("decisions_total", arm="bandit", durable="true") == 3
    assert count("feedback_total", status="applied") == 1
    assert count("feedback_total", status="parked") == 1
    assert count("posterior_version") == 1
    assert count("selection_entropy_count") == 3
    route = {"route": "/v1/models/{model}/decisions", "method": "POST", "status": "2xx"}
    assert counted["fabcost_request_seconds_count", frozenset(route.items())] >= 3
    assert counted["fabcost_store_away", frozenset()] == 0
    assert counted["fabcost_requests_in_flight", frozenset()] == 1


def test_refreshes_are_counted(http: httpx.Client, model: str) -> None:
    """Five impressions have as many refreshes; they are short, and done at once."""
    for i in range(5):
        asked = {"decision_id": f"d{i}", "candidates": CANDIDATES}
        http.post(f"/v1/models/{model}/decisions", json=asked).raise_for_status()
        http.post(f"/v1/models/{model}/feedback", json={"decision_id": f"d{i}"}).raise_for_status()
    assert http.get(f"/v1/models/{model}/stats").json()["refreshes"] == 5
    counted = counted_when(http, f'fabcost_refresh_seconds_count{{model="{model}"}}')
    assert counted["fabcost_refresh_seconds_count", frozenset({("model", model)})] == 5


def test_decisions_of_a_model_that_is_off_are_counted_apart(http: httpx.Client) -> None:
    made = http.post("/v1/models", json={"name": "off", "settings": {"mode": "off"}})
    made.raise_for_status()
    asked = {"decision_id": "d", "candidates": CANDIDATES}
    assert http.post("/v1/models/off/decisions", json=asked).json()["durable"] is False
    http.post("/v1/models/off/feedback", json={"decision_id": "d"}).raise_for_status()
    counted = counted_when(http, 'fabcost_feedback_total{model="off",status="ignored"} 1.0')
    own = {
        dict(labels)["durable"]: value
        for (name, labels), value in counted.items()
        if name == "fabcost_decisions_total" and ("model", "off") in labels
    }
    assert own == {"off": 1}


def test_a_forgotten_model_is_not_counted_on(http: httpx.Client) -> None:
    http.post("/v1/models", json={"name": "gone"}).raise_for_status()
    http.post("/v1/models/gone/decisions", json={"candidates": CANDIDATES}).raise_for_status()
    assert 'model="gone"' in http.get("/metrics").text
    http.delete("/v1/models/gone").raise_for_status()
    assert 'model="gone"' not in http.get("/metrics").text


def test_paths_of_callers_do_not_become_labels(http: httpx.Client) -> None:
    for path in ("/v1/models/made-up", "/made-up", "/made-up/personalizer/events/e/reward"):
        http.post(path)
    http.request("MKCOL", "/made-up")
    assert "made-up" not in http.get("/metrics").text


def test_every_metric_says_what_it_means() -> None:
    for family in text_string_to_metric_families(Metrics().render().decode()):
        assert family.documentation.endswith(".") or "_created" in family.name, family.name


@pytest.mark.parametrize(
    ("given", "kept"),
    [("trace-17", True), ("a" * 64, True), ("a" * 65, False), ("a b", False), ("<script>", False)],
)
def test_request_ids(http: httpx.Client, given: str, kept: bool) -> None:
    answered = http.get("/healthz", headers={"x-request-id": given}).headers["x-request-id"]
    assert (answered == given) == kept
    assert http.get("/healthz").headers["x-request-id"] != answered


def test_requests_are_logged_without_what_they_hold(server: Running, http: httpx.Client) -> None:
    http.get("/v1/models/secret-model/items?after=secret-item", headers={"x-request-id": "look"})
    (line,) = lines_with(server, '"look"')
    logged = json.loads(line)
    assert logged.pop("ms") > 0
    assert logged.pop("time")
    assert logged == {
        "level": "info",
        "event": "request",
        "request_id": "look",
        "method": "GET",
        "route": "/v1/models/{model}/items",
        "status": 404,
    }
    assert "secret" not in server.logged()


@pytest.mark.parametrize("form", ["json", "console"])
def test_levels_and_formats(form: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), write_through=True)
    log = logger("warning", "json" if form == "json" else "console", stream)
    log.info("not told")
    log.warning("told", port=1)
    assert isinstance(stream.buffer, io.BytesIO)
    written = stream.buffer.getvalue().decode()
    assert "not told" not in written
    assert written.count("\n") == 1
    assert '"event":"told"' in written if form == "json" else "told" in written


def test_income_of_the_arms_is_told() -> None:
    metrics = Metrics()
    metrics.gained("news", None, {"bandit": 12.5, "holdback": -0.25})
    metrics.gained("cars", None, {"bandit": 1.0})
    found = samples(metrics.render().decode())
    arms = {"bandit": 12.5, "holdback": -0.25}
    for arm, income in arms.items():
        assert found["fabcost_income", frozenset({("model", "news"), ("arm", arm)})] == income
    metrics.forget("news")
    assert b'model="news"' not in metrics.render()
    assert b'fabcost_income{arm="bandit",model="cars"} 1.0' in metrics.render()


def test_outcomes_of_the_arms_are_counted(http: httpx.Client, model: str) -> None:
    http.patch(f"/v1/models/{model}", json={"holdback": 0.5}).raise_for_status()
    body = {"candidates": {"a": {"x": 1}, "b": {"x": 2}}}
    arms: list[tuple[str, bool]] = []
    for number in range(40):
        made = http.post(f"/v1/models/{model}/decisions", json=body).json()
        told = {"decision_id": made["decision_id"], "value": float(number % 4 == 0)}
        http.post(f"/v1/models/{model}/feedback", json=told).raise_for_status()
        arms.append((made["arm"], number % 4 == 0))
    http.patch(f"/v1/models/{model}", json={"reward_wait_seconds": 0.1}).raise_for_status()
    late = http.post(f"/v1/models/{model}/decisions", json=body).json()["arm"]

    def counted(name: str) -> dict[str, float]:
        found = samples(http.get("/metrics").text)
        return {
            arm: found.get(
                (f"fabcost_{name}_total", frozenset({("model", model), ("arm", arm)})), 0
            )
            for arm in ("bandit", "holdback")
        }

    wait_until(lambda: counted("expiries")[late] == 1)
    for arm in ("bandit", "holdback"):
        own = [clicked for each, clicked in arms if each == arm]
        assert counted("impressions")[arm] == len(own) + (arm == late)
        assert counted("clicks")[arm] == sum(own)
    assert sum(counted("expiries").values()) == 1


def test_every_refresh_is_counted(http: httpx.Client, model: str) -> None:
    for number in range(30):
        body = {"candidates": {"a": {"x": number}, "b": {"y": number % 5}}}
        made = http.post(f"/v1/models/{model}/decisions", json=body).json()["decision_id"]
        told = {"decision_id": made, "value": number % 2}
        http.post(f"/v1/models/{model}/feedback", json=told).raise_for_status()
    refreshes = http.get(f"/v1/models/{model}/stats").json()["refreshes"]
    found = samples(http.get("/metrics").text)
    own = frozenset({("model", model)})
    assert found["fabcost_refresh_seconds_count", own] == refreshes > 5
    assert found["fabcost_refresh_seconds_sum", own] > 0.0
