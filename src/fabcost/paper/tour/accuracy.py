"""How close each method's posterior is to the truth, as the first data come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf, compare, ep, laplace, nuts
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.worlds.cold_start import Impressions

Method = Callable[[Gaussian, FloatArray, FloatArray], Gaussian]


def _fab_cost(prior: Gaussian, X: FloatArray, y: FloatArray) -> Gaussian:
    learner = FabCost(prior, refresh=Refresh.geometric())
    learner.observe_many(X, y)
    return learner.posterior


METHODS: dict[str, Method] = {
    "Laplace": lambda prior, X, y: laplace.fit(prior, X, y).posterior,
    "ADF, MacKay": lambda prior, X, y: adf.fit(prior, X, y, moments="mackay").posterior,
    "ADF": lambda prior, X, y: adf.fit(prior, X, y).posterior,
    "EP, MacKay": lambda prior, X, y: ep.fit(prior, X, y, moments="mackay").posterior,
    "FAB-COST": _fab_cost,
    "EP": lambda prior, X, y: ep.fit(prior, X, y).posterior,
}


@dataclass(frozen=True, eq=False)
class Accuracy:
    """One posterior, its reference draws, and the error of every method.

    Attributes
    ----------
    rows, clicks
        Impressions seen, and how many of them were clicked.
    prior_variance
        Of every weight.
    posteriors, errors
        By the name of the method.
    truth
        The reference draws.
    sampler_error
        Monte Carlo standard error of the reference's own mean, in posterior sds, as the root
        mean square over the weights.
    """

    rows: int
    clicks: int
    prior_variance: float
    posteriors: dict[str, Gaussian]
    errors: dict[str, compare.MomentError]
    truth: nuts.NutsResult
    sampler_error: float


@dataclass(frozen=True)
class Summary:
    """Errors of the mean in posterior sds, rms over the weights, averaged over streams."""

    rows: int
    clicks: float
    prior_variance: float
    mean_errors: dict[str, float]
    variance_errors: dict[str, float]
    sampler_error: float

    @property
    def gain(self) -> float:
        """How many times smaller EP's error of the mean is than Laplace's."""
        return self.mean_errors["Laplace"] / self.mean_errors["EP"]


def summarise(points: list[Accuracy]) -> list[Summary]:
    """Average the points of equal prior and size, in the order in which they come."""
    cells: dict[tuple[float, int], list[Accuracy]] = {}
    for point in points:
        cells.setdefault((point.prior_variance, point.rows), []).append(point)
    return [_average(cell) for cell in cells.values()]


def _average(cell: list[Accuracy]) -> Summary:
    return Summary(
        rows=cell[0].rows,
        clicks=float(np.mean([point.clicks for point in cell])),
        prior_variance=cell[0].prior_variance,
        mean_errors={
            name: float(np.mean([point.errors[name].mean for point in cell])) for name in METHODS
        },
        variance_errors={
            name: float(np.mean([point.errors[name].variance for point in cell]))
            for name in METHODS
        },
        sampler_error=float(np.mean([point.sampler_error for point in cell])),
    )


def measure(
    data: Impressions,
    *,
    sizes: tuple[int, ...],
    prior_variances: tuple[float, ...],
    draws: int,
    seed: int,
    progress: bool = False,
) -> Iterator[Accuracy]:
    """Every method against NUTS on the first impressions of ``data``, one size after another.

    Examples
    --------
    >>> from fabcost.worlds.cold_start import simulate
    >>> data = simulate(30, 3, rng=np.random.default_rng(0))
    >>> [point] = measure(data, sizes=(30,), prior_variances=(1.0,), draws=500, seed=0)
    >>> point.errors["EP"].mean < point.errors["Laplace"].mean
    True
    """
    for variance in prior_variances:
        prior = Gaussian.isotropic(data.X.shape[1], variance=variance)
        for rows in sizes:
            X, y = data.X[:rows], data.y[:rows]
            truth = nuts.fit(prior, X, y, draws=draws, chains=2, seed=seed, progress=progress)
            posteriors = {name: method(prior, X, y) for name, method in METHODS.items()}
            errors = {
                name: compare.moment_error(posterior, truth.mean, truth.covariance)
                for name, posterior in posteriors.items()
            }
            own = float(np.sqrt(np.mean(1.0 / truth.ess)))
            yield Accuracy(rows, int(y.sum()), variance, posteriors, errors, truth, own)
