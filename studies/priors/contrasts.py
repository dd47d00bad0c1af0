"""How well the weights of one-hot columns beside a constant are known, by prior."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from fabcost import FabCost, Prior
from fabcost.impressions import FloatArray
from fabcost.prior import Group
from studies.priors.worlds import WORLDS, World

WORLD = "20 candidates with makes"
ROWS = 3000


class Known(NamedTuple):
    """Of one-hots and their contrasts: posterior sd, and the share whose interval excludes 0."""

    sd: float
    contrast_sd: float
    told: float
    contrasts_told: float


def known(prior: Prior, seed: int) -> Known:
    """What 3,000 random impressions tell of twelve makes."""
    drawn, visitors = np.random.default_rng(seed).spawn(2)
    world = WORLDS[WORLD](drawn)
    X, y = _shown(world, visitors)
    categories: list[Group] = ["categories"] * (X.shape[1] - 1)
    learner = FabCost(prior.belief(["constant", *categories]))
    learner.observe_many(X, y)
    belief, makes = learner.posterior, np.arange(1, 13)
    # A make against the mean of all makes.
    contrast = np.eye(12) - 1.0 / 12.0
    mean, covariance = belief.mean[makes], belief.covariance[np.ix_(makes, makes)]
    sd = np.sqrt(covariance.diagonal())
    contrast_sd = np.sqrt((contrast @ covariance @ contrast).diagonal())
    told = np.abs(mean) > 1.96 * sd
    contrasts_told = np.abs(contrast @ mean) > 1.96 * contrast_sd
    return Known(*(float(np.mean(each)) for each in (sd, contrast_sd, told, contrasts_told)))


def _shown(world: World, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    met = list(islice(world.environment.rounds(rng), ROWS))
    X = np.array([each.rows[0] for each in met])
    return X, np.array([float(each.clicked(0)) for each in met])


def averaged(prior: Prior, seeds: int) -> Known:
    """The mean over seeds."""
    each = np.array([known(prior, seed) for seed in range(seeds)])
    return Known(*each.mean(axis=0).tolist())
