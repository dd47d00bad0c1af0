"""Clicks: what the paper claims of them, beside the replays."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.offline.intervals import Band, average, difference, per_cent
from fabcost.offline.methods import STYLES
from fabcost.paper.measures import clicks as measure
from fabcost.paper.measures.clicks import CORRECT, OURS, PAPERS, PUBLISHED, RANDOM, Bandits
from fabcost.paper.parts.part import Change, PaperClaim, Told, add_legend, judged

PAPERS_GAIN = 16.1

_TOLD = Told("bandits")
_LABELS = {
    OURS: "FAB-COST, our default",
    PAPERS: "FAB-COST, as in the paper",
    CORRECT: "Laplace, correct",
    PUBLISHED: "Laplace, as published",
    RANDOM: "at random",
}
_EARLIEST_SHARE = 10  # per cent before a tenth of the rounds is noise that hides the rest
_FIRST_SHOWN = 10  # rounds; no policy has learned anything before


def claims(part: Bandits) -> list[PaperClaim]:
    """The click figure's claims, each with its verdict by a rule on the intervals."""
    return [_headline(part), _cause(part), _superior(part), _equal_totals(part), _growing(part)]


def _headline(part: Bandits) -> PaperClaim:
    published, correct = part.gain(PAPERS, PUBLISHED), part.gain(PAPERS, CORRECT)
    is_large = correct.high[0] >= PAPERS_GAIN
    words = {
        "rounds": part.rounds,
        "days": part.days,
        "published": _told(published, " %"),
        "correct": _told(correct, " %"),
        "shortfall": "no gain is shown"
        if is_large
        else f"the interval of its gain excludes {PAPERS_GAIN} %",
    }
    verdict = judged(reproduced=correct.low[0] > 0 and is_large, partly=published.low[0] > 0)
    return _TOLD.claim("headline", verdict, part.seconds[0], words)


def _cause(part: Bandits) -> PaperClaim:
    mean, low, high = (float(each[0]) for each in part.defect)
    verdict = judged(reproduced=high < 50.0, partly=high < 100.0)
    words = {"mean": mean, "low": low, "high": high}
    return _TOLD.claim("cause", verdict, part.seconds[0] + part.seconds[2], words)


def _superior(part: Bandits) -> PaperClaim:
    papers, ours = part.lead(PAPERS, CORRECT), part.lead(OURS, CORRECT)
    leads = part.lead(PAPERS, PUBLISHED).low[0] > 0
    verdict = judged(reproduced=papers.low[0] > 0, partly=leads)
    words = {"rounds": part.rounds, "papers": _told(papers), "ours": _told(ours)}
    refitted = (
        f"{_told(part.refits)} clicks beyond Laplace refitted after every impression, by round "
        f"{part.checked_at:,}"
    )
    details = [("Laplace refitted by a schedule", refitted)]
    seconds = part.seconds[0] + part.seconds[2]
    return _TOLD.claim("superior", verdict, seconds, words, details)


def _equal_totals(part: Bandits) -> PaperClaim:
    totals = {policy: int(clicks[0, -1]) for policy, clicks in part.whole.clicks.items()}
    listed = ", ".join(f"{policy} {total:,}" for policy, total in totals.items())
    words = {"logged": part.logged, "end": int(part.whole.marks[-1]), "totals": listed}
    verdict = judged(reproduced=set(totals.values()) == {part.logged})
    return _TOLD.claim("equal_totals", verdict, part.seconds[1], words)


def _growing(part: Bandits) -> PaperClaim:
    lead = part.whole.clicks[PAPERS][0] - part.whole.clicks[CORRECT][0]
    top, end = int(np.argmax(lead)), int(part.whole.marks[-1])
    trivial = (
        f"; at this scale the day is cut to {part.rounds:,} impressions, so that the lead is "
        "trivial and says nothing about the claim"
    )
    words = {
        "most": lead[top],
        "top": int(part.whole.marks[top]),
        "end": end,
        "last": lead[-1],
        "trivial": trivial if end <= part.rounds else "",
    }
    return _TOLD.claim("growing", "not testable", part.seconds[1], words)


