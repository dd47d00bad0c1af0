"""Fixtures: the client in TypeScript, built, in Node and in a page of another origin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.client.typescript import (
    DRIVER,
    NodeSpeaker,
    PageSpeaker,
    Speaker,
    missing,
    packed,
    site,
)
from tests.service.dashboard import conftest

chromium = conftest.chromium


@pytest.fixture(scope="module")
def package() -> Path:
    if (why := missing()) is not None:
        if os.environ.get("FABCOST_REQUIRE_NODE") == "1":
            raise RuntimeError(why)
        pytest.skip(f"the client in TypeScript cannot be built: {why}")
    return packed()


@pytest.fixture(scope="module")
def origin(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the page is: another origin than the server's."""
    folder = tmp_path_factory.mktemp("page")
    text = (
        "<!doctype html><title>a shop</title><p style='height: 3000px'>above</p><p id=ad>an ad</p>"
    )
    (folder / "index.html").write_text(text, encoding="utf-8")
    with site(folder, package, DRIVER.parent) as address:
        yield address


@pytest.fixture(scope="module")
def speaker(request: pytest.FixtureRequest) -> Callable[[str], Speaker]:
    """Node, or a page, begun when it is first asked for."""
    begun: dict[str, Speaker] = {}

    def begin(kind: str) -> Speaker:
        if kind == "node":
            node = NodeSpeaker(request.getfixturevalue("package"))
            request.addfinalizer(node.close)
            return node
        browser: Browser = request.getfixturevalue("chromium")
        page = browser.new_page()
        page.goto(request.getfixturevalue("origin"))
        return PageSpeaker(page)

    def find(kind: str) -> Speaker:
        if kind not in begun:
            begun[kind] = begin(kind)
        return begun[kind]

    return find
