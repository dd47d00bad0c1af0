"""Who leads, found at once where nothing but an ordinary matrix is given."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64

from fabcost import kernels
from fabcost.bandit.prospects import Candidates, Scores
from fabcost.bandit.rules import Policy, Thompson
from fabcost.bandit.targeted import TSUCB
from fabcost.impressions import FloatArray, is_ready, read_only
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
    if type(learner) is not FabCost or not _is_quick(policy):
        return None
    mean, root = learner.law
    if not _is_plain(candidates, mean.size, rng):
        return None
    scores: Scores
    if isinstance(policy, Thompson):
        uniforms = rng.random(mean.size)
        scores, first, ties = kernels.drawn_leader(candidates, mean, root, uniforms, policy.scale)
    else:
        uniforms = rng.random(2 * mean.size)
        kept = np.empty((len(candidates) + mean.size + 3 if keeps else 0, mean.size))
        law = (candidates, mean, root, uniforms, kept)
        first, ties = kernels.drawn_target_winner(*policy.numbers[1:], *law)
        scores = partial(_scores_of, policy, kept)
    if ties == 1:
        return first, scores
    _rewind(rng, uniforms.size)
    return None


def _is_quick(policy: Policy) -> TypeGuard[Thompson | TSUCB]:
    """Whether a kernel knows who leads without the scores of all, or has these at once."""
    if isinstance(policy, TSUCB):
        return policy.log_odds and policy.scatter > 0.0 and policy.draws == 1
    return isinstance(policy, Thompson)


def _scores_of(rule: TSUCB, kept: FloatArray) -> FloatArray:
    """Scores by rows, root, mean and uniform numbers that are in one matrix."""
    many, numbers = len(kept) - kept.shape[1] - 3, read_only(kept)
    return rule.scores_of(numbers[:many], numbers[-3], numbers[many:-3], kept[-2:].flatten())


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
