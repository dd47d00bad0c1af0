"""The paper's figure of convergence: errors of mean and variance as the data grow, and costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.paper.convergence.results import KINDS, Convergence, Curves
from fabcost.paper.data.designs import Impressions, authors_design, day
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit
from fabcost.paper.methods import (
    BATCH_METHODS,
    METHODS,
    PRIOR_VARIANCE,
    Snapshot,
    take,
)
from fabcost.paper.truth.posterior import Truth, sample

DATA: dict[str, Callable[..., Impressions]] = {"design": authors_design, "day": day}
# Few impressions make for heavy weights but cheap draws.
_DRAWS_OF_FEW_ROWS = 60_000
_EVALUATIONS_OF_FEW_ROWS = 60_000_000


def units(scale: Scale, seed: int) -> list[Unit]:
    """One for each stream of each data set, and one that measures seconds.

    Examples
    --------
    >>> from fabcost.paper.engine.scales import QUICK
    >>> [unit.name for unit in units(QUICK, 0)][3:6]
    ['convergence-design-3', 'convergence-design-seconds', 'convergence-day-0']
    """
    return [
        unit for name in DATA for unit in (*_streams(scale, name, seed), _clock(scale, name, seed))
    ]


def _streams(scale: Scale, name: str, seed: int) -> list[Unit]:
    sizes = list(scale.convergence_sizes)
    draws = scale.truth_draws if name == "day" else scale.truth_draws // 4
    cost = 3.0 + sizes[-1] * draws * 6e-9
    return [
        Unit(
            f"convergence-{name}-{stream}",
            measure_errors,
            {"name": name, "sizes": sizes, "draws": draws}
            | {"seed": _stream_seed(seed, name, stream)},
            cost,
        )
        for stream in range(scale.streams)
    ]


def _clock(scale: Scale, name: str, seed: int) -> Unit:
    sizes = list(scale.convergence_sizes)
    arguments = {"name": name, "sizes": sizes, "batch": scale.ep_batch}
    runs = sizes[-1] ** 2 / (2.0 * scale.ep_batch)
    arguments["seed"] = _stream_seed(seed, name, 0)
    return Unit(
        f"convergence-{name}-seconds", measure_seconds, arguments, 0.5 + 5e-6 * runs, alone=True
    )


def _stream_seed(seed: int, name: str, stream: int) -> int:
    kind = list(DATA).index(name)
    return int(np.random.SeedSequence([seed, kind, stream]).generate_state(1)[0])


def measure_errors(name: str, sizes: list[int], draws: int, seed: int) -> Result:
    """Errors of every method against importance sampling on one stream.

    Arrays are methods by sizes: ``mean`` and ``variance`` in the units of the weights,
    ``mean_in_sds`` and ``variance_relative`` in those of the posterior, all rms over the
    weights; the noise of the truth likewise.

    Examples
    --------
    >>> result = measure_errors("design", [100, 200], draws=1000, seed=0)
    >>> result["mean"].shape, result["noise_mean"].shape
    ((8, 2), (2,))
    """
    data = DATA[name](sizes[-1], seed=seed)
    truths = [_truth(data, size, draws, seed) for size in sizes]
    found = {method: take(method, data.X, data.y, sizes) for method in METHODS}
    errors = np.array([[*map(_errors, each, truths)] for each in found.values()])
    noise = np.array([_noise(truth) for truth in truths])
    return {
        "dimension": data.X.shape[1],
        "methods": list(found),
        **{each: errors[:, :, k] for k, each in enumerate(KINDS)},
        **{f"noise_{each}": noise[:, k] for k, each in enumerate(KINDS)},
        "filtered": np.array([[each.filtered for each in line] for line in found.values()]),
        "visited": np.array([[each.visited for each in line] for line in found.values()]),
        "ess": np.array([truth.ess for truth in truths]),
    }


def _truth(data: Impressions, size: int, draws: int, seed: int) -> Truth:
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    few = min(4 * draws, _DRAWS_OF_FEW_ROWS, _EVALUATIONS_OF_FEW_ROWS // size)
    rng = np.random.default_rng([seed, size])
    return sample(prior, data.X[:size], data.y[:size], draws=max(draws, few), rng=rng)


def _errors(snapshot: Snapshot, truth: Truth) -> list[float]:
    variance = truth.covariance.diagonal()
    away = snapshot.posterior.mean - truth.mean
    excess = snapshot.posterior.sd**2 - variance
    return [_rms(away), _rms(excess), _rms(away / np.sqrt(variance)), _rms(excess / variance)]


def _noise(truth: Truth) -> list[float]:
    variance = truth.covariance.diagonal()
    relative = truth.mean_error / np.sqrt(variance), truth.variance_error / variance
    return [_rms(each) for each in (truth.mean_error, truth.variance_error, *relative)]


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def measure_seconds(name: str, sizes: list[int], batch: int, seed: int) -> Result:
    """Seconds since the start of one stream, methods by sizes.

    Methods that work in batch are run on all data so far every ``batch`` impressions.

    Examples
    --------
    >>> seconds = measure_seconds("design", [100, 200], batch=50, seed=0)["elapsed"]
    >>> bool((seconds[:, 1] > seconds[:, 0]).all())
    True
    """
    data = DATA[name](sizes[-1], seed=seed)
    elapsed = []
    for method in METHODS:
        take(method, data.X, data.y, sizes[:1])  # compiles what it needs
        if method in BATCH_METHODS:
            elapsed.append(_again_and_again(method, data, sizes, batch))
        else:
            elapsed.append([each.seconds for each in take(method, data.X, data.y, sizes)])
    return {"elapsed": np.array(elapsed)}


def _again_and_again(method: str, data: Impressions, sizes: list[int], batch: int) -> list[float]:
    """A run at every multiple of the batch, and one at the size itself."""
    regular = range(batch, sizes[-1] + 1, batch)
    points = sorted({*regular, *sizes})
    runs = take(method, data.X, data.y, points)
    seconds = {point: each.seconds for point, each in zip(points, runs, strict=True)}
    chosen = [{size, *(point for point in regular if point < size)} for size in sizes]
    return [sum(seconds[point] for point in runs_so_far) for runs_so_far in chosen]


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
    return Curves(
        name=name,
        sizes=scale.convergence_sizes,
        fitted_from=scale.fitted_from,
        dimension=streams[0]["dimension"],
        methods=tuple(streams[0]["methods"]),
        errors={kind: np.array([each[kind] for each in streams]) for kind in KINDS},
        noise={kind: np.array([each[f"noise_{kind}"] for each in streams]) for kind in KINDS},
        filtered=np.mean([each["filtered"] for each in streams], axis=0),
        visited=np.mean([each["visited"] for each in streams], axis=0),
        elapsed=results[f"convergence-{name}-seconds"]["elapsed"],
        ess=np.array([each["ess"] for each in streams]),
    )
