"""The paper's figures of a posterior marginal: each method against the sampled posterior."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.inference import nuts
from fabcost.paper.data.designs import day
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit
from fabcost.paper.methods import LAPLACE, METHODS, PRIOR_VARIANCE, take
from fabcost.paper.posteriors.results import Marginals, Sampled

RUNS = 2
_CHAINS = 2
_TUNE = 200
_BINS = 40


def units(scale: Scale, seed: int) -> list[Unit]:
    """The Gaussian methods together, and runs of NUTS one by one.

    Examples
    --------
    >>> from fabcost.paper.engine.scales import QUICK
    >>> [unit.name for unit in units(QUICK, 0)][:3]
    ['posteriors-methods', 'posteriors-nuts-1000-0', 'posteriors-nuts-1000-1']
    """
    sizes = list(scale.posterior_sizes)
    data = {"rows": sizes[-1], "seed": seed}
    fits = Unit("posteriors-methods", fit_methods, {**data, "sizes": sizes}, sizes[-1] * 4e-5)
    draws = scale.draws // (RUNS * _CHAINS)
    runs = [
        Unit(
            f"posteriors-nuts-{size}-{run}",
            sample_posterior,
            {**data, "size": size, "run": run, "draws": draws},
            1.0 + size * (draws + _TUNE) * 6e-7,
        )
        for size in sizes
        for run in range(RUNS)
    ]
    return [fits, *runs]


def fit_methods(rows: int, seed: int, sizes: list[int]) -> Result:
    """Means and sds of every method after each size.

    Examples
    --------
    >>> fit_methods(300, 0, [100, 300])["sd"].shape
    (8, 2, 15)
    """
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
    """Two chains of NUTS on the first ``size`` impressions: moments, and draws of the intercept.

    Examples
    --------
    >>> sample_posterior(100, 0, 100, 0, 50)["intercept"].shape
    (100,)
    """
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
        size: [results[f"posteriors-nuts-{size}-{run}"] for run in range(RUNS)]
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


def _joined(rows: int, runs: list[Result]) -> Sampled:
    """Runs as one sample; between them the means may differ."""
    means = np.array([each["mean"] for each in runs])
    mean = means.mean(axis=0)
    variance = np.mean([each["variance"] for each in runs], axis=0)
    sd = np.sqrt(variance + ((means - mean) ** 2).mean(axis=0))
    ess = np.sum([each["ess"] for each in runs], axis=0)
    draws = np.concatenate([each["intercept"] for each in runs])
    counts, edges = np.histogram(draws, bins=_BINS)
    return Sampled(
        rows=rows,
        clicks=runs[0]["clicks"],
        mean=mean,
        sd=sd,
        mean_error=sd / np.sqrt(ess),
        sd_error=sd / np.sqrt(2.0 * ess),
        draws=draws.size,
        divergences=sum(each["divergences"] for each in runs),
        r_hat=max(each["r_hat"] for each in runs),
        edges=edges,
        counts=counts.astype(np.float64),
    )
