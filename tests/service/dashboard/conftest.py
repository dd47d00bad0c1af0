from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from fabcost.service.settings import Settings
from tests.service.dashboard.adverts import Adverts, add_key, adverts
from tests.service.dashboard.visitor import Visitor
from tests.service.http.serving import running

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


expect.set_options(timeout=20_000)


def settings_for(database: Path) -> Settings:
    """Of a server that may be slow: what is not compiled yet is compiled by a request."""
    return Settings(database=str(database), request_seconds=120.0)


# Not for the session: while it lasts, the thread of the tests has a running event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None and os.environ.get("FABCOST_REQUIRE_CHROMIUM") != "1":
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adverts]:
    """A site whose server asks for no keys and has a model that has learnt a little."""
    database = tmp_path_factory.mktemp("served") / "bandit.db"
    with running(settings_for(database)) as server, adverts(server.address) as found:
        found.make_model("cars", reward_wait_seconds=86_400.0)
        found.live_through("cars", decisions=30)
        yield found


@pytest.fixture
def visitor(chromium: Browser, served: Adverts) -> Iterator[Visitor]:
    """Someone at a desk; at the end nothing has gone wrong and no request went elsewhere."""
    with Visitor.arriving(chromium, served.url) as found:
        yield found
        assert found.faults == []


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Adverts]:
    """A site whose server asks for keys."""
    database = tmp_path / "bandit.db"
    key = add_key(database, "admin")
    with running(settings_for(database)) as server, adverts(server.address, key) as found:
        found.make_model("cars")
        yield found
