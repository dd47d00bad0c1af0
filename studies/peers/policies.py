"""Other libraries, and fabcost, each behind the interface of the workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bayesianbandits import (
    Arm,
    ArmFeaturizer,
    BayesianGLM,
    LipschitzContextualAgent,
    ThompsonSampling,
)
from coba.learners import LinTSLearner
from mabwiser.mab import MAB
from vowpalwabbit import Workspace

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rules import Policy, Thompson
from fabcost.impressions import FloatArray
from studies.peers.workload import WEIGHTS


class _TakesRows:
    """For libraries that take the rows as they are."""

    def prepare(self, context: FloatArray, rows: FloatArray) -> FloatArray:  # noqa: ARG002
        """Leave the rows as they are."""
        return rows


_THOMPSON = Thompson()


class Ours(_TakesRows):
    """The FAB-COST learner, under Thompson sampling unless another rule is given."""

    def __init__(self, seed: int, *, policy: Policy = _THOMPSON, variance: float = 10.0) -> None:
        learner = FabCost(Gaussian.isotropic(WEIGHTS, variance=variance))
        self.bandit = Bandit(learner, policy=policy, seed=seed)

    def decide(self, prepared: FloatArray) -> int:
        """Choose under one draw of the weights."""
        return self.bandit.pick(prepared)

    def learn(self, prepared: FloatArray, chosen: int, clicked: bool) -> None:
        """Filter one impression, and refresh when the default schedule says."""
        self.bandit.learn(prepared[chosen], clicked)


class _RowsOfRound(ArmFeaturizer):  # type: ignore[misc]
    """Hands over rows that are ready: the one context is the round's whole matrix."""

    def transform(self, X: list[FloatArray], *, action_tokens: Sequence[int]) -> FloatArray:
        rows = X[0]
        return rows if len(action_tokens) == len(rows) else rows[action_tokens]


class SharedAgent:
    """The agent of bayesianbandits whose arms share one logistic model."""

    def __init__(self, seed: int, items: int, **settings: Any) -> None:
        self.agent = LipschitzContextualAgent(
            [Arm(token) for token in range(items)],
            ThompsonSampling(),
            _RowsOfRound(),
            BayesianGLM(**settings),
            random_seed=seed,
        )

    def prepare(self, context: FloatArray, rows: FloatArray) -> list[FloatArray]:  # noqa: ARG002
        """Make the matrix one context: the agent counts the contexts."""
        return [rows]

    def decide(self, prepared: list[FloatArray]) -> int:
        """Pull under one draw of the weights."""
        return int(self.agent.pull(prepared)[0])

    def learn(self, prepared: list[FloatArray], chosen: int, clicked: bool) -> None:  # noqa: ARG002
        """Learn about the item that was pulled last, which the agent remembers."""
        self.agent.update(prepared, np.array([float(clicked)]))


class SharedEstimator(_TakesRows):
    """The same model of bayesianbandits without its agent."""

    def __init__(self, seed: int, **settings: Any) -> None:
        self.model = BayesianGLM(random_state=seed, **settings)

    def decide(self, prepared: FloatArray) -> int:
        """Take the best row under one draw of the weights."""
        return int(self.model.sample(prepared)[0].argmax())

    def learn(self, prepared: FloatArray, chosen: int, clicked: bool) -> None:
        """Fit one impression on top of the last posterior."""
        self.model.partial_fit(prepared[chosen : chosen + 1], np.array([float(clicked)]))


class CobaLinTS:
    """The linear Thompson sampling of coba, with the rows as the features of its actions."""

    def __init__(self, seed: int, *, v: float = 1.0) -> None:
        self.learner = LinTSLearner(v, features=["a"], seed=seed)

    def prepare(self, context: FloatArray, rows: FloatArray) -> list[list[float]]:  # noqa: ARG002
        """Make lists: an action is a list of features."""
        return [list(row) for row in rows.tolist()]

    def decide(self, prepared: list[list[float]]) -> int:
        """Predict an action, and find its place."""
        action, _ = self.learner.predict(None, prepared)
        return next(i for i, each in enumerate(prepared) if each is action)

    def learn(self, prepared: list[list[float]], chosen: int, clicked: bool) -> None:
        """Learn a reward of 0 or 1; the model has no use for the probability."""
        self.learner.learn(None, prepared[chosen], float(clicked), 1.0)


class Vowpal:
    """A contextual bandit of Vowpal Wabbit with the rows as the features of its actions."""

    def __init__(self, seed: int, *, options: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.workspace = Workspace(f"--quiet --random_seed {seed + 1} {options}")
        self.shares: list[float] = []

    def prepare(self, context: FloatArray, rows: FloatArray) -> Any:  # noqa: ARG002
        """Parse the text of the round, off the clock."""
        return self.workspace.parse([_as_text(row) for row in rows.tolist()])

    def decide(self, prepared: Any) -> int:
        """Draw from the probabilities that it predicts."""
        self.shares = self.workspace.predict(prepared)
        sums = np.cumsum(self.shares)
        return int(np.searchsorted(sums, self.rng.random() * sums[-1], side="right"))

    def learn(self, prepared: Any, chosen: int, clicked: bool) -> None:
        """Learn the cost, −1 for a click, with the probability it was shown with."""
        label = f"0:{-float(clicked)}:{self.shares[chosen]}"
        prepared[chosen].set_label_string(label)
        self.workspace.learn(prepared)
        self.workspace.finish_example(prepared)


def _as_text(row: list[float]) -> str:
    return "|x " + " ".join(f"{i}:{value:.6g}" for i, value in enumerate(row))


class Disjoint:
    """A policy of MABWiser: one linear model of the context for each item."""

    def __init__(self, seed: int, items: int, policy: Any) -> None:
        self.items = items
        self.bandit = MAB(list(range(items)), policy, seed=seed)
        self.fitted = False

    def prepare(self, context: FloatArray, rows: FloatArray) -> FloatArray:  # noqa: ARG002
        """Take the context alone: the items are known by name."""
        return context[None, :]

    def decide(self, prepared: FloatArray) -> int:
        """Predict an item; the first, before anything is learnt."""
        return int(self.bandit.predict(prepared)) if self.fitted else 0

    def learn(self, prepared: FloatArray, chosen: int, clicked: bool) -> None:
        """Learn; the first call has to be its fit."""
        learn = self.bandit.partial_fit if self.fitted else self.bandit.fit
        learn([chosen], [int(clicked)], prepared)
        self.fitted = True
