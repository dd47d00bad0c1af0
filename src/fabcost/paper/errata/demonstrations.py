"""Each erratum at work, on an example small enough to run at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fabcost.bandit.rules import Thompson
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import ep, laplace
from fabcost.inference.online import FabCost
from fabcost.offline.replay.protocol import replay
from fabcost.paper.data.impressions import authors_design, day
from fabcost.paper.errata.authors import density_filtering
from fabcost.paper.errata.exponential import Natural
from fabcost.tilted import tilted
from fabcost.worlds.cold_start import simulate


class FactorInB(NamedTuple):
    """∂ log Z/∂s² by finite differences, with κ² and as printed, and the variance each leaves."""

    numerical: float
    right: float
    printed: float
    variance_right: float
    variance_printed: float


def factor_in_b(margin: float = 1.5, variance: float = 4.0) -> FactorInB:
    """B along x at one cavity, where log Z ≈ log σ(κ m).

    Examples
    --------
    >>> found = factor_in_b()
    >>> bool(found.variance_right > 0 > found.variance_printed)
    True
    """
    kappa = (1.0 + math.pi * variance / 8.0) ** -0.5
    slope = kappa / (1.0 + math.exp(kappa * margin))
    right, printed = (-math.pi / 16.0 * f * margin * slope for f in (kappa**2, kappa**-2))
    step = 1e-5
    above, below = (
        float(tilted(margin, variance + each, moments="mackay").log_z) for each in (step, -step)
    )
    left = [variance - variance**2 * (slope**2 - 2.0 * b) for b in (right, printed)]
    return FactorInB((above - below) / (2.0 * step), right, printed, *left)


class Labels(NamedTuple):
    """The share of clicks, and what filtering predicts for it with either labels."""

    clicked: float
    predicted: float
    predicted_from_zeros: float


def labels(rows: int = 2_000) -> Labels:
    """The paper's filtering algorithm with non-clicks as −1 and as 0."""
    data = simulate(rows, 3, rng=np.random.default_rng(0))
    prior = Gaussian.isotropic(3, variance=100.0)

    def predicted(y: FloatArray) -> float:
        fitted = Gaussian(*density_filtering(prior.mean, prior.covariance, data.X, y))
        return float(fitted.predict(data.X).mean())

    return Labels(float(data.y.mean()), predicted(2.0 * data.y - 1.0), predicted(data.y))


class PriorInEP(NamedTuple):
    """How far two priors' posterior means are apart, in sds, with EP of the notebooks and here."""

    spread: float
    kept: float


def prior_in_ep(rows: int = 100, *, variances: tuple[float, float] = (100.0, 0.1)) -> PriorInEP:
    """EP under two priors of these variances, kept as a factor or spread over the sites."""
    data = authors_design(rows, seed=0)
    X, y = data.X[:, :3], 2.0 * data.y - 1.0
    priors = [Gaussian.isotropic(3, variance=each) for each in variances]
    spread = [prior_spread_over_sites(each, X, y) for each in priors]
    kept = [ep.fit(each, X, y).posterior for each in priors]
    return PriorInEP(_apart(*spread), _apart(*kept))


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
    shift, precision = (len(y) * each for each in (sites[0].shift, sites[0].precision))
    belief = Natural(shift, precision)
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


class Runaway(NamedTuple):
    """Exponents of the precision's growth with n, its excess, and the weights that are left."""

    growth_published: float
    growth_correct: float
    excess: float
    weights_left: float


def runaway(rows: int = 400) -> Runaway:
    """The published Laplace bandit's fit of all rows beside a quarter of them."""
    data = authors_design(rows, seed=0)
    prior = Gaussian.isotropic(data.X.shape[1], variance=100.0)
    quarter = slice(rows // 4)
    fits = [
        [fit(prior, data.X[part], data.y[part]).posterior for part in (quarter, slice(rows))]
        for fit in (laplace.fit_as_published, laplace.fit)
    ]
    (early, published), (before, correct) = fits
    lengths = [float(np.linalg.norm(each.mean)) for each in (published, correct)]
    return Runaway(
        _growth(early, published),
        _growth(before, correct),
        float(np.trace(published.precision) / np.trace(correct.precision)),
        lengths[0] / lengths[1],
    )


def _growth(quarter: Gaussian, whole: Gaussian) -> float:
    """p of a precision ∝ nᵖ."""
    return math.log(np.trace(whole.precision) / np.trace(quarter.precision)) / math.log(4.0)


class Widths(NamedTuple):
    """The conditional width over the marginal one, for the weight least and most affected."""

    smallest: float
    largest: float


def widths(rows: int = 2_000) -> Widths:
    """Laplace's two widths of every weight on the day of adverts."""
    data = day(rows, seed=0)
    prior = Gaussian.isotropic(data.X.shape[1], variance=100.0)
    fitted = laplace.fit(prior, data.X, data.y).posterior
    ratio = 1.0 / np.sqrt(fitted.precision.diagonal()) / fitted.sd
    return Widths(float(ratio.min()), float(ratio.max()))


class Ties(NamedTuple):
    """Clicks with ties to the lowest index, with ties at random, and expected of any policy."""

    lowest: int
    at_random: int
    expected: float


def ties(rows: int = 1_000, rounds: int = 100) -> Ties:
    """A log sorted by outcome, clicks first, whose features say nothing about them."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(rows), rng.integers(0, 2, rows)])
    y = (np.arange(rows) < 0.3 * rows).astype(float)
    learner = FabCost(Gaussian.isotropic(2, variance=100.0))
    shown = replay(X, y, learner, policy=Thompson(), rng=rng, rounds=rounds)
    return Ties(_lowest_index(X, y, rounds), int(shown.clicks[-1]), float(rounds * y.mean()))


def _lowest_index(X: FloatArray, y: FloatArray, rounds: int) -> int:
    """Thompson sampling with a plain argmax over what is left."""
    learner = FabCost(Gaussian.isotropic(X.shape[1], variance=100.0))
    rng, left, clicks = np.random.default_rng(1), np.ones(len(y), dtype=bool), 0
    for _ in range(rounds):
        scores = np.where(left, X @ learner.posterior.sample(rng), -np.inf)
        index = int(np.argmax(scores))
        learner.observe(X[index], y[index])
        left[index] = False
        clicks += int(y[index])
    return clicks


class Newest(NamedTuple):
    """How far the fit moves, in sds, when the newest outcome is turned round."""

    published: float
    correct: float


def newest(rows: int = 20) -> Newest:
    """The newest outcome turned round, in the published fit and in the correct one."""
    data = simulate(rows, 3, rng=np.random.default_rng(2))
    turned = data.y.copy()
    turned[-1] = 1.0 - turned[-1]
    prior = Gaussian.isotropic(3)
    published, correct = (
        _apart(fit(prior, data.X, turned).posterior, fit(prior, data.X, data.y).posterior)
        for fit in (laplace.fit_as_published, laplace.fit)
    )
    return Newest(published, correct)


def _apart(one: Gaussian, other: Gaussian) -> float:
    """The largest distance of two means, in sds of the first."""
    return float(np.abs((one.mean - other.mean) / one.sd).max())
