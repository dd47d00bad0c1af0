"""`fabcost reproduce`: compute what is missing, then tell everything that was found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import fabcost
from fabcost.offline.pictures import Picture
from fabcost.paper import environment, errata
from fabcost.paper.parts import clicks, convergence, costs, posteriors
from fabcost.paper.parts.part import Part
from fabcost.paper.report import ReproductionReport, Section, duration, render
from fabcost.paper.scales import Scale
from fabcost.paper.units import Result, Unit, UnitFolder, run

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
    folder = UnitFolder(out / "units", environment.describe())
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
    return json.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """Named tuples, dataclasses and arrays as JSON values; NaN and ±∞ are null.

    Examples
    --------
    >>> plain({"curve": np.array([1.0, np.nan]), 2: (True, "x")})
    {'curve': [1.0, None], '2': [True, 'x']}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    elif is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _tell(report: ReproductionReport, out: Path, console: Console) -> None:
    title = f"Claims of the paper, {report.scale} scale, seed {report.seed}"
    table = Table("claim", "measured", "verdict", title=title)
    for claim in report.claims:
        table.add_row(claim.claim, claim.measured, claim.verdict)
    console.print(table)
    console.print(f"Written: report.html, results.json and figures in {out}")
