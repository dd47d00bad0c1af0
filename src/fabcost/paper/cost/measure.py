r"""What is measured of the costs: both forms of both methods, sweeps, and growth.

The matrix form is the paper's own (`authors`); the rank-one form is this package's.  Flops of
the leading order, a multiplication and an addition counted as two, for D weights:

- Matrix ADF, :math:`4D^3` by the paper: the two products in
  :math:`\Sigma - \Sigma(\alpha\alpha^\top - 2B)\Sigma`, :math:`2D^3` each.
- Matrix EP, :math:`\tfrac{38}{3}D^3` by the paper: the same products and the inversions that
  lead to the cavity and back.  (Five distinct ones by LU at :math:`2D^3` would be 14 in all.)
- Rank one, :math:`6D^2` for both: :math:`f = R^\top x`, then :math:`Rf`, then the change of
  the root R by an outer product with f, :math:`2D^2` each.  All else, the cavity of EP
  included, is :math:`O(D)`, because a site touches the belief along its row only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep
from fabcost.inference.sites import Carried, Sites
from fabcost.paper.cost.timing import in_turn
from fabcost.paper.data.impressions import DESIGNS, Impressions
from fabcost.paper.engine.units import Result
from fabcost.paper.errata import authors
from fabcost.tilted import Moments

#: Columns of the rounds that `measure_batch` and `measure_weights` return.
FORMS = ("matrix ADF", "matrix EP", "ADF, MacKay", "EP, MacKay", "ADF", "EP")
MOMENTS: tuple[Moments, ...] = ("exact", "mackay")
#: Sweeps of EP as the authors ran it.
AUTHORS_SWEEPS = 4
MOST_SWEEPS = 30
PRIOR_VARIANCE = 100.0

Fit = Callable[[], object]


def measure_batch(design: str, rows: int, few: int, repeats: int, seed: int) -> Result:
    """Seconds of each form for one update or visit, in repeated rounds.

    The matrix forms take ``few`` rows (ADF ten times as many), the others all.

    Examples
    --------
    >>> measure_batch("authors", 20, 5, repeats=2, seed=0)["rounds"].shape
    (2, 6)
    """
    data = DESIGNS[design](rows, seed=seed)
    actions, visits = zip(*_forms(data.X, data.y, few), strict=True)
    return {"rounds": in_turn(actions, repeats=repeats) / visits, "weights": data.theta.size}


def measure_weights(widths: list[int], few: int, repeats: int, seed: int) -> Result:
    """Seconds of each form for one update or visit, for each number of weights.

    Examples
    --------
    >>> measure_weights([3, 6], few=2, repeats=2, seed=0)["rounds"].shape
    (2, 6, 2)
    """
    rng = np.random.default_rng(seed)
    forms: list[tuple[Fit, int]] = []
    for width in widths:
        X = rng.normal(size=(400 * few, width)) / np.sqrt(width)
        y = (rng.random(400 * few) < 0.5).astype(float)
        forms += _forms(X, y, few)
    actions, visits = zip(*forms, strict=True)
    rounds = in_turn(actions, repeats=repeats) / visits
    seconds = rounds.reshape(repeats, len(widths), len(FORMS)).swapaxes(1, 2)
    return {"widths": widths, "rounds": seconds}


def _forms(X: FloatArray, y: FloatArray, few: int) -> list[tuple[Fit, int]]:
    """What each form does, and how many updates or visits it makes.

    The prior is N(0, I): MacKay's EP has no fixed point on some data under a vague one, and the
    cost of a visit does not depend on it.
    """
    prior = Gaussian.isotropic(X.shape[1])
    start = prior.mean, prior.covariance
    signed = _signed(y)
    more = min(10 * few, y.size)
    filtered = partial(authors.density_filtering, *start, X[:more], signed[:more])
    swept = partial(authors.expectation_propagation, *start, X[:few], signed[:few])
    found: list[tuple[Fit, int]] = [
        (filtered, more),
        (partial(swept, sweeps=AUTHORS_SWEEPS), AUTHORS_SWEEPS * min(few, y.size)),
    ]
    for moments in reversed(MOMENTS):
        found.append((partial(adf.fit, prior, X, y, moments=moments), y.size))
        found.append((partial(_swept, prior, X, signed, moments), AUTHORS_SWEEPS * y.size))
    return found


def _swept(prior: Gaussian, X: FloatArray, signed: FloatArray, moments: Moments) -> Gaussian:
    """EP of so many sweeps, without a look at whether it converged."""
    belief, sites = Carried.of(prior), Sites.flat(signed.size)
    for _ in range(AUTHORS_SWEEPS):
        _sweep_once(belief, X, signed, sites, moments)
    return belief.gaussian()


def _sweep_once(
    belief: Carried, X: FloatArray, signed: FloatArray, sites: Sites, moments: Moments
) -> None:
    exact = moments == "exact"
    ep.sweep(belief, X, signed, sites, exact=exact, tolerance=ep.TOLERANCE, max_sweeps=1)


def measure_online(rows: int, arriving: int, sizes: int, repeats: int, seed: int) -> Result:
    """Seconds to learn ``arriving`` impressions of the day after τ others, for growing τ.

    ADF continues from its belief; EP sweeps over all τ + m again.  Both have MacKay's moments,
    whose cost is the same for every site.

    Examples
    --------
    >>> found = measure_online(60, 10, sizes=3, repeats=2, seed=0)
    >>> found["total"].tolist(), found["rounds"].shape
    ([20, 32, 60], (2, 2, 3))
    """
    data = DESIGNS["day"](rows, seed=seed)
    before = np.geomspace(arriving, rows - arriving, sizes).round().astype(int)
    actions = [action for known in before for action in _online(data, int(known), arriving)]
    rounds = in_turn(actions, repeats=repeats)
    seconds = rounds.reshape(repeats, sizes, 2).swapaxes(1, 2)
    return {"total": before + arriving, "rounds": seconds}


def _online(data: Impressions, known: int, arriving: int) -> tuple[Fit, Fit]:
    prior = Gaussian.isotropic(data.theta.size)
    total = known + arriving
    signed = _signed(data.y[:total])
    belief = adf.fit(prior, data.X[:known], signed[:known], moments="mackay").posterior
    return (
        partial(adf.fit, belief, data.X[known:total], signed[known:], moments="mackay"),
        partial(_swept, prior, data.X[:total], signed, "mackay"),
    )


def _signed(y: FloatArray) -> FloatArray:
    return np.where(y == 1.0, 1.0, -1.0)


def measure_sweeps(design: str, sizes: list[int], seed: int) -> Result:
    """How far EP is from where it ends after each sweep, in posterior sds.

    The largest over weights, of the error of the mean and of the relative error of the sd.

    Examples
    --------
    >>> measure_sweeps("authors", [10, 20], seed=0)["errors"].shape
    (2, 2, 30)
    """
    data = DESIGNS[design](max(sizes), seed=seed)
    errors = [[_errors(data, size, moments) for size in sizes] for moments in MOMENTS]
    return {"errors": np.array(errors)}


def _errors(data: Impressions, size: int, moments: Moments) -> FloatArray:
    X, signed = data.X[:size], _signed(data.y[:size])
    belief = Carried.of(Gaussian.isotropic(data.theta.size, variance=PRIOR_VARIANCE))
    sites = Sites.flat(size)
    means, sds = [], []
    for _ in range(MOST_SWEEPS):
        _sweep_once(belief, X, signed, sites, moments)
        means.append(belief.mean.copy())
        sds.append(np.sqrt((belief.root**2).sum(axis=1)))
    return _distances(np.array(means), np.array(sds))


def _distances(means: FloatArray, sds: FloatArray) -> FloatArray:
    shifts = np.abs(means - means[-1]) / sds[-1]
    widths = np.abs(sds / sds[-1] - 1.0)
    return np.asarray(np.maximum(shifts, widths).max(axis=1))
