"""Keys that stand in a page for all to read: what they open, how often, and by beacon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabcost.service.http.auth import Allowance, Keys, new_key
from fabcost.service.http.routes import operations
from fabcost.service.settings import Settings
from fabcost.service.store.store import store_at
from tests.service.http.serving import Running, running
from tests.service.http.test_server import command
from tests.service.http.waiting import wait_for_the_database

SHOP, EVIL = "https://shop.example", "https://evil.example"
ITEMS = {"a": {"x": 1}, "b": {"x": 2}}
RANK = {"actions": [{"id": "a", "features": [{"x": 1}]}]}


def add(database: str, *arguments: str) -> str:
    done = command("keys", "add", "shop", *arguments, "--database", database)
    assert done.exit_code == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("public") / "bandit.db")
    admin = {"authorization": f"Bearer {add(database, '--role', 'admin')}"}
    with running(Settings(database=database, cors_origins=(SHOP,))) as server:
        wait_for_the_database(server)
        with server.client(headers=admin) as http:
            for name in ("news", "other"):
                http.post("/v1/models", json={"name": name}).raise_for_status()
                http.put(f"/v1/models/{name}/items", json={"items": ITEMS}).raise_for_status()
            yield server


def page(server: Running, *arguments: str, model: str = "news") -> tuple[httpx.Client, str]:
    """A page with a new publishable key, and that key."""
    key = add(server.settings.database, "--publishable", "--model", model, *arguments)
    server.reread_keys()
    return server.client(headers={"x-api-key": key, "origin": SHOP}), key


def decided(http: httpx.Client, **request: Any) -> str:
    asked = http.post("/v1/models/news/decisions", json=request).raise_for_status()
    return str(asked.json()["decision_id"])


def test_it_decides_and_gives_feedback_and_nothing_else(server: Running) -> None:
    http, key = page(server)
    assert key.startswith("fp_")
    with http:
        body = {"decision_id": decided(http)}
        assert http.post("/v1/models/news/feedback", json=body).json()["status"] == "applied"
        for each in operations(Settings()):
            there = each.path.replace("{model}", "news").replace("{decision:path}", "x")
            asked = http.request(each.method, there).status_code
            allowed = each.role in ("decide", "feedback", None)
            assert (asked not in {401, 403}) == allowed, there
        assert http.post("/v1/models/other/decisions", json={}).status_code == 403


def test_it_makes_no_model(server: Running) -> None:
    http, key = page(server, model="unmade")
    with http:
        told = http.post("/unmade/personalizer/v1.0/rank", json=RANK)
    assert told.status_code == 404, told.text
    row, _ = new_key("shop", ["decide"], "unmade", now=0.0)
    store = store_at(server.settings.database)
    store.open(take_over=False)
    assert [each.rate for each in store.keys.all() if each.key_id == key.split("_")[1]] == [50.0]
    store.close()
    assert row.rate is None


def test_its_rate_is_kept(server: Running) -> None:
    http, key = page(server, "--rate", "0.001")
    with http:
        assert http.post("/v1/models/news/decisions", json={}).status_code == 200
        for path in ("/v1/models/news/decisions", "/v1/models/news/feedback"):
            refused = http.post(path, json={})
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
            assert 990 < int(refused.headers["retry-after"]) <= 1000
            assert refused.headers["access-control-allow-origin"] == SHOP
        contract = http.post("/news/personalizer/v1.0/rank", json=RANK)
        assert contract.status_code == 429
        server.reread_keys()
        assert http.post("/v1/models/news/decisions", json={}).status_code == 429
    counted = f'fabcost_rate_limited_total{{key="{key.split("_")[1]}"}} 4.0'
    assert counted in server.service.metrics.render().decode()


def test_bulk_counts_for_as_many_as_it_has(server: Running) -> None:
    http, _ = page(server, "--rate", "0.5")
    with http:
        feedback = [{"decision_id": f"unknown-{i}"} for i in range(100)]
        body = {"feedback": feedback}
        assert http.post("/v1/models/news/feedback/bulk", json=body).status_code == 200
        assert int(http.post("/v1/models/news/decisions", json={}).headers["retry-after"]) > 150


def test_an_allowance_fills_again() -> None:
    allowance = Allowance(rate=3.0, now=0.0)
    taken = sum(allowance.take(now=at / 100) == 0.0 for at in range(10_000))
    assert abs(taken - 330) <= 1
    assert Allowance(rate=0.01, now=0.0).take(now=0.0) == 0.0


def test_only_the_right_beginning_opens() -> None:
    public, text = new_key("shop", [], "news", now=0.0, rate=1.0)
    secret, other = new_key("shop", ["admin"], None, now=0.0)
    keys = Keys([public, secret])
    assert (keys.find(text), keys.find(other)) != (None, None)
    assert keys.find("fc" + text[2:]) is None
    assert keys.find("fp" + other[2:]) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--publishable",), "opens one model"),
        (("--publishable", "--model", "news", "--role", "admin"), "decide and feedback"),
        (("--publishable", "--model", "news", "--rate", "0"), "rate is 0.0 but must be above 0"),
        (("--role", "read", "--rate", "5"), "--publishable"),
        ((), "at least one role"),
    ],
)
def test_what_is_not_publishable(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = command("keys", "add", "x", *arguments, "--database", str(tmp_path / "b.db"))
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_list_says_what_is_publishable(server: Running) -> None:
    page(server, "--rate", "7")[0].close()
    listed = command("keys", "list", "--database", server.settings.database).stdout
    assert "decide,feedback  news  shop  publishable, 7/s" in listed


def test_one_is_made_over_http(server: Running) -> None:
    admin = add(server.settings.database, "--role", "admin")
    server.reread_keys()
    with server.client(headers={"x-api-key": admin}) as http:
        made = http.post("/v1/keys", json={"name": "x", "model": "news", "rate": 5}).json()
        assert (made["key"][:3], made["rate"]) == ("fp_", 5.0)
        wrong = http.post("/v1/keys", json={"name": "x", "roles": ["admin"], "rate": 5})
        assert wrong.status_code == 422
        assert http.post("/v1/keys", json={"name": "x"}).status_code == 422


def beacon(server: Running, key: str | None, body: Any, **headers: str) -> httpx.Response:
    """As a browser sends it: text, and no headers of ours."""
    query = {} if key is None else {"key": key}
    with server.client(headers={"content-type": "text/plain;charset=UTF-8", **headers}) as http:
        return http.post("/v1/models/news/beacons", content=json.dumps(body), params=query)


def test_a_beacon_says_what_was_seen_and_clicked(server: Running) -> None:
    http, key = page(server)
    with http:
        seen, clicked = decided(http, deferred=True), decided(http)
    body = {"activations": [seen], "feedback": [{"decision_id": clicked, "key": "k"}]}
    for _ in range(2):
        told = beacon(server, key, body, origin=SHOP)
        assert told.json() == {"feedback": [{"decision_id": clicked, "status": "applied"}]}
        assert told.headers["access-control-allow-origin"] == SHOP
    activated = {"feedback": [{"decision_id": seen}]}
    assert beacon(server, key, activated).json()["feedback"][0]["status"] == "applied"
    assert key not in server.logged()


def test_a_beacon_needs_a_publishable_key(server: Running) -> None:
    admin = add(server.settings.database, "--role", "admin")
    server.reread_keys()
    assert beacon(server, None, {}).status_code == 401
    assert beacon(server, "fp_x_y", {}).status_code == 401
    refused = beacon(server, admin, {})
    assert refused.status_code == 401
    assert "must be publishable" in refused.json()["error"]["message"]
    assert admin not in refused.text


def test_without_keys_beacons_of_other_sites_are_refused(tmp_path: Path) -> None:
    settings = Settings(database=str(tmp_path / "b.db"), cors_origins=(SHOP,))
    with running(settings) as server:
        with server.client() as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
        body = {"feedback": [{"decision_id": "x"}]}
        assert beacon(server, None, body, origin=EVIL).status_code == 403
        assert beacon(server, None, body, origin=SHOP).status_code == 200
