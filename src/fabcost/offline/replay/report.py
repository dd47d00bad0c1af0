"""`fabcost replay`: read, choose features, replay, and tell what was found."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import fabcost
from fabcost.impressions import FloatArray
from fabcost.offline.intervals import LEVEL, Band, average, difference, per_cent
from fabcost.offline.logs.impressions import ReplayLog, Selection, chosen
from fabcost.offline.methods import LOOK, Style, contenders, style_of
from fabcost.offline.replay.runs import IntArray, Replays, ReplaySettings, checkpoints, measure

ArrayT = TypeVar("ArrayT", FloatArray, IntArray)

_EARLIEST_SHARE = 100  # per cent before a hundredth of the rounds is noise that hides the rest


@dataclass(frozen=True, eq=False)
class ReplayReport:
    """What was found on a log, and how."""

    log: ReplayLog  # as it was read
    settings: ReplaySettings
    # The features that were chosen, and the rows that this took; None if all are used.
    selection: Selection | None
    found: Replays

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features that were used."""
        if self.selection is None:
            return self.log.columns
        return tuple(self.log.columns[place] for place in self.selection.columns)

    @property
    def at_checkpoints(self) -> Replays:
        """The clicks at a few rounds."""
        return self.found.at(checkpoints(int(self.found.marks[-1])))


def run(
    log: ReplayLog,
    settings: ReplaySettings,
    *,
    console: Console,
    jobs: int = 1,
    features: int | None = None,
    out: Path | None = None,
    origin: dict[str, Any] | None = None,
) -> ReplayReport:
    """Replay ``log``, print the table, and write replay.json, clicks.csv and replay.png to ``out``.

    ``features`` asks for a choice of so many; the rows it is made on are left out of the replay.
    """
    selection, X, y = chosen(log, features, seed=settings.first_seed, jobs=jobs)
    total = settings.rounds_of(y.size) * settings.seeds * len(contenders(settings.policies))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("rounds", total=total)
        found = measure(
            X,
            y,
            settings,
            jobs=jobs,
            advance=lambda many: progress.advance(task, many),
            items=_unselected(log.items, selection),
            weight=_unselected(log.weight, selection),
        )
    report = ReplayReport(log, settings, selection, found)
    console.print(table(report))
    if log.warning is not None:
        console.print(f"Warning: {log.warning}")
    for alarm in log.alarms:
        console.print(f"Alarm, {alarm.kind}: {alarm.text}", markup=False)
    if out is not None:
        write(report, out, origin or {})
        console.print(f"Written: replay.json, clicks.csv and replay.png in {out}")
    return report


def _unselected(of_rows: ArrayT | None, selection: Selection | None) -> ArrayT | None:
    """Without the rows on which features were chosen."""
    if of_rows is None or selection is None:
        return of_rows
    return cast("ArrayT", np.delete(of_rows, selection.rows))


def table(report: ReplayReport) -> Table:
    """The clicks at the checkpoints, for the terminal."""
    found, log = report.at_checkpoints, report.log
    skipped = f", bad rows skipped: {log.skipped.total():,}" if log.skipped else ""
    rows = 0 if report.selection is None else report.selection.rows.size
    left_out = f", {rows:,} rows left out to choose features" if rows else ""
    shown = Table(
        title=f"{log.y.size:,} impressions, {log.y.sum():,.0f} clicks{skipped}{left_out}",
        caption=f"Paired seeds: {report.settings.seeds}; weights: {len(report.columns)}; "
        f"± {LEVEL:.0%} interval; below: beyond {found.baseline}, in clicks and in per cent.",
    )
    shown.add_column("policy")
    for rounds in found.marks:
        shown.add_column(f"after {rounds:,}", justify="right")
    for name in found.clicks:
        shown.add_row(name, *_cells(found, name))
    return shown


def summary(report: ReplayReport, origin: dict[str, Any]) -> dict[str, Any]:
    """Everything as plain JSON values; what is not defined is null."""
    found, log, settings = report.at_checkpoints, report.log, report.settings
    first = settings.first_seed
    return {
        "fabcost": fabcost.__version__,
        "log": origin,
        "settings": asdict(settings),
        "rows": log.y.size,
        "positives": int(log.y.sum()),
        "pool": log.y.size - (0 if report.selection is None else report.selection.rows.size),
        "skipped": {"total": log.skipped.total(), **log.skipped},
        "warning": log.warning,
        "alarms": [alarm._asdict() for alarm in log.alarms],
        "own_effects": log.items is not None and settings.prior.items > 0.0,
        "half_life": settings.half_life,
        "columns": list(report.columns),
        "selection": _selection(report),
        "seeds": list(range(first, first + settings.seeds)),
        "against": found.baseline,
        "level": LEVEL,
        "checkpoints": [int(each) for each in found.marks],
        "policies": {name: _policy(found, name) for name in found.clicks},
    }


