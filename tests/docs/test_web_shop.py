"""The page about a web shop runs as it is written, and visitors buy in a real browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.client import speaking
from tests.client.typescript import site
from tests.docs.pages import BASH, CURL, DEFAULT, DOCS, ROOT, Block, Reader, blocks
from tests.service.http.waiting import wait_until

chromium, package = speaking.chromium, speaking.package
GUIDE = DOCS / "how-to" / "web-shop.md"
SITE = "127.0.0.1:8080"
SERVED = "python3 -m http.server 8080 --bind 127.0.0.1 --directory shop\n"
PENDING = "Object.keys(localStorage).filter((name) => name.startsWith('fabcost:')).length"

pytestmark = pytest.mark.skipif(
    BASH is None or CURL is None, reason="curl or bash is not installed"
)


class Shop(NamedTuple):
    url: str
    http: httpx.Client

    def impressions(self) -> int:
        return int(self.http.get("/shop").raise_for_status().json()["impressions"])

    def latest(self) -> dict[str, Any]:
        found: list[dict[str, Any]] = self.http.get("/shop/decisions").json()["decisions"]
        return found[0]


class ShopReader(Reader):
    """One whose page is at a free port, too."""

    def _run(self, block: Block, where: str) -> str:
        if block.code == SERVED:
            # It was there before, for the server to know its origin.
            page = Path("shop", "index.html")
            page.write_text(self._here(page.read_text(encoding="utf-8")), encoding="utf-8")
            return ""
        return super()._run(block, where)

    @property
    def server(self) -> str:
        return f"http://{self._here(DEFAULT)}"


@pytest.fixture(scope="module")
def shop(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The shop, as whoever follows the guide has it."""
    folder = tmp_path_factory.mktemp("shop")
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SOURCES", str(ROOT))
        patch.setenv("PATH", f"{own_npm(package, folder / 'bin')}{os.pathsep}{os.environ['PATH']}")
        address = stack.enter_context(site(folder / "shop"))
        reader = ShopReader(stack, {SITE: address.removeprefix("http://")})
        assert reader.read(GUIDE) == 7
        key = (folder / "admin.key").read_text(encoding="utf-8").strip()
        models, headers = f"{reader.server}/v1/models", {"x-api-key": key}
        yield Shop(address, stack.enter_context(httpx.Client(base_url=models, headers=headers)))


def own_npm(package: Path, folder: Path) -> Path:
    """Where an ``npm`` is that packs what was built of these sources, by the same commands.

    To build it once more would take longer than all the rest.
    """
    (archive,) = (package.parent / "work").glob("*.tgz")
    folder.mkdir()
    script = f'#!/bin/sh\n[ "$1" = ci ] || cp "{archive}" "$4"\n'
    (folder / "npm").write_text(script, encoding="utf-8")
    (folder / "npm").chmod(0o755)
    return folder


@pytest.fixture
def context(chromium: Browser, shop: Shop) -> Iterator[BrowserContext]:
    """One visitor's browser."""
    found = chromium.new_context()
    yield found
    found.close()


def visit(context: BrowserContext, shop: Shop, *, lost: str = "", beacons: bool = True) -> Page:
    """The shop's page, all of it; requests that end with one of ``lost`` do not come through."""
    page = context.new_page()
    if not beacons:
        # Routes do not always hold what a page sends while it is left.
        page.add_init_script("navigator.sendBeacon = () => false")
    if lost:
        page.route(re.compile(rf"/v1/models/shop/({lost})"), lambda route: route.abort())
    page.goto(shop.url)
    expect(page.locator("#products li")).to_have_count(6)
    return page


def buy(page: Page) -> None:
    page.get_by_role("button", name="Into the basket").click()
    expect(page.locator("#basket")).to_contain_text("In your basket")


def test_a_visitor_buys(context: BrowserContext, shop: Shop) -> None:
    faults: list[str] = []
    context.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    before = shop.impressions()
    page = visit(context, shop)
    chosen = page.locator("#offer").get_attribute("data-item")
    assert page.locator("#offer").get_attribute("data-arm") in ("bandit", "holdback")
    buy(page)
    wait_until(lambda: shop.impressions() == before + 1)
    wait_until(lambda: page.evaluate(PENDING) == 0)
    sold = shop.latest()
    assert (sold["item"], sold["value"], sold["arm"]) == (
        chosen,
        1.0,
        page.locator("#offer").get_attribute("data-arm"),
    )
    assert faults == []


def test_what_was_seen_counts(context: BrowserContext, shop: Shop) -> None:
    with context.expect_event("response", lambda told: told.url.endswith("/activations")) as told:
        visit(context, shop)
    assert told.value.json()["activated"] is True


def test_who_leaves_sends_a_beacon(context: BrowserContext, shop: Shop) -> None:
    """The requests of the page itself are lost: only the browser can still tell."""
    before = shop.impressions()
    page = visit(context, shop, lost="feedback|activations")
    buy(page)
    assert page.evaluate(PENDING) == 2
    page.goto("about:blank")
    wait_until(lambda: shop.impressions() == before + 1)
    assert shop.latest()["value"] == 1.0


def test_a_sale_that_could_not_be_told_is_told_by_the_next_page(
    context: BrowserContext, shop: Shop
) -> None:
    before = shop.impressions()
    page = visit(context, shop, lost="feedback|activations|beacons", beacons=False)
    buy(page)
    page.goto("about:blank")
    assert shop.impressions() == before
    again = visit(context, shop)
    wait_until(lambda: shop.impressions() == before + 1)
    wait_until(lambda: again.evaluate(PENDING) == 0)


def test_without_a_server_something_is_offered(context: BrowserContext, shop: Shop) -> None:
    before = shop.latest()
    page = visit(context, shop, lost="decisions")
    assert page.locator("#offer").get_attribute("data-arm") == "fallback"
    assert page.locator("#offer").get_attribute("data-item") == "blue-mug"
    buy(page)
    assert page.evaluate(PENDING) == 0
    assert shop.latest() == before


def test_every_block_is_run() -> None:
    codes = [each.code for each in blocks(GUIDE.read_text(encoding="utf-8"))]
    assert codes.count(SERVED) == 1