def changes(part: Bandits) -> list[Change]:
    """The default learner against the paper's, and the correct baseline."""

    def beyond(baseline: str) -> str:
        gain = _told(part.gain(OURS, baseline), " %")
        return f"{_told(part.lead(OURS, baseline))} clicks, {gain}, beyond"

    words = {"rounds": part.rounds, "days": part.days}
    return [
        _TOLD.change("learner", {**words, "beyond": beyond(PAPERS)}),
        _TOLD.change("baseline", {"beyond": beyond(CORRECT)}),
    ]


def _told(band: Band, unit: str = "") -> str:
    return f"{band.mean[0]:+.1f}{unit} ({band.low[0]:+.1f} to {band.high[0]:+.1f})"


def draw_bandits(part: Bandits) -> Figure:
    """Six panels, with 95 % bands over the days."""
    figure = Figure(figsize=(8.5, 5.4), layout="constrained")
    panels = figure.subplots(2, 3)
    clicks = part.replays.clicks
    for policy in _LABELS:
        _draw_band(panels[0, 0], part, average(clicks[policy]), policy)
    panels[0, 0].set(title=f"All policies, {part.days} days", ylabel="clicks so far")
    _draw_whole_day(panels[1, 0], part)
    for (_, leads, gains), baseline in zip(panels, (PUBLISHED, CORRECT), strict=True):
        for axes, compared, unit in ((leads, difference, "clicks"), (gains, per_cent, "per cent")):
            for policy in (OURS, PAPERS):
                band = compared(clicks[policy], clicks[baseline])
                _draw_band(axes, part, band, policy, edges=True)
            axes.axhline(0.0, color="black", linewidth=0.5)
            axes.set(title=f"Beyond {_LABELS[baseline]}", ylabel=f"difference in {unit}")
        _mark_the_papers_gain(gains)
        _limit(gains, part, baseline)
    for axes in panels.flat:
        axes.set_xlabel("impressions shown")
    add_legend(figure, panels[0, 0], columns=5)
    return figure


def _mark_the_papers_gain(axes: Axes) -> None:
    axes.axhline(PAPERS_GAIN, color="black", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.annotate(
        f"the paper: {PAPERS_GAIN} %",
        (0.99, PAPERS_GAIN),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
    )


def _limit(axes: Axes, part: Bandits, baseline: str) -> None:
    """To what is seen of the bands when a tenth of the rounds is over, and the paper's gain."""
    late = part.replays.marks >= part.rounds / _EARLIEST_SHARE
    clicks = {policy: each[:, late] for policy, each in part.replays.clicks.items()}
    bands = [per_cent(clicks[policy], clicks[baseline]) for policy in (OURS, PAPERS)]
    edges = np.ravel([(band.low, band.high) for band in bands])
    shown = np.append(edges[np.isfinite(edges)], [0.0, PAPERS_GAIN])
    margin = 0.08 * float(np.ptp(shown))
    axes.set_ylim(float(shown.min()) - margin, float(shown.max()) + margin)


def _draw_whole_day(axes: Axes, part: Bandits) -> None:
    """The figure of the paper to its end, with either baseline's line."""
    clicks, last = part.whole.clicks, int(part.whole.marks[-1])
    for baseline in (PUBLISHED, CORRECT):
        lead = clicks[PAPERS][0] - clicks[baseline][0]
        axes.plot(part.whole.marks, lead, **STYLES[baseline].line)
    axes.axhline(0.0, color="black", linewidth=0.5)
    axes.set(xscale="log", xlim=(min(_FIRST_SHOWN, last // 2), last))
    axes.set(title=f"One day, all {last:,} impressions", ylabel="lead of the paper's FAB-COST")


def _draw_band(axes: Axes, part: Bandits, band: Band, policy: str, *, edges: bool = False) -> None:
    """Where shades overlap, ``edges`` say whose they are."""
    style, at = STYLES[policy], part.replays.marks
    axes.plot(at, band.mean, label=_LABELS[policy], linewidth=1.4, **style.line)
    axes.fill_between(at, band.low, band.high, color=style.colour, alpha=0.15, linewidth=0)
    if edges:
        axes.plot(at, np.transpose([band.low, band.high]), linewidth=0.5, **style.line)


PART = _TOLD.part(measure.units, measure.gather, claims, changes, {"clicks": draw_bandits})
