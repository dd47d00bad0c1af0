"""`fabcost reproduce`: compute what is missing, then tell everything that was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import fabcost
from fabcost.paper import contents
from fabcost.paper.engine import environment, runner
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit, UnitFolder
from fabcost.paper.report import summary
from fabcost.paper.report.html import ReproductionReport, Section, render
from fabcost.paper.report.parts import Part
from fabcost.paper.report.pictures import Picture
from fabcost.paper.report.wording import duration

UNITS, FIGURES = "units", "figures"


def reproduce(
    scale: Scale,
    *,
    seed: int,
    out: Path,
    jobs: int,
    console: Console,
    parts: Sequence[Part] = contents.PARTS,
) -> ReproductionReport:
    """Write report.html, results.json and figures to ``out``, computing what ``out`` does not have.

    Everything in the report, times and date included, comes from the units in ``out``, so that
    a run that was interrupted and continued ends with the same report as asking once more.
    """
    units = [*(unit for part in parts for unit in part.units(scale, seed)), contents.ERRATA]
    folder = UnitFolder(out / UNITS, environment.describe())
    found = _computed(units, folder, jobs, console)
    gathered = {part.name: part.gather(scale, found) for part in parts}
    origins = [folder.origin(unit) for unit in units]
    report = ReproductionReport(
        scale=scale.name,
        seed=seed,
        command=f"fabcost reproduce --scale {scale.name} --seed {seed} --out DIR",
        version=fabcost.__version__,
        settings=_settings(scale, seed, found, origins),
        sections=[_section(part, gathered[part.name]) for part in parts],
        errata=contents.errata_table(found),
        changes=[change for part in parts for change in part.changes(gathered[part.name])],
    )
    _write(report, out, summary.text(report, scale, gathered, found, origins))
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

        return runner.run(units, folder, jobs=jobs, begin=begin, advance=advance)


def _settings(
    scale: Scale, seed: int, found: Mapping[str, Result], origins: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    computing = sum(result["seconds"] for result in found.values())
    finished = datetime.fromisoformat(max(each["finished"] for each in origins))
    return {
        "Scale": scale.name,
        "Seed": str(seed),
        "Finished": f"{finished:%Y-%m-%d %H:%M} UTC",
        "Computing time": f"{duration(computing)} in {len(found)} pieces, summed over processes",
        "Version": _distinct(origins, "fabcost"),
        "Commit": _distinct(origins, "commit"),
        "Machine": _distinct(origins, "machine"),
        "Packages": _distinct(origins, "packages"),
    }


def _distinct(origins: Sequence[Mapping[str, str]], name: str) -> str:
    """One value if the run was made in one go, else all of them."""
    return "; ".join(dict.fromkeys(each[name] for each in origins))


def _section(part: Part, gathered: Any) -> Section:
    pictures = [Picture.of(plot, gathered) for plot in part.plots]
    return Section(part.name, part.title, part.introduction, part.claims(gathered), pictures)


def _write(report: ReproductionReport, out: Path, results: str) -> None:
    for section in report.sections:
        for picture in section.pictures:
            picture.write(out / FIGURES)
    (out / "results.json").write_text(results, encoding="utf-8")
    (out / "report.html").write_text(render(report), encoding="utf-8")


def _tell(report: ReproductionReport, out: Path, console: Console) -> None:
    table = Table(
        "claim",
        "measured",
        "verdict",
        title=f"Claims of the paper, {report.scale} scale, seed {report.seed}",
    )
    for claim in report.claims:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    console.print(table)
    console.print(f"Written: report.html, results.json and {FIGURES} in {out}")
