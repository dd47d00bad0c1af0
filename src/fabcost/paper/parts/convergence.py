"""Convergence: what the paper claims of accuracy as the data grow, beside the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.impressions import FloatArray
from fabcost.offline import methods
from fabcost.offline.methods import ADF, EP, FAB_COST, FAB_COST_PAPER, FAB_COST_TWICE, LAPLACE
from fabcost.paper.measures import convergence as measure
from fabcost.paper.measures.convergence import Convergence, Cost, Curves, Kind
from fabcost.paper.parts.part import Change, PaperClaim, Told, add_legend, verdict_of
from fabcost.paper.statistics import Interval, ratio

_TOLD = Told("convergence")
_RELATIVE: tuple[Kind, Kind] = ("mean_in_sds", "variance_relative")
_RIVALS = (LAPLACE, ADF)
_SWITCHED = {FAB_COST_PAPER: "the paper's moments", FAB_COST_TWICE: "exact moments"}
_NEAR = 0.25
_INSIGNIFICANT = 0.1

_SHOWN = (LAPLACE, ADF, EP, FAB_COST, FAB_COST_TWICE, FAB_COST_PAPER)
_TITLES = {"design": "the authors' design", "day": "the day of car adverts"}
_KINDS: dict[Kind, str] = {"mean": "error of the mean", "variance": "error of the variance"}
_COSTS: dict[Cost, str] = {
    "paper": "flops as the paper counts",
    "rank-one": "flops of the rank-one form",
    "seconds": "seconds",
}


def claims(part: Convergence) -> list[PaperClaim]:
    """The claims of accuracy, each with its verdict by a rule on the intervals."""
    rates = _falls_like(part, "rate_of_adf", ADF, -1), _falls_like(part, "rate_of_ep", EP, -2)
    return [_best(part), *rates, _where_gained(part), _switch(part)]


def _last(curves: Curves, kind: Kind, ours: str, theirs: str | None = None) -> Interval:
    """The error at the last size, over that of another method if there is one."""
    other = 1.0 if theirs is None else curves.error(kind, theirs)[:, -1]
    return ratio(curves.error(kind, ours)[:, -1], other)


def _rows(part: Convergence) -> str:
    return " and ".join(sorted({f"{each.sizes[-1]:,}" for each in part.curves.values()}))


def _best(part: Convergence) -> PaperClaim:
    found = {
        (name, kind, rival): _last(curves, kind, EP, rival)
        for name, curves in part.curves.items()
        for kind in _KINDS
        for rival in _RIVALS
    }
    held = sum(each.high < 1.0 for each in found.values())
    worst = [
        max((key for key in found if key[2] == rival), key=lambda key: found[key].value)
        for rival in _RIVALS
    ]
    texts = [f"{found[k]:g} times that of {k[2]} ({k[0]}, {k[1]})" for k in worst]
    words = {"rows": _rows(part), "worst": " and ".join(texts), "held": held, "cases": len(found)}
    details = [
        (f"{name}, {kind}", f"{each:g} times the error of {rival}")
        for (name, kind, rival), each in found.items()
    ]
    verdict = verdict_of(held, len(found))
    return _TOLD.claim("best", verdict, part.seconds, words, details)


def _falls_like(part: Convergence, claim: str, method: str, slope: int) -> PaperClaim:
    """Holds for a data set if the mean's slope is within a quarter or its interval contains it."""
    rates = {name: curves.rate("mean", method) for name, curves in part.curves.items()}
    widths = {name: curves.rate("variance", method) for name, curves in part.curves.items()}
    known = {name: each for name, each in rates.items() if each is not None}
    held = sum(
        abs(each.value - slope) <= _NEAR or each.low <= slope <= each.high
        for each in known.values()
    )
    unknown = ", ".join(name for name in rates if name not in known)
    few = f"; too few points of {unknown} are clear of the noise of the truth" if unknown else ""
    words = {
        "means": _listed(rates),
        "variances": _listed(widths),
        "near": _NEAR,
        "held": held,
        "sets": len(rates),
        "unknown": few,
    }
    verdict = verdict_of(held, len(rates)) if known else "not testable"
    return _TOLD.claim(claim, verdict, part.seconds, words)


def _listed(rates: Mapping[str, Interval | None]) -> str:
    return ", ".join(
        f"{name} {'below the noise' if each is None else format(each, '.2f')}"
        for name, each in rates.items()
    )


def _where_gained(part: Convergence) -> PaperClaim:
    found = {
        (name, method): [_last(curves, kind, LAPLACE, method) for kind in _RELATIVE]
        for name, curves in part.curves.items()
        for method in (EP, ADF)
    }
    held = sum(width.low > 1.0 and width.value > mean.value for mean, width in found.values())
    texts = {key: f"mean {mean:g}, variance {width:g}" for key, (mean, width) in found.items()}
    day = [f"{method} {text}" for (name, method), text in texts.items() if name == "day"]
    words = {"day": "; ".join(day), "held": held, "cases": len(texts)}
    details = [(", ".join(key), text) for key, text in texts.items()]
    verdict = verdict_of(held, len(texts))
    return _TOLD.claim("where_gained", verdict, part.seconds, words, details)


