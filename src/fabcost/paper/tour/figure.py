"""The pictures; the only module that draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.paper.tour.accuracy import Accuracy, Summary

# Dashes and markers tell the methods apart without colour.
STYLES: dict[str, dict[str, Any]] = {
    "Laplace": {"color": "#d95f02", "linestyle": "--", "marker": "s"},
    "ADF, MacKay": {"color": "#999999", "linestyle": ":", "marker": "v"},
    "ADF": {"color": "#7570b3", "linestyle": "-.", "marker": "^"},
    "EP, MacKay": {"color": "#e7298a", "linestyle": ":", "marker": "x"},
    "FAB-COST": {"color": "#1b9e77", "linestyle": (0, (5, 1)), "marker": "o"},
    "EP": {"color": "#000000", "linestyle": "-", "marker": "D"},
}
_SHOWN_MARGINALS = ("Laplace", "ADF", "FAB-COST", "EP")


def draw_accuracy(example: Accuracy, points: list[Summary], path: Path) -> None:
    """One posterior marginal against its reference, and the errors as the data grow."""
    with mpl.rc_context({"font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_marginal(left, example)
        _draw_errors(right, points)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def _draw_marginal(axes: Axes, point: Accuracy) -> None:
    draws = point.truth.draws[:, 0]
    axes.hist(draws, bins=40, density=True, color="#dddddd", label="NUTS (reference)")
    low, high = (float(each) for each in np.quantile(draws, [0.0005, 0.9995]))
    span = np.linspace(low, high, 400)
    for name in _SHOWN_MARGINALS:
        style = {k: v for k, v in STYLES[name].items() if k != "marker"}
        axes.plot(span, _marginal_density(point.posteriors[name], span), label=name, **style)
    axes.set_title(f"Intercept after {point.rows} impressions, {point.clicks} clicks")
    axes.set_xlabel("weight")
    axes.set_ylabel("posterior density")
    axes.legend(frameon=False)


def _marginal_density(belief: Gaussian, at: FloatArray) -> FloatArray:
    z = (at - belief.mean[0]) / belief.sd[0]
    return np.asarray(np.exp(-0.5 * z * z) / (belief.sd[0] * np.sqrt(2.0 * np.pi)))


def _draw_errors(axes: Axes, points: list[Summary]) -> None:
    rows = [point.rows for point in points]
    for name, style in STYLES.items():
        axes.loglog(rows, [point.mean_errors[name] for point in points], label=name, **style)
    own = [point.sampler_error for point in points]
    axes.fill_between(rows, 0, own, color="#eeeeee", label="error of the reference itself")
    axes.set_title(f"Error of the mean, prior variance {points[0].prior_variance:g}")
    axes.set_xlabel("impressions")
    axes.set_ylabel("posterior sds (rms over weights)")
    axes.set_ylim(bottom=min(own) / 2)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
