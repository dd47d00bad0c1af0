"""Gaussian sites, one for each impression, and their product with a prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fabcost import kernels
from fabcost.gaussian import LANE, Gaussian, at_a_line
from fabcost.impressions import FloatArray, read_only

_ROWS_AT_ONCE = 8192
_WORST_CONDITION = 1e10


class Sites(NamedTuple):
    """τᵢ and νᵢ of the sites exp(νᵢ xᵢᵀθ − τᵢ (xᵢᵀθ)²/2), each along its own row."""

    precision: FloatArray
    shift: FloatArray

    @classmethod
    def flat(cls, count: int) -> Sites:
        """Sites that say nothing yet."""
        return cls(np.zeros(count), np.zeros(count))


class Carried(NamedTuple):
    """A belief in the form that the kernels change in place."""

    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, belief: Gaussian) -> Carried:
        """A copy of ``belief`` whose root is padded to whole vector registers."""
        weights = belief.dimension
        root = at_a_line(weights, -(-weights // LANE) * LANE)
        root[:, :weights] = belief.root
        return cls(belief.mean.copy(), root)

    def gaussian(self, *, keep: bool = False) -> Gaussian:
        """The belief as a value; if it is the last one, with the arrays themselves."""
        return Gaussian.from_kernel(self.mean, self.root[:, : self.mean.size], keep=keep)


def joined(belief: Gaussian, other: Gaussian) -> Gaussian:
    """Both side by side, independent of each other.

    Examples
    --------
    >>> joined(Gaussian([1.0], [[4.0]]), Gaussian.isotropic(1))
    Gaussian(mean=array([1., 0.]), sd=array([2., 1.]))
    """
    old, weights = belief.dimension, belief.dimension + other.dimension
    root = np.zeros((weights, weights))
    root[:old, :old] = belief.root
    root[old:, old:] = other.root
    return Gaussian.from_kernel(np.concatenate([belief.mean, other.mean]), root)


def product(prior: Gaussian, X: FloatArray, sites: Sites) -> Gaussian:
    r"""Prior times sites, normalised.

    :math:`\propto p(\theta)\prod_i \exp(\nu_i x_i^\top\theta - \tfrac12\tau_i (x_i^\top\theta)^2)`.

    Examples
    --------
    >>> sites = Sites(np.array([3.0]), np.array([6.0]))
    >>> product(Gaussian.isotropic(1), np.array([[1.0]]), sites)
    Gaussian(mean=array([1.5]), sd=array([0.5]))
    """
    at_once = _product_at_once(prior, X, sites)
    if at_once is not None:
        return at_once
    carried = Carried.of(prior)
    kernels.absorb(*carried, read_only(X), *sites, 0, X.shape[0])
    return carried.gaussian(keep=True)


def _product_at_once(prior: Gaussian, X: FloatArray, sites: Sites) -> Gaussian | None:
    """Through one weighted Gram matrix; None where its rounding would show.

    In the prior's own coordinates the precision is I + R₀ᵀ XᵀTX R₀.
    """
    gram, shift = _weighted_gram(prior, X, sites)
    precision = np.eye(prior.dimension) + prior.root.T @ gram @ prior.root
    try:
        factor = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        return None
    spread = factor.diagonal()
    if not (spread.max() / spread.min()) ** 2 < _WORST_CONDITION:
        return None
    inverse = np.linalg.inv(factor)
    root = prior.root @ inverse.T
    return Gaussian.from_root(prior.mean + root @ (inverse @ (prior.root.T @ shift)), root)


def _weighted_gram(prior: Gaussian, X: FloatArray, sites: Sites) -> tuple[FloatArray, FloatArray]:
    gram = np.zeros((prior.dimension, prior.dimension))
    shift = np.zeros(prior.dimension)
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        chunk = slice(start, start + _ROWS_AT_ONCE)
        rows, precision = X[chunk], sites.precision[chunk]
        gram += (rows * precision[:, None]).T @ rows
        shift += rows.T @ (sites.shift[chunk] - precision * (rows @ prior.mean))
    return gram, shift
