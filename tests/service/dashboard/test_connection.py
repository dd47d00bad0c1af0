from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from fabcost.service.settings import Settings
from tests.service.dashboard.adverts import Adverts, adverts
from tests.service.dashboard.visitor import Visitor
from tests.service.http.serving import process, running
from tests.service.postgres import find_port

KEPT = "[Object.values(sessionStorage), Object.keys(localStorage), document.cookie]"


def test_a_server_that_asks_for_keys_gets_one(chromium: Browser, locked: Adverts) -> None:
    locked.live_through("cars", decisions=3)
    key = locked.ask("POST", "keys", {"name": "reader", "roles": ["read"]})["key"]
    with Visitor.arriving(chromium, locked.url) as visitor:
        form = visitor.page.locator("#key-form")
        expect(form).to_be_visible(timeout=20_000)
        expect(visitor.page.locator("#figures")).to_be_hidden()
        visitor.page.get_by_label("API key").fill("fc_wrong_key")
        visitor.page.keyboard.press("Enter")
        expect(form).to_contain_text("The server does not accept this key.", timeout=20_000)
        visitor.page.get_by_label("API key").fill(key)
        visitor.page.get_by_role("button", name="Open").click()
        visitor.see_figures()
        expect(form).to_be_hidden()
        assert visitor.page.evaluate(KEPT) == [[key], [], ""]
        visitor.page.get_by_role("button", name="Forget key").click()
        expect(form).to_be_visible(timeout=20_000)
        expect(visitor.page.locator("#figures")).to_be_hidden()
        assert visitor.page.evaluate(KEPT) == [[], [], ""]
        assert key not in visitor.page.url
        assert [each for each in visitor.faults if "401" not in each] == []


def test_no_key_no_questions(chromium: Browser, locked: Adverts) -> None:
    with Visitor.arriving(chromium, locked.url) as visitor:
        expect(visitor.page.locator("#key-form")).to_be_visible(timeout=20_000)
        before = visitor.questions()
        visitor.page.wait_for_timeout(2_500)
        assert visitor.questions() == before


def test_a_key_that_may_not_read_opens_nothing(chromium: Browser, locked: Adverts) -> None:
    key = locked.ask("POST", "keys", {"name": "shop", "roles": ["decide"]})["key"]
    with Visitor.arriving(chromium, locked.url) as visitor:
        visitor.page.get_by_label("API key").fill(key)
        visitor.page.keyboard.press("Enter")
        form = visitor.page.locator("#key-form")
        expect(form).to_contain_text("This key may not read this model.", timeout=20_000)
        expect(visitor.page.locator("#figures")).to_be_hidden()


def test_a_lost_server_is_said_to_be_lost_and_found_again(
    chromium: Browser, tmp_path: Path
) -> None:
    database = tmp_path / "bandit.db"
    # Others must not be given its port while it is stopped.
    port = str(find_port())
    with process(database, "--port", port) as server, adverts(server.address) as site:
        site.make_model("cars")
        site.live_through("cars", decisions=3)
        with Visitor.arriving(chromium, site.url) as visitor:
            visitor.see_figures()
            server.stop()
            notice = visitor.page.get_by_role("alert")
            expect(notice).to_contain_text("The server cannot be reached.", timeout=20_000)
            expect(visitor.page.locator("#connection")).to_have_text("Connection lost")
            expect(visitor.page.get_by_role("button", name="Try now")).to_be_visible()
            with process(database, "--port", port):
                # By then the page may have found the server by itself and hidden the button.
                visitor.page.evaluate("document.querySelector('#lost button').click()")
                visitor.see_figures()
                expect(notice).to_be_hidden()


def test_a_server_without_models_says_how_to_make_one(chromium: Browser, tmp_path: Path) -> None:
    settings = Settings(database=str(tmp_path / "bandit.db"))
    with (
        running(settings) as server,
        adverts(server.address) as site,
        Visitor.arriving(chromium, site.url) as visitor,
    ):
        empty = visitor.page.locator("#empty")
        expect(empty).to_be_visible(timeout=20_000)
        site.make_model("cars")
        expect(visitor.page.locator("#figures")).to_be_visible(timeout=20_000)
        expect(empty).to_be_hidden()
        expect(visitor.page.locator("#ctr")).to_have_text("No decisions in this period.")
        assert visitor.faults == []
