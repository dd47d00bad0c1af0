"""Every rule of decision, for tests that hold for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fabcost import kernels
from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.bandit.targeted import TSUCB, InformationDirected, InformationRelaxation
from fabcost.impressions import FloatArray

POLICIES: list[Policy] = [
    Thompson(),
    Thompson(scale=0.5),
    Greedy(),
    EpsilonGreedy(0.2),
    BayesianUCB(0.9),
    Uniform(),
    TSUCB(),
    TSUCB(draws=5),
    TSUCB(log_odds=True),
    TSUCB(scatter=0.25),
    TSUCB(log_odds=True, scatter=0.1),
    TSUCB(log_odds=True, scatter=0.25, rare=0.6),
    InformationRelaxation(),
    InformationDirected(draws=16),
]
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES, ids=str)


def independent(policy: Policy, draws: int) -> float:
    """So many of the draws behind shares are independent: a choice may take several.

    One in four where a target's own draw is followed, as four choices share a target.
    """
    return draws / getattr(policy, "draws", 1) / (4 if getattr(policy, "rare", 0.0) else 1)


def chi_square(counts: FloatArray, shares: FloatArray) -> tuple[float, int]:
    """Σ (1{chosen} − p) over choices, each from its own p, in units of its covariance."""
    away = counts - shares.sum(axis=0)
    covariance = np.diag(shares.sum(axis=0)) - shares.T @ shares
    possible = shares.sum(axis=0) > 0
    assert counts[~possible].sum() == 0
    return float(away @ np.linalg.pinv(covariance, rcond=1e-9) @ away), int(possible.sum()) - 1


def drawn_wins(
    centre: FloatArray, spread: FloatArray, normals: FloatArray, draws: int, *own: Any
) -> FloatArray:
    """How often each is the best of joint draws; centre becomes the scores of the first."""
    law_and_draws = (centre, spread, normals)
    leaders = (*law_and_draws, *own, kernels.NOTHING, kernels.NOTHING)
    counted = (*law_and_draws, kernels.drawn_leaders(*leaders)[1], draws, *own, 0)
    return np.asarray(draws * kernels.drawn_shares(*counted))