def _switch(part: Convergence) -> PaperClaim:
    """Holds for a data set and kind of moments if both errors end below a tenth."""
    found = {
        (name, method): [_last(curves, kind, method) for kind in _RELATIVE]
        for name, curves in part.curves.items()
        for method in (*_SWITCHED, EP, ADF)
    }
    texts = {
        key: f"{mean:g} sds and {variance:g} of the variance"
        for key, (mean, variance) in found.items()
    }
    judged = {key: max(each.high for each in found[key]) for key in found if key[1] in _SWITCHED}
    held = sum(each < _INSIGNIFICANT for each in judged.values())
    late = all(each.sizes[-1] > methods.PAPER_REFRESH[-1] for each in part.curves.values())
    worse = [
        max((key for key in judged if key[1] == each), key=judged.__getitem__) for each in _SWITCHED
    ]
    words = {
        "rows": _rows(part),
        "off": "; ".join(f"{texts[key]} with {_SWITCHED[key[1]]}" for key in worse),
        "least": _INSIGNIFICANT,
        "held": held,
        "cases": len(judged),
    }
    details = [(", ".join(key), f"off by {text}") for key, text in texts.items()]
    verdict = verdict_of(held, len(judged)) if late else "not testable"
    return _TOLD.claim("switch", verdict, part.seconds, words, details)


def changes(part: Convergence) -> list[Change]:
    """How far either learner is from the truth at the last size, and the work it took."""
    texts = []
    for curves in part.curves.values():
        ours, papers = (
            curves.typical("mean_in_sds", each)[-1] for each in (FAB_COST, FAB_COST_PAPER)
        )
        visits = curves.visited[curves.methods.index(FAB_COST), -1] / curves.sizes[-1]
        texts.append(
            f"{curves.name}, {curves.sizes[-1]:,} impressions: {ours:.2g} sds in the mean beside "
            f"{papers:.2g} of the paper’s FAB-COST, for {visits:.1f} visits of EP to each site"
        )
    return [_TOLD.change("work", {"texts": "; ".join(texts)})]


def draw_convergence(part: Convergence) -> Figure:
    """Errors against impressions, data sets side by side."""
    figure = Figure(figsize=(7.5, 6.0), layout="constrained")
    panels = figure.subplots(2, len(part.curves), sharex="col", squeeze=False)
    for column, curves in zip(panels.T, part.curves.values(), strict=True):
        for axes, kind in zip(column, _KINDS, strict=True):
            _draw_errors(axes, curves, kind)
        column[0].set_title(_TITLES[curves.name])
        column[-1].set_xlabel("impressions T")
    add_legend(figure, panels[0, 0], columns=4)
    return figure


def draw_costs(part: Convergence, *, name: str) -> Figure:
    """Errors against cumulated costs on the data set ``name``."""
    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    panels = figure.subplots(2, len(_COSTS), sharex="col", sharey="row")
    curves = part.curves[name]
    for row, (kind, label) in zip(panels, _KINDS.items(), strict=True):
        for axes, counted in zip(row, _COSTS, strict=True):
            for method in _SHOWN:
                cost = curves.cost(counted, method, part.batch)
                if cost is not None:
                    _draw_line(axes, cost, curves.typical(kind, method), method)
        row[0].set_ylabel(label)
    for axes, label in zip(panels[-1], _COSTS.values(), strict=True):
        axes.set_xlabel(label)
    add_legend(figure, panels[0, -1], columns=4)
    return figure


def _draw_errors(axes: Axes, curves: Curves, kind: Kind) -> None:
    """With guides of 1/T and 1/T² through the first error of Laplace."""
    floor = curves.floor(kind)
    lowest = float(floor.min()) / 3.0
    axes.fill_between(curves.sizes, lowest, floor, color="#e8e8e8", label="noise of the truth")
    sizes = np.asarray(curves.sizes, dtype=np.float64)
    for power, text in ((1, "1/T"), (2, "1/T²")):
        guide = curves.typical(kind, LAPLACE)[0] * (sizes / sizes[0]) ** -power
        axes.loglog(sizes, guide, color="#aaaaaa", linewidth=0.8, zorder=1)
        axes.text(sizes[-1], guide[-1], f"  {text}", color="#777777", va="center")
    for method in _SHOWN:
        _draw_line(axes, curves.sizes, curves.typical(kind, method), method)
    rates = {method: curves.rate(kind, method) for method in (LAPLACE, ADF, EP)}
    slopes = [f"{method} {rate:.2f}".replace("-", "−") for method, rate in rates.items() if rate]
    text = "\n".join([f"slopes from {curves.fitted_from:,} on", *slopes])
    axes.text(0.03, 0.04, text, transform=axes.transAxes, fontsize=7)
    axes.set(ylim=(lowest, None), ylabel=_KINDS[kind])


def _draw_line(axes: Axes, at: npt.ArrayLike, errors: FloatArray, method: str) -> None:
    style = methods.STYLES[method].points
    axes.loglog(at, errors, label=method, markersize=3.5, linewidth=1.2, **style)


_DRAWN: dict[str, Callable[[Convergence], Figure]] = {
    "convergence": draw_convergence,
    "cost-of-accuracy-day": partial(draw_costs, name="day"),
    "cost-of-accuracy-design": partial(draw_costs, name="design"),
}
PART = _TOLD.part(measure.units, measure.gather, claims, changes, _DRAWN)
