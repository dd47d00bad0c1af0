"""`fabcost reproduce` from end to end."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, get_args

import pytest
from matplotlib.figure import Figure
from rich.console import Console
from studies import reproduction as pages
from typer.testing import CliRunner

import fabcost
from fabcost.cli import application
from fabcost.extras import MissingExtraError
from fabcost.offline.pictures import Plot
from fabcost.paper import reproduction
from fabcost.paper.parts.part import Change, PaperClaim, Part, Verdict
from fabcost.paper.units import Result, Scale, Unit
from tests.paper import pieces

TINY = Scale(
    name="tiny",
    day_rows=1_000,
    posterior_sizes=(50, 100, 200),
    convergence_sizes=(50, 100, 200),
    streams=2,
    draws=100,
    truth_draws=400,
    fitted_from=50,
    ep_batch=50,
    bandit_seeds=2,
    bandit_rounds=100,
    whole_day=False,
    timed_rows=100,
    timed_widths=(6, 12, 24),
)

TIMES = ("elapsed", "took")
MOST_CHARACTERS = 250  # in a cell that is still read


def reproduce(out: Path, *, jobs: int = 1, **settings: Any) -> tuple[str, dict[str, Any]]:
    """The page and the numbers."""
    console = Console(file=io.StringIO())
    reproduction.reproduce(TINY, seed=0, out=out, jobs=jobs, console=console, **settings)
    numbers = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return (out / "report.html").read_text(encoding="utf-8"), numbers


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    out = tmp_path_factory.mktemp("first")
    return out, *reproduce(out)


def test_every_claim_is_filled(first: tuple[Path, str, dict[str, Any]]) -> None:
    out, page, numbers = first
    assert len(numbers["claims"]) >= 3 * len(reproduction.PARTS)
    for claim in numbers["claims"]:
        assert claim["verdict"] in get_args(Verdict)
        for name in ("where", "claim", "paper", "measured", "reason"):
            assert claim[name].strip(), (name, claim)
            assert not re.search(r"\bnan\b|\binf\b", claim[name]), claim
        assert len(claim["measured"]) <= MOST_CHARACTERS, claim
        assert claim["seconds"] > 0
    assert numbers["changes"]
    assert all(all(change.values()) for change in numbers["changes"])
    assert set(numbers["parts"]) == {part.name for part in reproduction.PARTS}
    assert numbers["fabcost"] == fabcost.__version__
    assert all(f"{number}. " in page for number in range(1, 8))
    plots = [plot for part in reproduction.PARTS for plot in part.plots]
    assert page.count("<figure") == len(plots)
    for plot in plots:
        assert (out / "figures" / f"{plot.name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / "figures" / f"{plot.name}.svg").read_bytes()


def test_the_documentation_has_its_claims(
    first: tuple[Path, str, dict[str, Any]], tmp_path: Path
) -> None:
    out, _, numbers = first
    (tmp_path / pages.README).write_text(f"{pages.BEGIN}{pages.END}", encoding="utf-8")
    pages.take(out, tmp_path)
    pages.write(tmp_path)
    page = (tmp_path / pages.PAGE).read_text(encoding="utf-8")
    for claim in numbers["claims"]:
        for text in (claim["claim"], claim["measured"], claim["reason"]):
            assert pages.escape(text) in page
    for name in pages.SHOWN:
        copied = (tmp_path / pages.IMAGES / f"reproduction-{name}.png").read_bytes()
        assert copied == (out / "figures" / f"{name}.png").read_bytes()


def test_asking_again_gives_the_same_bytes(first: tuple[Path, str, dict[str, Any]]) -> None:
    """One picture is drawn again: all are written alike."""
    out, page, numbers = first
    drawn = {path: path.read_bytes() for path in (out / "figures").iterdir()}
    for path in drawn:
        path.unlink()
    one, *others = reproduction.PARTS
    parts = [one._replace(plots=one.plots[:1]), *(part._replace(plots=[]) for part in others)]
    words, again = reproduce(out, parts=parts)
    assert again == numbers
    assert without_pictures(words) == without_pictures(page)
    figures = re.findall("<figure.*?</figure>", words, re.DOTALL)
    assert [figure in page for figure in figures] == [True]
    written = {path: path.read_bytes() for path in (out / "figures").iterdir()}
    assert len(written) == 2
    assert written.items() <= drawn.items()
    for path, content in drawn.items():
        path.write_bytes(content)


def without_pictures(page: str) -> str:
    return " ".join(re.sub("<figure.*?</figure>", " ", page, flags=re.DOTALL).split())


def test_lost_units_are_made_again_with_the_same_values(
    first: tuple[Path, str, dict[str, Any]], tmp_path: Path
) -> None:
    """As after an interruption: of each part the shortest is not there, unless it measures time."""
    out, _, numbers = first
    units = [
        [unit for unit in part.units(TINY, 0) if not unit.alone] for part in reproduction.PARTS
    ]
    seconds = {name: unit["seconds"] for name, unit in numbers["units"].items()}
    shortest = [
        min((unit.name for unit in part), key=seconds.__getitem__) for part in units if part
    ]
    there = numbers["units"].keys() - shortest
    (tmp_path / "units").mkdir()
    for path in (out / "units").iterdir():
        if path.stem in there:
            (tmp_path / "units" / path.name).write_bytes(path.read_bytes())
    _, again = reproduce(tmp_path, parts=[part._replace(plots=[]) for part in reproduction.PARTS])
    assert timeless(again["parts"]) == timeless(numbers["parts"])
    kept = {unit for unit in numbers["units"] if again["units"][unit] == numbers["units"][unit]}
    assert kept == there
    assert len(shortest) >= 3


def timeless(value: Any) -> Any:
    """What is left without measured seconds."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if "seconds" not in name}
        return {name: timeless(each) for name, each in kept.items() if name not in TIMES}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def joined(scale: Scale, results: Mapping[str, Result]) -> str:
    return "".join(each["name"] for name, each in results.items() if name.startswith("small-"))


