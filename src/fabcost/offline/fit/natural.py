r"""Gaussians by their natural parameters, which add up where densities are multiplied.

Items' own effects make the joint precision an arrowhead, :math:`\begin{pmatrix}A & C^\top\\ C &
\mathrm{diag}\,d\end{pmatrix}`: an item meets the weights, but no other item.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray

ROWS_AT_ONCE = 8192


class Factor(NamedTuple):
    """A Gaussian, or a factor of one, by its natural parameters Λ and Λμ.

    Examples
    --------
    >>> Factor(np.array([[4.0]]), np.array([8.0])).gaussian()
    Gaussian(mean=array([2.]), sd=array([0.5]))
    """

    precision: FloatArray
    shift: FloatArray

    @classmethod
    def of(cls, belief: Gaussian) -> Factor:
        """Those of a belief."""
        return cls(belief.precision, belief.precision @ belief.mean)

    def plus(self, other: Factor) -> Factor:
        """The product of both factors."""
        return Factor(self.precision + other.precision, self.shift + other.shift)

    def gaussian(self) -> Gaussian:
        """The belief, through a Cholesky factor of the precision with a unit diagonal."""
        scale = 1.0 / np.sqrt(self.precision.diagonal())
        factor = np.linalg.cholesky(scale[:, None] * self.precision * scale)
        root = scale[:, None] * np.linalg.inv(factor).T
        return Gaussian.from_root(root @ (root.T @ self.shift), root)


class Point(NamedTuple):
    """Weights and, if items have any, their own effects."""

    weights: FloatArray
    effects: FloatArray | None = None

    def towards(self, other: Point, share: float) -> Point:
        """So much of the way to another."""
        weights = self.weights + share * (other.weights - self.weights)
        if self.effects is None or other.effects is None:
            return Point(weights)
        return Point(weights, self.effects + share * (other.effects - self.effects))


@dataclass(frozen=True, eq=False)
class Joint:
    """What is known of weights and of items' own effects together.

    Attributes
    ----------
    weights
        A, and the shift of the weights.
    own
        dᵢ, hᵢ and cᵢ of each item, as in `fabcost.inference.own.effects.OwnEffects`; None if they
        have no effects.

    Examples
    --------
    >>> joint = Joint(Factor(np.eye(1) * 2.0, np.ones(1)), np.array([[2.0, 3.0, 1.0]]))
    >>> joint.belief
    Gaussian(mean=array([-0.33333333]), sd=array([0.81649658]))
    >>> joint.mean.effects.round(3), joint.distance(joint.mean)
    (array([1.667]), 0.0)
    """

    weights: Factor
    own: FloatArray | None = None

    @cached_property
    def marginal(self) -> Factor:
        """Of the weights: A − Σ cᵢcᵢᵀ/dᵢ, and their shift less Σ cᵢhᵢ/dᵢ."""
        if self.own is None:
            return self.weights
        precision, shift = self.weights.precision.copy(), self.weights.shift.copy()
        for start in range(0, len(self.own), ROWS_AT_ONCE):
            some = self.own[start : start + ROWS_AT_ONCE]
            scaled = some[:, 2:] / some[:, :1]
            precision -= scaled.T @ some[:, 2:]
            shift -= scaled.T @ some[:, 1]
        return Factor(0.5 * (precision + precision.T), shift)

    @cached_property
    def belief(self) -> Gaussian:
        """Of the weights."""
        return self.marginal.gaussian()

    @cached_property
    def mean(self) -> Point:
        """The most probable weights and effects."""
        at = self.belief.mean
        return Point(at, None if self.own is None else effects_given(self.own, at))

    def distance(self, point: Point) -> float:
        """Of the mean from a point, in sds."""
        away = self.belief.whiten(point.weights)
        squared = float(away @ away)
        if self.own is not None and point.effects is not None:
            rest = point.effects - effects_given(self.own, point.weights)
            squared += float(self.own[:, 0] @ (rest * rest))
        return math.sqrt(squared)

    @property
    def log_volume(self) -> float:
        """Half the log determinant of the covariance."""
        spread = self.belief.log_determinant
        return 0.5 * (spread if self.own is None else spread - float(np.log(self.own[:, 0]).sum()))


def effects_given(own: FloatArray, weights: FloatArray) -> FloatArray:
    """Means of items' own effects given the weights: (hᵢ − cᵢᵀθ)/dᵢ.

    Examples
    --------
    >>> effects_given(np.array([[2.0, 3.0, 1.0]]), np.array([1.0]))
    array([1.])
    """
    return np.asarray((own[:, 1] - own[:, 2:] @ weights) / own[:, 0])


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums have the same bits in every process, however many threads each may use."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
