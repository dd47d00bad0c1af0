"""An evaluation as pictures, and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline import page
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.evaluation import Evaluation, Finding
from fabcost.offline.intervals import POWER, Verdict, Word
from fabcost.offline.page import spelled
from fabcost.offline.pictures import Picture, Plot

# Markers tell the estimators apart without colour.
_STYLES = {
    "replay": ("#999999", "s"),
    "ips": ("#d95f02", "v"),
    "snips": ("#7570b3", "^"),
    "dm": ("#e7298a", "x"),
    "dr": ("#1b9e77", "o"),
    "sndr": ("#000000", "D"),
    "shrunk": ("#2166ac", "P"),
}
_LABELS = {"dm": "dm (without the model's error)"}
_VERDICT_STYLES = {
    "better": ("#178a68", "^"),
    "worse": ("#c51b1b", "v"),
    "cannot tell": ("#707070", "o"),
    "the same": ("#000000", "|"),
}


def estimates_picture(found: Evaluation, *, income: bool = False) -> Picture:
    """Every estimate with its interval; behind them the log's own."""
    own = found.income() if income else found.click_rate()
    findings = found.incomes if income else found.findings
    what = "mean income" if income else "mean reward"
    plot = Plot(
        "estimates-income" if income else "estimates",
        lambda _: _drawn_estimates(findings, own, what),
        f"Points with intervals: {what} of each policy by each estimator, beside that of the log.",
        "Every estimator on every policy. Where they disagree by more than their intervals, look "
        "at the warnings; grey is what the log itself had.",
    )
    return Picture.of(plot, None)


def differences_picture(found: Evaluation, *, income: bool = False) -> Picture:
    """The difference of each policy to the log, by the estimator to read."""
    read = list(found.read(found.incomes if income else found.findings))
    what = "income" if income else "reward"
    plot = Plot(
        "differences-income" if income else "differences",
        lambda _: _drawn_differences(read, f"mean {what} beyond that of the log"),
        f"Points with intervals: mean {what} of each policy beyond that of the log, with zero "
        "marked.",
        "Each policy beside the one that wrote the log, on the same rounds. An interval that does "
        "not reach zero is a difference that chance alone seldom makes.",
    )
    return Picture.of(plot, None)


def _drawn_estimates(findings: Sequence[Finding], own: Estimate | None, what: str) -> Figure:
    policies = list(dict.fromkeys(each.policy for each in findings))
    figure = Figure(figsize=(7, 1.4 + 0.7 * len(policies)), layout="constrained")
    axes = figure.subplots()
    level = findings[0].estimate.level
    if own is not None:
        axes.axvspan(own.low, own.high, color="#e4e4e4", label="the log itself")
        axes.axvline(own.value, color="#bbbbbb")
    _draw_points(axes, findings, policies)
    _name_rows(axes, policies)
    axes.set_xlabel(f"{what}, with {level:.0%} intervals")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _draw_points(axes: Axes, findings: Sequence[Finding], policies: list[str]) -> None:
    shown = [name for name in _STYLES if any(name == each.estimator for each in findings)]
    for offset, name in zip(np.linspace(-0.3, 0.3, len(shown)), shown, strict=True):
        those = [each for each in findings if each.estimator == name]
        places = [policies.index(each.policy) + offset for each in those]
        style = _STYLES[name]
        _draw_intervals(axes, [each.estimate for each in those], places, style, name)


def _drawn_differences(read: Sequence[tuple[Finding, Verdict]], label: str) -> Figure:
    figure = Figure(figsize=(7, 1.0 + 0.45 * max(len(read), 1)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0.0, color="#707070", linewidth=0.8)
    for word, style in _VERDICT_STYLES.items():
        those = [(i, each) for i, (each, verdict) in enumerate(read) if verdict.word == word]
        if those:
            differences = [each.difference for _, each in those]
            _draw_intervals(axes, differences, [i for i, _ in those], style, word)
    _name_rows(axes, [f"{each.policy} ({each.estimator})" for each, _ in read])
    axes.set_xlabel(label)
    if read:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _draw_intervals(
    axes: Axes,
    estimates: Sequence[Estimate],
    places: Sequence[float],
    style: tuple[str, str],
    name: str,
) -> None:
    colour, marker = style
    low = [max(e.value - e.low, 0.0) for e in estimates]
    high = [max(e.high - e.value, 0.0) for e in estimates]
    axes.errorbar(
        [e.value for e in estimates],
        places,
        xerr=[low, high],
        color=colour,
        marker=marker,
        linestyle="none",
        markersize=5,
        capsize=2,
        label=_LABELS.get(name, name),
    )


def _name_rows(axes: Axes, names: Iterable[str]) -> None:
    labels = list(names)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)


_VERDICTS = {"Policy": 18, "Mean": 20, "Beyond the log": 24, "Verdict": 18, "Read by": 20}
_ESTIMATES = {
    "Policy": 18,
    "Estimator": 14,
    "Mean": 22,
    "Beyond the log": 24,
    "Effective": 12,
    "Used": 10,
}


def page_of(found: Evaluation, origin: Mapping[str, Any], picture: Picture) -> str:
    """The page as text, with a picture of every estimate."""
    sections = [
        *([("income", "In income", _verdicts(found, found.incomes))] if found.incomes else []),
        (
            "rewards",
            "In rewards" if found.incomes else "Verdicts",
            _verdicts(found, found.findings),
        ),
        ("doubts", "What to know before", page.listed(_doubts(found), "the log")),
        ("every", "Every estimate", _every(found, picture)),
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
    picture = page.figure(differences_picture(found, income=is_income)) if read else ""
    return page.framed(caption, _VERDICTS, body) + picture


def _doubts(found: Evaluation) -> list[str]:
    return [
        *found.log.notes,
        *(f"Warning: {each}." for each in found.warnings()),
        *(f"Alarm, {alarm.kind}: {alarm.text}." for alarm in found.alarms()),
    ]


def _every(found: Evaluation, drawn: Picture) -> str:
    parts = []
    for findings in (found.findings, found.incomes):
        if findings:
            is_income = findings is found.incomes
            parts.append(page.figure(estimates_picture(found, income=True) if is_income else drawn))
            rows = [_row(found, each, is_income=is_income) for each in findings]
            caption = f"Every estimate of {'income' if is_income else 'rewards'}"
            numbers = page.table(caption, _ESTIMATES, rows)
            parts.append(f"<details>\n<summary>The numbers</summary>\n{numbers}\n</details>")
    return "\n".join(parts)


def _row(found: Evaluation, each: Finding, *, is_income: bool) -> list[str]:
    return [
        each.policy,
        each.estimator + (" (read)" if found.is_read(each) else ""),
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
    return [
        *page.given(origin),
        ("Items", f"{len(set(log.items.ids)):,}"),
        ("Features", f"{log.rows(0).shape[1]:,}"),
        ("Rows skipped", f"{log.skipped.total():,}"),
        ("Folds of the model", str(s.folds)),
        ("Largest weight", "unlimited" if s.clip == float("inf") else f"{s.clip:g}"),
        ("Draws", str(s.draws)),
        ("Seed", str(s.seed)),
    ]