def draw(part: str) -> Figure:
    return Figure(figsize=(len(part), 1))


def part_of(log: Path, names: str) -> Part:
    """A part that draws numbers and keeps a log of what it computed."""

    def units(scale: Scale, seed: int) -> list[Unit]:
        return [
            Unit(f"small-{name}-{seed}", pieces.sign, {"log": str(log), "name": name})
            for name in names
        ]

    return Part(
        name="small",
        title="Small",
        introduction="A <part>.",
        units=units,
        gather=joined,
        claims=lambda part: [PaperClaim("I", "one", "a", part, "partly", "so", 1.0)],
        plots=[Plot("small", draw, "nothing", "see")],
        changes=lambda part: [Change("what", "how", part)],
    )


def test_parts_are_put_together(tmp_path: Path) -> None:
    page, numbers = reproduce(tmp_path / "out", jobs=2, parts=[part_of(tmp_path / "log", "xy")])
    assert '<td data-column="Measured">xy</td>' in page
    assert "A &lt;part&gt;." in page
    assert numbers["parts"] == {"small": "xy"}
    assert set(numbers["units"]) == {"small-x-0", "small-y-0", "errata"}
    assert set(numbers["units"]["small-x-0"]) >= {"seconds", "commit", "machine", "finished"}
    ran = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert sorted(line[0] for line in ran) == ["x", "y"]


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        (("nutpie",), "nutpie is missing): pip install 'fabcost[nuts]'"),
        (("matplotlib",), "matplotlib is missing): pip install 'fabcost[reports]'"),
        (
            ("arviz", "pyarrow"),
            "arviz, pyarrow are missing): pip install 'fabcost[nuts,reports]'",
        ),
    ],
)
def test_missing_extra_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], complaint: str
) -> None:
    find = importlib.util.find_spec

    def find_others(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in missing else find(name, package)

    monkeypatch.setattr("fabcost.extras.find_spec", find_others)
    out = tmp_path / "out"
    result = CliRunner().invoke(application, ["reproduce", "--out", str(out)])
    assert isinstance(result.exception, MissingExtraError)
    assert complaint in str(result.exception)
    assert not out.exists()


def test_unknown_scale_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(application, ["reproduce", "--scale", "huge", "--out", str(out)])
    assert result.exit_code == 2
    assert "scale is 'huge' but must be one of quick, paper" in result.output
    assert not out.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interrupt_says_how_to_continue_and_leaves_no_process(tmp_path: Path) -> None:
    out = tmp_path / "a place"
    # A shell may have started the tests with Ctrl-C ignored, which children inherit.
    script = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from fabcost.__main__ import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", script, "reproduce", "--out", str(out), "--seed", "5"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("units/*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 130, output
    assert "Traceback" not in output
    assert f"fabcost reproduce --scale quick --seed 5 --out '{out}'" in output
    assert list(out.glob("units/*.json"))
    assert not (out / "report.html").exists()
    until = time.monotonic() + 30
    while time.monotonic() < until and group_lives(running.pid):
        time.sleep(0.1)
    assert not group_lives(running.pid)


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
