"""The replay of a log in which the same row occurs again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost.bandit.learner import Learner
from fabcost.bandit.policy import Thompson
from fabcost.bandit.replay import Replay
from fabcost.impressions import FloatArray, as_impressions

IntArray = npt.NDArray[np.intp]


class Repeats:
    """A pool that scores every distinct row once; `fabcost.bandit.pool.Pool` scores every row.

    Impressions of the same row leave in random order, by the same random numbers as there.

    Examples
    --------
    >>> pool = Repeats(np.array([[1.0], [3.0], [1.0]]), rng=np.random.default_rng(0))
    >>> pool.take(np.array([1.0])), sorted(pool.take(np.array([1.0])) for _ in range(2))
    (1, [0, 2])
    """

    def __init__(self, rows: FloatArray, *, rng: np.random.Generator) -> None:
        shuffled = rng.permutation(len(rows))
        distinct, group = _grouped(rows[shuffled])
        self._rows = distinct
        self._order: IntArray = shuffled[np.argsort(group, kind="stable")]
        ends = np.cumsum(np.bincount(group))
        self._next: IntArray = np.concatenate([[0], ends[:-1]])
        self._ends: IntArray = ends
        self._gone = np.zeros(len(distinct))

    def take(self, theta: FloatArray) -> int:
        """The index of an impression with the largest score, which leaves the pool."""
        best = int(np.argmax(self._rows @ theta + self._gone))
        index = int(self._order[self._next[best]])
        self._next[best] += 1
        if self._next[best] == self._ends[best]:
            self._gone[best] = -np.inf
        return index


def _grouped(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct rows, and which of them each row is; compared byte by byte."""
    plain = np.ascontiguousarray(rows + 0.0)  # −0 and 0 are the same number
    whole = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return plain[first], group


def replay(
    X: FloatArray,
    y: FloatArray,
    learner: Learner,
    *,
    policy: Thompson,
    rng: np.random.Generator,
    rounds: int,
) -> Replay:
    """`fabcost.bandit.replay.replay` under Thompson sampling, fast where few rows are distinct.

    Drawn weights give distinct rows distinct scores, so that only copies of a row tie.

    Examples
    --------
    >>> from fabcost import FabCost, Gaussian
    >>> X, y = np.ones((5, 1)), np.array([0.0, 1.0, 0.0, 0.0, 1.0])
    >>> learner = FabCost(Gaussian.isotropic(1))
    >>> rng = np.random.default_rng(0)
    >>> int(replay(X, y, learner, policy=Thompson(), rng=rng, rounds=5).clicks[-1])
    2
    """
    rows, labels = as_impressions(X, y, learner.posterior.dimension)
    if not 1 <= rounds <= labels.size:
        raise ValueError(f"rounds is {rounds} but there are {labels.size} impressions to show")
    ties, draws = rng.spawn(2)
    pool = Repeats(rows, rng=ties)
    order = np.empty(rounds, dtype=np.intp)
    for t in range(rounds):
        order[t] = index = pool.take(policy.weights(learner.posterior, draws))
        learner.observe(rows[index], labels[index])
    return Replay(order, labels[order] > 0)
