"""A replay as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from fabcost.offline import page
from fabcost.offline.intervals import LEVEL
from fabcost.offline.replay.comparison import ReplayReport, lines, verdict_at
from fabcost.offline.replay.figure import replays_picture
from fabcost.offline.replay.runs import Replays
from fabcost.offline.verdicts import POWER, Word


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
