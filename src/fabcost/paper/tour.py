"""`fabcost tour`: how close each method's posterior is to the truth when data are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import norm

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import compare, nuts
from fabcost.offline.methods import (
    ADF,
    ADF_MACKAY,
    EP,
    EP_MACKAY,
    FAB_COST,
    LAPLACE,
    LOOK,
    PRIOR_VARIANCE,
    STYLES,
)
from fabcost.paper import snapshots
from fabcost.paper.designs import Dataset, cold_start
from fabcost.paper.statistics import rms

SIZES = (30, 100, 300, 1000)
METHODS = (LAPLACE, ADF_MACKAY, ADF, EP_MACKAY, FAB_COST, EP)
CAPTION = "error of the posterior mean in posterior sds, rms over the weights"
_SHOWN_MARGINALS = (LAPLACE, ADF, FAB_COST, EP)


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Every method, by its name, against draws of the posterior after so many impressions."""

    rows: int
    clicks: float
    prior_variance: float
    mean_errors: dict[str, float]
    variance_errors: dict[str, float]
    sampler_error: float  # standard error of the reference's own mean, in the same units
    draws: FloatArray  # of the intercept
    marginals: dict[str, tuple[float, float]]  # mean and sd of the intercept

    @property
    def gain(self) -> float:
        """How many times smaller EP's error of the mean is than Laplace's."""
        return self.mean_errors[LAPLACE] / self.mean_errors[EP]


def run(out: Path, *, seed: int, draws: int, console: Console) -> list[Accuracy]:
    """Measure, print the table and write the picture to ``out``."""
    data = cold_start(max(SIZES), rng=np.random.default_rng(seed))
    console.print(
        "A site has just opened: 15 features, 3 to 4 % of clicks, a vague prior.\n"
        "Each method learns from the first impressions; NUTS, far slower, samples the truth.\n"
    )
    points = [
        measure(data, rows, prior_variance=PRIOR_VARIANCE, draws=draws, seed=seed)
        for rows in track(SIZES, "sampling the truth", console=console)
    ]
    console.print(screen_table(points))
    picture = out / "accuracy.png"
    draw(points[len(points) // 2], points, picture)
    console.print(f"\nPicture: {picture}")
    return points


def measure(data: Dataset, rows: int, *, prior_variance: float, draws: int, seed: int) -> Accuracy:
    """Every method against NUTS on the first impressions of ``data``.

    Examples
    --------
    >>> data = cold_start(30, 3, rng=np.random.default_rng(0))
    >>> point = measure(data, 30, prior_variance=1.0, draws=500, seed=0)
    >>> point.gain > 1.0
    True
    """
    prior = Gaussian.isotropic(data.X.shape[1], variance=prior_variance)
    X, y = data.X[:rows], data.y[:rows]
    truth = nuts.fit(prior, X, y, draws=draws, chains=2, seed=seed)
    beliefs = {name: snapshots.METHODS[name](prior, X, y, [rows])[-1].posterior for name in METHODS}
    errors = {
        name: compare.moment_error(belief, truth.mean, truth.covariance)
        for name, belief in beliefs.items()
    }
    return Accuracy(
        rows=rows,
        clicks=float(y.sum()),
        prior_variance=prior_variance,
        mean_errors={name: error.mean for name, error in errors.items()},
        variance_errors={name: error.variance for name, error in errors.items()},
        sampler_error=rms(1.0 / np.sqrt(truth.ess)),
        draws=truth.draws[:, 0],
        marginals={name: (float(b.mean[0]), float(b.sd[0])) for name, b in beliefs.items()},
    )


def table_lines(points: Sequence[Accuracy]) -> list[tuple[str, ...]]:
    """A heading, then a line for each method with a column for each number of impressions."""
    return [
        ("method", *(f"{point.rows:,}" for point in points)),
        *((name, *(_figure(p.mean_errors[name]) for p in points)) for name in METHODS),
        ("NUTS, its own error", *(_figure(point.sampler_error) for point in points)),
        ("Laplace / EP", *(f"{point.gain:.0f} times" for point in points)),
        ("clicks so far", *(f"{point.clicks:.3g}" for point in points)),
    ]


def _figure(value: float) -> str:
    return f"{value:.2g}" if value < 1e4 else f"{value:.0e}"


def screen_table(points: Sequence[Accuracy]) -> Table:
    """The lines as a table for the terminal."""
    heading, *lines = table_lines(points)
    table = Table(title=f"Prior variance {points[0].prior_variance:g}", caption=CAPTION)
    for column in heading:
        table.add_column(column, justify="left" if column == heading[0] else "right")
    for line in lines:
        table.add_row(*line)
    return table


def draw(example: Accuracy, points: Sequence[Accuracy], path: Path) -> None:
    """One posterior marginal against its reference, and the errors as the data grow."""
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_marginal(left, example)
        _draw_errors(right, points)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def _draw_marginal(axes: Axes, point: Accuracy) -> None:
    axes.hist(point.draws, bins=40, density=True, color="#dddddd", label="NUTS (reference)")
    low, high = np.quantile(point.draws, [0.0005, 0.9995])
    span = np.linspace(low, high, 400)
    for name in _SHOWN_MARGINALS:
        axes.plot(span, norm.pdf(span, *point.marginals[name]), label=name, **STYLES[name].line)
    axes.set_title(f"Intercept after {point.rows} impressions, {point.clicks:.0f} clicks")
    axes.set(xlabel="weight", ylabel="posterior density")
    axes.legend(frameon=False)


def _draw_errors(axes: Axes, points: Sequence[Accuracy]) -> None:
    rows = [point.rows for point in points]
    for name in METHODS:
        errors = [point.mean_errors[name] for point in points]
        axes.loglog(rows, errors, label=name, **STYLES[name].points)
    own = [point.sampler_error for point in points]
    axes.fill_between(rows, 0, own, color="#eeeeee", label="error of the reference itself")
    axes.set_title(f"Error of the mean, prior variance {points[0].prior_variance:g}")
    axes.set(xlabel="impressions", ylabel="posterior sds (rms over weights)")
    axes.set_ylim(bottom=min(own) / 2)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
