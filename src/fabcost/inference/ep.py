"""Expectation propagation: sweeps of moment projections until the sites stand still."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import GivenRows, Rows, Tally, as_batch, as_keys, grouped, readable
from fabcost.inference.history import Carried, Pass, Sites
from fabcost.inference.own.directory import NOT_OWNED, Owned
from fabcost.inference.own.effects import OwnEffects, effects_of
from fabcost.inference.passes import Sweeping, Swept
from fabcost.inference.result import Fit
from fabcost.inference.schedule import MAX_SWEEPS, Refresh
from fabcost.inference.sparse.parallel import sweep_sparse
from fabcost.sparse import FloatArray, SparseRows
from fabcost.tilted import Moments, check_moments

__all__ = ["MAX_SWEEPS", "TOLERANCE", "EPResult", "Refresh", "fit", "log_mass", "sweep"]

TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class EPResult(Fit):
    """A `Fit` with its sites.

    It has converged if the belief stood still, to ``tolerance``; where a row is so long that
    rounding is coarser than that, it may not, however good it is.  The log evidence is NaN if the
    last sweep skipped a visit, whose factor it then lacks.  With exact moments on ordinary data
    none is skipped.

    Attributes
    ----------
    sites
        Precision and shift of each row's site, or of each group's.
    """

    sites: Sites = field(kw_only=True)

    @property
    def sweeps(self) -> int:
        """Passes over the data: its `iterations`."""
        return self.iterations


def fit(
    prior: Gaussian,
    X: GivenRows,
    y: npt.ArrayLike | Tally,
    *,
    moments: Moments = "exact",
    tolerance: float = TOLERANCE,
    max_sweeps: int = MAX_SWEEPS,
    items: Iterable[Any] | None = None,
    own_variance: float = 0.0,
    weight: npt.ArrayLike | None = None,
    group: bool = False,
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
        Rows, sparse or not, and outcomes: 0/1, −1/+1, booleans or `fabcost.Tally`, in any order.
    moments
        "exact" or the paper's "mackay", which has no weights.
    tolerance
        Stop when what is still to come is below this many posterior sds.
    max_sweeps
        Stop in any case after this many passes.
    items
        The item of each row, a string or an integer, or None.
    own_variance
        τ², of the effect that each item has beside its features; 0 for none.
    weight
        How many impressions each row stands for, whole or not; one unless given.  A row's
        impressions have one site, :math:`\sigma(\eta)^a\sigma(-\eta)^b`, which is matched as a
        whole: that is nearer to the posterior than a site for each of them, and precisions are up
        to a quarter of the weight.
    group
        Whether rows that are equal, item included, are made one first: much faster where many
        are, and nearer to the posterior.

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
    own = effects_of(prior.dimension, own_variance)
    rows, outcomes = as_batch(X, y, weight, prior.dimension)
    slots = None if own is None else own.enter(as_keys(items, len(rows)))
    if group:
        rows, outcomes, slots = grouped(rows, outcomes, slots)
    exact = check_moments(moments, outcomes.counts)
    sites = Sites.flat(len(rows))
    belief = Carried.of(prior)
    owned = NOT_OWNED if own is None or slots is None else own.written(slots)
    swept = sweep(
        belief,
        rows,
        outcomes.labels,
        sites,
        exact=exact,
        tolerance=tolerance,
        max_sweeps=max_sweeps,
        owned=owned,
        counts=outcomes.counts,
    )
    posterior = belief.gaussian(keep=True)
    evidence = swept.log_factors + log_mass(prior, posterior, rows, sites, own, owned)
    how = (swept.converged, swept.sweeps, evidence, swept.skipped)
    return EPResult(posterior, *how, sites=sites, own=own)


def sweep(
    belief: Carried,
    X: Rows,
    y: FloatArray,
    sites: Sites,
    *,
    exact: bool,
    tolerance: float,
    max_sweeps: int,
    owned: Owned | tuple[()] = NOT_OWNED,
    counts: FloatArray | None = None,
) -> Swept:
    """Refine ``sites``, and the belief that contains them, in place until nothing moves.

    Examples
    --------
    >>> import numpy as np
    >>> belief, sites = Carried.of(Gaussian.isotropic(1)), Sites.flat(1)
    >>> X, y = np.ones((1, 1)), np.ones(1)
    >>> sweep(belief, X, y, sites, exact=True, tolerance=1e-6, max_sweeps=9).sweeps
    2
    """
    if isinstance(X, SparseRows) and not owned:
        given = (belief, X, y, sites, exact, counts)
        return sweep_sparse(*given, tolerance=tolerance, max_sweeps=max_sweeps)
    rows = y.size
    slots, table = owned or (None, None)
    sweeps = Sweeping(
        rows,
        belief.root.shape[1],
        tolerance=tolerance,
        max_sweeps=max_sweeps,
        items=slots,
        capacity=0 if table is None else len(table),
    )
    over = Pass(readable(X), y, sites, 0, rows, slots, counts)
    while sweeps.swept is None:
        sweeps.visit(belief, over, exact=exact, table=table)
    return sweeps.outcome


def log_mass(
    prior: Gaussian,
    posterior: Gaussian,
    X: Rows,
    sites: Sites,
    own: OwnEffects | None,
    owned: Owned | tuple[()],
    first: OwnEffects | None = None,
) -> float:
    """log ∫ prior × sites: the ratio of both sides of Bayes' rule, read at the posterior mean.

    ``first`` has the effects as they were before, if something was known of them.

    Examples
    --------
    >>> prior, nothing = Gaussian.isotropic(1), Sites(np.zeros(1), np.zeros(1))
    >>> log_mass(prior, prior, np.eye(1), nothing, None, ())
    0.0
    """
    eta = X @ posterior.mean if isinstance(X, SparseRows) else kernels.times(X, posterior.mean)
    if own is not None and owned:
        effects = np.append(_own_means(own, posterior.mean), 0.0)  # the last is that of slot −1
        eta += effects[owned.slots]
    at_mean = kernels.inner(sites.shift - 0.5 * sites.precision * eta, eta)
    away = kernels.solve_lower(prior.triangle, posterior.mean - prior.mean)
    volume = 0.5 * (posterior.log_determinant - prior.log_determinant)
    mass = float(at_mean + volume - 0.5 * kernels.inner(away, away))
    return mass if own is None else mass + _log_mass_of_own(own, posterior.mean, first)


def _own_means(own: OwnEffects, mean: FloatArray) -> FloatArray:
    """Mean of the effect in each slot: (hᵢ − cᵢᵀμ)/dᵢ."""
    precision, shift, cross = own.rows[:, 0], own.rows[:, 1], own.rows[:, 2:]
    return np.asarray((shift - kernels.times(np.ascontiguousarray(cross), mean)) / precision)


def _log_mass_of_own(own: OwnEffects, mean: FloatArray, first: OwnEffects | None) -> float:
    """What they add to log ∫ prior × sites at the joint mean: −½ Σᵢ (log dᵢτ² + b̂ᵢ²/τ²).

    Where something was known before, that is dᵢ over the precision and b̂ᵢ beside the mean of then.
    """
    effects = _own_means(own, mean)
    if first is not None:
        precision, away = first.rows[:, 0].copy(), effects - _own_means(first, mean)
        volume = kernels.sum_of_logs(own.rows[:, 0] / precision)
        return 0.0 - 0.5 * float(volume + kernels.inner(precision * away, away))
    volume = kernels.sum_of_logs(own.rows[:, 0] * own.variance)
    return 0.0 - 0.5 * float(volume + kernels.inner(effects, effects) / own.variance)
