r"""Rounds over blocks: what one block answers to the belief of all, as functions of arrays alone.

The belief is :math:`p(\theta)\prod_k c_k(\theta)`, with a Gaussian contribution of each block, the
product of its sites.  In a round every block gets the belief, visits its own sites once by EP while
those of the others stay as they are, and answers with its new contribution.  Sums are the driver's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.ep import sweep
from fabcost.inference.history import Carried, Sites
from fabcost.inference.logistic import log_likelihood, quadratic_sites
from fabcost.offline.fit import blocks
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.encoding import CountedRows
from fabcost.offline.fit.folders import Folder

_ROWS_AT_ONCE = 8192


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


class Curve(NamedTuple):
    """Log-likelihood of some rows at a point, its gradient and minus its Hessian."""

    value: float
    gradient: FloatArray
    curvature: FloatArray

    def plus(self, other: Curve) -> Curve:
        """Of the rows of both."""
        value, gradient = self.value + other.value, self.gradient + other.gradient
        return Curve(value, gradient, self.curvature + other.curvature)


class BlockAnswer(NamedTuple):
    """Of a block in a round of EP: its contribution, Σ log Cᵢ, and whether sites had been lost."""

    contribution: Factor
    log_factors: float
    begun: bool


class Visit(NamedTuple):
    """A block in a round of EP, as a task for any process."""

    folder: Folder
    block: RowBlock
    round: int
    belief: Factor
    damping: float


class Look(NamedTuple):
    """A block and a point, as a task for any process."""

    folder: Folder
    block: RowBlock
    at: FloatArray


def curve(rows: CountedRows, at: FloatArray) -> Curve:
    """The log-likelihood of rows about a point.

    Examples
    --------
    >>> from fabcost.impressions import Outcomes
    >>> curve(CountedRows(np.ones((1, 1)), Outcomes(np.ones(1))), np.zeros(1)).gradient
    array([0.5])
    """
    with one_thread():
        labels, counts = rows.outcomes
        eta = rows.X @ at
        sites = Sites(*quadratic_sites(eta, labels, counts))
        precision, shift = _contribution(rows.X, sites)
        return Curve(log_likelihood(eta, labels, counts), shift - precision @ at, precision)


def refined(
    rows: CountedRows, belief: Factor, sites: Sites | None, damping: float
) -> tuple[Sites, BlockAnswer]:
    """One visit of EP to each site of a block, against the belief of all.

    Where there are no sites yet, or they were lost, they begin as the quadratic expansion of the
    log-likelihood at the mean; then the belief does not contain them, and none is visited.

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
    with one_thread():
        labels, counts = rows.outcomes
        if sites is None:
            eta = rows.X @ belief.gaussian().mean
            begun = Sites(*quadratic_sites(eta, labels, counts))
            return begun, BlockAnswer(_contribution(rows.X, begun), math.nan, begun=True)
        new = Sites(sites.precision.copy(), sites.shift.copy())
        swept = sweep(
            Carried.of(belief.gaussian()),
            rows.X,
            labels,
            new,
            exact=True,
            tolerance=1.0,
            max_sweeps=1,
            counts=counts,
        )
        if damping < 1.0:
            new = Sites(*(old + damping * (to - old) for old, to in zip(sites, new, strict=True)))
        return new, BlockAnswer(_contribution(rows.X, new), swept.log_factors, begun=False)


def _contribution(X: FloatArray, sites: Sites) -> Factor:
    """Σ τᵢ xᵢxᵢᵀ and Σ νᵢ xᵢ."""
    precision, shift = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for start in range(0, len(X), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        precision += (X[some] * sites.precision[some, None]).T @ X[some]
        shift += X[some].T @ sites.shift[some]
    return Factor(0.5 * (precision + precision.T), shift)


def look(task: Look) -> Curve:
    """`curve` of a block."""
    return curve(blocks.read(task.folder, task.block.name), task.at)


def visit(task: Visit) -> BlockAnswer:
    """`refined` with the sites of the round before, which stay until the round after is done.

    A process that dies before the end has changed nothing: the next one does the same again.
    """
    folder, block, number, belief, damping = task
    rows = blocks.read(folder, block.name)
    found = folder.read_rows(_sites_of(block, number - 1))
    sites = None if found is None else Sites(**found)
    new, answer = refined(rows, belief, sites, damping)
    folder.write_rows(_sites_of(block, number), new._asdict())
    folder.remove(_sites_of(block, number - 2))
    return answer


def _sites_of(block: RowBlock, number: int) -> str:
    return f"{block.name}-sites-{number}"


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums have the same bits in every process, however many threads each may use."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
