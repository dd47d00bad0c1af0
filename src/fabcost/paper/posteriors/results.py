"""Posterior marginals of every method and of the sampler, ready to be drawn and judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabcost.impressions import FloatArray


@dataclass(frozen=True, eq=False)
class Sampled:
    """What NUTS says of the posterior after ``rows`` impressions.

    Attributes
    ----------
    rows, clicks
        Of the data.
    mean, sd
        Of each weight.
    mean_error, sd_error
        Their Monte Carlo standard errors.
    draws, divergences
        How many, and how many went wrong.
    r_hat
        The largest R̂ of any weight in any run of the sampler.
    edges, counts
        Histogram of the intercept.
    """

    rows: int
    clicks: int
    mean: FloatArray
    sd: FloatArray
    mean_error: FloatArray
    sd_error: FloatArray
    draws: int
    divergences: int
    r_hat: float
    edges: FloatArray
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class Marginals:
    """Means and sds of all weights, methods by sizes by weights.

    Attributes
    ----------
    methods
        The names, in the order of the arrays.
    truth
        For each size.
    mean, sd
        Of every method's marginals.
    conditional
        1/√Hⱼⱼ of Laplace for each size and weight: the width that is left when all other
        weights are known, which the authors' plots show.
    seconds
        Of all units.
    """

    methods: tuple[str, ...]
    truth: tuple[Sampled, ...]
    mean: FloatArray
    sd: FloatArray
    conditional: FloatArray
    seconds: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Impressions behind each panel."""
        return tuple(each.rows for each in self.truth)

    def shift(self, method: str, size: int) -> float:
        """Error of the means in posterior sds, rms over the weights, at the ``size``-th size."""
        truth = self.truth[size]
        away = (self.mean[self.methods.index(method), size] - truth.mean) / truth.sd
        return float(np.sqrt(np.mean(away**2)))

    def width(self, method: str, size: int) -> float:
        """Error of the sds, relatively, rms over the weights."""
        excess = self.sd[self.methods.index(method), size] / self.truth[size].sd - 1.0
        return float(np.sqrt(np.mean(excess**2)))
