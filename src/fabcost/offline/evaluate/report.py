"""An evaluation as a table in the terminal, as JSON, and as a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.evaluation import Evaluation, evaluated, own_variance
from fabcost.offline.evaluate.settings import EvaluationSettings, Target
from fabcost.offline.logs.rounds import Log
from fabcost.offline.methods import LOOK

# Markers tell the estimators apart without colour.
_STYLES = {
    "replay": ("#999999", "s"),
    "ips": ("#d95f02", "v"),
    "snips": ("#7570b3", "^"),
    "dm": ("#e7298a", "x"),
    "dr": ("#1b9e77", "o"),
    "sndr": ("#000000", "D"),
}
_LABELS = {"dm": "dm (without the model's error)"}


def run(
    log: Log,
    policies: Sequence[str],
    settings: EvaluationSettings,
    *,
    out: Path,
    console: Console,
    origin: dict[str, Any] | None = None,
) -> Evaluation:
    """Evaluate, print the table, and write evaluation.json and evaluation.png to ``out``."""
    targets = [Target.parse(name) for name in dict.fromkeys(policies)]
    learners = sum(target.learns for target in targets)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("rounds", total=log.reward.size * (1 + learners))
        found = evaluated(log, targets, settings, lambda many: progress.advance(task, many))
    console.print(table(found))
    for note in log.notes:
        console.print(f"Note: {note}")
    for warning in found.warnings():
        console.print(f"Warning: {warning}")
    for alarm in found.alarms():
        console.print(f"Alarm, {alarm.kind}: {alarm.text}", markup=False)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(summary(found, origin or {}), indent=2, allow_nan=False)
    (out / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    named = {(f.policy, f.estimator): f.estimate for f in found.findings}
    draw_evaluation(named, found.click_rate(), out / "evaluation.png")
    console.print(f"Written: {out / 'evaluation.json'}, {out / 'evaluation.png'}")
    return found


def table(found: Evaluation) -> Table:
    """The findings, for the terminal."""
    log = found.log
    skipped = f", bad rows skipped: {log.skipped.total():,}" if log.skipped else ""
    shown = Table(
        title=f"{log.reward.size:,} rounds, {log.reward.sum():,.0f} rewards{skipped}",
        caption=f"Mean reward of the log itself: {found.click_rate().value:.4g}. Low and high: "
        f"{found.settings.level:.0%} interval; that of dm leaves out the model's error.",
    )
    for column in ("policy", "estimator", "value", "low", "high", "effective", "used"):
        shown.add_column(column, justify="left" if column in ("policy", "estimator") else "right")
    for each in found.findings:
        e = each.estimate
        figures = (f"{value:.4f}" for value in (e.value, e.low, e.high))
        shown.add_row(
            each.policy, each.estimator, *figures, f"{e.effective_size:,.0f}", f"{e.used:,}"
        )
    return shown


def summary(found: Evaluation, origin: dict[str, Any]) -> dict[str, Any]:
    """The findings with all settings, as plain JSON values; what is not finite is null."""
    log = found.log
    return {
        "log": origin,
        "settings": _plain(asdict(found.settings)),
        "rounds": log.reward.size,
        "rewards": int(log.reward.sum()),
        "items": len(set(log.items.ids)),
        "features": log.rows(0).shape[1],
        "skipped": dict(log.skipped),
        "notes": list(log.notes),
        "own_effects": own_variance(log, found.settings) > 0.0,
        "alarms": [alarm._asdict() for alarm in found.alarms()],
        "click_rate": _plain(asdict(found.click_rate())),
        "mean_weights": {name: _plain(asdict(w)) for name, w in found.mean_weights.items()},
        "covered": {name: each.share for name, each in found.supports.items() if each},
        "estimates": [
            {"policy": each.policy, "estimator": each.estimator, **_plain(asdict(each.estimate))}
            for each in found.findings
        ],
    }


def draw_evaluation(
    estimates: dict[tuple[str, str], Estimate], click_rate: Estimate, path: Path
) -> None:
    """Points with intervals, one band for each policy; the log's own click rate behind them."""
    policies = list(dict.fromkeys(policy for policy, _ in estimates))
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(8, 1.4 + 0.7 * len(policies)), layout="constrained")
        axes = figure.subplots()
        axes.axvspan(click_rate.low, click_rate.high, color="#eeeeee", label="the log itself")
        axes.axvline(click_rate.value, color="#bbbbbb")
        _draw_points(axes, estimates, policies)
        axes.set_yticks(range(len(policies)), policies)
        axes.set_ylim(len(policies) - 0.5, -0.5)
        axes.set_xlabel(f"mean reward, with {click_rate.level:.0%} intervals")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.savefig(path, dpi=150)


def _draw_points(
    axes: Axes, estimates: dict[tuple[str, str], Estimate], policies: list[str]
) -> None:
    shown = [name for name in _STYLES if any(name == estimator for _, estimator in estimates)]
    for offset, name in zip(np.linspace(-0.3, 0.3, len(shown)), shown, strict=True):
        colour, marker = _STYLES[name]
        found = [(policies.index(p), e) for (p, each), e in estimates.items() if each == name]
        low = [e.value - e.low for _, e in found]
        high = [e.high - e.value for _, e in found]
        axes.errorbar(
            [e.value for _, e in found],
            [place + offset for place, _ in found],
            xerr=[low, high],
            color=colour,
            marker=marker,
            linestyle="none",
            markersize=4,
            capsize=2,
            label=_LABELS.get(name, name),
        )


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    finite = {k: not isinstance(v, float) or math.isfinite(v) for k, v in values.items()}
    return {name: value if finite[name] else None for name, value in values.items()}
