"""`fabcost reproduce`: compute what is missing, then tell everything in one HTML file."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib import metadata
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, get_args

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import fabcost
from fabcost.offline import page
from fabcost.offline.pictures import Picture
from fabcost.paper import errata
from fabcost.paper.parts import clicks, convergence, costs, posteriors
from fabcost.paper.parts.part import Change, PaperClaim, Part, Verdict
from fabcost.paper.units import Result, Scale, Unit, UnitFolder, run

# Columns of the tables and their widths in per cent.
_CLAIMS = {"Claim": 18, "The paper says": 16, "Measured": 28, "Verdict and why": 28, "Time": 10}
ERRATUM = {"Erratum": 13, "Printed": 21, "Right": 21, "How it shows": 17, "What it changes": 28}
_CHANGES = {"Subject": 16, "Here": 38, "Measured": 46}
# Whose versions are told.
_PACKAGES = ("numpy", "scipy", "numba", "nutpie", "matplotlib")


class Section(NamedTuple):
    """A part of the reproduction as it is shown."""

    name: str
    title: str
    introduction: str
    claims: Sequence[PaperClaim]
    pictures: Sequence[Picture]


@dataclass(frozen=True, eq=False)
class ReproductionReport:
    """Everything on the page: how it was asked for, what is known of the run, what was found."""

    scale: str
    seed: int
    command: str
    version: str
    settings: Mapping[str, str]
    sections: Sequence[Section]
    errata: Sequence[Sequence[str]]
    changes: Sequence[Change]

    @property
    def claims(self) -> list[PaperClaim]:
        """All of them, in the order of the parts."""
        return [claim for section in self.sections for claim in section.claims]


def render(report: ReproductionReport) -> str:
    """The page as text."""
    claims = "The paper’s claims beside what this run measured"
    errata = "What is printed, what is right, and what it changes"
    body = Template(page.file_of(__package__, "page.html")).substitute(
        command=escape(report.command),
        version=escape(report.version),
        tally=page.tally(
            (claim.verdict for claim in report.claims), get_args(Verdict), "Claims by verdict"
        ),
        links=page.links((each.name, each.title) for each in report.sections),
        settings=page.definitions(report.settings.items()),
        claims=page.framed(claims, _CLAIMS, "\n".join(map(_claims_of, report.sections))),
        sections="\n".join(map(_shown, report.sections)),
        errata=page.table(errata, ERRATUM, report.errata),
        changes=page.table("Changes, and what they give in this run", _CHANGES, report.changes),
    )
    title = f"FAB-COST reproduced ({report.scale} scale, seed {report.seed})"
    return page.render(title, body.strip())


def _claims_of(section: Section) -> str:
    title = f'<tr><th class="part" scope="rowgroup" colspan="{len(_CLAIMS)}">'
    rows = "\n".join(map(_claim, section.claims))
    return f"<tbody>\n{title}{escape(section.title)}</th></tr>\n{rows}\n</tbody>"


def _claim(claim: PaperClaim) -> str:
    verdict = page.verdict(claim.verdict, claim.reason)
    cells = (
        page.text(claim.paper),
        page.text(claim.measured),
        verdict,
        page.text(duration(claim.seconds)),
    )
    where = f'<span class="where">{page.text(claim.where)}</span>'
    return page.cells(f"{page.text(claim.claim)}{where}", cells, _CLAIMS)


def _shown(section: Section) -> str:
    figures = "\n".join(map(page.figure, section.pictures))
    cases = "\n".join(
        f"<h3>{page.text(claim.claim)}</h3>\n{page.definitions(claim.details)}"
        for claim in section.claims
        if claim.details
    )
    summary = "<summary>Every case behind these claims</summary>"
    folded = f"<details open>\n{summary}\n{cases}\n</details>" if cases else ""
    introduction = f"<p>{page.text(section.introduction)}</p>"
    return page.section(section.name, section.title, introduction, figures, folded)


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> [duration(each) for each in (0.004, 0.31, 9.96, 59.7, 200, 7199)]
    ['under 0.1 s', '0.3 s', '10 s', '1 min', '3 min 20 s', '2 h']
    """
    if seconds < 0.1:
        return "under 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 3569.5:
        units, numbers = ("min", "s"), divmod(round(seconds), 60)
    else:
        units, numbers = ("h", "min"), divmod(round(seconds / 60), 60)
    return " ".join(f"{n} {unit}" for n, unit in zip(numbers, units, strict=True) if n)


#: The parts of the paper that are reproduced, in its order, and its errata.
PARTS = (posteriors.PART, convergence.PART, costs.PART, clicks.PART)
ERRATA = Unit("errata", errata.demonstrate, weight=3.0)


