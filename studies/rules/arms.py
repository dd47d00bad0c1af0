"""One model for each arm: a classifier that is only told whether it was right."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from fabcost import Gaussian
from fabcost.bandit.bandit import Learner, choose
from fabcost.bandit.rules import Policy
from fabcost.impressions import FloatArray
from studies.rules.worlds import ROUNDS

#: Variance of all weights, unless a game has another.
OF_ARMS = 1.0
MADE, DIGITS = "arms: made, 5 classes", "arms: digits"


def _made() -> tuple[FloatArray, FloatArray]:
    X, label = datasets.make_classification(
        5_000, 20, n_informative=10, n_classes=5, class_sep=1.0, random_state=5
    )
    return X, label


CLASSES: dict[str, Callable[[], tuple[FloatArray, FloatArray]]] = {
    MADE: _made,
    DIGITS: lambda: datasets.load_digits(return_X_y=True),
}


@cache
def labelled(title: str) -> tuple[FloatArray, FloatArray]:
    """Standardised rows after a constant, and the class of each."""
    X, label = CLASSES[title]()
    return np.column_stack([np.ones(len(X)), StandardScaler().fit_transform(X)]), label


def right(title: str, policy: Policy, seed: int, learner: Callable[[int], Learner]) -> FloatArray:
    """Whether each choice was right.

    The arms know nothing of each other: their log-odds are independent, so a decision is one over
    as many weights as there are arms.
    """
    X, label = labelled(title)
    visitors, choices = np.random.default_rng(seed).spawn(2)
    arms = [learner(X.shape[1]) for _ in range(int(label.max()) + 1)]
    found = np.empty(ROUNDS)
    for t, place in enumerate(visitors.integers(len(X), size=ROUNDS)):
        laws = [arm.posterior.marginal(X[place]) for arm in arms]
        centre = np.array([law.mean for law in laws])
        root = np.diag(np.sqrt([law.variance for law in laws]))
        belief, rows = Gaussian.from_root(centre, root), np.eye(len(arms))
        index = choose(belief, policy, rows, rng=choices).index
        found[t] = label[place] == index
        arms[index].observe(X[place], bool(found[t]))
    return found
