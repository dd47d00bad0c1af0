"""The errata of the paper and of the notebooks published with it, each at work on an example.

Their sentences are in texts.toml, by the name of the demonstration whose numbers they have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from fabcost.bandit.rules import Thompson
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import ep, laplace
from fabcost.inference.online import FabCost
from fabcost.offline.methods import PRIOR_VARIANCE
from fabcost.offline.replay.protocol import replay
from fabcost.paper.designs import authors_design, cold_start, day
from fabcost.paper.parts.part import texts
from fabcost.paper.printed import Natural, density_filtering
from fabcost.paper.units import Result
from fabcost.tilted import tilted

Shown = dict[str, float]


def factor_in_b(margin: float = 1.5, variance: float = 4.0) -> Shown:
    """B = ∂ log Z/∂s² along x, where log Z ≈ log σ(κ m), and the variance that it leaves."""
    kappa = (1.0 + math.pi * variance / 8.0) ** -0.5
    slope = kappa / (1.0 + math.exp(kappa * margin))
    right, printed = (-math.pi / 16.0 * f * margin * slope for f in (kappa**2, kappa**-2))
    step = 1e-5
    above, below = (
        float(tilted(margin, variance + each, moments="mackay").log_z) for each in (step, -step)
    )
    return {
        "numerical": (above - below) / (2.0 * step),
        "right": right,
        "printed": printed,
        "variance_right": variance - variance**2 * (slope**2 - 2.0 * right),
        "variance_printed": variance - variance**2 * (slope**2 - 2.0 * printed),
    }


def labels(rows: int = 2_000) -> Shown:
    """The share of clicks, and the paper's filtering of it with non-clicks as −1 and as 0."""
    data = cold_start(rows, 3, rng=np.random.default_rng(0))
    prior = Gaussian.isotropic(3, variance=PRIOR_VARIANCE)

    def predicted(y: FloatArray) -> float:
        fitted = Gaussian(*density_filtering(prior.mean, prior.covariance, data.X, y))
        return float(fitted.predict(data.X).mean())

    return {
        "clicked": float(data.y.mean()),
        "predicted": predicted(2.0 * data.y - 1.0),
        "predicted_from_zeros": predicted(data.y),
    }


def prior_in_ep(rows: int = 100, *, variances: tuple[float, float] = (100.0, 0.1)) -> Shown:
    """How far EP's means under two priors are apart if these are spread over sites, or kept."""
    data = authors_design(rows, seed=0)
    X, y = data.X[:, :3], 2.0 * data.y - 1.0
    priors = [Gaussian.isotropic(3, variance=each) for each in variances]
    return {
        "spread": _apart(*(prior_spread_over_sites(each, X, y) for each in priors)),
        "kept": _apart(*(ep.fit(each, X, y).posterior for each in priors)),
    }


def prior_spread_over_sites(
    prior: Gaussian, X: FloatArray, y: FloatArray, *, sweeps: int = 30
) -> Gaussian:
    """EP as in the notebooks: every site begins as a copy of the prior, which is no factor itself.

    A visit leaves a site of rank one, so after a single sweep nothing of the prior is left.

    Examples
    --------
    >>> X, y = np.ones((4, 1)), np.array([1.0, 1.0, -1.0, -1.0])
    >>> wide, narrow = (Gaussian.isotropic(1, variance=v) for v in (100.0, 0.01))
    >>> fits = [prior_spread_over_sites(prior, X, y) for prior in (wide, narrow)]
    >>> bool(np.isclose(fits[0].sd, fits[1].sd).all())
    True
    """
    sites = [Natural.of(prior) for _ in y]
    belief = Natural(len(y) * sites[0].shift, len(y) * sites[0].precision)
    for visit in range(sweeps * len(y)):
        i = visit % len(y)
        cavity = belief / sites[i]
        mean, variance = cavity.gaussian().marginal(X[i])
        found = tilted(mean, variance, y[i])
        left = 1.0 - variance * found.curvature
        sites[i] = Natural.site(
            X[i],
            precision=float(found.curvature / left),
            shift=float((found.slope + mean * found.curvature) / left),
        )
        belief = cavity * sites[i]
    return belief.gaussian()


