"""What browsers are told of pages of other origins, by a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fabcost.service.http.app import Startup
from fabcost.service.http.exchange import Cors
from fabcost.service.processes import CannotStartError
from fabcost.service.server import asks_for_keys
from fabcost.service.settings import Settings, load
from tests.service.http.serving import Running, running
from tests.service.http.waiting import wait_for_the_database

SHOP, EVIL = "https://shop.example", "https://evil.example"
PICTURES = "https://images.shop.example"
ASKING = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
DECIDE = "/v1/models/news/decisions"
BODY = {"candidates": {"a": {"x": 1}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = str(tmp_path_factory.mktemp("cors") / "bandit.db")
    with running(
        Settings(database=database, cors_origins=(SHOP,), image_origins=(PICTURES,))
    ) as server:
        wait_for_the_database(server)
        with server.client() as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
        yield server


@pytest.fixture
def page(server: Running) -> Iterator[httpx.Client]:
    """A page of the shop."""
    with server.client(headers={"origin": SHOP}) as http:
        yield http


def test_a_browser_is_told_that_it_may_ask(page: httpx.Client) -> None:
    for path in (DECIDE, "/personalizer/v1.0/rank", "/nowhere"):
        told = page.options(path, headers=ASKING)
        assert (told.status_code, told.content) == (204, b"")
        assert told.headers["access-control-allow-origin"] == SHOP
        assert "Origin" in told.headers["vary"]
        assert "POST" in told.headers["access-control-allow-methods"]
        allowed = told.headers["access-control-allow-headers"].split(", ")
        assert {"authorization", "content-type", "x-api-key"} <= set(allowed)
        assert int(told.headers["access-control-max-age"]) > 0
        assert "access-control-allow-credentials" not in told.headers


def test_a_browser_of_another_site_is_told_nothing(server: Running) -> None:
    with server.client(headers={"origin": EVIL}) as http:
        told = http.options(DECIDE, headers=ASKING)
        assert (told.status_code, told.json()["error"]["code"]) == (403, "forbidden")
        assert EVIL in told.json()["error"]["message"]
        answered = [told, http.post(DECIDE, json=BODY), http.get("/v1/models/news")]
    for each in answered:
        assert "access-control-allow-origin" not in each.headers
        assert each.headers["vary"] == "Origin"


def test_every_answer_may_be_read_by_the_shop(page: httpx.Client) -> None:
    """By the fast path, by the application, and errors of both."""
    answered = [
        page.post(DECIDE, json=BODY),
        page.post(DECIDE, json={"context": 1}),
        page.post(f"{DECIDE}?x=1", json=BODY),
        page.get("/v1/models/none"),
        page.get("/nowhere"),
        page.options(DECIDE),
        page.post("/personalizer/rank", content=b"{"),
        page.get("/healthz"),
        page.get("/"),
    ]
    statuses = [each.status_code for each in answered]
    assert statuses == [200, 422, 422, 404, 404, 405, 400, 200, 200]
    for each in answered:
        assert each.headers["access-control-allow-origin"] == SHOP
        assert each.headers["vary"] == "Origin"
        assert "retry-after" in each.headers["access-control-expose-headers"]


def test_the_shop_may_use_the_contract_without_keys(server: Running) -> None:
    body = {"actions": [{"id": "a", "features": [{"x": 1}]}]}
    with server.client() as http:
        for origin, status in ((SHOP, 201), (EVIL, 403)):
            asked = http.post("/personalizer/rank", json=body, headers={"origin": origin})
            assert asked.status_code == status


def test_without_origins_nothing_is_said(tmp_path: Path) -> None:
    with running(Settings(database=str(tmp_path / "b.db"))) as server, server.client() as http:
        asked = http.options("/v1/models", headers={"origin": SHOP, **ASKING})
        assert asked.status_code == 405
        for each in (asked, http.get("/v1/models", headers={"origin": SHOP})):
            assert not [name for name in each.headers if name.startswith("access-control")]
            assert "vary" not in each.headers


def test_a_server_that_loads_says_so_to_pages_too() -> None:
    app = Startup(lambda: "loading", Cors([SHOP]))
    transport = httpx.ASGITransport(app)

    async def asked() -> list[httpx.Response]:
        headers = {"origin": SHOP}
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            told = await http.options(DECIDE, headers={**headers, **ASKING})
            return [told, await http.post(DECIDE, json=BODY, headers=headers)]

    answered = asyncio.run(asked())
    assert [each.status_code for each in answered] == [204, 503]
    assert {each.headers["access-control-allow-origin"] for each in answered} == {SHOP}


def test_any_page_may_be_let_in_but_not_to_everything() -> None:
    assert Cors(["*"]).headers({b"origin": EVIL.encode()})[0][1] == b"*"
    any_page = Settings(cors_origins=("*",))
    assert asks_for_keys(any_page, 1)
    with pytest.raises(CannotStartError, match="name the origins, or make a key"):
        asks_for_keys(any_page, None)


def test_pictures_may_come_from_elsewhere_and_nothing_else(page: httpx.Client) -> None:
    told = page.get("/")
    policy = f"default-src 'self'; img-src 'self' data: {PICTURES}"
    assert told.headers.get_list("content-security-policy") == [policy]
    assert f'<html lang="en" data-images="{PICTURES}">' in told.text
    assert PICTURES not in page.get("/v1/models").headers["content-security-policy"]
    with pytest.raises(ValueError, match="image_origins has .* but must have"):
        load({"image_origins": "https://a; script-src *"}, {})


def test_origins_are_set(tmp_path: Path) -> None:
    file = tmp_path / "fabcost.toml"
    file.write_text(f'cors_origins = ["{SHOP}", "http://localhost:5173"]\n', encoding="utf-8")
    both = (SHOP, "http://localhost:5173")
    assert load({}, {}, file).settings.cors_origins == both
    written = {"FABCOST_CORS_ORIGINS": f"{SHOP}, http://localhost:5173"}
    assert load({}, written).settings.cors_origins == both
    assert load({"cors_origins": ""}, written).settings.cors_origins == ()
    for wrong in ("shop.example", f"{SHOP}/", "https://*.shop.example", "https://a b"):
        with pytest.raises(ValueError, match="flag: cors_origins has .* but must have"):
            load({"cors_origins": wrong}, {})
