"""`fabcost reproduce`: compute what is missing, then tell everything that was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as ScreenTable

import fabcost
from fabcost.paper import contents
from fabcost.paper.engine import environment, runner
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Store, Unit
from fabcost.paper.report import summary
from fabcost.paper.report.html import Report, Section, render
from fabcost.paper.report.parts import Part
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
) -> Report:
    """Write report.html, results.json and figures to ``out``, computing what ``out`` does not have.

    Everything in the report, times and date included, comes from the units in ``out``, so that
    a run that was interrupted and continued ends with the same report as asking once more.
    """
    units = [*(unit for part in parts for unit in part.units(scale, seed)), contents.ERRATA]
    store = Store(out / UNITS, environment.describe())
    found = _computed(units, store, jobs, console)
    gathered = {part.name: part.gather(scale, found) for part in parts}
    origins = [store.origin(unit) for unit in units]
    report = Report(
        scale=scale.name,
        seed=seed,
        command=f"fabcost reproduce --scale {scale.name} --seed {seed} --out DIR",
        version=fabcost.__version__,
        settings=_settings(scale, seed, found, origins),
        sections=[_section(part, gathered[part.name]) for part in parts],
        errata=contents.errata_table(found),
        changes=[change for part in parts for change in part.changes(gathered[part.name])],
    )
    _write(report, out, summary.summary(report, scale, gathered, found, origins))
    _tell(report, out, console)
    return report


def _computed(units: Sequence[Unit], store: Store, jobs: int, console: Console) -> runner.Results:
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

        return runner.run(units, store, jobs=jobs, begin=begin, advance=advance)


def _settings(
    scale: Scale, seed: int, found: runner.Results, origins: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    computing = sum(result["seconds"] for result in found.values())
    return {
        "Scale": scale.name,
        "Seed": str(seed),
        "Finished": _date(max(each["finished"] for each in origins)),
        "Computing time": f"{duration(computing)} in {len(found)} pieces, summed over processes",
        "Version": _distinct(origins, "fabcost"),
        "Commit": _distinct(origins, "commit"),
        "Machine": _distinct(origins, "machine"),
        "Packages": _distinct(origins, "packages"),
    }


def _date(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC"


def _distinct(origins: Sequence[Mapping[str, str]], name: str) -> str:
    """One value if the run was made in one go, else all of them."""
    return "; ".join(dict.fromkeys(each[name] for each in origins))


def _section(part: Part, gathered: Any) -> Section:
    pictures = [plot.picture(gathered) for plot in part.plots]
    return Section(part.name, part.title, part.introduction, part.claims(gathered), pictures)


def _write(report: Report, out: Path, results: str) -> None:
    for section in report.sections:
        for picture in section.pictures:
            picture.write(out / FIGURES)
    (out / "results.json").write_text(results, encoding="utf-8")
    (out / "report.html").write_text(render(report), encoding="utf-8")


def _tell(report: Report, out: Path, console: Console) -> None:
    table = ScreenTable(title=f"Claims of the paper, {report.scale} scale, seed {report.seed}")
    for heading in ("claim", "measured", "verdict"):
        table.add_column(heading)
    for claim in report.claims:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    console.print(table)
    console.print(f"Written: report.html, results.json and {FIGURES} in {out}")
