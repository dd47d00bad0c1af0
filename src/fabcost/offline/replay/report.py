"""`fabcost replay`: read, choose features, replay, and tell what was found."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import fabcost
from fabcost.offline.intervals import LEVEL
from fabcost.offline.logs.impressions import ReplayLog, chosen
from fabcost.offline.methods import contenders
from fabcost.offline.page import json_text, plain
from fabcost.offline.replay.page import ReplayReport, bands, curves, lines, page_of, replays_picture
from fabcost.offline.replay.runs import Replays, ReplaySettings, measure


def run(
    log: ReplayLog,
    settings: ReplaySettings,
    *,
    console: Console,
    jobs: int = 1,
    features: int | None = None,
    out: Path | None = None,
    origin: dict[str, Any] | None = None,
    report: Path | None = None,
) -> ReplayReport:
    """Replay ``log``, print the table, and write replay.json, clicks.csv and replay.png to ``out``.

    The page is ``report``, or report.html in ``out``.  ``features`` asks for a choice of so many;
    the rows it is made on are left out of the replay.
    """
    selection, left = chosen(log, features, seed=settings.first_seed, jobs=jobs)
    total = settings.rounds_of(left.y.size) * settings.seeds * len(contenders(settings.policies))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("rounds", total=total)
        found = measure(
            left.X,
            left.y,
            settings,
            jobs=jobs,
            advance=lambda many: progress.advance(task, many),
            items=left.items,
            weight=left.weight,
            amounts=left.amounts,
            times=left.times,
        )
    result = ReplayReport(log, settings, selection, found)
    tell(result, console)
    if out is not None:
        write(result, out, origin or {})
        console.print(f"Written: replay.json, clicks.csv and replay.png in {out}", markup=False)
    if (page := report or (out and out / "report.html")) is not None:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(page_of(result, origin or {}), encoding="utf-8")
        console.print(f"Written: {page}", soft_wrap=True, markup=False)
    return result


def tell(report: ReplayReport, console: Console) -> None:
    """All that was found, for the terminal."""
    console.print(table(report, report.at_checkpoints, "clicks"))
    if report.at_checkpoints.income is not None:
        console.print(table(report, report.at_checkpoints.income, "income"))
    if report.log.warning is not None:
        console.print(f"Warning: {report.log.warning}")
    for alarm in report.log.alarms:
        console.print(f"Alarm, {alarm.kind}: {alarm.text}", markup=False)


def table(report: ReplayReport, found: Replays, what: str) -> Table:
    """The clicks or the income at the checkpoints, for the terminal."""
    log = report.log
    skipped = f", bad rows skipped: {log.skipped.total():,}" if log.skipped else ""
    rows = 0 if report.selection is None else report.selection.rows.size
    left_out = f", {rows:,} rows left out to choose features" if rows else ""
    shown = Table(
        title=f"{log.y.size:,} impressions, {log.y.sum():,.0f} clicks{skipped}{left_out}",
        caption=f"Paired seeds: {report.settings.seeds}; weights: {len(report.columns)}; "
        f"± {LEVEL:.0%} interval; beyond {found.baseline}: the difference, and in per cent.",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for column in ("policy", "after", what, "beyond", "in %", "verdict"):
        is_text = column in ("policy", "verdict")
        side: JustifyMethod = "left" if is_text else "right"
        shown.add_column(column, justify=side, no_wrap=not is_text, overflow="fold")
    for name in found.clicks:
        for line in lines(found, name):
            shown.add_row(*line[:-1], line[-1] and line[-1].word)
        shown.add_section()
    return shown


def summary(report: ReplayReport, origin: dict[str, Any]) -> dict[str, Any]:
    """Everything as plain JSON values; what is not defined is null."""
    found, log, settings = report.at_checkpoints, report.log, report.settings
    first, income = settings.first_seed, found.income
    content = {
        "fabcost": fabcost.__version__,
        "log": origin,
        "settings": settings,
        "rows": log.y.size,
        "positives": int(log.y.sum()),
        "pool": report.pool,
        "skipped": {"total": log.skipped.total(), **log.skipped},
        "warning": log.warning,
        "alarms": log.alarms,
        "own_effects": log.items is not None and settings.prior.items > 0.0,
        "half_life": settings.half_life,
        "columns": report.columns,
        "selection": _selection(report),
        "seeds": list(range(first, first + settings.seeds)),
        "against": found.baseline,
        "level": LEVEL,
        "checkpoints": found.marks,
        "policies": {name: _policy(found, name, "clicks") for name in found.clicks},
    }
    if income is not None:
        content["income"] = {name: _policy(income, name, "income") for name in income.clicks}
    return dict(plain(content))


def write(report: ReplayReport, out: Path, origin: dict[str, Any]) -> None:
    """replay.json, clicks.csv and replay.png."""
    (out / "replay.json").write_text(json_text(summary(report, origin)), encoding="utf-8")
    for name, found in (("clicks", report.found), ("income", report.found.income)):
        if found is not None:
            with (out / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(curves(found, name))
    (out / "replay.png").write_bytes(replays_picture(report.found, "clicks").png)


def _policy(found: Replays, name: str, what: str) -> dict[str, Any]:
    told = zip((f"mean_{what}", "difference", "per_cent"), bands(found, name), strict=True)
    counts = found.clicks[name].astype(int) if what == "clicks" else found.clicks[name]
    verdicts = [str(verdict) for *_, verdict in lines(found, name) if verdict is not None]
    return {what: counts, **dict(told), **({"verdicts": verdicts} if verdicts else {})}


def _selection(report: ReplayReport) -> dict[str, Any] | None:
    selection = report.selection
    if selection is None:
        return None
    return {
        "rows": selection.rows.size,
        "positives": int(report.log.y[selection.rows].sum()),
        "importance": dict(zip(report.columns, selection.importance, strict=True)),
    }
