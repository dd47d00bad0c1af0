"""Expectation propagation: sweeps of moment projections until the sites stand still."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_impressions
from fabcost.inference.sites import Carried, Sites
from fabcost.tilted import Moments, is_exact

TOLERANCE = 1e-10
MAX_SWEEPS = 100


@dataclass(frozen=True, eq=False)
class EPResult:
    """What EP found, and how it went.

    Attributes
    ----------
    posterior
        Prior times sites.
    sites
        Precision and shift of each impression's site.
    sweeps
        Passes over the data.
    converged
        Whether the belief stood still, to ``tolerance``; where a row is so long that rounding is
        coarser than that, it may not, however good it is.
    log_evidence
        EP's estimate of log p(y | X).
    skipped
        Visits of the last sweep that would have left the cone of positive definite
        covariances; always 0 with exact moments on ordinary data.
    """

    posterior: Gaussian
    sites: Sites
    sweeps: int
    converged: bool
    log_evidence: float
    skipped: int


class Swept(NamedTuple):
    """How sweeping went; a single sweep does not examine whether it converged."""

    sweeps: int
    converged: bool
    skipped: int
    log_factors: float


def fit(
    prior: Gaussian,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    moments: Moments = "exact",
    tolerance: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
) -> EPResult:
    r"""Refine every site against its cavity until nothing moves (Algorithms 2 and 3).

    A visit forms the scalar cavity :math:`1/s_{\setminus i}^2 = 1/s^2 - \tau_i`,
    :math:`a_{\setminus i} = s_{\setminus i}^2 (a/s^2 - \nu_i)`, matches the tilted moments,
    and applies the change of (τᵢ, νᵢ) as one rank-one update; O(D²) for each visit.
    The prior is a fixed factor.  With exact moments every τᵢ lies in [0, ¼].

    Parameters
    ----------
    prior
        The belief before the data.
    X, y
        Rows and their outcomes: 0/1, −1/+1 or booleans.  Their order does not matter.
    moments
        "exact" or the paper's "mackay".
    tolerance
        Stop when what is still to come is below this many posterior sds.
    max_sweeps
        Stop in any case after this many passes.

    References
    ----------
    Minka, "Expectation propagation for approximate Bayesian inference" (2001);
    Seeger, "Expectation propagation for exponential families" (2005).

    Examples
    --------
    >>> result = fit(Gaussian.isotropic(1, variance=4.0), [[1.0], [1.0]], [1, 0])
    >>> result.converged, round(result.log_evidence, 3)
    (True, -1.888)
    """
    _check_stopping(tolerance, max_sweeps)
    rows, labels = as_impressions(X, y, prior.dimension)
    sites = Sites.flat(labels.size)
    belief = Carried.of(prior)
    swept = sweep(
        belief,
        rows,
        labels,
        sites,
        exact=is_exact(moments),
        tolerance=tolerance,
        max_sweeps=max_sweeps,
    )
    posterior = belief.gaussian()
    evidence = swept.log_factors + _log_mass(prior, posterior, rows, sites)
    return EPResult(posterior, sites, swept.sweeps, swept.converged, evidence, swept.skipped)


def sweep(
    belief: Carried,
    X: FloatArray,
    y: FloatArray,
    sites: Sites,
    *,
    exact: bool,
    tolerance: float,
    max_sweeps: int,
) -> Swept:
    """Refine ``sites``, and the belief that contains them, in place until nothing moves.

    EP contracts linearly, so the move still to come is about change × (change / previous change).

    Examples
    --------
    >>> belief, sites = Carried.of(Gaussian.isotropic(1)), Sites.flat(1)
    >>> X, y = np.ones((1, 1)), np.ones(1)
    >>> sweep(belief, X, y, sites, exact=True, tolerance=1e-6, max_sweeps=9).sweeps
    2
    """
    previous = math.inf
    for count in range(1, max_sweeps + 1):
        before = belief.copy()
        skipped, log_factors = kernels.ep_sweep(*belief, X, y, *sites, exact)
        change = _change(before, belief) if max_sweeps > 1 else math.inf
        remaining = change * change / previous if change < previous < math.inf else change
        if remaining <= tolerance:
            return Swept(count, True, skipped, log_factors)
        previous = change
    return Swept(max_sweeps, False, skipped, log_factors)


def _change(before: Carried, after: Carried) -> float:
    """The largest move, in posterior sds, of the belief along any direction."""
    weights = after.mean.size
    apart = np.column_stack([before.root[:, :weights], after.mean - before.mean])
    try:
        seen_from_after = np.linalg.solve(after.root[:, :weights], apart)
    except np.linalg.LinAlgError:
        return math.inf
    ratio, shift = seen_from_after[:, :weights], seen_from_after[:, weights]
    widths = 0.5 * np.abs(ratio @ ratio.T - np.eye(weights))
    return float(np.nan_to_num(max(np.abs(shift).max(), widths.max()), nan=math.inf))


def _check_stopping(tolerance: float, max_sweeps: int) -> None:
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance} but must be above zero")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps} but must be at least 1")


def _log_mass(prior: Gaussian, posterior: Gaussian, X: FloatArray, sites: Sites) -> float:
    """log ∫ prior × sites: the ratio of both sides of Bayes' rule, read at the posterior mean."""
    eta = X @ posterior.mean
    at_mean = float(sites.shift @ eta - 0.5 * (sites.precision * eta) @ eta)
    away = prior.whiten(posterior.mean)
    volume = 0.5 * (posterior.log_determinant - prior.log_determinant)
    return at_mean + volume - 0.5 * float(away @ away)
