"""Every block of code in the tutorial and the new how-to pages runs, and prints what they say."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.pages import BASH, CURL, DEFAULT, DOCS, Reader, agrees, blocks, shell
from tests.examples import EXPLORES
from tests.service.postgres import PostgresMissingError, throw_away_server

PAGES = [
    "index.md",
    "tutorial/learner.md",
    "tutorial/recommender.md",
    "tutorial/service.md",
    "tutorial/log.md",
    "how-to/prior-and-rule.md",
    "how-to/large-catalogues.md",
    "how-to/saving.md",
    "how-to/notebooks.md",
    "how-to/drift.md",
    "how-to/weights.md",
    "how-to/large-logs.md",
    "how-to/operator.md",
    "how-to/data-scientist.md",
    "how-to/researcher.md",
]
POSTGRES = "postgresql://fabcost@127.0.0.1:5432/fabcost"
#: Pages with code that tests of their own run.
ELSEWHERE = {
    "how-to/features.md": "tests/features/test_documentation.py",
    "how-to/personalizer.md": "tests/service/personalizer/test_guide.py",
    "how-to/service.md": "tests/service/http/test_guide.py",
    "how-to/web-shop.md": "tests/docs/test_web_shop.py",
}

pytestmark = pytest.mark.skipif(
    BASH is None or CURL is None, reason="curl or bash is not installed"
)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        assert Reader(stack).read(DOCS / name) >= 1


@pytest.mark.skipif(not EXPLORES, reason="FABCOST_EXPLORE=1 runs it")
def test_the_paper_is_reproduced(tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "researcher.md").read_text(encoding="utf-8")
    (command,) = (line for line in page.splitlines() if line.startswith("    fabcost reproduce"))
    shell(command.replace("DIR", str(tmp_path / "made")), DEFAULT, {})
    assert (tmp_path / "made" / "report.html").is_file()


def test_moving_to_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        try:
            server = stack.enter_context(throw_away_server())
        except (PostgresMissingError, KeyError) as missing:
            pytest.skip(f"PostgreSQL is not installed: {missing}")
        address = stack.enter_context(server.database())
        assert Reader(stack, {POSTGRES: address}).read(DOCS / "how-to" / "postgresql.md") >= 6


def test_no_page_with_code_is_left_out() -> None:
    run = {*PAGES, *ELSEWHERE, "how-to/postgresql.md"}
    written = {page.relative_to(DOCS).as_posix(): page for page in DOCS.rglob("*.md")}
    with_code = {name for name, page in written.items() if any(blocks(page.read_text("utf-8")))}
    assert with_code == run
    for test in ELSEWHERE.values():
        assert (DOCS.parent / test).exists(), test


def test_what_is_printed_is_compared() -> None:
    assert agrees("listening on …\n", "listening on http://127.0.0.1:1\n")
    assert not agrees("4 clicks\n", "5 clicks\n")
    assert not agrees("4 clicks\n", "4 clicks\n5 clicks\n")
    (block,) = blocks("```python\nprint(1)\n```\n\n```text\n1\n```\n")
    assert block.said == "1\n"
