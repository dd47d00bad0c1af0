"""Who leads, found at once where nothing but an ordinary matrix is given."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64

from fabcost.bandit.prospects import Candidates, Scores
from fabcost.bandit.rules import Policy, Thompson
from fabcost.bandit.targeted import TSUCB
from fabcost.impressions import is_ready
from fabcost.inference.online import FabCost


def led_at_once(
    learner: object,
    policy: Policy,
    candidates: Candidates,
    rng: np.random.Generator,
    *,
    keeps: bool,
) -> tuple[int, Scores] | None:
    """Who leads alone among sound rows of an ordinary matrix, and scores if they are to be kept.

    By the belief that a learner carries, and rules whose kernels check the rows; for others, for
    rows that are not sound and where leaders tie, None.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> learner, rng = FabCost(Gaussian([1.0], [[0.01]])), np.random.default_rng(0)
    >>> led_at_once(learner, Thompson(), np.array([[2.0], [3.0]]), rng, keeps=False)[0]
    1
    """
    if type(learner) is not FabCost or not isinstance(policy, (Thompson, TSUCB)):
        return None
    law = learner.law
    weights = law.mean.size
    if not _is_plain(candidates, weights, rng):
        return None
    first, ties, scores = policy.led(law, candidates, rng.random(policy.vectors * weights), keeps)
    if ties == 1:
        return first, scores
    _rewind(rng, policy.vectors * weights)
    return None


def _is_plain(
    candidates: Candidates, weights: int, rng: np.random.Generator
) -> TypeGuard[npt.NDArray[np.float64]]:
    """Whether candidates are an ordinary matrix of numbers, and what is drawn can be put back."""
    if type(candidates) is not np.ndarray or type(rng.bit_generator) is not PCG64:
        return False
    shape = candidates.shape
    return len(shape) == 2 and shape[1] == weights and shape[0] > 0 and is_ready(candidates)


def _rewind(rng: np.random.Generator, many: int) -> None:
    """Let the generator go on as if nothing had been asked of it."""
    generator: Any = rng.bit_generator
    after = generator.state
    generator.advance(-many)
    generator.state = {**after, "state": generator.state["state"]}
