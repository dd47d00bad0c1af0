"""An evaluation as tables in the terminal, as JSON, and as a page with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fabcost.offline.evaluate.evaluation import Evaluation, Finding, evaluated
from fabcost.offline.evaluate.outlook import EvaluationSettings, Target, own_variance
from fabcost.offline.evaluate.page import estimates_picture, page_of
from fabcost.offline.evaluate.support import Advice
from fabcost.offline.intervals import Verdict
from fabcost.offline.logs.rounds import Log
from fabcost.offline.page import json_text, plain


def run(
    log: Log,
    policies: Sequence[str],
    settings: EvaluationSettings,
    *,
    out: Path,
    console: Console,
    origin: dict[str, Any] | None = None,
    report: Path | None = None,
) -> Evaluation:
    """Evaluate, print the tables, and write evaluation.json, evaluation.png and the page.

    The page is ``report``, or report.html in ``out``.
    """
    targets = [Target.parse(name) for name in dict.fromkeys(policies)]
    learners = sum(target.learns for target in targets)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("rounds", total=log.reward.size * (1 + learners))
        found = evaluated(log, targets, settings, lambda many: progress.advance(task, many))
    tell(found, console)
    out.mkdir(parents=True, exist_ok=True)
    text = json_text(summary(found, origin or {}))
    (out / "evaluation.json").write_text(text, encoding="utf-8")
    (out / "evaluation.png").write_bytes((picture := estimates_picture(found)).png)
    page = report or out / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(found, origin or {}, picture), encoding="utf-8")
    for path in (out / "evaluation.json", out / "evaluation.png", page):
        console.print(f"Written: {path}", soft_wrap=True, markup=False)
    return found


def tell(found: Evaluation, console: Console) -> None:
    """All that was found, for the terminal."""
    console.print(table(found, found.findings))
    console.print(verdicts(found, found.findings, "reward"))
    if found.incomes:
        console.print(table(found, found.incomes))
        console.print(verdicts(found, found.incomes, "income"))
    for line in told(found):
        console.print(line, markup=False)
    for alarm in found.alarms():
        console.print(f"Alarm, {alarm.kind}: {alarm.text}", markup=False)


def told(found: Evaluation) -> Iterator[str]:
    """What to read of which policy and why, and what to know before."""
    readers: dict[Advice, list[str]] = {}
    for policy, advice in found.advice.items():
        readers.setdefault(advice, []).append(policy)
    for (estimator, why), names in readers.items():
        yield f"Read {estimator or 'no estimator'} of {', '.join(names)}: {why}."
    for note in found.log.notes:
        yield f"Note: {note}"
    for warning in found.warnings():
        yield f"Warning: {warning}"


def table(found: Evaluation, findings: Sequence[Finding]) -> Table:
    """Estimates, for the terminal; * marks those to read."""
    log, income = found.log, found.income() if findings is found.incomes else None
    skipped = f", bad rows skipped: {log.skipped.total():,}" if log.skipped else ""
    what = "" if income is None else "Income: "
    own = found.click_rate() if income is None else income
    shown = Table(
        title=f"{what}{log.reward.size:,} rounds, {log.reward.sum():,.0f} rewards{skipped}",
        caption=f"Mean {'reward' if income is None else 'income'} of the log itself: "
        f"{own.value:.4g}. Low and high: {found.settings.level:.0%} interval; that of dm leaves "
        "out the model's error. * is the one to read.",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    for column in ("policy", "estimator", "value", "low", "high", "effective", "used"):
        is_text = column in ("policy", "estimator")
        shown.add_column(column, justify="left" if is_text else "right", overflow="fold")
    for each in findings:
        e, mark = each.estimate, "*" if found.is_read(each) else ""
        numbers = map(_number, (e.value, e.low, e.high))
        shown.add_row(
            escape(each.policy),
            each.estimator + mark,
            *numbers,
            f"{e.effective_size:,.0f}",
            f"{e.used:,}",
        )
    return shown


def verdicts(found: Evaluation, findings: Sequence[Finding], what: str) -> Table:
    """The difference of each policy to the log, for the terminal, and what it says."""
    shown = Table(
        title=f"Mean {what} beyond that of the log, on the same rounds",
        caption=f"Each verdict is wrong in at most about {1.0 - found.settings.level:.0%} of logs "
        "in which there is no difference.",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
    )
    for column in ("policy", "by", "beyond", "low", "high", "verdict"):
        is_text = column in ("policy", "by", "verdict")
        side: JustifyMethod = "left" if is_text else "right"
        shown.add_column(column, justify=side, no_wrap=not is_text, overflow="fold")
    read = {each.policy: (each, verdict) for each, verdict in found.read(findings)}
    for policy, (_, why) in found.advice.items():
        if policy not in read:
            shown.add_row(escape(policy), *"––––", str(Verdict("cannot tell", reason=why)))
            continue
        each, verdict = read[policy]
        d = each.difference
        numbers = (_number(value, "+") for value in (d.value, d.low, d.high))
        shown.add_row(escape(policy), each.estimator, *numbers, str(verdict))
    return shown


def _number(value: float, sign: str = "") -> str:
    """To four places, or one where it is large."""
    return f"{value:{sign}.4f}" if abs(value) < 1000.0 else f"{value:{sign},.1f}"


def summary(found: Evaluation, origin: dict[str, Any]) -> dict[str, Any]:
    """The findings with all settings, as plain JSON values; what is not finite is null."""
    log, income = found.log, found.income()
    content = {
        "log": origin,
        "settings": found.settings,
        "rounds": log.reward.size,
        "rewards": int(log.reward.sum()),
        "items": len(set(log.items.ids)),
        "features": log.rows(0).shape[1],
        "skipped": dict(log.skipped),
        "notes": list(log.notes),
        "warnings": list(found.warnings()),
        "own_effects": own_variance(log, found.settings) > 0.0,
        "alarms": found.alarms(),
        "click_rate": found.click_rate(),
        "mean_weights": {name: reach.weight for name, reach in found.reaches.items()},
        "covered": {n: r.support.share for n, r in found.reaches.items() if r.support},
        "read": found.advice,
        "estimates": [_entry(found, each) for each in found.findings],
    }
    if income is not None:
        content |= {"income": income, "incomes": [_entry(found, e) for e in found.incomes]}
    return dict(plain(content))


def _entry(found: Evaluation, each: Finding) -> dict[str, Any]:
    verdict = found.verdict(each)
    return {
        "policy": each.policy,
        "estimator": each.estimator,
        **asdict(each.estimate),
        "read": found.is_read(each),
        "difference": each.difference,
        "verdict": verdict.word,
        "rounds_more": verdict.more,
    }