def runaway(rows: int = 400) -> Shown:
    """The published Laplace bandit's precision: p of its growth nᵖ, and its excess."""
    data = authors_design(rows, seed=0)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    (early, published), (before, correct) = (
        [fit(prior, data.X[:some], data.y[:some]).posterior for some in (rows // 4, rows)]
        for fit in (laplace.fit_as_published, laplace.fit)
    )

    def precision_over(one: Gaussian, other: Gaussian) -> float:
        return float(np.trace(one.precision) / np.trace(other.precision))

    return {
        "growth_published": math.log(precision_over(published, early)) / math.log(4.0),
        "growth_correct": math.log(precision_over(correct, before)) / math.log(4.0),
        "excess": precision_over(published, correct),
        "weights_left": float(np.linalg.norm(published.mean) / np.linalg.norm(correct.mean)),
    }


def widths(rows: int = 2_000) -> Shown:
    """Laplace's conditional width over the marginal one, the least and the most of any weight."""
    data = day(rows, seed=0)
    prior = Gaussian.isotropic(data.X.shape[1], variance=PRIOR_VARIANCE)
    fitted = laplace.fit(prior, data.X, data.y).posterior
    ratio = 1.0 / np.sqrt(fitted.precision.diagonal()) / fitted.sd
    return {"smallest": float(ratio.min()), "largest": float(ratio.max())}


def ties(rows: int = 1_000, rounds: int = 100) -> Shown:
    """Clicks on a log sorted by outcome, clicks first, whose features say nothing about them."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(rows), rng.integers(0, 2, rows)])
    y = (np.arange(rows) < 0.3 * rows).astype(float)
    learner = FabCost(Gaussian.isotropic(2, variance=PRIOR_VARIANCE))
    shown = replay(X, y, learner, policy=Thompson(), rng=rng, rounds=rounds)
    return {
        "lowest": _lowest_index(X, y, rounds),
        "at_random": int(shown.clicks[-1]),
        "expected": float(rounds * y.mean()),
    }


def _lowest_index(X: FloatArray, y: FloatArray, rounds: int) -> int:
    """Thompson sampling with a plain argmax over what is left."""
    learner = FabCost(Gaussian.isotropic(X.shape[1], variance=PRIOR_VARIANCE))
    rng, left, clicks = np.random.default_rng(1), np.ones(len(y), dtype=bool), 0
    for _ in range(rounds):
        scores = np.where(left, X @ learner.posterior.sample(rng), -np.inf)
        index = int(np.argmax(scores))
        learner.observe(X[index], y[index])
        left[index] = False
        clicks += int(y[index])
    return clicks


def newest(rows: int = 20) -> Shown:
    """How far the published and the correct fit move when the newest outcome is turned round."""
    data = cold_start(rows, 3, rng=np.random.default_rng(2))
    turned = data.y.copy()
    turned[-1] = 1.0 - turned[-1]
    prior = Gaussian.isotropic(3)
    published, correct = (
        _apart(fit(prior, data.X, turned).posterior, fit(prior, data.X, data.y).posterior)
        for fit in (laplace.fit_as_published, laplace.fit)
    )
    return {"published": published, "correct": correct}


def _apart(one: Gaussian, other: Gaussian) -> float:
    """The largest distance of two means, in sds of the first."""
    return float(np.abs((one.mean - other.mean) / one.sd).max())


_DEMONSTRATIONS = (factor_in_b, labels, prior_in_ep, runaway, widths, ties, newest)


def demonstrate() -> Result:
    """What each demonstration shows, by its name."""
    return {each.__name__: each() for each in _DEMONSTRATIONS}


def rows(shown: Mapping[str, Shown]) -> list[tuple[str, ...]]:
    """The errata as rows of texts, with the numbers of their demonstrations.

    Examples
    --------
    >>> [row[0] for row in rows(demonstrate())][:2]
    ['1. The factor in B', '2. Labels']
    """
    found: list[tuple[str, ...]] = []
    for number, (name, erratum) in enumerate(texts("errata").items(), start=1):
        title, printed, right, check, changes = erratum.values()
        found.append((f"{number}. {title}", printed, right, check, changes.format(**shown[name])))
    return found
