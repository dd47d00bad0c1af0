from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from fabcost.service.dashboard import read_assets
from fabcost.service.settings import Settings
from tests.service.http.serving import Running, running

#: Ours; those of Swagger UI are its own.
ASSETS = {name: asset for name, asset in read_assets().items() if "swagger" not in name}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    database = tmp_path_factory.mktemp("files") / "bandit.db"
    with running(Settings(database=str(database))) as found:
        yield found


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/docs", "text/html; charset=utf-8"),
        ("/dashboard/main.js", "text/javascript; charset=utf-8"),
        ("/dashboard/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("/dashboard/style.css", "text/css; charset=utf-8"),
        ("/dashboard/icon.svg", "image/svg+xml"),
    ],
)
def test_each_file_has_its_media_type(http: httpx.Client, path: str, kind: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


def test_a_browser_asks_each_time_and_gets_only_what_has_changed(http: httpx.Client) -> None:
    first = http.get("/dashboard/main.js")
    assert first.headers["cache-control"] == "no-cache"
    again = http.get("/dashboard/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = http.get("/dashboard/polling.js", headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


def test_head_is_get_without_a_body(http: httpx.Client) -> None:
    answer = http.head("/")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("name", ["none.js", "files.py", "..%2Ffiles.py", "%2e%2e/files.py"])
def test_nothing_else_is_served(http: httpx.Client, name: str) -> None:
    assert http.get(f"/dashboard/{name}").status_code == 404


def test_only_get_is_answered(http: httpx.Client) -> None:
    assert http.post("/").status_code == 405


def test_every_file_is_loaded_by_another() -> None:
    text = "\n".join(asset.content.decode() for asset in ASSETS.values())
    loaded = set(re.findall(r"(?:\./|dashboard/)([a-z_]+\.(?:js|css|svg))", text))
    assert loaded == set(ASSETS) - {"index.html", "docs.html"}


@pytest.mark.parametrize("name", sorted(ASSETS))
def test_nothing_inline_and_nothing_parsed(name: str) -> None:
    text = ASSETS[name].content.decode()
    inline = r"style=|<script>|<style|\son\w+=|javascript:"
    parsed = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
    elsewhere = r"https?://(?!www\.w3\.org/2000/svg)"
    assert re.findall(f"{inline}|{parsed}|{elsewhere}", text) == []


@pytest.mark.parametrize("name", sorted(ASSETS))
def test_files_stay_short(name: str) -> None:
    assert ASSETS[name].content.count(b"\n") <= 150
