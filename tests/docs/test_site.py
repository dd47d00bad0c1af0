"""The documentation site builds strictly, holds together, and asks nobody else for anything."""

from __future__ import annotations

import contextlib
import functools
import html.parser
import http.server
import importlib.util
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
import yaml  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as NotInTime
from studies.handbook import docstrings

import fabcost
import fabcost.client
from fabcost.offline import estimators
from tests.accessible import problems
from tests.docs.pages import DOCS, ROOT
from tests.service.dashboard import conftest
from tests.service.dashboard.visitor import Visitor

MISSING = [
    name
    for name in ("mkdocs", "material", "mkdocstrings", "latex2mathml")
    if importlib.util.find_spec(name) is None
]
needs_mkdocs = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed")
chromium = conftest.chromium
#: What axe-core looks for: in the dark only the colours are others.
RULES: dict[str, tuple[str, ...]] = {"light": (), "dark": ("color-contrast",)}
COLOURED = (
    "index",
    "tutorial/log",
    "explanation/architecture",
    "how-to/dashboard",
    "reference/http",
)
LOADED = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "srcset"}


def build(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    return subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Links(html.parser.HTMLParser):
    """Where a page leads to, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.loads: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.leads.add(str(given["href"]))
        if tag in LOADED and given.get("rel") != "canonical" and given.get(LOADED[tag]):
            self.loads.add(str(given[LOADED[tag]]))


def pages_of(site: Path) -> dict[str, Links]:
    found = site.rglob("*.html")
    return {each.relative_to(site).as_posix(): Links(each) for each in found}


def leads_to(here: str, link: str) -> str:
    return urldefrag(urljoin(f"/{here}", link)).url.removeprefix("/")


def in_nav(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        yield from (page for each in entry.values() for page in in_nav(each))
    elif isinstance(entry, list):
        yield from (page for each in entry for page in in_nav(each))


def nav() -> list[str]:
    written = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return list(in_nav(written["nav"]))


@needs_mkdocs
def test_every_page_is_reached_from_the_index(site: Path) -> None:
    pages = pages_of(site)
    met, waiting = {"index.html"}, ["index.html"]
    while waiting:
        here = waiting.pop()
        found = {leads_to(here, link) for link in pages[here].leads} & pages.keys()
        waiting += found - met
        met |= found
    assert pages.keys() - met == {"404.html"}
    assert {page.removesuffix(".md") + ".html" for page in nav()} == met


def test_no_page_has_two_versions_of_a_passage() -> None:
    marks = ("<<<<<<< ", "=======\n", ">>>>>>> ")
    for page in (ROOT / "docs").rglob("*.md"):
        lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
        assert [line for line in lines if line.startswith(marks)] == [], page


@needs_mkdocs
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page, links in pages_of(site).items():
        assert [each for each in links.loads if "//" in each] == [], page
        for each in links.loads:
            assert (site / leads_to(page, each).partition("?")[0]).is_file(), (page, each)


@needs_mkdocs
def test_formulas_and_pictures_are_in_the_pages(site: Path) -> None:
    mathematics = (site / "explanation" / "mathematics.html").read_text(encoding="utf-8")
    assert mathematics.count("<math") > 100
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text, page
        assert ":math:" not in text, page
        assert "<!-- picture" not in text, page
        assert not re.search(r'(?<!tabindex="0">)<(?:table>|math [^>]*display="block")', text), page
        assert 'role="dialog">' not in text, page
    drawn = (site / "explanation" / "architecture.html").read_text(encoding="utf-8")
    assert drawn.count('<svg class="house"') == 6


@needs_mkdocs
def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    """Two pages of their own with our settings, without those that the hooks add."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    del settings["nav"], settings["hooks"]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# Other\n", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text(
        "# One\n[One](gone.md), [another](other.md#gone), [third](other.md#other)\n",
        encoding="utf-8",
    )
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode == 1
    assert "'gone.md'" in done.stderr
    assert "'other.md#gone'" in done.stderr
    assert "Aborted with 2 warnings" in done.stderr + done.stdout


def silent() -> None:
    pass


def test_what_has_no_docstring_is_named() -> None:
    name = f"{__name__}.silent"
    assert list(docstrings.missing([name])) == [name]


def test_the_reference_has_every_public_name() -> None:
    written = {
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in docstrings.documented(page.read_text(encoding="utf-8"))
    }
    constants = {"FEW_CLICKS", "LEVEL", "RARE_CLICKS", "NEVER"}
    for module in (fabcost, fabcost.client, estimators):
        public = {f"{module.__name__}.{name}" for name in set(module.__all__) - constants}
        assert public <= written, public - written
    assert list(docstrings.missing(written)) == []


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def sample(colours: str) -> list[str]:
    """In the light one page at least of every section; what has colours also in the dark."""
    last = {Path(page).parent: page.removesuffix(".md") for page in nav()}
    known = {Path(page).parent for page in COLOURED}
    others = [page for section, page in last.items() if section not in known]
    return [*COLOURED, *(others if colours == "light" else ())]


def longest(site: Path) -> str:
    """The page with the most in it, which has code of every kind."""
    found = max(site.rglob("*.html"), key=lambda page: page.stat().st_size)
    return found.relative_to(site).as_posix()


@needs_mkdocs
@pytest.mark.parametrize("colours", RULES)
def test_search_finds_a_word_and_nothing_goes_wrong(
    site: Path, chromium: Browser, colours: str
) -> None:
    with (
        served(site) as address,
        Visitor.arriving(chromium, address, color_scheme=colours) as visitor,
    ):
        for name in sample(colours):
            visitor.page.goto(f"{address}/{name}.html")
            assert problems(visitor.page, *RULES[colours]) == [], name
        visitor.page.goto(f"{address}/{longest(site)}")
        assert problems(visitor.page, "color-contrast", firsts=".highlight span") == []
        scheme = visitor.page.locator("body").get_attribute("data-md-color-scheme")
        assert scheme == {"light": "default", "dark": "slate"}[colours]
        search(visitor.page, "cavity")
        assert visitor.faults == []


def search(page: Page, word: str, tries: int = 12) -> None:
    """Type until there is an answer: keys pressed before the page's script listens are lost."""
    query = page.locator("input[name=query]")
    found = page.locator(".md-search-result__list").get_by_text(word).first
    for _ in range(tries):
        query.fill("")
        query.press_sequentially(word)
        with contextlib.suppress(NotInTime):
            found.wait_for(timeout=5_000)
            return
    expect(found).to_be_visible()
