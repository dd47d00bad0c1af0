"""The pages of `fabcost evaluate` and `fabcost replay`: complete in themselves, in a browser."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from typer.testing import CliRunner

from fabcost.cli import application
from tests.offline.test_evaluation import OPTIONS, simulated, write
from tests.page import Page
from tests.service.dashboard import conftest
from tests.service.dashboard.visitor import Visitor

chromium = conftest.chromium
NASTY = "<script>alert(1)</script>&\"'"
PAGES = ("evaluate", "replay")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both pages, of a log whose items have names that mean something in HTML."""
    folder = tmp_path_factory.mktemp("pages")
    rows = [
        {**row, "item": row["item"] if row["item"] != "d" else NASTY, "price": 1 + i % 7}
        for i, row in enumerate(simulated(300))
    ]
    log = str(write(folder / f"log {NASTY.replace('/', '')}.csv", rows))
    few = ["--policy", "uniform", "--policy", "greedy", "--value", "price"]
    evaluate = ["evaluate", log, *OPTIONS, *few, "--policy", f"always:{NASTY}"]
    replay = ["replay", log, "--reward", "click", "--drop", "p", "--drop", "item", *few]
    replay += ["--seeds", "3", "--rounds", "60", "--jobs", "1"]
    for name, arguments in zip(PAGES, (evaluate, replay), strict=True):
        done = CliRunner().invoke(application, [*arguments, "--out", str(folder / name)])
        assert done.exit_code == 0, done.output
        assert "report.html" in done.output
    return {name: folder / name / "report.html" for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_well_formed_and_needs_nothing_from_outside(
    written: dict[str, Path], name: str
) -> None:
    text = written[name].read_text(encoding="utf-8")
    page = Page(text)
    names = Counter(each["id"] for _, each in page.elements if "id" in each)
    assert set(names.values()) == {1}
    for link in page.all("a"):
        assert str(link["href"]).removeprefix("#") in names
    assert not page.all("script")
    assert not page.all("link")
    for _, attributes in page.elements:
        for each in ("src", "href", "data", "srcset"):
            assert str(attributes.get(each) or "#").startswith(("data:", "#"))
    assert not re.search(r"https?://|@import|url\(", text)
    assert all(image["alt"] for image in page.all("img"))
    assert len(page.all("img")) >= 2


@pytest.mark.parametrize("name", PAGES)
def test_page_says_what_the_file_says(written: dict[str, Path], name: str) -> None:
    page = Page(written[name].read_text(encoding="utf-8"))
    told = " ".join(page.text)
    if name == "evaluate":
        summary = json.loads(written[name].with_name("evaluation.json").read_text("utf-8"))
        verdicts = [each["verdict"] for each in summary["incomes"] if each["read"]]
        for each in summary["warnings"]:
            assert each in told
        assert f"always:{NASTY}" in page.text
    else:
        summary = json.loads(written[name].with_name("replay.json").read_text("utf-8"))
        (others,) = (each for k, each in summary["policies"].items() if k != summary["against"])
        verdicts = [others["verdicts"][-1].partition(" (")[0]]
    tally = told[: told.index("How it was made")]
    for word, many in Counter(verdicts).items():
        assert re.search(rf"\b{many}\s+{word}", tally), tally


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_page_in_a_browser(
    written: dict[str, Path], chromium: Browser, name: str, width: int, colours: str
) -> None:
    """No fault, no request, no scrolling sideways, and colours that were asked for."""
    folder, size = written[name].parent.as_uri(), {"width": width, "height": 800}
    with Visitor.arriving(
        chromium, folder, path="/report.html", viewport=size, color_scheme=colours
    ) as visitor:
        assert visitor.page.locator("h1").is_visible()
        assert visitor.overflow() <= 0
        assert visitor.page.evaluate("[...document.images].every(each => each.naturalWidth > 0)")
        assert (visitor.background() > 0.5) is (colours == "light")
        assert [each for each in visitor.asked if not each.startswith("data:")] == [
            f"{folder}/report.html"
        ]
        assert visitor.faults == []


@pytest.mark.parametrize("name", PAGES)
def test_the_page_may_be_written_elsewhere(tmp_path: Path, name: str) -> None:
    log = str(write(tmp_path / "log.csv", simulated(60)))
    page = tmp_path / "new" / "page.html"
    given = ["--policy", "uniform", "--report", str(page)]
    if name == "evaluate":
        arguments = ["evaluate", log, *OPTIONS, *given, "--out", str(tmp_path / "out")]
    else:
        columns = ["--reward", "click", "--drop", "p", "--seeds", "1", "--jobs", "1"]
        arguments = ["replay", log, *columns, *given]
    done = CliRunner().invoke(application, arguments)
    assert done.exit_code == 0, done.output
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not (tmp_path / "out" / "report.html").exists()
