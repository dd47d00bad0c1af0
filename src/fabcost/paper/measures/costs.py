r"""What is measured of the costs: both forms of both methods, sweeps, and growth.

The matrix form is the paper's own (`fabcost.paper.printed`); the rank-one form is this
package's.  Flops of the leading order, a multiplication and an addition counted as two, for D
weights:

- Matrix ADF, :math:`4D^3` by the paper: the two products in
  :math:`\Sigma - \Sigma(\alpha\alpha^\top - 2B)\Sigma`, :math:`2D^3` each.
- Matrix EP, :math:`\tfrac{38}{3}D^3` by the paper: the same products and the inversions that
  lead to the cavity and back.  (Five distinct ones by LU at :math:`2D^3` would be 14 in all.)
- Rank one, :math:`6D^2` for both: :math:`f = R^\top x`, then :math:`Rf`, then the change of
  the root R by an outer product with f, :math:`2D^2` each.  All else, the cavity of EP
  included, is :math:`O(D)`, because a site touches the belief along its row only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep
from fabcost.inference.history import Carried, Sites
from fabcost.offline.methods import PRIOR_VARIANCE
from fabcost.paper import printed
from fabcost.paper.designs import DESIGNS, Dataset
from fabcost.paper.statistics import Interval, median_interval
from fabcost.paper.units import Result, Scale, Unit
from fabcost.tilted import Moments

#: Columns of the rounds that `measure_batch` and `measure_weights` return.
FORMS = ("matrix ADF", "matrix EP", "ADF, MacKay", "EP, MacKay", "ADF", "EP")
MOMENTS: tuple[Moments, ...] = ("exact", "mackay")
#: Sweeps of EP as the authors ran it.
AUTHORS_SWEEPS = 4
#: Distance in posterior sds from where EP ends, within which it counts as converged.
TOLERANCE = 0.01

_MOST_SWEEPS = 30
_REPEATS = 9
_SHORTEST = 0.01  # seconds of work below which one reading of the clock is too coarse

Action = Callable[[], object]


@dataclass(frozen=True, eq=False)
class Batch:
    """Seconds of one update or visit, for each form, in rounds; ``weights`` is D."""

    weights: int
    seconds: Mapping[str, FloatArray]
    took: float

    def ratio(self, over: str, under: str, times: float = 1.0) -> Interval:
        """How many times longer the first takes, its seconds taken ``times``, in each round."""
        return median_interval(times * self.seconds[over] / self.seconds[under])


@dataclass(frozen=True, eq=False)
class Growth:
    """Seconds (rounds × sizes) of some forms as something grows."""

    sizes: Sequence[int]
    seconds: Mapping[str, FloatArray]
    took: float

    def exponent(self, form: str) -> Interval:
        """The p of seconds ∝ sizeᵖ: least squares on the logarithms of each round, their median."""
        slopes, _ = np.polyfit(np.log(self.sizes), np.log(self.seconds[form]).T, 1)
        return median_interval(slopes)


@dataclass(frozen=True, eq=False)
class NeededSweeps:
    """Distance from where EP ends (streams × sizes × sweeps), for each kind of moments.

    Examples
    --------
    >>> distances = np.array([[[1.0, 0.1, 0.001, 0.0, 0.0, 0.0]]])
    >>> NeededSweeps((9,), {"exact": distances}, 0.1).needed("exact")
    array([[3]])
    """

    sizes: Sequence[int]
    errors: Mapping[str, FloatArray]
    took: float

    def needed(self, moments: str) -> npt.NDArray[np.intp]:
        """Sweeps after which the distance stays within `TOLERANCE`; 0 where none does.

        Where only the second half of the sweeps is near the last, that is not a place of rest.
        """
        errors = self.errors[moments]
        moving = ~(errors <= TOLERANCE)
        last_move = np.where(moving.any(-1), errors.shape[-1] - moving[..., ::-1].argmax(-1), 0)
        return np.where(last_move < errors.shape[-1] // 2, last_move + 1, 0)


@dataclass(frozen=True, eq=False)
class Costs:
    """Everything that the figures and claims of the costs are made of."""

    batches: Mapping[str, Batch]
    sweeps: Mapping[str, NeededSweeps]
    online: Growth
    weights: Growth


def units(scale: Scale, seed: int) -> list[Unit]:
    """One for each data set, kind of growth, and stream of EP's sweeps."""
    settings = {"repeats": _REPEATS, "seed": seed}
    rows = {**settings, "rows": scale.timed_rows}
    online = {**rows, "arriving": min(1_000, scale.timed_rows // 10), "sizes": 5}
    weights = {**settings, "widths": [*scale.timed_widths], "few": 1}
    long = 4.0 + 2e-5 * scale.timed_rows
    timed = [
        Unit(f"cost-batch-{each}", measure_batch, {**rows, "design": each, "few": 80}, long, True)
        for each in DESIGNS
    ]
    timed.append(Unit("cost-online", measure_online, online, 0.5 * long, alone=True))
    timed.append(Unit("cost-weights", measure_weights, weights, 4.0, alone=True))
    sizes = [*scale.convergence_sizes]
    return timed + [
        Unit(
            f"cost-sweeps-{design}-{stream}",
            measure_sweeps,
            {"design": design, "sizes": sizes, "seed": 1_000 * seed + stream},
            weight=2 * _MOST_SWEEPS * sum(sizes) * 5e-7,
        )
        for design in DESIGNS
        for stream in range(scale.streams)
    ]


def in_turn(actions: Sequence[Action], *, repeats: int) -> FloatArray:
    """Processor seconds of each action (columns) in each round (rows), after a trial of each.

    The actions alternate, so that a slow spell of the machine falls on all of them.

    Examples
    --------
    >>> in_turn([lambda: sum(range(100_000)), dict], repeats=3).shape
    (3, 2)
    """
    calls = [max(1, round(_SHORTEST / max(_seconds(action, 1), 1e-6))) for action in actions]
    pairs = list(zip(actions, calls, strict=True))
    return np.array([[_seconds(action, many) for action, many in pairs] for _ in range(repeats)])


def _seconds(action: Action, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        action()
    return (time.process_time() - start) / calls


def measure_batch(design: str, rows: int, few: int, repeats: int, seed: int) -> Result:
    """Seconds of each form for one update or visit, in repeated rounds.

    The matrix forms take ``few`` rows (ADF ten times as many), the others all.
    """
    data = DESIGNS[design](rows, seed=seed)
    actions, visits = zip(*_forms(data.X, data.y, few), strict=True)
    return {"rounds": in_turn(actions, repeats=repeats) / visits, "weights": data.theta.size}


def measure_weights(widths: list[int], few: int, repeats: int, seed: int) -> Result:
    """Seconds of each form for one update or visit, for each number of weights."""
    rng = np.random.default_rng(seed)
    forms: list[tuple[Action, int]] = []
    for width in widths:
        X = rng.normal(size=(400 * few, width)) / np.sqrt(width)
        y = (rng.random(400 * few) < 0.5).astype(float)
        forms += _forms(X, y, few)
    actions, visits = zip(*forms, strict=True)
    rounds = in_turn(actions, repeats=repeats) / visits
    seconds = rounds.reshape(repeats, len(widths), len(FORMS)).swapaxes(1, 2)
    return {"widths": widths, "rounds": seconds}


def _forms(X: FloatArray, y: FloatArray, few: int) -> list[tuple[Action, int]]:
    """What each form does, and how many updates or visits it makes.

    The prior is N(0, I): MacKay's EP has no fixed point on some data under a vague one, and the
    cost of a visit does not depend on it.
    """
    prior = Gaussian.isotropic(X.shape[1])
    start = prior.mean, prior.covariance
    signed = _signed(y)
    more = min(10 * few, y.size)
    filtered = partial(printed.density_filtering, *start, X[:more], signed[:more])
    swept = partial(printed.expectation_propagation, *start, X[:few], signed[:few])
    found: list[tuple[Action, int]] = [
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
    """
    data = DESIGNS["day"](rows, seed=seed)
    before = np.geomspace(arriving, rows - arriving, sizes).round().astype(int)
    actions = [action for known in before for action in _online(data, int(known), arriving)]
    rounds = in_turn(actions, repeats=repeats)
    seconds = rounds.reshape(repeats, sizes, 2).swapaxes(1, 2)
    return {"total": before + arriving, "rounds": seconds}


def _online(data: Dataset, known: int, arriving: int) -> tuple[Action, Action]:
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
    """
    data = DESIGNS[design](max(sizes), seed=seed)
    errors = [[_distances(data, size, moments) for size in sizes] for moments in MOMENTS]
    return {"errors": np.array(errors)}


def _distances(data: Dataset, size: int, moments: Moments) -> FloatArray:
    X, signed = data.X[:size], _signed(data.y[:size])
    belief = Carried.of(Gaussian.isotropic(data.theta.size, variance=PRIOR_VARIANCE))
    sites = Sites.flat(size)
    means, sds = np.empty((2, _MOST_SWEEPS, data.theta.size))
    for sweep in range(_MOST_SWEEPS):
        _sweep_once(belief, X, signed, sites, moments)
        means[sweep], sds[sweep] = belief.mean, np.sqrt((belief.root**2).sum(axis=1))
    shifts, widths = np.abs(means - means[-1]) / sds[-1], np.abs(sds / sds[-1] - 1.0)
    return np.asarray(np.maximum(shifts, widths).max(axis=1))


def gather(scale: Scale, results: Mapping[str, Result]) -> Costs:
    """The costs from the results of their `units`."""
    online, weights = results["cost-online"], results["cost-weights"]
    batches = {design: results[f"cost-batch-{design}"] for design in DESIGNS}
    return Costs(
        {
            name: Batch(each["weights"], _timed(each), each["seconds"])
            for name, each in batches.items()
        },
        {design: _sweeps(scale, design, results) for design in DESIGNS},
        Growth(online["total"].tolist(), _timed(online, ("ADF", "EP")), online["seconds"]),
        Growth(weights["widths"], _timed(weights), weights["seconds"]),
    )


def _timed(result: Result, forms: Sequence[str] = FORMS) -> dict[str, FloatArray]:
    return {form: result["rounds"][:, place] for place, form in enumerate(forms)}


def _sweeps(scale: Scale, design: str, results: Mapping[str, Result]) -> NeededSweeps:
    streams = [results[f"cost-sweeps-{design}-{stream}"] for stream in range(scale.streams)]
    errors = np.array([stream["errors"] for stream in streams])
    return NeededSweeps(
        scale.convergence_sizes,
        {moments: errors[:, place] for place, moments in enumerate(MOMENTS)},
        sum(stream["seconds"] for stream in streams),
    )
