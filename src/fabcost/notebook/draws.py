"""Draws of the weights under their names, for ArviZ (extra ``nuts``)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fabcost.extras import told_what_is_missing
from fabcost.gaussian import Gaussian


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
