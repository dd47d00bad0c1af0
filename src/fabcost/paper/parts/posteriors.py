"""Posterior marginals: what the paper says of its figures, beside the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from fabcost.impressions import FloatArray
from fabcost.offline import methods
from fabcost.offline.methods import LAPLACE, STYLES
from fabcost.offline.page import typeset
from fabcost.paper.measures import posteriors as measure
from fabcost.paper.measures.posteriors import Marginals, NutsMoments
from fabcost.paper.parts.part import Change, PaperClaim, Told, add_legend, verdict_of

_TOLD = Told("posteriors")
_POOR_SHIFT = 0.5
_GOOD = 0.1  # in posterior sds, and of a width

_CONDITIONAL = "Laplace, 1/√H"
EP_AND_ADF = (methods.EP, methods.EP_MACKAY, methods.ADF, methods.ADF_MACKAY)
FAB_COST_AND_LAPLACE = (methods.FAB_COST, methods.FAB_COST_PAPER, LAPLACE, _CONDITIONAL)
_THIN: dict[str, Any] = {"color": STYLES[LAPLACE].colour, "linestyle": ":", "linewidth": 0.8}
_SHOWN_SDS, _FARTHEST_SDS = 4.5, 9.0


def claims(part: Marginals) -> list[PaperClaim]:
    """The claims of both figures; Laplace's widths one by one."""
    return [
        _adf_is_slow(part),
        _ep_is_accurate(part),
        _width(part, part.sd[part.methods.index(LAPLACE)], "marginal_width"),
        _width(part, part.conditional, "conditional_width"),
    ]


def _adf_is_slow(part: Marginals) -> PaperClaim:
    names = (methods.ADF, methods.ADF_MACKAY)
    ends = {name: (part.shift(name, 0), part.shift(name, -1)) for name in names}
    slow = {name: first > _POOR_SHIFT and last < first for name, (first, last) in ends.items()}
    texts = [f"{first:.2g} and {last:.2g} sds ({name})" for name, (first, last) in ends.items()]
    words = {
        "first": part.sizes[0],
        "last": part.sizes[-1],
        "off": ", by ".join(texts),
        "poor": _POOR_SHIFT,
        "held": _by_moments(slow),
    }
    verdict = verdict_of(sum(slow.values()), len(slow))
    return _TOLD.claim("adf_is_slow", verdict, part.seconds, words, _shifts(part, names))


def _ep_is_accurate(part: Marginals) -> PaperClaim:
    names = (methods.EP, methods.EP_MACKAY)
    own, own_width = part.noise(0)
    off = {name: (part.shift(name, 0), part.width(name, 0)) for name in names}
    good = {
        name: shift < _GOOD + 2.0 * own and width < _GOOD + 2.0 * own_width
        for name, (shift, width) in off.items()
    }
    texts = [
        f"{each:.2g} sds and {width:.1%} of the width ({n})" for n, (each, width) in off.items()
    ]
    words = {
        "first": part.sizes[0],
        "off": ", by ".join(texts),
        "good": _GOOD,
        "own": own,
        "held": _by_moments(good),
    }
    verdict = verdict_of(sum(good.values()), len(good))
    return _TOLD.claim("ep_is_accurate", verdict, part.seconds, words, _shifts(part, names))


def _by_moments(held: Mapping[str, bool]) -> str:
    exact, mackay = ("yes" if each else "no" for each in held.values())
    return f"exact moments: {exact}, the paper's: {mackay}"


