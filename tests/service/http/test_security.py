"""Keys, roles, hosts, headers, and what is never told."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabcost.service.http.auth import Keys, new_key
from fabcost.service.http.routes import operations
from fabcost.service.settings import Settings
from fabcost.service.store.store import store_at
from tests.service.http.serving import Running, running

ROLES = ("decide", "feedback", "read", "admin")
CANDIDATES = {"a": {"x": 1}, "b": {"x": 2}}


class Locked:
    """A server that asks for keys, and a key for each role, for all models and for one."""

    def __init__(self, database: Path) -> None:
        self.database = database
        self.keys = {
            (role, model): self.add(role, model)
            for role, model in itertools.product(ROLES, (None, "news"))
        }

    def add(self, role: str, model: str | None) -> str:
        row, text = new_key(f"{role} of {model}", [role], model, now=0.0)
        store = store_at(str(self.database))
        store.open(take_over=False)
        store.keys.insert(row)
        store.close()
        return text


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Locked:
    return Locked(tmp_path_factory.mktemp("locked") / "bandit.db")


@pytest.fixture(scope="module")
def guarded(locked: Locked) -> Iterator[Running]:
    with running(Settings(database=str(locked.database), log_level="debug")) as server:
        with server.client(headers=bearer(locked.keys["admin", None])) as http:
            for name in ("news", "shop", "default"):
                http.post("/v1/models", json={"name": name}).raise_for_status()
        yield server


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def requests_of_the_native_api() -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    for each in operations(Settings()):
        if each.role is not None:
            path = re.sub(r"\{(item|decision|key_id)(:path)?\}", "absent", each.path)
            found.append((each.method, path, each.role))
    return found


def status(http: httpx.Client, method: str, path: str, key: str | None) -> int:
    headers = {} if key is None else bearer(key)
    return http.request(method, path, headers=headers).status_code


@pytest.mark.parametrize(("method", "path", "role"), requests_of_the_native_api())
def test_each_request_needs_its_role(
    guarded: Running, locked: Locked, method: str, path: str, role: str
) -> None:
    """401 without a key, 403 with another role; with the role, whatever else is wrong."""
    there = path.replace("{model}", "absent")
    with guarded.client() as http:
        assert status(http, method, there, None) == 401
        assert status(http, method, there, "fc_absent_secret") == 401
        for each in ROLES:
            lets_in = each in {role, "admin"}
            if lets_in and (method, path) == ("GET", "/v1/keys"):
                continue
            answered = status(http, method, there, locked.keys[each, None])
            assert (answered not in {401, 403}) == lets_in, each


@pytest.mark.parametrize(("method", "path", "role"), requests_of_the_native_api())
def test_a_key_of_one_model_opens_no_other(
    guarded: Running, locked: Locked, method: str, path: str, role: str
) -> None:
    """The other model's existence is not told either: 403 both times."""
    key = locked.keys["admin", "news"]
    with guarded.client() as http:
        if "{model}" not in path:
            expected = 200 if (method, path) == ("GET", "/v1/models") else 403
            assert status(http, method, path, key) == expected
            return
        assert status(http, method, path.replace("{model}", "shop"), key) == 403
        assert status(http, method, path.replace("{model}", "absent"), key) == 403


def test_a_key_of_one_model_sees_only_that(guarded: Running, locked: Locked) -> None:
    with guarded.client(headers=bearer(locked.keys["read", "news"])) as http:
        assert [each["name"] for each in http.get("/v1/models").json()["models"]] == ["news"]


@pytest.mark.parametrize("path", ["/personalizer/rank", "/shop/personalizer/v1.0/rank"])
def test_the_personalizer_contract_needs_a_key_too(
    guarded: Running, locked: Locked, path: str
) -> None:
    asked = {"actions": [{"id": "a", "features": [{"x": 1}]}]}
    with guarded.client() as http:
        refused = http.post(path, json=asked)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "401")
        other = {"Ocp-Apim-Subscription-Key": locked.keys["decide", "news"]}
        assert http.post(path, json=asked, headers=other).status_code == 403
        feedback = {"Ocp-Apim-Subscription-Key": locked.keys["feedback", None]}
        assert http.post(path, json=asked, headers=feedback).status_code == 403
        right = {"Ocp-Apim-Subscription-Key": locked.keys["decide", None]}
        assert http.post(path, json=asked, headers=right).status_code == 201


REWARD = "personalizer/v1.0/events/e/reward"
RANK = {"actions": [{"id": "a", "features": [{"x": 1}]}]}


