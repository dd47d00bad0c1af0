"""Without keys, pages of other sites cannot write through the contract."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running
from tests.service.personalizer.loopback import Loopback
from tests.service.personalizer.serving import ACTIONS
from tests.service.personalizer.test_contract import check_refused

BASE = "/shop/personalizer/v1.0"
OTHERS = ["https://evil.example", "http://localhost:1", "http://127.0.0.1", "null", "", "://"]
PLAIN = {"content-type": "text/plain;charset=UTF-8"}


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(Settings(database=str(tmp_path_factory.mktemp("o") / "bandit.db"))) as server:
        yield server


@pytest.fixture
def http(open_to_all: Running) -> Iterator[httpx.Client]:
    with open_to_all.client() as client:
        yield client


@pytest.mark.parametrize("origin", OTHERS)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/rank"),
        ("POST", "/events/e/reward"),
        ("POST", "/events/e/activate"),
        ("PUT", "/configurations/service"),
        ("GET", "/configurations/service"),
    ],
)
def test_a_page_of_another_site_is_refused(
    http: httpx.Client, method: str, path: str, origin: str
) -> None:
    headers = {**PLAIN, "origin": origin}
    answer = http.request(method, BASE + path, content="{}", headers=headers)
    assert "other sites" in check_refused(answer, 403, "InvalidApiAccess")


def test_what_is_refused_leaves_no_trace(http: httpx.Client) -> None:
    path, body = "/unseen/personalizer/v1.0/rank", {"actions": ACTIONS}
    refused = http.post(path, json=body, headers={**PLAIN, "origin": OTHERS[0]})
    assert refused.status_code == 403
    assert "unseen" not in [each["name"] for each in http.get("/v1/models").json()["models"]]


def test_its_own_pages_and_programs_are_served(open_to_all: Running, http: httpx.Client) -> None:
    own = open_to_all.address
    for headers in ({}, {"origin": own}, {"origin": own.upper()}):
        answer = http.post(BASE + "/rank", json={"actions": ACTIONS}, headers=headers)
        assert answer.status_code == 201


def test_whoever_has_a_key_may_ask_from_anywhere(server: Loopback) -> None:
    headers = {"origin": OTHERS[0], "ocp-apim-subscription-key": server.key}
    address = f"{server.address}{BASE}/rank"
    assert httpx.post(address, json={"actions": ACTIONS}, headers=headers).status_code == 201