def _shifts(part: Marginals, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    sizes = [f"after {size:,}" for size in part.sizes]
    texts = {
        name: ", ".join(f"{part.shift(name, k):.2g} {size}" for k, size in enumerate(sizes))
        for name in names
    }
    return tuple((name, f"off by {text} (posterior sds)") for name, text in texts.items())


def _width(part: Marginals, sd: FloatArray, claim: str) -> PaperClaim:
    """Fails at a size if the intercept's width is off by a tenth, besides NUTS's own error."""
    texts, wrong = [], 0
    for width, truth in zip(sd[:, 0], part.truth, strict=True):
        ratio = width / truth.sd[0]
        own = 2.0 * truth.sd_error[0] / truth.sd[0]
        wrong += abs(ratio - 1.0) > _GOOD + own
        texts.append(f"{ratio:.2f} ± {ratio * own:.2f} after {truth.rows:,}")
    words = {"ratios": ", ".join(texts), "good": _GOOD, "wrong": wrong, "sizes": len(texts)}
    return _TOLD.claim(claim, verdict_of(wrong, len(texts)), part.seconds, words)


def changes(part: Marginals) -> list[Change]:
    """The default learner's marginals beside those of the paper's."""
    places = {"cold_start": 0, "many_data": -1}
    return [_TOLD.change(name, _beside_the_papers(part, k)) for name, k in places.items()]


def _beside_the_papers(part: Marginals, size: int) -> dict[str, object]:
    learners = {methods.FAB_COST: "our default", methods.FAB_COST_PAPER: "the paper’s FAB-COST"}
    texts = [
        f"{part.shift(method, size):.2g} sds in the mean and {part.width(method, size):.1%} in the "
        f"width for {name}"
        for method, name in learners.items()
    ]
    own, own_width = part.noise(size)
    errors = ", ".join(texts)
    return {"rows": part.sizes[size], "errors": errors, "own": own, "own_width": own_width}


def draw_marginals(part: Marginals, *, names: Iterable[str]) -> Figure:
    """The intercept's marginal by some of the methods at each size."""
    rows = -(-len(part.sizes) // 2)
    figure = Figure(figsize=(7.5, 0.6 + 2.2 * rows), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for place, truth in enumerate(part.truth):
        marginals = {name: _marginal(part, name, place) for name in names}
        _draw_panel(panels[place], truth, marginals)
    for axes in panels[len(part.truth) :]:
        axes.set_visible(False)
    add_legend(figure, panels[0], columns=5)
    return figure


def _marginal(part: Marginals, name: str, size: int) -> tuple[float, float]:
    """Mean and sd of the intercept."""
    place = part.methods.index(LAPLACE if name == _CONDITIONAL else name)
    sd = part.conditional[size] if name == _CONDITIONAL else part.sd[place, size]
    return float(part.mean[place, size, 0]), float(sd[0])


def _draw_panel(
    axes: Axes, truth: NutsMoments, marginals: Mapping[str, tuple[float, float]]
) -> None:
    axes.stairs(
        truth.counts / (truth.counts.sum() * np.diff(truth.edges)),
        truth.edges,
        fill=True,
        color="#dddddd",
        label="NUTS (reference)",
    )
    low, high = _span(truth, marginals.values())
    at = np.linspace(low, high, 600)
    for name, marginal in marginals.items():
        style = _THIN if name == _CONDITIONAL else {**STYLES[name].line, "linewidth": 1.4}
        axes.plot(at, norm.pdf(at, *marginal), label=name, **style)
    axes.set(title=f"{truth.rows:,} impressions, {truth.clicks:,} clicks", xlabel="intercept")
    highest = 1.55 * norm.pdf(0.0, scale=truth.sd[0])
    axes.set(xlim=(low, high), ylim=(0.0, highest), yticks=[])
    outside = [
        f"{name}: {mean:.1f} ± {sd:.1f}"
        for name, (mean, sd) in marginals.items()
        if not low < mean < high
    ]
    if outside:
        text = typeset("\n".join(["outside:", *outside]))
        axes.text(0.02, 0.97, text, transform=axes.transAxes, va="top", fontsize=7)


def _span(truth: NutsMoments, marginals: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The posterior, and as much of the approximations as leaves it visible."""
    centre, sd = float(truth.mean[0]), float(truth.sd[0])
    ends = np.array([(mean - 2.5 * width, mean + 2.5 * width) for mean, width in marginals])
    low, high = np.clip(
        [ends.min(), ends.max()], *(centre + _FARTHEST_SDS * sd * np.array([-1, 1]))
    )
    return min(centre - _SHOWN_SDS * sd, float(low)), max(centre + _SHOWN_SDS * sd, float(high))


_DRAWN = {
    "ep-and-adf": partial(draw_marginals, names=EP_AND_ADF),
    "fab-cost-and-laplace": partial(draw_marginals, names=FAB_COST_AND_LAPLACE),
}
PART = _TOLD.part(measure.units, measure.gather, claims, changes, _DRAWN)
