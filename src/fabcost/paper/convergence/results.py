"""Errors and costs of every method as the data grow, ready to be drawn and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.paper.methods import EP, EP_MACKAY, LAPLACE
from fabcost.paper.statistics import Rate, fit_rate

Kind = Literal["mean", "variance", "mean_in_sds", "variance_relative"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Cost = Literal["paper", "rank-one", "seconds"]


@dataclass(frozen=True, eq=False)
class Curves:
    """One data set.

    Attributes
    ----------
    name
        "design" or "day".
    sizes
        Impressions.
    fitted_from
        Impressions from which on rates are fitted.
    dimension
        D, the number of weights.
    methods
        The names, in the order of the arrays.
    errors
        Streams by methods by sizes, rms over the weights: of the mean and of the variance, each
        in the units of the weights and in those of the posterior.
    noise
        Streams by sizes: the standard error of the truth, likewise.
    filtered, visited
        Methods by sizes: ADF steps, and EP's visits to sites.
    elapsed
        Methods by sizes: seconds since the start of the stream.
    ess
        Streams by sizes: effective sample size of the truth.
    """

    name: str
    sizes: tuple[int, ...]
    fitted_from: int
    dimension: int
    methods: tuple[str, ...]
    errors: dict[Kind, FloatArray]
    noise: dict[Kind, FloatArray]
    filtered: FloatArray
    visited: FloatArray
    elapsed: FloatArray
    ess: FloatArray

    def error(self, kind: Kind, method: str) -> FloatArray:
        """Streams by sizes."""
        return np.asarray(self.errors[kind][:, self.methods.index(method)])

    def typical(self, kind: Kind, method: str) -> FloatArray:
        """Geometric mean over the streams, one for each size."""
        return np.asarray(np.exp(np.log(self.error(kind, method)).mean(axis=0)))

    def floor(self, kind: Kind) -> FloatArray:
        """Geometric mean over the streams of the standard error of the truth."""
        return np.asarray(np.exp(np.log(self.noise[kind]).mean(axis=0)))

    def rate(self, kind: Kind, method: str) -> Rate | None:
        """Slope of the error, or None where too much of it is below the noise."""
        errors, noise = self.error(kind, method), self.noise[kind]
        return fit_rate(self.sizes, errors, noise, fitted_from=self.fitted_from)

    def cost(self, counted: Cost, method: str, batch: int) -> FloatArray | None:
        r"""Of the whole stream up to each size.

        As the paper counts, an ADF step takes 4D³ floating-point operations and a visit of EP
        38/3·D³; in rank-one form both take 6D² (:math:`R^\top x`, :math:`R R^\top x` and the
        change of R).  EP runs in batch every ``batch`` impressions, with as many sweeps as it
        took at this size.  The paper does not count Laplace: None.
        """
        row = self.methods.index(method)
        if counted == "seconds":
            return np.asarray(self.elapsed[row])
        if method == LAPLACE:
            return None
        visited = self.visited[row]
        if method in (EP, EP_MACKAY):
            visited = visited * np.array([_runs(size, batch) for size in self.sizes])
        if counted == "rank-one":
            return np.asarray(6.0 * self.dimension**2 * (self.filtered[row] + visited))
        steps = 4.0 * self.filtered[row] + 38.0 / 3.0 * visited
        return np.asarray(steps * self.dimension**3)


def _runs(size: int, batch: int) -> float:
    """Rows of the runs at every multiple of ``batch`` and at ``size`` itself, over ``size``."""
    regular = size // batch
    rest = size if size % batch else 0
    return (batch * regular * (regular + 1) / 2 + rest) / size


@dataclass(frozen=True, eq=False)
class Convergence:
    """Both data sets.

    Attributes
    ----------
    curves
        By the name of the data set: "design" and "day".
    batch
        Impressions after which a method that works in batch is run again.
    seconds
        Of all units.
    """

    curves: dict[str, Curves]
    batch: int
    seconds: float