def write(report: ReplayReport, out: Path, origin: dict[str, Any]) -> None:
    """replay.json, clicks.csv and replay.png."""
    text = json.dumps(summary(report, origin), indent=2, allow_nan=False)
    (out / "replay.json").write_text(text + "\n", encoding="utf-8")
    with (out / "clicks.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(curves(report.found))
    draw_replays(report.found, out / "replay.png")


def curves(found: Replays) -> list[list[Any]]:
    """The rows of clicks.csv, its heading first; a cell is empty where it is not defined."""
    rows: list[list[Any]] = [["round", "policy"]]
    for what in ("clicks", "difference", "per_cent"):
        rows[0] += [what, f"{what}_low", f"{what}_high"]
    for name in found.clicks:
        numbers = np.array([each for band in _bands(found, name) for each in band]).T
        for rounds, line in zip(found.marks, numbers, strict=True):
            rows.append([int(rounds), name, *("" if math.isnan(v) else f"{v:.6g}" for v in line)])
    return rows


def _bands(found: Replays, name: str) -> tuple[Band, Band, Band]:
    ours, theirs = found.clicks[name], found.clicks[found.baseline]
    return average(ours), difference(ours, theirs), per_cent(ours, theirs)


def _cells(found: Replays, name: str) -> list[str]:
    clicks, beyond, share = _bands(found, name)
    lines = [_shown(*pair, ",") for pair in zip(clicks.mean, clicks.half, strict=True)]
    if name == found.baseline:
        return lines
    ahead = [_shown(*pair, "+,") for pair in zip(beyond.mean, beyond.half, strict=True)]
    shares = [
        _shown(*pair, "+,", "\N{NO-BREAK SPACE}%")
        for pair in zip(share.mean, share.half, strict=True)
    ]
    return [f"{a}\n{b}\n{c}" for a, b, c in zip(lines, ahead, shares, strict=True)]


def _shown(mean: float, half: float, form: str, unit: str = "") -> str:
    if math.isnan(mean):
        return "–"
    digits = 0 if half >= 10.0 else 1
    interval = "" if math.isnan(half) else f" ± {half:,.{digits}f}"
    return f"{mean:{form}.{digits}f}{interval}{unit}"


def _policy(found: Replays, name: str) -> dict[str, Any]:
    named = zip(("mean_clicks", "difference", "per_cent"), _bands(found, name), strict=True)
    bands = {what: {k: _plain(v) for k, v in band._asdict().items()} for what, band in named}
    return {"clicks": found.clicks[name].astype(int).tolist(), **bands}


def _plain(values: FloatArray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _selection(report: ReplayReport) -> dict[str, Any] | None:
    selection = report.selection
    if selection is None:
        return None
    return {
        "rows": selection.rows.size,
        "positives": int(report.log.y[selection.rows].sum()),
        "importance": dict(zip(report.columns, selection.importance.tolist(), strict=True)),
    }


def draw_replays(found: Replays, path: Path, title: str = "") -> None:
    """Cumulative clicks, the paired difference in clicks, and in per cent, with 95 % bands."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        draw_panels(list(figure.subplots(1, 3)), found)
        figure.suptitle(title)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def draw_panels(panels: list[Axes], found: Replays) -> None:
    """The three panels of one log."""
    base = found.clicks[found.baseline]
    styles = line_styles(found.clicks)
    for name, clicks in found.clicks.items():
        bands = (average(clicks), difference(clicks, base), per_cent(clicks, base))
        for axes, band in zip(panels, bands, strict=True):
            draw_band(axes, found.marks, band, name, styles[name])
    labels = ("clicks", f"clicks beyond {found.baseline}", f"% beyond {found.baseline}")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_xlabel("impressions shown")
        axes.set_ylabel(label)
    panels[0].legend(frameon=False)
    _limit_per_cent(panels[2], found)


def line_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The style of each contender; further scales of one learner are drawn wider."""
    met: Counter[Style] = Counter()
    styles = {}
    for name in names:
        style = style_of(name)
        styles[name] = {**style.line, "linewidth": 1.2 + 0.8 * met[style]}
        met[style] += 1
    return styles


def draw_band(axes: Axes, rounds: IntArray, band: Band, name: str, style: dict[str, Any]) -> None:
    """A mean with its interval."""
    axes.plot(rounds, band.mean, label=name, **style)
    axes.fill_between(rounds, band.low, band.high, color=style["color"], alpha=0.15, linewidth=0)


def _limit_per_cent(axes: Axes, found: Replays) -> None:
    """Scale by what comes after the first hundredth of the rounds."""
    base = found.clicks[found.baseline]
    late = found.marks >= found.marks[-1] / _EARLIEST_SHARE
    shown = [per_cent(clicks, base).mean[late] for clicks in found.clicks.values()]
    values = np.concatenate(shown)
    finite = values[np.isfinite(values)]
    if finite.size and np.ptp(finite) > 0:
        margin = 0.1 * np.ptp(finite)
        axes.set_ylim(finite.min() - margin, finite.max() + margin)
