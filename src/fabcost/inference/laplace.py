"""The Laplace approximation: batch, online, and as the authors of the paper ran it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from fabcost.gaussian import Gaussian
from fabcost.impressions import (
    FloatArray,
    GivenRows,
    Outcomes,
    Rows,
    Tally,
    as_batch,
    as_impressions,
    as_row,
)
from fabcost.inference.history import Carried, Sites
from fabcost.inference.logistic import log_posterior, product, quadratic_sites, whitened_mean
from fabcost.inference.result import Fit
from fabcost.inference.sparse.memory import absorb_rows

Covariance = Literal["full", "diagonal"]

_MOST_STEPS = 200
_MOST_HALVINGS = 60
_ARMIJO = 1e-4
_ROUNDING = 1e-14


def fit(
    prior: Gaussian,
    X: GivenRows,
    y: npt.ArrayLike | Tally,
    *,
    start: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
) -> Fit:
    r"""Gaussian at the mode of the posterior, with its curvature there as precision.

    :math:`\mu^* = \arg\min_\theta \xi(\theta)`, :math:`\Lambda^* = \xi''(\mu^*)` for
    :math:`\xi = -\log p(y \mid X, \theta)\,p(\theta)`; Newton's method with line search.

    Parameters
    ----------
    prior
        Any Gaussian, full covariance included.
    X, y
        Rows, which may be sparse, and their outcomes: 0/1, −1/+1 or booleans, or `fabcost.Tally`.
    start
        Weights near the mode, if known: fewer steps lead there.  The prior mean unless given.
    weight
        How many impressions each row stands for, whole or not; one unless given.

    References
    ----------
    Chapelle & Li, "An empirical evaluation of Thompson sampling" (2011).

    Examples
    --------
    >>> result = fit(Gaussian.isotropic(1, variance=4.0), [[1.0], [1.0]], [1, 0])
    >>> result.posterior.covariance.round(3), result.converged
    (array([[1.333]]), True)
    """
    rows, outcomes = as_batch(X, y, weight, prior.dimension)
    near = prior.mean if start is None else as_row(start, prior.dimension)
    found = _newton(prior, rows, outcomes, near)
    evidence = _log_evidence(prior, found.posterior, rows, outcomes)
    return replace(found, log_evidence=evidence)


def _newton(prior: Gaussian, X: Rows, outcomes: Outcomes, start: FloatArray) -> Fit:
    """The fit without its evidence."""
    y, counts = outcomes
    z, converged, steps = prior.whiten(start), False, 0
    while steps < _MOST_STEPS:
        steps += 1
        # The quadratic sites of the current point turn Bayes' rule into a Newton step.
        theta = prior.mean + prior.root @ z
        step = whitened_mean(prior, X, Sites(*quadratic_sites(X @ theta, y, counts))) - z
        at = log_posterior(prior, X, y, z, counts)
        gain = float(at.gradient @ step)
        # What the step gains is below what the log posterior can show.
        converged = gain <= _ROUNDING * (1.0 + abs(at.value))
        size = 1.0 if converged else _line_search(prior, X, outcomes, z, step, at.value, gain)
        if size == 0.0:
            break
        z = z + size * step
        if converged:
            break
    mode = prior.mean + prior.root @ z
    root = product(prior, X, Sites(*quadratic_sites(X @ mode, y, counts))).root
    return Fit(Gaussian.from_root(mode, root), converged, steps)


def _log_evidence(prior: Gaussian, posterior: Gaussian, X: Rows, outcomes: Outcomes) -> float:
    """log p(y | X) if the posterior were what Laplace takes it for."""
    z = prior.whiten(posterior.mean)
    at_mode = log_posterior(prior, X, outcomes.labels, z, outcomes.counts).value
    return at_mode + 0.5 * (posterior.log_determinant - prior.log_determinant)


def _line_search(
    prior: Gaussian,
    X: Rows,
    outcomes: Outcomes,
    z: FloatArray,
    step: FloatArray,
    value: float,
    gain: float,
) -> float:
    """Halve the Newton step until the log posterior rises enough; 0 if it never does."""
    size, (y, counts) = 1.0, outcomes
    for _ in range(_MOST_HALVINGS):
        reached = log_posterior(prior, X, y, z + size * step, counts).value
        if reached >= value + _ARMIJO * size * gain:
            return size
        size *= 0.5
    return 0.0


def update(
    belief: Gaussian,
    X: GivenRows,
    y: npt.ArrayLike | Tally,
    *,
    covariance: Covariance = "full",
    weight: npt.ArrayLike | None = None,
) -> Gaussian:
    r"""Online Laplace: the belief so far is the prior of this batch.

    With ``covariance="diagonal"`` only the diagonal of the precision is kept,
    :math:`q_j \leftarrow q_j + \sum_i x_{ij}^2\,p_i(1-p_i)`, as Chapelle & Li describe.

    Parameters
    ----------
    belief
        The last posterior (or the prior, for the first batch).
    X, y
        The new impressions only.
    covariance
        "full" or "diagonal".
    weight
        How many impressions each row stands for; one unless given.

    References
    ----------
    Chapelle & Li, "An empirical evaluation of Thompson sampling" (2011), Algorithm 3.

    Examples
    --------
    >>> prior = Gaussian.isotropic(2, variance=4.0)
    >>> update(prior, [[1.0, 1.0]], [1], covariance="diagonal").covariance[0, 1]
    np.float64(0.0)
    """
    _check_covariance(covariance)
    rows, outcomes = as_batch(X, y, weight, belief.dimension)
    return _updated(belief, rows, outcomes, covariance).posterior


def _check_covariance(covariance: str) -> None:
    if covariance not in get_args(Covariance):
        raise ValueError(f"covariance is {covariance!r} but must be 'full' or 'diagonal'")


def _updated(belief: Gaussian, X: Rows, outcomes: Outcomes, covariance: Covariance) -> Fit:
    if len(X) == 1 and outcomes.counts is None:
        found = Fit(_update_one(belief, X, outcomes.labels), converged=True, iterations=1)
    else:
        found = _newton(belief, X, outcomes, belief.mean)
    if covariance == "full":
        return found
    sd = 1.0 / np.sqrt(found.posterior.precision.diagonal())
    return replace(found, posterior=Gaussian.from_root(found.posterior.mean, np.diag(sd)))


def _update_one(belief: Gaussian, row: Rows, label: FloatArray) -> Gaussian:
    """One impression moves the mode along Σx: a root in one dimension instead of Newton in D.

    At the mode η = m + v y σ(−yη), with m and v the mean and variance of xᵀθ.
    """
    # It takes as long to import as all of this package, which hardly anyone needs it for.
    from scipy.optimize import brentq  # noqa: PLC0415

    (centre,), (variance,) = belief.marginal(row)
    y = float(label[0])
    far = centre + variance * y
    if centre == far:
        return belief

    def slope(at: float) -> float:
        return float(at - centre - variance * y * expit(-y * at))

    # Halving alone needs 200 steps where the variance is 1e40.
    eta = brentq(slope, float(centre), float(far), xtol=1e-14, maxiter=1000)
    carried = Carried.of(belief)
    absorb_rows(carried, row, quadratic_sites(np.array([eta]), label))
    return carried.gaussian()


def fit_online(
    prior: Gaussian,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    batch: int = 1,
    covariance: Covariance = "full",
) -> Fit:
    """`update` over consecutive batches of ``batch`` impressions.

    Examples
    --------
    >>> prior = Gaussian.isotropic(1, variance=4.0)
    >>> X, y = [[1.0], [1.0]], [1, 0]
    >>> fit_online(prior, X, y, batch=2).posterior == fit(prior, X, y).posterior
    True
    """
    _check_covariance(covariance)
    if batch < 1:
        raise ValueError(f"batch is {batch} but must be at least 1")
    rows, labels = as_impressions(X, y, prior.dimension)
    belief, converged = prior, True
    for start in range(0, labels.size, batch):
        chosen = slice(start, start + batch)
        found = _updated(belief, rows[chosen], Outcomes(labels[chosen]), covariance)
        belief, converged = found.posterior, converged and found.converged
    return Fit(belief, converged, iterations=1)


def fit_as_published(
    prior: Gaussian, X: npt.ArrayLike, y: npt.ArrayLike, *, first_fit: int = 10
) -> Fit:
    r"""The authors' Laplace bandit, with its defects: only to reproduce the paper's figure.

    After every impression from number ``first_fit`` on it refits *all* rows but the newest
    around the prior mean, with the *previous fit's* precision in the place of the prior's.
    Every row is thus counted again and again: the precision runs away and the weights shrink
    to the prior mean.  For inference use `fit`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 1)), np.ones(40)
    >>> prior = Gaussian.isotropic(1, variance=100.0)
    >>> bool(fit_as_published(prior, X, y).posterior.sd[0] < 0.5 * fit(prior, X, y).posterior.sd[0])
    True
    """
    rows, labels = as_impressions(X, y, prior.dimension)
    fitted = Fit(prior, converged=True, iterations=0)
    for t in range(first_fit, labels.size):
        fitted = refit_as_published(prior, fitted.posterior, rows[:t], labels[:t])
    return fitted


def refit_as_published(prior: Gaussian, fitted: Gaussian, X: Rows, y: FloatArray) -> Fit:
    """One fit of `fit_as_published`: the defect is that the last fit's spread is the prior's.

    Examples
    --------
    >>> prior, X, y = Gaussian.isotropic(1), np.ones((9, 1)), np.ones(9)
    >>> once = refit_as_published(prior, prior, X, y).posterior
    >>> bool(refit_as_published(prior, once, X, y).posterior.sd[0] < once.sd[0])
    True
    """
    return _newton(Gaussian.from_root(prior.mean, fitted.root), X, Outcomes(y), fitted.mean)
