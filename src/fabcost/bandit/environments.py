"""Environments whose true click probabilities are known, so that regret can be measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fabcost.impressions import FloatArray


class Round(NamedTuple):
    """One visitor: rows to choose from, their click probabilities, and a uniform number.

    The visitor clicks on row j if ``uniform < probability[j]``: two policies that meet the same
    round and choose the same row see the same outcome.
    """

    rows: FloatArray
    probability: FloatArray
    uniform: float

    def clicked(self, index: int) -> bool:
        """Whether this visitor clicks on row ``index``."""
        return bool(self.uniform < self.probability[index])


@dataclass(frozen=True, eq=False)
class FreshCandidates:
    """New candidates every round, with standard normal features beside a constant.

    Parameters
    ----------
    theta
        True weights; the first is that of the constant.
    candidates
        Rows to choose from in each round.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> environment = FreshCandidates.random(4, candidates=20, rng=rng)
    >>> visitor = next(environment.rounds(rng))
    >>> visitor.rows.shape, visitor.probability.shape
    ((20, 4), (20,))
    """

    theta: FloatArray
    candidates: int = 20

    @classmethod
    def random(
        cls,
        weights: int,
        *,
        candidates: int,
        rng: np.random.Generator,
        intercept: float = -4.0,
        weight_sd: float = 0.5,
    ) -> FreshCandidates:
        """Weights drawn at random, with the given intercept."""
        theta = rng.normal(scale=weight_sd, size=weights)
        theta[0] = intercept
        return cls(theta, candidates)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """An endless stream of visitors."""
        while True:
            rows = rng.standard_normal((self.candidates, self.theta.size))
            rows[:, 0] = 1.0
            yield Round(rows, expit(rows @ self.theta), float(rng.random()))


@dataclass(frozen=True, eq=False)
class FixedCatalogue:
    """The same items every round, crossed with a context: candidates do not vary by themselves.

    A row is (1, context, item, context × item), its probability σ(θᵀ row).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> catalogue = FixedCatalogue.random(items=200, item_features=3, contexts=2, rng=rng)
    >>> next(catalogue.rounds(rng)).rows.shape
    (200, 12)
    """

    items: FloatArray
    theta: FloatArray
    contexts: int

    @classmethod
    def random(
        cls,
        *,
        items: int,
        item_features: int,
        contexts: int,
        rng: np.random.Generator,
        intercept: float = -4.0,
        weight_sd: float = 0.5,
    ) -> FixedCatalogue:
        """Items and weights drawn at random."""
        theta = rng.normal(scale=weight_sd, size=(1 + contexts) * (1 + item_features))
        theta[0] = intercept
        return cls(rng.standard_normal((items, item_features)), theta, contexts)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """An endless stream of visitors, each with a context."""
        while True:
            context = rng.standard_normal(self.contexts)
            rows = crossed(context, self.items)
            yield Round(rows, expit(rows @ self.theta), float(rng.random()))


def crossed(context: FloatArray, items: FloatArray) -> FloatArray:
    """Rows (1, context, item, context × item), one for each item.

    Examples
    --------
    >>> crossed(np.array([2.0]), np.array([[3.0], [5.0]]))
    array([[ 1.,  2.,  3.,  6.],
           [ 1.,  2.,  5., 10.]])
    """
    count, features = items.shape
    repeated = np.broadcast_to(context, (count, context.size))
    products = (repeated[:, :, None] * items[:, None, :]).reshape(count, context.size * features)
    return np.column_stack([np.ones(count), repeated, items, products])
