"""The page while the database of the server is away, and when it is back."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.service.dashboard.adverts import Adverts, adverts
from tests.service.dashboard.visitor import Visitor
from tests.service.faults.servers import is_ready, store_away, wait_for
from tests.service.faults.test_disk import full_disk
from tests.service.http.serving import process
from tests.service.postgres import PostgresServer

#: How the browser itself, not the page, reports an answer.
OF_THE_BROWSER = "Failed to load resource: the server responded with a status of 503"


def recent(visitor: Visitor) -> list[str]:
    """The items of the decisions shown, newest first."""
    shown = visitor.page.locator("#decisions tbody tr .name").all_inner_texts()
    assert len(shown) >= 6
    return shown


def see_decision(visitor: Visitor, item: str) -> None:
    row = visitor.page.locator("#decisions tbody tr", has_text=item)
    expect(row).to_be_visible(timeout=20_000)


def decide_in_memory(site: Adverts, item: str) -> None:
    """A decision for an item that no other decision has, answered without the database."""
    made = site.decide("cars", candidates={item: {"make": "kia", "age": 3}})
    assert made["durable"] is False


def faults_of_the_page(visitor: Visitor) -> list[str]:
    return [each for each in visitor.faults if not each.startswith(OF_THE_BROWSER)]


def test_a_database_that_can_be_read_but_not_written(chromium: Browser, tmp_path: Path) -> None:
    with process(tmp_path / "bandit.db") as server, adverts(server.address) as site:
        site.make_model("cars")
        site.live_through("cars", decisions=6)
        with Visitor.arriving(chromium, site.url) as visitor:
            visitor.see_figures()
            state, before = visitor.page.locator("#state"), recent(visitor)
            expect(state).to_contain_text("Database: ok")
            with full_disk(server.pid):
                for k in range(3):
                    decide_in_memory(site, f"memory-{k}")
                said = "Database away, decisions in memory: 3"
                expect(state).to_contain_text(said, timeout=20_000)
                visitor.see_figures()
                assert recent(visitor) == before
            expect(state).to_contain_text("Database: ok", timeout=20_000)
            see_decision(visitor, "memory-2")
            assert recent(visitor) == ["memory-2", "memory-1", "memory-0", *before]
            assert visitor.faults == []


def test_a_database_that_is_gone(
    chromium: Browser, postgres: PostgresServer, postgres_address: str
) -> None:
    with process(postgres_address) as server, adverts(server.address) as site:
        site.make_model("cars")
        site.live_through("cars", decisions=6)
        with Visitor.arriving(chromium, site.url) as visitor:
            visitor.see_figures()
            before = recent(visitor)
            postgres.stop()
            try:
                see_that_it_is_gone(visitor, site, before)
                arrive_while_it_is_gone(chromium, site)
            finally:
                postgres.start()
            wait_for(lambda: is_ready(site.url))
            # The page asks again by itself, after half a minute at most.
            expect(visitor.page.locator("#connection")).to_have_text("Live", timeout=60_000)
            expect(visitor.page.get_by_role("alert")).to_be_hidden()
            expect(visitor.page.locator("#state")).to_contain_text("Database: ok")
            see_decision(visitor, "memory")
            assert recent(visitor) == ["memory", *before]
            assert faults_of_the_page(visitor) == []


def see_that_it_is_gone(visitor: Visitor, site: Adverts, before: list[str]) -> None:
    """The page says what is wrong and keeps what it had, also when it looks once more."""
    wait_for(lambda: store_away(site.url))
    decide_in_memory(site, "memory")
    notice = visitor.page.get_by_role("alert")
    expect(notice).to_contain_text("the database cannot be reached", timeout=20_000)
    expect(notice).to_contain_text("What you see is old.")
    with visitor.page.expect_response("**/stats*") as asked:
        visitor.page.get_by_role("button", name="Try now").click()
    assert asked.value.status == 503
    expect(visitor.page.locator("#connection")).to_have_text("Out of date")
    expect(visitor.page.locator("#state")).to_be_hidden()
    assert recent(visitor) == before


def arrive_while_it_is_gone(chromium: Browser, site: Adverts) -> None:
    """Who comes now has nothing to see, and is told why."""
    with Visitor.arriving(chromium, site.url) as newcomer:
        notice = newcomer.page.get_by_role("alert")
        expect(notice).to_contain_text("the database cannot be reached", timeout=20_000)
        expect(newcomer.page.locator("#figures")).to_be_hidden()
        assert faults_of_the_page(newcomer) == []
