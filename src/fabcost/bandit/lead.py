"""Who leads, found at once where nothing but an ordinary matrix is given."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64

from fabcost import kernels
from fabcost.bandit.prospects import Belief, Candidates
from fabcost.bandit.rules import Policy, Thompson
from fabcost.bandit.targeted import TSUCB
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, is_ready
from fabcost.inference.online import FabCost


def led_at_once(
    belief: Belief, policy: Policy, candidates: Candidates, rng: np.random.Generator
) -> tuple[FloatArray, int, int] | None:
    """Scores of sound rows of an ordinary matrix, the first of the largest, and how many there are.

    By rules whose kernels check the rows; else, and for others, None.

    Examples
    --------
    >>> rng, belief = np.random.default_rng(0), Gaussian([1.0], [[0.01]])
    >>> led_at_once(belief, Thompson(), np.array([[2.0], [3.0]]), rng)[1:]
    (1, 1)
    """
    if type(belief) is not Gaussian or not isinstance(policy, (Thompson, TSUCB)):
        return None
    weights = belief.mean.size
    if not _is_plain(candidates, weights, rng):
        return None
    found = policy.led(belief, candidates, rng.random(policy.vectors * weights))
    if found[2] > 0:
        return found
    _rewind(rng, policy.vectors * weights)
    return None


def picked_at_once(
    learner: object, policy: Policy, candidates: Candidates, rng: np.random.Generator
) -> int | None:
    """Who leads alone, without scores, by the belief that a learner carries; else None.

    Examples
    --------
    >>> learner, rng = FabCost(Gaussian([1.0], [[0.01]])), np.random.default_rng(0)
    >>> picked_at_once(learner, Thompson(), np.array([[2.0], [3.0]]), rng)
    1
    """
    if type(learner) is not FabCost or not isinstance(policy, (Thompson, TSUCB)):
        return None
    mean, root = learner.law
    if not _is_plain(candidates, mean.size, rng) or not _is_quick(policy):
        return None
    uniforms = rng.random(policy.vectors * mean.size)
    law = (candidates, mean, root, uniforms)
    if isinstance(policy, Thompson):
        _, first, ties = kernels.drawn_leader(*law, policy.scale)
    else:
        _, scatter, rare = policy.numbers
        first, ties = kernels.drawn_target_winner(scatter, rare, *law)
    if ties == 1:
        return int(first)
    _rewind(rng, uniforms.size)
    return None


def _is_quick(policy: Thompson | TSUCB) -> bool:
    """Whether a kernel knows the choice without scores."""
    if isinstance(policy, Thompson):
        return True
    return policy.log_odds and policy.scatter > 0.0 and policy.draws == 1


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
