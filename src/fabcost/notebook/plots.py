"""Weights with their intervals, probabilities beside what happened, and draws for ArviZ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.extras import told_what_is_missing
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.summary import LEVEL, Summary, sds_of

_MOST_WEIGHTS = 20
_ROW, _SIDE = 0.28, 5.0  # inches


def plot_weights(
    learnt: Any, *, most: int = _MOST_WEIGHTS, level: float = LEVEL, axes: Any = None
) -> Any:
    """Draw means and intervals of the weights that are the most sds from zero.

    Parameters
    ----------
    learnt
        A learner, recommender or fitted estimator, or a `summary` of one, whose level is kept.
    most
        How many weights.
    level
        Probability of the intervals.
    axes
        Where to draw, matplotlib's; on a new figure unless given.

    Returns
    -------
    Axes
        What was drawn on; notebooks show its figure.

    Examples
    --------
    >>> import fabcost
    >>> axes = plot_weights(fabcost.FabCost(fabcost.Gaussian.isotropic(2)))
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['x0', 'x1']
    """
    found: Summary = learnt if isinstance(learnt, Summary) else learnt.summary(level=level)
    shown = np.sort(found.strongest[:most])
    axes = _new_axes(1.0 + _ROW * shown.size) if axes is None else axes
    places = np.arange(shown.size)
    reach = sds_of(found.level) * found.sd[shown]
    axes.axvline(0.0, color="0.7", linewidth=1)
    axes.errorbar(found.mean[shown], places, xerr=reach, fmt="o", markersize=4, capsize=2)
    axes.set_yticks(places, [found.names[i] for i in shown])
    axes.invert_yaxis()
    axes.set_xlabel(f"weight in the log-odds, with {100 * found.level:g} % interval")
    axes.set_title(found.title, fontsize="medium")
    return axes


def plot_calibration(
    probabilities: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    *,
    bins: int = 10,
    level: float = LEVEL,
    axes: Any = None,
) -> Any:
    r"""Draw how often what was given a probability happened, in bins of equally many rows.

    The intervals are Wilson's (1927): all shares p with :math:`|\hat p - p| \le z
    \sqrt{p(1-p)/n}`.  A point on the diagonal says as much as happened.

    Parameters
    ----------
    probabilities
        One for each row, or the two columns of `predict_proba`, of which the last counts.
    outcomes
        Whether it happened: 0 or 1, or booleans.
    bins
        How many.
    level, axes
        As in `plot_weights`.

    Examples
    --------
    >>> axes = plot_calibration([0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], bins=2)
    >>> axes.containers[0][0].get_xydata().round(2).tolist()
    [[0.15, 0.0], [0.8, 1.0]]
    """
    said = np.asarray(probabilities, dtype=np.float64)
    said = said[:, -1] if said.ndim == 2 else said
    happened = np.asarray(outcomes, dtype=np.float64)
    _check(said, happened, bins)
    parts = np.array_split(np.argsort(said, kind="stable"), min(bins, said.size))
    centre = np.array([said[part].mean() for part in parts])
    share = np.array([happened[part].mean() for part in parts])
    lower, upper = wilson(share, np.array([part.size for part in parts]), level)
    axes = _new_axes(_SIDE) if axes is None else axes
    axes.plot([0.0, 1.0], [0.0, 1.0], color="0.7", linewidth=1)
    reach = np.maximum([share - lower, upper - share], 0.0)
    axes.errorbar(centre, share, yerr=reach, fmt="o", markersize=4, capsize=2)
    axes.set_xlabel("probability that was given")
    axes.set_ylabel(f"share that happened, with {100 * level:g} % interval")
    return axes


def wilson(
    share: FloatArray, many: npt.NDArray[np.int64], level: float
) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of a probability from the share in so many rows.

    Examples
    --------
    >>> [float(end.round(3)) for end in wilson(np.array(0.0), np.array(10), 0.95)]
    [0.0, 0.278]
    """
    z = sds_of(level) ** 2 / many
    centre = (share + 0.5 * z) / (1.0 + z)
    half = np.sqrt(z * share * (1.0 - share) + 0.25 * z * z) / (1.0 + z)
    return centre - half, centre + half


def _check(said: FloatArray, happened: FloatArray, bins: int) -> None:
    if said.ndim != 1 or said.size == 0 or said.shape != happened.shape:
        raise ValueError(
            f"probabilities have shape {said.shape} and outcomes {happened.shape} but must be one "
            "for each row, and some"
        )
    if not ((said >= 0.0) & (said <= 1.0)).all():
        raise ValueError("probabilities must lie between 0 and 1")
    if not np.isin(happened, (0.0, 1.0)).all():
        raise ValueError("outcomes must be 0 or 1, or booleans")
    if bins < 1:
        raise ValueError(f"bins is {bins} but must be at least 1")


def _new_axes(height: float) -> Any:
    with told_what_is_missing("a plot", "reports"):
        from matplotlib import pyplot  # noqa: PLC0415 - an extra
    return pyplot.subplots(figsize=(6.0, height), layout="constrained")[1]


def to_arviz(
    learnt: Any, *, draws: int = 1000, chains: int = 4, rng: int | np.random.Generator = 0
) -> Any:
    """Independent draws of the weights as an ``arviz.InferenceData``, one name for each weight.

    Parameters
    ----------
    learnt
        A learner, recommender or fitted estimator with a full belief.
    draws, chains
        So many draws in so many chains; they are independent, so chains only suit ArviZ's tools.
    rng
        A generator or a seed: the same gives the same draws.

    Examples
    --------
    >>> import fabcost
    >>> data = to_arviz(fabcost.FabCost(fabcost.Gaussian.isotropic(2)), draws=10)
    >>> data.posterior["weight"].shape, data.posterior["name"].values.tolist()
    ((4, 10, 2), ['x0', 'x1'])
    """
    belief = learnt.posterior if hasattr(learnt, "posterior") else _belief(learnt)
    if not isinstance(belief, Gaussian):
        kind = type(belief).__name__
        raise ValueError(f"the belief is a {kind} but draws are of a fabcost.Gaussian")
    with warnings.catch_warnings(), told_what_is_missing("to_arviz", "nuts"):
        warnings.simplefilter("ignore", FutureWarning)  # arviz announces its next version
        import arviz  # noqa: PLC0415 - an extra
    drawn = belief.sample(np.random.default_rng(rng), chains * draws)
    return arviz.from_dict(
        posterior={"weight": drawn.reshape(chains, draws, belief.dimension)},
        coords={"name": list(learnt.summary().names)},
        dims={"weight": ["name"]},
    )


def _belief(learnt: Any) -> Any:
    return learnt.learner.posterior if hasattr(learnt, "learner") else learnt.posterior_