@pytest.mark.parametrize("prefix", ["/{name}", "/tenants/acme/models/{name}"])
@pytest.mark.parametrize(
    ("role", "operation", "body"),
    [("decide", "personalizer/v1.0/rank", RANK), ("feedback", REWARD, {"value": 1.0})],
)
def test_only_who_may_make_models_makes_one_by_the_personalizer_contract(
    guarded: Running, locked: Locked, prefix: str, role: str, operation: str, body: Any
) -> None:
    """Natively that needs an admin; or the key is for that very model, which an admin named."""
    name = f"made-{role}-{len(prefix)}"
    path, header = f"{prefix.format(name=name)}/{operation}", "Ocp-Apim-Subscription-Key"
    with guarded.client(headers=bearer(locked.keys["admin", None])) as http:

        def asked(key: str) -> httpx.Response:
            headers = {header: key, "authorization": ""}
            return http.post(path, json=body, headers=headers)

        def is_made() -> bool:
            return http.get(f"/v1/models/{name}").status_code == 200

        refused = asked(locked.keys[role, None])
        assert (refused.status_code, is_made()) == (404, False), refused.text
        assert refused.headers["x-ms-error-code"] == "ResourceNotFound"
        assert "admin" in refused.json()["error"]["message"]
        for key in (locked.add(role, name), locked.keys["admin", None]):
            guarded.reread_keys()
            assert (asked(key).is_success, is_made()) == (True, True)
            http.delete(f"/v1/models/{name}").raise_for_status()
        http.post("/v1/models", json={"name": name}).raise_for_status()
        assert asked(locked.keys[role, None]).is_success


@pytest.mark.parametrize("header", ["X-Api-Key", "Ocp-Apim-Subscription-Key"])
def test_a_key_may_be_in_another_header(guarded: Running, locked: Locked, header: str) -> None:
    with guarded.client(headers={header: locked.keys["read", None]}) as http:
        assert http.get("/v1/models/news").status_code == 200


def test_health_document_and_dashboard_are_open(guarded: Running) -> None:
    with guarded.client() as http:
        for path in ("/healthz", "/readyz", "/openapi.json", "/"):
            assert http.get(path).status_code == 200, path


def test_keys_made_and_revoked_over_http(guarded: Running, locked: Locked) -> None:
    with guarded.client(headers=bearer(locked.keys["admin", None])) as http:
        asked = {"name": "shop front", "roles": ["decide"], "model": "news"}
        made = http.post("/v1/keys", json=asked).json()
        assert status(http, "GET", "/v1/models/news", made["key"]) == 403
        listed = http.get("/v1/keys")
        assert made["key_id"] in [each["key_id"] for each in listed.json()["keys"]]
        assert made["key"].split("_", 2)[2] not in listed.text
        assert http.delete(f"/v1/keys/{made['key_id']}").status_code == 204
        assert http.delete(f"/v1/keys/{made['key_id']}").status_code == 404
        assert status(http, "GET", "/v1/models/news", made["key"]) == 401


def test_no_secret_in_the_log_nor_in_answers(guarded: Running, locked: Locked) -> None:
    key = locked.keys["admin", None]
    secret = key.split("_", 2)[2]
    with guarded.client(headers=bearer(key)) as http:
        answers = [
            http.get("/v1/keys").text,
            http.post("/v1/models", json={"name": secret}).text,
            http.get("/v1/models?key=" + secret).text,
            http.get("/nowhere/" + key).text,
            http.post("/v1/models/news/decisions", content=key).text,
        ]
    assert '"route":"/v1/keys"' in guarded.logged()
    assert secret not in guarded.logged()
    assert not [text for text in answers[:1] + answers[3:] if secret in text]


def test_a_similar_key_is_not_the_key() -> None:
    row, text = new_key("shop", ["read"], None, now=0.0)
    keys = Keys([row])
    assert keys.find(text) is not None
    for wrong in (
        text[:-1],
        text + "A",
        text.upper(),
        text[3:],
        "",
        "fc",
        "fc__",
        f"fc_{row.key_id}_",
    ):
        assert keys.find(wrong) is None, wrong
    assert Keys([row._replace(revoked=1.0)]).find(text) is None


SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; img-src 'self' data:",
    "x-frame-options": "DENY",
}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/healthz"),
        ("GET", "/"),
        ("GET", "/v1/models"),
        ("GET", "/nowhere"),
        ("DELETE", "/healthz"),
        ("POST", "/personalizer/rank"),
        ("GET", "/metrics"),
    ],
)
def test_every_answer_has_security_headers(http: httpx.Client, method: str, path: str) -> None:
    headers = http.request(method, path).headers
    assert {name: headers.get(name) for name in SECURITY} == SECURITY
    assert headers["cache-control"] == ("no-cache" if path == "/" else "no-store")
    assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", ""])
def test_without_keys_only_this_machine_is_served(http: httpx.Client, host: str) -> None:
    """A page whose name points here would send its own name."""
    assert http.get("/v1/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:80"])
def test_names_of_this_machine(http: httpx.Client, host: str) -> None:
    assert http.get("/v1/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_what_a_form_can_send_is_refused(http: httpx.Client, kind: str | None) -> None:
    """So that other sites' pages cannot post here without the browser asking first."""
    headers = {} if kind is None else {"content-type": kind}
    answer = http.post("/v1/models", content=b'{"name": "forged"}', headers=headers)
    assert (answer.status_code, http.get("/v1/models/forged").status_code) == (415, 404)
