"""The paper's figures of a posterior marginal: each method against the sampled posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import nuts
from fabcost.offline.methods import LAPLACE, PRIOR_VARIANCE
from fabcost.paper.designs import day
from fabcost.paper.snapshots import METHODS, take
from fabcost.paper.statistics import rms
from fabcost.paper.units import Result, Scale, Unit

_RUNS, _CHAINS, _TUNE = 2, 2, 200  # of NUTS
_BINS = 40


@dataclass(frozen=True, eq=False)
class NutsMoments:
    """What NUTS says of the posterior after ``rows`` impressions."""

    rows: int
    clicks: int
    mean: FloatArray  # of each weight
    sd: FloatArray
    mean_error: FloatArray  # their Monte Carlo standard errors
    sd_error: FloatArray
    draws: int
    divergences: int
    r_hat: float  # the largest of any weight in any run of the sampler
    edges: FloatArray  # histogram of the intercept
    counts: FloatArray


@dataclass(frozen=True, eq=False)
class Marginals:
    """Means and sds of all weights, methods by sizes by weights.

    ``conditional`` is 1/√Hⱼⱼ of Laplace for each size and weight: the width that is left when all
    other weights are known, which the authors' plots show.
    """

    methods: tuple[str, ...]
    truth: tuple[NutsMoments, ...]
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
        return rms((self.mean[self.methods.index(method), size] - truth.mean) / truth.sd)

    def width(self, method: str, size: int) -> float:
        """Error of the sds, relatively, rms over the weights."""
        return rms(self.sd[self.methods.index(method), size] / self.truth[size].sd - 1.0)

    def noise(self, size: int) -> tuple[float, float]:
        """The sampler's own errors of mean and sd, in the same units."""
        truth = self.truth[size]
        return rms(truth.mean_error / truth.sd), rms(truth.sd_error / truth.sd)


def units(scale: Scale, seed: int) -> list[Unit]:
    """The Gaussian methods together, and runs of NUTS one by one."""
    sizes = list(scale.posterior_sizes)
    data = {"rows": sizes[-1], "seed": seed}
    fits = Unit("posteriors-methods", fit_methods, {**data, "sizes": sizes}, sizes[-1] * 4e-5)
    draws = scale.draws // (_RUNS * _CHAINS)
    runs = [
        Unit(
            f"posteriors-nuts-{size}-{run}",
            sample_posterior,
            {**data, "size": size, "run": run, "draws": draws},
            1.0 + size * (draws + _TUNE) * 6e-7,
        )
        for size in sizes
        for run in range(_RUNS)
    ]
    return [fits, *runs]


def fit_methods(rows: int, seed: int, sizes: list[int]) -> Result:
    """Means and sds of every method after each size."""
    data = day(rows, seed=seed)
    found = {
        name: [each.posterior for each in take(name, data.X, data.y, sizes)] for name in METHODS
    }
    precisions = [belief.precision.diagonal() for belief in found[LAPLACE]]
    return {
        "methods": list(found),
        "mean": np.array([[each.mean for each in beliefs] for beliefs in found.values()]),
        "sd": np.array([[each.sd for each in beliefs] for beliefs in found.values()]),
        "conditional": 1.0 / np.sqrt(np.array(precisions)),
    }


def sample_posterior(rows: int, seed: int, size: int, run: int, draws: int) -> Result:
    """Two chains of NUTS on the first ``size`` impressions: moments, and draws of the intercept."""
    data = day(rows, seed=seed)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    own = int(np.random.SeedSequence([seed, size, run]).generate_state(1)[0])
    X, y = data.X[:size], data.y[:size]
    found = nuts.fit(prior, X, y, draws=draws, chains=_CHAINS, tune=_TUNE, seed=own)
    return {
        "clicks": int(y.sum()),
        "mean": found.mean,
        "variance": found.covariance.diagonal().copy(),
        "ess": found.ess,
        "r_hat": float(found.r_hat.max()),
        "divergences": found.divergences,
        "intercept": found.draws[:, 0].copy(),
    }


def gather(scale: Scale, results: Mapping[str, Result]) -> Marginals:
    """The units' results as one."""
    fits = results["posteriors-methods"]
    runs = {
        size: [results[f"posteriors-nuts-{size}-{run}"] for run in range(_RUNS)]
        for size in scale.posterior_sizes
    }
    seconds = [fits["seconds"], *(each["seconds"] for pair in runs.values() for each in pair)]
    return Marginals(
        methods=tuple(fits["methods"]),
        truth=tuple(_joined(size, pair) for size, pair in runs.items()),
        mean=fits["mean"],
        sd=fits["sd"],
        conditional=fits["conditional"],
        seconds=float(sum(seconds)),
    )


def _joined(rows: int, runs: list[Result]) -> NutsMoments:
    """Runs as one sample; between them the means may differ."""
    means = np.array([each["mean"] for each in runs])
    variance = np.mean([each["variance"] for each in runs], axis=0)
    sd = np.sqrt(variance + means.var(axis=0))
    ess = np.sum([each["ess"] for each in runs], axis=0)
    draws = np.concatenate([each["intercept"] for each in runs])
    counts, edges = np.histogram(draws, bins=_BINS)
    return NutsMoments(
        rows=rows,
        clicks=runs[0]["clicks"],
        mean=means.mean(axis=0),
        sd=sd,
        mean_error=sd / np.sqrt(ess),
        sd_error=sd / np.sqrt(2.0 * ess),
        draws=draws.size,
        divergences=sum(each["divergences"] for each in runs),
        r_hat=max(each["r_hat"] for each in runs),
        edges=edges,
        counts=counts.astype(np.float64),
    )
