r"""Rounds over blocks: what one block answers to the belief of all, as functions of arrays alone.

The belief is :math:`p(\theta)\prod_k c_k(\theta)`, with a Gaussian contribution of each block, the
product of its sites.  In a round every block gets the belief, visits its own sites once by EP while
those of the others stay as they are, and answers with its new contribution.  Sums are the driver's.
What a block says of its items' own effects is a table, and goes through a file.

Contributions are Gaussians by their natural parameters, which add up where densities are
multiplied.  Items' own effects make the joint precision an arrowhead, :math:`\begin{pmatrix}A &
C^\top\\ C & \mathrm{diag}\,d\end{pmatrix}`: an item meets the weights, but no other item.
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

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Rows
from fabcost.inference.ep import sweep
from fabcost.inference.history import Carried, Sites
from fabcost.inference.logistic import log_likelihood, quadratic_sites
from fabcost.inference.own.directory import NOT_OWNED, Owned
from fabcost.offline.fit import blocks
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.encoding import CountedRows
from fabcost.offline.fit.folders import Folder
from fabcost.sparse import SparseRows

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


class BlockAnswer(NamedTuple):
    """Of a block: its contribution, a sum over its rows, and whether its sites had been lost.

    The sum is that of log Cᵢ in a round of EP, else the log-likelihood.  ``own`` has Στᵢ, Σνᵢ and
    Στᵢxᵢ of each of its items, if they have effects of their own.
    """

    contribution: Factor
    value: float
    begun: bool
    own: FloatArray | None = None


class Visit(NamedTuple):
    """A block in a round of EP, as a task for any process; the belief is that of the weights."""

    folder: Folder
    block: RowBlock
    round: int
    belief: Factor
    damping: float


class Look(NamedTuple):
    """A block and a point, as a task for any process; ``mark`` names the files of the effects."""

    folder: Folder
    block: RowBlock
    at: FloatArray
    mark: str


def expanded(rows: CountedRows, at: Point) -> tuple[Sites, BlockAnswer]:
    """The log-likelihood of rows at a point, and its quadratic expansion there as sites.

    Examples
    --------
    >>> from fabcost.impressions import Outcomes
    >>> rows = CountedRows(np.ones((1, 1)), Outcomes(np.ones(1)))
    >>> expanded(rows, Point(np.zeros(1)))[1].contribution.shift
    array([0.5])
    """
    labels, counts = rows.outcomes
    eta = rows.X @ at.weights
    if at.effects is not None:
        eta += at.effects[rows.codes]
    sites = Sites(*quadratic_sites(eta, labels, counts))
    return sites, _answer(rows, sites, log_likelihood(eta, labels, counts), begun=True)


def refined(
    rows: CountedRows,
    belief: Factor,
    sites: Sites | None,
    damping: float,
    own: FloatArray | None = None,
) -> tuple[Sites, BlockAnswer]:
    """One visit of EP to each site of a block, against the belief of all.

    ``own`` has dᵢ, hᵢ and cᵢ of the block's items.  Where there are no sites yet, or they were
    lost, they begin as the quadratic expansion of the log-likelihood at the mean; then the belief
    does not contain them, and none is visited.

    Examples
    --------
    >>> from fabcost.impressions import Outcomes
    >>> rows = CountedRows(np.ones((1, 1)), Outcomes(np.ones(1)))
    >>> prior = Factor(np.eye(1), np.zeros(1))
    >>> sites, answer = refined(rows, prior, None, 1.0)
    >>> sites, answer = refined(rows, prior.plus(answer.contribution), sites, 1.0)
    >>> prior.plus(answer.contribution).gaussian().mean.round(2)
    array([0.41])
    """
    known = belief.gaussian()
    if sites is None:
        effects = None if own is None else effects_given(own, known.mean)
        begun, answer = expanded(rows, Point(known.mean, effects))
        return begun, answer._replace(value=math.nan)
    labels, counts = rows.outcomes
    new = Sites(sites.precision.copy(), sites.shift.copy())
    swept = sweep(
        Carried.of(known),
        rows.X,
        labels,
        new,
        exact=True,
        tolerance=1.0,
        max_sweeps=1,
        owned=NOT_OWNED if own is None else Owned(rows.codes, own.copy()),
        counts=counts,
    )
    if damping < 1.0:
        new = Sites(*(old + damping * (to - old) for old, to in zip(sites, new, strict=True)))
    return new, _answer(rows, new, swept.log_factors, begun=False)


def _answer(rows: CountedRows, sites: Sites, value: float, *, begun: bool) -> BlockAnswer:
    """Στᵢxᵢxᵢᵀ and Σνᵢxᵢ, and the same by items."""
    own = None if rows.items is None else _by_items(rows, sites)
    return BlockAnswer(Factor(*_summed(rows.X, sites)), value, begun, own)


def _summed(X: Rows, sites: Sites) -> tuple[FloatArray, FloatArray]:
    weights = X.shape[1]
    if isinstance(X, SparseRows):
        gram = kernels.sparse_gram(*X.arrays, sites.precision, weights)
        return gram, X.sum(sites.shift)
    precision, shift = np.zeros((weights, weights)), np.zeros(weights)
    for start in range(0, len(X), ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        precision += (X[some] * sites.precision[some, None]).T @ X[some]
        shift += X[some].T @ sites.shift[some]
    return 0.5 * (precision + precision.T), shift


def _by_items(rows: CountedRows, sites: Sites) -> FloatArray:
    X, codes, many = rows.X, rows.codes, len(rows.items.dictionary)
    if isinstance(X, SparseRows):
        row = np.repeat(np.arange(len(X)), np.diff(X.starts))
        places, weights = codes[row] * X.weights + X.columns, many * X.weights
        crossed = np.bincount(places, sites.precision[row] * X.values, weights)
        sums = [np.bincount(codes, each, many) for each in sites]
        return np.column_stack([*sums, crossed.reshape(many, -1)])
    parts = (*sites, *(column * sites.precision for column in X.T))
    return np.column_stack([np.bincount(codes, each, many) for each in parts])


def look(task: Look) -> BlockAnswer:
    """`expanded` of a block."""
    folder, block, at, mark = task
    rows = blocks.read(folder, block.name)
    effects = None if rows.items is None else blocks.of_items(folder, f"effects-{mark}", block)
    with one_thread():
        return _put_aside(folder, block, mark, expanded(rows, Point(at, effects))[1])


def visit(task: Visit) -> BlockAnswer:
    """`refined` with the sites of the round before, which stay until the round after is done.

    A process that dies before the end has changed nothing: the next one does the same again.
    """
    folder, block, number, belief, damping = task
    rows = blocks.read(folder, block.name)
    own = None if rows.items is None else blocks.of_items(folder, f"own-{number - 1}", block)
    found = folder.read_rows(_sites_of(block, number - 1))
    sites = None if found is None else Sites(**found)
    with one_thread():
        new, answer = refined(rows, belief, sites, damping, own)
    answer = _put_aside(folder, block, str(number), answer)
    folder.write_rows(_sites_of(block, number), new._asdict())
    folder.remove(_sites_of(block, number - 2))
    return answer


def _put_aside(folder: Folder, block: RowBlock, mark: str, answer: BlockAnswer) -> BlockAnswer:
    """The answer without its table of items, which becomes a file."""
    if answer.own is not None:
        folder.write_rows(f"{block.name}-own-{mark}", {"table": answer.own})
    return answer._replace(own=None)


def _sites_of(block: RowBlock, number: int) -> str:
    return f"{block.name}-sites-{number}"
