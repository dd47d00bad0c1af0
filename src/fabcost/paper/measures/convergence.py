"""The paper's figure of convergence: errors of mean and variance as the data grow, and costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.offline.methods import EP, EP_MACKAY, LAPLACE, PRIOR_VARIANCE
from fabcost.paper.designs import Dataset, authors_design, day
from fabcost.paper.snapshots import BATCH_METHODS, METHODS, take
from fabcost.paper.statistics import Interval, rate, rms
from fabcost.paper.truth import Truth, sample
from fabcost.paper.units import Result, Scale, Unit

#: The error of the mean and of the variance, in the units of the weights and of the posterior.
Kind = Literal["mean", "variance", "mean_in_sds", "variance_relative"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Cost = Literal["paper", "rank-one", "seconds"]

DATA: dict[str, Callable[..., Dataset]] = {"design": authors_design, "day": day}
# Few impressions make for heavy weights but cheap draws.
_DRAWS_OF_FEW_ROWS = 60_000
_EVALUATIONS_OF_FEW_ROWS = 60_000_000


@dataclass(frozen=True, eq=False)
class Curves:
    """One data set, "design" or "day"; errors are rms over the weights."""

    name: str
    sizes: tuple[int, ...]
    fitted_from: int  # impressions from which on rates are fitted
    dimension: int  # D, the number of weights
    methods: tuple[str, ...]  # in the order of the arrays
    errors: dict[Kind, FloatArray]  # streams by methods by sizes
    noise: dict[Kind, FloatArray]  # streams by sizes: the standard error of the truth
    filtered: FloatArray  # methods by sizes: ADF steps
    visited: FloatArray  # likewise: EP's visits to sites
    elapsed: FloatArray  # likewise: seconds since the start of the stream
    ess: FloatArray  # streams by sizes: effective sample size of the truth

    def error(self, kind: Kind, method: str) -> FloatArray:
        """Streams by sizes."""
        return np.asarray(self.errors[kind][:, self.methods.index(method)])

    def typical(self, kind: Kind, method: str) -> FloatArray:
        """Geometric mean over the streams, one for each size."""
        return np.asarray(np.exp(np.log(self.error(kind, method)).mean(axis=0)))

    def floor(self, kind: Kind) -> FloatArray:
        """Geometric mean over the streams of the standard error of the truth."""
        return np.asarray(np.exp(np.log(self.noise[kind]).mean(axis=0)))

    def rate(self, kind: Kind, method: str) -> Interval | None:
        """Slope of the error, or None where too much of it is below the noise."""
        errors, noise = self.error(kind, method), self.noise[kind]
        return rate(self.sizes, errors, noise, fitted_from=self.fitted_from)

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
    """Both data sets; methods that work in batch are run again after ``batch`` impressions."""

    curves: dict[str, Curves]
    batch: int
    seconds: float


def units(scale: Scale, seed: int) -> list[Unit]:
    """One for each stream of each data set, and one that measures seconds."""
    return [unit for name in DATA for unit in _units(name, scale, seed)]


def _units(name: str, scale: Scale, seed: int) -> list[Unit]:
    sizes, place = list(scale.convergence_sizes), list(DATA).index(name)
    draws = scale.truth_draws if name == "day" else scale.truth_draws // 4
    seeds = [
        int(np.random.SeedSequence([seed, place, stream]).generate_state(1)[0])
        for stream in range(scale.streams)
    ]
    streams = [
        Unit(
            f"convergence-{name}-{stream}",
            measure_errors,
            {"name": name, "sizes": sizes, "draws": draws, "seed": own},
            3.0 + sizes[-1] * draws * 6e-9,
        )
        for stream, own in enumerate(seeds)
    ]
    clock = Unit(
        f"convergence-{name}-seconds",
        measure_seconds,
        {"name": name, "sizes": sizes, "batch": scale.ep_batch, "seed": seeds[0]},
        0.5 + 2.5e-6 * sizes[-1] ** 2 / scale.ep_batch,
        alone=True,
    )
    return [*streams, clock]


def measure_errors(name: str, sizes: list[int], draws: int, seed: int) -> Result:
    """Errors of every method (methods by sizes) and noise of importance sampling on one stream."""
    data = DATA[name](sizes[-1], seed=seed)
    truths = [_truth(data, size, draws, seed) for size in sizes]
    found = {method: take(method, data.X, data.y, sizes) for method in METHODS}
    pairs = [zip(each, truths, strict=True) for each in found.values()]
    errors = np.array([[_errors(each.posterior, truth) for each, truth in row] for row in pairs])
    noise = np.array([_sizes(each.mean_error, each.variance_error, each) for each in truths])
    return {
        "dimension": data.X.shape[1],
        "methods": list(found),
        **{each: errors[:, :, k] for k, each in enumerate(KINDS)},
        **{f"noise_{each}": noise[:, k] for k, each in enumerate(KINDS)},
        "filtered": np.array([[each.filtered for each in line] for line in found.values()]),
        "visited": np.array([[each.visited for each in line] for line in found.values()]),
        "ess": np.array([truth.ess for truth in truths]),
    }


def _truth(data: Dataset, size: int, draws: int, seed: int) -> Truth:
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    few = min(4 * draws, _DRAWS_OF_FEW_ROWS, _EVALUATIONS_OF_FEW_ROWS // size)
    rng = np.random.default_rng([seed, size])
    return sample(prior, data.X[:size], data.y[:size], draws=max(draws, few), rng=rng)


def _errors(belief: Gaussian, truth: Truth) -> list[float]:
    excess = belief.sd**2 - truth.covariance.diagonal()
    return _sizes(belief.mean - truth.mean, excess, truth)


def _sizes(of_mean: FloatArray, of_variance: FloatArray, truth: Truth) -> list[float]:
    """The `KINDS` of errors of these, rms over the weights."""
    variance = truth.covariance.diagonal()
    relative = of_mean / np.sqrt(variance), of_variance / variance
    return [rms(each) for each in (of_mean, of_variance, *relative)]


def measure_seconds(name: str, sizes: list[int], batch: int, seed: int) -> Result:
    """Seconds since the start of one stream, methods by sizes.

    Methods that work in batch are run on all data so far every ``batch`` impressions.
    """
    data = DATA[name](sizes[-1], seed=seed)
    elapsed = []
    for method in METHODS:
        take(method, data.X, data.y, sizes[:1])  # compiles what it needs
        again = set(range(batch, sizes[-1] + 1, batch)) if method in BATCH_METHODS else set()
        points = sorted({*again, *sizes})
        found = zip(points, take(method, data.X, data.y, points), strict=True)
        seconds = {point: each.seconds for point, each in found}
        before = [sum(seconds[point] for point in again if point < size) for size in sizes]
        elapsed.append([seconds[size] + so_far for size, so_far in zip(sizes, before, strict=True)])
    return {"elapsed": np.array(elapsed)}


def gather(scale: Scale, results: Mapping[str, Result]) -> Convergence:
    """The streams of each data set beside each other."""
    ours = [each for name, each in results.items() if name.startswith("convergence-")]
    return Convergence(
        curves={name: _curves(scale, name, results) for name in DATA},
        batch=scale.ep_batch,
        seconds=float(sum(each["seconds"] for each in ours)),
    )


def _curves(scale: Scale, name: str, results: Mapping[str, Result]) -> Curves:
    streams = [results[f"convergence-{name}-{stream}"] for stream in range(scale.streams)]

    def stacked(quantity: str) -> FloatArray:
        return np.array([each[quantity] for each in streams])

    return Curves(
        name=name,
        sizes=scale.convergence_sizes,
        fitted_from=scale.fitted_from,
        dimension=streams[0]["dimension"],
        methods=tuple(streams[0]["methods"]),
        errors={kind: stacked(kind) for kind in KINDS},
        noise={kind: stacked(f"noise_{kind}") for kind in KINDS},
        filtered=stacked("filtered").mean(axis=0),
        visited=stacked("visited").mean(axis=0),
        elapsed=results[f"convergence-{name}-seconds"]["elapsed"],
        ess=stacked("ess"),
    )