def reproduce(
    scale: Scale,
    *,
    seed: int,
    out: Path,
    jobs: int,
    console: Console,
    parts: Sequence[Part] = PARTS,
) -> ReproductionReport:
    """Write report.html, results.json and figures to ``out``, computing what ``out`` does not have.

    Everything in the report, times and date included, comes from the units in ``out``, so that
    a run that was interrupted and continued ends with the same report as asking once more.
    """
    units = [*(unit for part in parts for unit in part.units(scale, seed)), ERRATA]
    folder = UnitFolder(out / "units", describe())
    found = _computed(units, folder, jobs, console)
    gathered = {part.name: part.gather(scale, found) for part in parts}
    origins = {unit.name: folder.origin(unit) for unit in units}
    report = ReproductionReport(
        scale=scale.name,
        seed=seed,
        command=f"fabcost reproduce --scale {scale.name} --seed {seed} --out DIR",
        version=fabcost.__version__,
        settings=_settings(scale, seed, found, origins),
        sections=[_section(part, gathered[part.name]) for part in parts],
        errata=errata.rows(found[ERRATA.name]),
        changes=[change for part in parts for change in part.changes(gathered[part.name])],
    )
    for section in report.sections:
        for picture in section.pictures:
            picture.write(out / "figures")
    results = _results(report, scale, gathered, found, origins)
    (out / "results.json").write_text(results, encoding="utf-8")
    (out / "report.html").write_text(render(report), encoding="utf-8")
    _tell(report, out, console)
    return report


def _computed(
    units: Sequence[Unit], folder: UnitFolder, jobs: int, console: Console
) -> dict[str, Result]:
    """With a bar that grows by the units' weights and a line of those that run."""
    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    running: list[str] = []
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("", total=sum(unit.weight for unit in units))

        def begin(unit: Unit) -> None:
            running.append(unit.name)
            progress.update(task, description=", ".join(running))

        def advance(unit: Unit) -> None:
            if unit.name in running:
                running.remove(unit.name)
            progress.update(task, advance=unit.weight, description=", ".join(running))

        return run(units, folder, jobs=jobs, begin=begin, advance=advance)


def _settings(
    scale: Scale, seed: int, found: Mapping[str, Result], origins: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    def distinct(name: str) -> str:
        """One value if the run was made in one go, else all of them."""
        return "; ".join(dict.fromkeys(each[name] for each in origins.values()))

    computing = sum(result["seconds"] for result in found.values())
    finished = datetime.fromisoformat(max(each["finished"] for each in origins.values()))
    return {
        "Scale": scale.name,
        "Seed": str(seed),
        "Finished": f"{finished:%Y-%m-%d %H:%M} UTC",
        "Computing time": f"{duration(computing)} in {len(found)} pieces, summed over processes",
        "Version": distinct("fabcost"),
        "Commit": distinct("commit"),
        "Machine": distinct("machine"),
        "Packages": distinct("packages"),
    }


def _section(part: Part, gathered: Any) -> Section:
    pictures = [Picture.of(plot, gathered) for plot in part.plots]
    return Section(part.name, part.title, part.introduction, part.claims(gathered), pictures)


def _results(
    report: ReproductionReport,
    scale: Scale,
    gathered: Mapping[str, Any],
    found: Mapping[str, Result],
    origins: Mapping[str, Mapping[str, str]],
) -> str:
    """Everything that was measured, for programs; what is not defined is null."""
    content = {
        "fabcost": report.version,
        "seed": report.seed,
        "scale": scale,
        "command": report.command,
        "settings": report.settings,
        "claims": report.claims,
        "changes": report.changes,
        "parts": gathered,
        "units": {
            name: {"seconds": result["seconds"], **origins[name]} for name, result in found.items()
        },
    }
    return page.json_text(content)


def _tell(report: ReproductionReport, out: Path, console: Console) -> None:
    title = f"Claims of the paper, {report.scale} scale, seed {report.seed}"
    table = Table("claim", "measured", "verdict", title=title)
    for claim in report.claims:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    console.print(table)
    console.print(f"Written: report.html, results.json and figures in {out}")


def describe() -> dict[str, str]:
    """Version, commit, machine and the packages that matter, for people to read.

    Examples
    --------
    >>> sorted(describe())
    ['commit', 'fabcost', 'machine', 'packages']
    """
    packages = [f"{name} {metadata.version(name)}" for name in _PACKAGES]
    return {
        "fabcost": fabcost.__version__,
        "commit": _commit(Path(__file__).parent),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "packages": ", ".join([f"Python {platform.python_version()}", *packages]),
    }


def _commit(place: Path) -> str:
    """The commit that is checked out at ``place``, and whether files differ from it."""
    commit = _git(place, "rev-parse", "--short=12", "HEAD")
    if commit is None or _git(place, "ls-files", "--error-unmatch", "__init__.py") is None:
        return "not from a git checkout"
    changed = _git(place, "status", "--porcelain", "--", "../..")
    return f"{commit} with changes" if changed else commit


def _git(place: Path, *arguments: str) -> str | None:
    try:
        command = ["git", "-C", str(place), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    """Linux has the name that people know in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
