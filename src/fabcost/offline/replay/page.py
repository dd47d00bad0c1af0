"""Policies of a replay beside one of them: in numbers and words, as curves, as an HTML page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline import page
from fabcost.offline.intervals import (
    LEVEL,
    POWER,
    Band,
    Verdict,
    Word,
    average,
    difference,
    per_cent,
    verdict_of,
)
from fabcost.offline.logs.impressions import ReplayLog, Selection
from fabcost.offline.methods import Style, style_of
from fabcost.offline.pictures import Picture, Plot
from fabcost.offline.replay.runs import IntArray, Replays, ReplaySettings, checkpoints

Line = tuple[str, str, str, str, str, Verdict | None]


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
    def pool(self) -> int:
        """How many impressions could be shown."""
        return self.log.y.size - (0 if self.selection is None else self.selection.rows.size)

    @property
    def at_checkpoints(self) -> Replays:
        """The clicks at a few rounds."""
        return self.found.at(checkpoints(int(self.found.marks[-1])))

    @property
    def telling(self) -> int:
        """The last checkpoint at which something is left to show: after it all are equal."""
        marks = self.at_checkpoints.marks
        return int(marks[-1 if marks[-1] < self.pool or marks.size == 1 else -2])


def bands(found: Replays, name: str) -> tuple[Band, Band, Band]:
    """The mean of a policy, its difference to the baseline, and that in per cent."""
    ours, theirs = found.clicks[name], found.clicks[found.baseline]
    return average(ours), difference(ours, theirs), per_cent(ours, theirs)


def lines(found: Replays, name: str) -> Iterator[Line]:
    """A policy at each round: its name, the round, three numbers with intervals, the verdict."""
    own, beyond, share = bands(found, name)
    for place, rounds in enumerate(found.marks):
        first = name if place == 0 else ""
        numbers = _shown(own, place, ",")
        if name == found.baseline:
            yield first, f"{rounds:,}", numbers, "", "", None
        else:
            more = _shown(beyond, place, "+,"), _shown(share, place, "+,")
            yield first, f"{rounds:,}", numbers, *more, verdict_at(found, name, place)


def verdict_at(found: Replays, name: str, place: int) -> Verdict:
    """What the difference of a policy to the baseline says."""
    ours, theirs = found.clicks[name], found.clicks[found.baseline]
    numbers = (float(each[place]) for each in difference(ours, theirs))
    return verdict_of(*numbers, level=LEVEL, many=len(ours), unit="seeds")


def _shown(band: Band, place: int, form: str) -> str:
    mean, half = float(band.mean[place]), float(band.half[place])
    if math.isnan(mean):
        return "–"
    digits = 0 if half >= 10.0 else 1
    interval = "" if math.isnan(half) else f" ± {half:,.{digits}f}"
    return f"{mean:{form}.{digits}f}{interval}"


def curves(found: Replays, what: str) -> list[list[Any]]:
    """The rows of clicks.csv or income.csv, the heading first; what is not defined is empty."""
    rows: list[list[Any]] = [["round", "policy"]]
    for each in (what, "difference", "per_cent"):
        rows[0] += [each, f"{each}_low", f"{each}_high"]
    for name in found.clicks:
        numbers = np.array([each for band in bands(found, name) for each in band]).T
        for rounds, line in zip(found.marks, numbers, strict=True):
            rows.append([int(rounds), name, *("" if math.isnan(v) else f"{v:.6g}" for v in line)])
    return rows


_EARLIEST_SHARE = 100  # per cent before a hundredth of the rounds is noise that hides the rest


def replays_picture(found: Replays, what: str) -> Picture:
    """Cumulative clicks or income, the paired difference, and that in per cent, with 95 % bands."""
    plot = Plot(
        f"curves-{what}",
        lambda _: _drawn(found, what),
        f"Three panels against impressions shown: {what} of each policy, the difference to "
        f"{found.baseline}, and that in per cent.",
        f"Mean {what} over the seeds, with 95 % bands; in the middle and on the right beyond "
        f"{found.baseline}, seed by seed. When all impressions are shown, all policies are equal.",
    )
    return Picture.of(plot, None)


def _drawn(found: Replays, what: str) -> Figure:
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    draw_panels(list(figure.subplots(1, 3)), found, what)
    return figure


def draw_panels(panels: list[Axes], found: Replays, what: str = "clicks") -> None:
    """The three panels of one log."""
    styles = line_styles(found.clicks)
    for name in found.clicks:
        for axes, band in zip(panels, bands(found, name), strict=True):
            draw_band(axes, found.marks, band, name, styles[name])
    labels = (what, f"{what} beyond {found.baseline}", f"% beyond {found.baseline}")
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


def page_of(report: ReplayReport, origin: Mapping[str, Any]) -> str:
    """The page as text."""
    found = report.at_checkpoints
    sections = [("clicks", "Clicks", _measured(report.found, found, "clicks"))]
    curves = report.found.income
    if curves is not None and found.income is not None:
        sections.append(("income", "Income", _measured(curves, found.income, "income")))
    sections += [
        ("doubts", "What to know before", page.listed(_doubts(report), "the log")),
        ("reading", "How to read it", _reading(report)),
        ("made", "How it was made", page.definitions(_settings(report, origin))),
    ]
    place = int((found.marks == report.telling).argmax())
    others = [name for name in found.clicks if name != found.baseline]
    words = [verdict_at(found, name, place).word for name in others]
    tally = page.tally(words, get_args(Word), f"Policies by verdict after {report.telling:,}")
    title = "How soon policies find the clicks"
    return page.report("Replay", title, _lead(report, origin), tally, sections)


def _lead(report: ReplayReport, origin: Mapping[str, Any]) -> str:
    log, found = report.log, report.found
    name = f"The log {origin['path']}" if "path" in origin else "The log"
    return (
        f"{name} has {log.y.size:,} impressions with {log.y.sum():,.0f} clicks. Each policy chose "
        f"the order in which {int(found.marks[-1]):,} of {report.pool:,} are shown, "
        f"{report.settings.seeds} times, and is compared with {found.baseline}. The verdicts below "
        f"this line are those after {report.telling:,} impressions."
    )


def _measured(curves: Replays, found: Replays, what: str) -> str:
    base, own = f"Beyond {found.baseline}", what.capitalize()
    columns = {"Policy": 19, "After": 11, own: 16, base: 17, "In per cent": 17, "Verdict": 20}
    rows = []
    for name in found.clicks:
        for _, after, much, beyond, share, verdict in lines(found, name):
            judged = "the baseline" if verdict is None else page.verdict(verdict.word, verdict.need)
            cells = (*map(page.text, (after, much, beyond, share)), judged)
            rows.append(page.cells(page.text(name), cells, columns))
    body = "<tbody>\n" + "\n".join(rows) + "\n</tbody>"
    picture = page.figure(replays_picture(curves, what))
    return picture + "\n" + page.framed(f"{what.capitalize()} at a few rounds", columns, body)


def _doubts(report: ReplayReport) -> list[str]:
    warning = [] if report.log.warning is None else [f"Warning: {report.log.warning}."]
    return warning + [f"Alarm, {each.kind}: {each.text}." for each in report.log.alarms]


def _reading(report: ReplayReport) -> str:
    return page.paragraphs(
        "Every impression of the log can be shown once, so that its outcome is known whatever the "
        "order; what differs between policies is how early the clicks come, and once all are shown "
        "nothing does.",
        f"Numbers after ± are {LEVEL:.0%} intervals over {report.settings.seeds} seeds, by which "
        "ties and draws differ, and all policies are compared seed by seed. They say how far "
        "chance in the choices goes, on this log; another log is another matter.",
        "Where it cannot be told, the seeds that are asked for would tell a difference as large as "
        f"this one seems in {POWER:.0%} of cases.",
    )


def _settings(report: ReplayReport, origin: Mapping[str, Any]) -> list[tuple[str, str]]:
    settings = report.settings
    return [
        *page.given(origin),
        ("Features used", f"{len(report.columns):,}"),
        ("Rows skipped", f"{report.log.skipped.total():,}"),
        ("Rows for choosing features", f"{report.log.y.size - report.pool:,}"),
        ("Seeds", f"{settings.first_seed} to {settings.first_seed + settings.seeds - 1}"),
    ]
