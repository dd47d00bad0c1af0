"""An evaluation as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fabcost.offline import page
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate import figures
from fabcost.offline.evaluate.evaluation import Evaluation, Finding
from fabcost.offline.page import spelled
from fabcost.offline.verdicts import POWER, Word

_VERDICTS = {"Policy": 18, "Mean": 20, "Beyond the log": 24, "Verdict": 18, "Read by": 20}
_ESTIMATES = {
    "Policy": 18,
    "Estimator": 14,
    "Mean": 22,
    "Beyond the log": 24,
    "Effective": 12,
    "Used": 10,
}


def page_of(found: Evaluation, origin: Mapping[str, Any]) -> str:
    """The page as text."""
    sections = [
        *([("income", "In income", _verdicts(found, found.incomes))] if found.incomes else []),
        (
            "rewards",
            "In rewards" if found.incomes else "Verdicts",
            _verdicts(found, found.findings),
        ),
        ("doubts", "What to know before", page.listed(_doubts(found), "the log")),
        ("every", "Every estimate", _every(found)),
        ("reading", "How to read it", _reading(found)),
        ("made", "How it was made", page.definitions(_settings(found, origin))),
    ]
    what, findings = ("income", found.incomes) if found.incomes else ("rewards", found.findings)
    verdicts = [verdict.word for _, verdict in found.read(findings)]
    tally = page.tally(verdicts, get_args(Word), f"Policies by verdict, in {what}")
    title = "What other policies would have earned"
    return page.report("Evaluation", title, _lead(found, origin), tally, sections)


def _lead(found: Evaluation, origin: Mapping[str, Any]) -> str:
    rate, log = found.click_rate(), found.log
    name = f"The log {origin['path']}" if "path" in origin else "The log"
    words = (
        f"{name} has {log.reward.size:,} rounds with {log.reward.sum():,.0f} rewards: a mean of "
        f"{_shown(rate, is_income=False)}."
    )
    if (income := found.income()) is not None:
        words += f" Its mean income is {_shown(income, is_income=True)}."
    return words


def _shown(e: Estimate, *, is_income: bool, sign: str = "") -> str:
    if is_income:
        return spelled(e.value, e.low, e.high, sign=sign)
    unit = " points" if sign else " %"
    return spelled(100 * e.value, 100 * e.low, 100 * e.high, sign=sign, unit=unit)


def _verdicts(found: Evaluation, findings: Sequence[Finding]) -> str:
    is_income = findings is found.incomes
    read = {each.policy: (each, verdict) for each, verdict in found.read(findings)}
    rows = []
    for policy, (estimator, why) in found.advice.items():
        cells = ["–", "–", page.verdict("cannot tell", why), "–"]
        if policy in read:
            each, verdict = read[policy]
            cells = [
                page.text(_shown(each.estimate, is_income=is_income)),
                page.text(_shown(each.difference, is_income=is_income, sign="+")),
                page.verdict(verdict.word, verdict.need),
                f'{estimator}<span class="reason">{page.text(why)}</span>',
            ]
        rows.append(page.cells(page.text(policy), cells, _VERDICTS))
    body = "<tbody>\n" + "\n".join(rows) + "\n</tbody>"
    caption = f"Each policy beside the log, in {'income' if is_income else 'rewards'}"
    picture = page.figure(figures.differences_picture(found, income=is_income)) if read else ""
    return page.framed(caption, _VERDICTS, body) + picture


def _doubts(found: Evaluation) -> list[str]:
    return [
        *found.log.notes,
        *(f"Warning: {each}." for each in found.warnings()),
        *(f"Alarm, {alarm.kind}: {alarm.text}." for alarm in found.alarms()),
    ]


def _every(found: Evaluation) -> str:
    parts = []
    for findings in (found.findings, found.incomes):
        if findings:
            is_income = findings is found.incomes
            parts.append(page.figure(figures.estimates_picture(found, income=is_income)))
            rows = [_row(found, each, is_income=is_income) for each in findings]
            caption = f"Every estimate of {'income' if is_income else 'rewards'}"
            numbers = page.table(caption, _ESTIMATES, rows)
            parts.append(f"<details>\n<summary>The numbers</summary>\n{numbers}\n</details>")
    return "\n".join(parts)


def _row(found: Evaluation, each: Finding, *, is_income: bool) -> list[str]:
    mark = " (read)" if found.advice[each.policy].estimator == each.estimator else ""
    return [
        each.policy,
        each.estimator + mark,
        _shown(each.estimate, is_income=is_income),
        _shown(each.difference, is_income=is_income, sign="+"),
        f"{each.estimate.effective_size:,.0f}",
        f"{each.estimate.used:,}",
    ]


def _reading(found: Evaluation) -> str:
    level = found.settings.level
    return page.paragraphs(
        f"Numbers in brackets are {level:.0%} intervals. A policy is better or worse if the "
        "interval of its difference to the log does not reach zero. Where there is no difference, "
        f"about {1.0 - level:.0%} of logs show one: of twenty policies that are no different, "
        "expect one such verdict.",
        "Where it cannot be told, the rounds that are asked for would tell a difference as large "
        f"as this one seems in {POWER:.0%} of logs. If it is smaller in truth, they are too few.",
        "Effective is how many rounds of the policy's own the log is worth; used are those that "
        "weigh anything. The interval of dm leaves out the error of its model, and that of shrunk "
        "takes the model to err, where weights were cut, as much as it does elsewhere.",
    )


def _settings(found: Evaluation, origin: Mapping[str, Any]) -> list[tuple[str, str]]:
    s, log = found.settings, found.log
    named = {k: v for k, v in origin.items() if v not in (None, "None", (), [], False)}
    shown = [
        (k.capitalize(), ", ".join(v) if isinstance(v, tuple) else str(v)) for k, v in named.items()
    ]
    return [
        *shown,
        ("Items", f"{len(set(log.items.ids)):,}"),
        ("Features", f"{log.rows(0).shape[1]:,}"),
        ("Rows skipped", f"{log.skipped.total():,}"),
        ("Folds of the model", str(s.folds)),
        ("Largest weight", "unlimited" if s.clip == float("inf") else f"{s.clip:g}"),
        ("Draws", str(s.draws)),
        ("Seed", str(s.seed)),
    ]
