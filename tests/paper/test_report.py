"""The report is well formed, complete in itself, and says what it was given."""

from __future__ import annotations

import base64
import re
from collections import Counter
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from fabcost.offline.page import typeset
from fabcost.offline.pictures import Picture, Plot
from fabcost.paper.parts.part import Change, PaperClaim
from fabcost.paper.reproduction import ReproductionReport, Section, duration, render
from tests.page import Page

NASTY = "a < b & \"c\" 'd' $scale <script>alert(1)</script>"


def picture(name: str) -> Picture:
    def draw(part: None) -> Figure:
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([0, 1], [1, 0])
        return figure

    return Picture.of(Plot(name, draw, f"{name}: {NASTY}", f"see {NASTY}"), None)


def claim(verdict: str, *, text: str = "more clicks", **more: Any) -> PaperClaim:
    return PaperClaim("Figure 4", text, "16 %", "-3 %", verdict, NASTY, 61.0, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def report() -> ReproductionReport:
    verdicts = ("reproduced", "partly", "not reproduced", "not testable")
    return ReproductionReport(
        scale="quick",
        seed=3,
        command="fabcost reproduce --out 'a b'",
        version="0.1",
        settings={"Machine": NASTY},
        sections=[
            Section("one", "First & best", NASTY, [*map(claim, verdicts)], [picture("a")]),
            Section(
                "two",
                "Second",
                "",
                [claim("partly", text=NASTY, details=((NASTY, "one"), ("other", "-2")))],
                [picture("b"), picture("c")],
            ),
        ],
        errata=[("1", NASTY, "a", "b", "c"), ("2", "x", "d", "e", "f")],
        changes=[Change("moments", "exact", NASTY)],
    )


@pytest.fixture(scope="module")
def page(report: ReproductionReport) -> Page:
    return Page(render(report))


def test_page_is_well_formed_and_names_are_unique(page: Page) -> None:
    names = Counter(each["id"] for _, each in page.elements if "id" in each)
    assert set(names.values()) == {1}
    for link in page.all("a"):
        assert str(link["href"]).removeprefix("#") in names
    for _, each in page.elements:
        if "aria-labelledby" in each:
            assert each["aria-labelledby"] in names
    assert page.all("html") == [{"lang": "en-GB"}]


def test_page_needs_nothing_from_outside(report: ReproductionReport, page: Page) -> None:
    assert not page.all("script")
    assert not page.all("link")
    for _, attributes in page.elements:
        for name in ("src", "href", "data", "srcset"):
            assert str(attributes.get(name) or "#").startswith(("data:", "#"))
    assert not re.search(r"https?://|@import|url\(", render(report))


def test_a_figure_is_laid_out_once_for_both_of_its_files() -> None:
    figure, laid_out = Figure(figsize=(2, 1)), []

    class Counted(ConstrainedLayoutEngine):
        def execute(self, fig: Figure) -> Any:
            laid_out.append(fig)
            return super().execute(fig)

    figure.set_layout_engine(Counted())
    axes = figure.subplots()
    axes.set_ylabel("a long\nlabel")
    before = axes.get_position().x0
    Picture.of(Plot("a", lambda _: figure, "b", "c"), None)
    assert laid_out == [figure]
    assert axes.get_position().x0 != before


def test_pictures_are_inside_with_text_in_their_place(
    report: ReproductionReport, page: Page
) -> None:
    images = page.all("img")
    assert len(images) == len(page.all("figure")) == len(page.all("figcaption")) == 3
    assert [image["alt"] for image in images] == [f"{name}: {NASTY}" for name in "abc"]
    content = str(images[0]["src"]).split(",", 1)[1]
    assert base64.b64decode(content) == report.sections[0].pictures[0].svg


def test_every_cell_of_a_heading_says_what_it_heads(page: Page) -> None:
    assert {each["scope"] for each in page.all("th")} == {"col", "row", "rowgroup"}


def test_texts_are_shown_as_they_are(page: Page) -> None:
    texts = Counter(page.text)
    # claims 5 reasons and 1 claim, its heading and a case, setting, introduction, erratum, change
    assert texts[NASTY] == 12
    assert texts[f"see {NASTY}"] == 3
    assert texts["1\N{NO-BREAK SPACE}min 1\N{NO-BREAK SPACE}s"] == 5


def test_verdicts_are_words_and_counted(page: Page) -> None:
    told = "".join(page.text)
    assert "1 reproduced2 partly1 not reproduced1 not testable" in told


def test_cases_are_told_where_there_are_some(page: Page) -> None:
    assert page.all("details") == [{"open": None}]
    assert {"one", "other", "−2"} <= set(page.text)


def test_every_cell_names_its_column(page: Page) -> None:
    names = Counter(cell["data-column"] for cell in page.all("td"))
    assert names["Measured"] == 6  # five claims and a change
    assert names["Verdict and why"] == names["Time"] == 5


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("-5.2 % (-27.3 to +16.8)", "−5.2\xa0% (−27.3 to +16.8)"),
        ("0.98 [-1.00, -0.5]", "0.98 [−1.00, −0.5]"),
        ("2026-11-16 03:05 UTC, x86-64, 3-4 sweeps, 1e-05", None),
        ("12 sets, 3 minutes, 4 hours", None),
    ],
)
def test_only_signs_become_minus(given: str, shown: str | None) -> None:
    assert typeset(given) == (shown or given)


def test_same_contents_give_the_same_bytes(report: ReproductionReport) -> None:
    assert render(report) == render(report)
    assert picture("a")[1:] == picture("a")[1:]


def test_large_drawing_is_shown_in_dots(
    report: ReproductionReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabcost.offline.page._LARGEST_SVG", 10)
    images = Page(render(report)).all("img")
    assert all(str(image["src"]).startswith("data:image/png;base64,iVBOR") for image in images)


def test_verdicts_contrast_with_the_page() -> None:
    """WCAG AA: at least 4.5 to 1, in light and in dark."""
    from importlib import resources

    style = (resources.files("fabcost.offline") / "style.css").read_text()
    for block in re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL):
        colours = dict(re.findall(r"--(\w+): (#\w{6})", block))
        for name in ("ink", "soft", "link", "good", "fair", "poor", "none"):
            for ground in ("page", "tint"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3570, "1 h"), (3569, "59 min 29 s"), (7260, "2 h 1 min"), (0, "under 0.1 s")],
)
def test_times_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
