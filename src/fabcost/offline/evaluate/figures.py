"""The pictures of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.evaluation import Evaluation, Finding
from fabcost.offline.pictures import Picture, Plot
from fabcost.offline.verdicts import Verdict

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
_VERDICTS = {
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
    for word, style in _VERDICTS.items():
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
