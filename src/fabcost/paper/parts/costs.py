"""Costs: what the paper claims of them, beside the measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from fabcost.offline.methods import STYLES
from fabcost.paper.measures import costs as measure
from fabcost.paper.measures.costs import (
    AUTHORS_SWEEPS,
    FORMS,
    MOMENTS,
    TOLERANCE,
    Costs,
    NeededSweeps,
)
from fabcost.paper.parts.part import Change, PaperClaim, Told, judged, verdict_of
from fabcost.paper.statistics import median_interval

#: The paper's flops of one site over D³, and ours over D² (see `fabcost.paper.measures.costs`).
ADF_CUBIC, EP_CUBIC, RANK_ONE_SQUARE = 4.0, 38.0 / 3.0, 6.0
PAPERS_SPEED_UP = 75.0

_TOLD = Told("cost")
_USUALLY = 0.75
_ENOUGH_SWEEPS = 4
_MOMENTS = {"exact": "exact", "mackay": "MacKay's"}
#: The data sets as they are called everywhere else.
_TITLES = {"day": "day", "authors": "design"}

# Markers tell the data sets apart without colour.
_POINTS: dict[str, dict[str, Any]] = {
    "day": {"color": "#000000", "marker": "D"},
    "authors": {"color": "#d95f02", "marker": "s"},
}
_MARKERS = "os^vDP*X"
_SHOWN_SWEEPS = 10
_LEAST_ERROR = 1e-8


def claims(part: Costs) -> list[PaperClaim]:
    """The claims of costs, each with its verdict by a rule on the intervals."""
    return [_speed_up(part), _flops(part), _cubic(part), _sweeps(part), _online(part)]


def _speed_up(part: Costs) -> PaperClaim:
    """Reproduced within a factor of two of 75, partly if EP is at least ten times slower."""
    day, design = part.batches["day"], part.batches["authors"]
    ratio = day.ratio("matrix EP", "matrix ADF", AUTHORS_SWEEPS)
    ours = day.ratio("EP", "ADF", AUTHORS_SWEEPS)
    words = {
        "day": day,
        "design": design,
        "sweeps": AUTHORS_SWEEPS,
        "ratio": ratio,
        "other": design.ratio("matrix EP", "matrix ADF", AUTHORS_SWEEPS),
        "ours": ours,
        "visit": ours.value / AUTHORS_SWEEPS,
    }
    near = 0.5 <= ratio.value / PAPERS_SPEED_UP <= 2.0
    verdict = judged(reproduced=near, partly=ratio.low >= 10.0)
    return _TOLD.claim("speed_up", verdict, day.took + design.took, words)


def _flops(part: Costs) -> PaperClaim:
    """Reproduced if a visit of EP surely takes three updates of ADF in matrix form."""
    day = part.batches["day"]
    matrix, rank_one = day.ratio("matrix EP", "matrix ADF"), day.ratio("EP", "ADF")
    adf, ep = day.ratio("matrix ADF", "ADF, MacKay"), day.ratio("matrix EP", "EP, MacKay")
    fewer = [each * day.weights / RANK_ONE_SQUARE for each in (ADF_CUBIC, EP_CUBIC)]
    words = {"matrix": matrix, "rank_one": rank_one, "fewer": fewer, "D": day.weights}
    verdict = judged(reproduced=matrix.low >= EP_CUBIC / ADF_CUBIC, partly=matrix.low > 1.0)
    details = [
        ("ADF, matrix over rank-one form", f"{adf} times as long"),
        ("EP, matrix over rank-one form", f"{ep} times as long"),
    ]
    return _TOLD.claim("flops", verdict, day.took, words, details)


def _cubic(part: Costs) -> PaperClaim:
    """Reproduced if no matrix form grows faster than D³; by how much slower, is said."""
    growth = part.weights
    adf, ep = growth.exponent("matrix ADF"), growth.exponent("matrix EP")
    ours = growth.exponent("ADF"), growth.exponent("EP")
    words = {"first": growth.sizes[0], "last": growth.sizes[-1], "adf": adf, "ep": ep}
    most = max(each.value for each in ours)
    verdict = judged(reproduced=max(adf.low, ep.low) <= 3.0)
    return _TOLD.claim("cubic", verdict, growth.took, {**words, "ours": ours, "most": most})


def _sweeps(part: Costs) -> PaperClaim:
    """Reproduced if four sweeps do in three of four cases with the paper's moments.

    Partly, if they do so with exact moments, or on one of the data sets.
    """
    cases = [(design, moments) for design in part.sweeps for moments in MOMENTS]
    needed = {case: part.sweeps[case[0]].needed(case[1]) for case in cases}
    shares = {
        case: float(np.mean((each > 0) & (each <= _ENOUGH_SWEEPS))) for case, each in needed.items()
    }
    usual = [share >= _USUALLY for share in shares.values()]
    papers = [shares[design, "mackay"] >= _USUALLY for design in part.sweeps]
    texts = [
        " and ".join(
            f"{shares[design, each]:.0%} on the {_TITLES[design]}" for design in part.sweeps
        )
        + f" with {_MOMENTS[each]} moments"
        for each in MOMENTS
    ]
    words = {
        "enough": _ENOUGH_SWEEPS,
        "shares": "; ".join(texts),
        "tolerance": TOLERANCE,
        "slowest": _slowest(part),
        "restless": sum(int((needed[design, "mackay"] == 0).sum()) for design in part.sweeps),
    }
    seconds = sum(each.took for each in part.sweeps.values())
    details = [
        (f"{_TITLES[of]}, {_MOMENTS[moments]} moments", _sweeps_text(part.sweeps[of], moments))
        for of, moments in cases
    ]
    verdict = verdict_of(any(usual) + all(papers), 2)
    return _TOLD.claim("sweeps", verdict, seconds, words, details)


def _slowest(part: Costs) -> str:
    """The data set and size on which exact moments take most sweeps, on average over streams."""
    means = {
        f"{size:,} rows of the {_TITLES[design]}": float(mean)
        for design, sweeps in part.sweeps.items()
        for size, mean in zip(sweeps.sizes, sweeps.needed("exact").mean(axis=0), strict=True)
    }
    return max(means, key=means.__getitem__)


def _sweeps_text(sweeps: NeededSweeps, moments: str) -> str:
    needed = sweeps.needed(moments)
    found = needed[needed > 0]
    span = f"{found.min()} to {found.max()} sweeps" if found.size else "no rest"
    rest = f", {needed.size - found.size} of {needed.size} cases without rest"
    return (
        f"{span} with {sweeps.sizes[0]:,} to {sweeps.sizes[-1]:,} rows"
        f"{rest if 0 < found.size < needed.size else ''}"
    )


def _online(part: Costs) -> PaperClaim:
    growth = part.online
    adf, ep = growth.exponent("ADF"), growth.exponent("EP")
    flat, linear = abs(adf.value) <= 0.15, abs(ep.value - 1.0) <= 0.15
    times = float(np.median(growth.seconds["EP"][:, -1] / growth.seconds["ADF"][:, -1]))
    words = {"first": growth.sizes[0], "last": growth.sizes[-1], "adf": adf, "ep": ep}
    verdict = verdict_of(flat + linear, 2)
    return _TOLD.claim("online", verdict, growth.took, {**words, "times": times})


def changes(part: Costs) -> list[Change]:
    """Rank-one updates against matrix products and inversions."""
    day = part.batches["day"]
    adf, ep = day.ratio("matrix ADF", "ADF"), day.ratio("matrix EP", "EP")
    return [_TOLD.change("site", {"weights": day.weights, "adf": adf, "ep": ep})]


def draw_cost(part: Costs) -> Figure:
    """Three panels, side by side."""
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    forms, sweeps, online = figure.subplots(1, 3)
    _draw_forms(forms, part)
    _draw_sweeps(sweeps, part.sweeps["day"])
    _draw_online(online, part)
    return figure


def _draw_forms(axes: Axes, part: Costs) -> None:
    places = np.arange(len(FORMS))[::-1]
    for shift, (design, batch) in zip((0.12, -0.12), part.batches.items(), strict=True):
        found = 1e6 * np.array([median_interval(batch.seconds[form]) for form in FORMS])
        middle, low, high = found.T
        axes.errorbar(
            middle,
            places + shift,
            xerr=[middle - low, high - middle],
            linestyle="none",
            markersize=4,
            label=f"{_TITLES[design]}, {batch.weights} weights",
            **_POINTS[design],
        )
    axes.set_yticks(places, FORMS)
    axes.set(title="One update or visit", xlabel="microseconds", xscale="log")
    axes.legend(frameon=False, fontsize=7)


def _draw_sweeps(axes: Axes, sweeps: NeededSweeps) -> None:
    """Exact moments; the median over streams."""
    errors = np.median(sweeps.errors["exact"], axis=0)[:, :_SHOWN_SWEEPS]
    count = np.arange(1, errors.shape[1] + 1)
    for place, (size, line) in enumerate(zip(sweeps.sizes, errors, strict=True)):
        grey = str(0.7 * (1.0 - place / max(1, len(errors) - 1)))
        marker = _MARKERS[place % len(_MARKERS)]
        shown = np.where(line > _LEAST_ERROR, line, np.nan)
        axes.semilogy(count, shown, color=grey, marker=marker, markersize=3, label=f"{size:,}")
    axes.axhline(TOLERANCE, color="black", linewidth=0.8, linestyle=(0, (1, 2)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(title="EP on the day, exact moments", xlabel="sweeps")
    axes.set_ylabel("distance from its end, posterior sds")
    axes.legend(title="impressions", loc="lower left", fontsize=6, title_fontsize=6, frameon=False)


def _draw_online(axes: Axes, part: Costs) -> None:
    for form, rounds in part.online.seconds.items():
        style, milliseconds = STYLES[form].points, 1e3 * np.median(rounds, axis=0)
        axes.loglog(part.online.sizes, milliseconds, label=form, markersize=4, **style)
    ends = part.online.sizes[0], part.online.sizes[-1]
    axes.set_xticks(ends, [f"{size:,}" for size in ends])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(title="One online update", xlabel="impressions in all, τ + m", ylabel="milliseconds")
    axes.legend(frameon=False, fontsize=7)


PART = _TOLD.part(measure.units, measure.gather, claims, changes, {"costs": draw_cost})
