"""What a learner found out, apart from what it believed before.

Of the weights, and of the effects of items that another learner may show as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.history import Carried, Sites
from fabcost.inference.own.directory import Key
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.sparse.memory import absorb_rows

#: Of the prior's precision along a direction: less is rounding, not information.
LEAST = 1e-9


class Information(NamedTuple):
    r"""Directions, each with a site, as if they were rows of impressions.

    It is :math:`\prod_k \exp(\nu_k u_k^\top\theta - \tfrac12\lambda_k (u_k^\top\theta)^2)`.

    Examples
    --------
    >>> found = Information.gained(Gaussian([0.0], [[4.0]]), Gaussian([3.0], [[1.0]]))
    >>> found.on(Gaussian([0.0], [[4.0]]), 1.0)
    Gaussian(mean=array([3.]), sd=array([1.]))
    """

    rows: FloatArray
    sites: Sites

    @classmethod
    def gained(cls, before: Gaussian, after: Gaussian) -> Information:
        r"""The quotient of two beliefs, without directions in which the later one knows less.

        With roots :math:`R_0, R_1` and :math:`R_0^{-1}R_1 = U S V^\top`, the rows are
        :math:`U^\top R_0^{-1}`, along which the precision grew from 1 to :math:`1/S^2`.
        """
        both = np.linalg.solve(before.root, np.column_stack([after.root, np.eye(before.dimension)]))
        left, singular, _ = np.linalg.svd(both[:, : before.dimension])
        precision = 1.0 / (singular * singular)
        rows = left.T @ both[:, before.dimension :]
        shift = precision * (rows @ after.mean) - rows @ before.mean
        told = precision - 1.0 > LEAST
        sites = Sites(
            np.ascontiguousarray(precision[told] - 1.0), np.ascontiguousarray(shift[told])
        )
        return cls(np.ascontiguousarray(rows[told]), sites)

    def on(self, prior: Gaussian, discount: float) -> Gaussian:
        """The belief that a prior becomes by this information, raised to the power ``discount``.

        Examples
        --------
        >>> told = Information(np.ones((1, 1)), Sites(np.array([3.0]), np.array([6.0])))
        >>> told.on(Gaussian.isotropic(1), 0.5).mean
        array([1.2])
        """
        carried = Carried.of(prior)
        sites = Sites(discount * self.sites.precision, discount * self.sites.shift)
        absorb_rows(carried, self.rows, sites)
        return carried.gaussian(keep=True)

    def widened(self, more: int) -> Information:
        """For so many more weights, of which it says nothing.

        Examples
        --------
        >>> told = Information(np.ones((1, 1)), Sites.flat(1))
        >>> told.widened(1).rows
        array([[1., 0.]])
        """
        return self._replace(rows=np.pad(self.rows, ((0, 0), (0, more))))


def marginal(belief: Gaussian, places: Sequence[int]) -> Gaussian:
    """What a belief says of some of its weights.

    Examples
    --------
    >>> marginal(Gaussian([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]]), [1])
    Gaussian(mean=array([1.]), sd=array([1.]))
    """
    some = np.array(places, dtype=np.intp)
    _, upper = np.linalg.qr(belief.root[some].T)
    return Gaussian.from_root(belief.mean[some], upper.T)


class InheritedEffects(NamedTuple):
    r"""Rows of another learner's table of own effects, for the items of the same keys here.

    With the discount δ, and :math:`\tau_0^2` and :math:`\tau^2` the variances there and here, an
    item begins with :math:`d_i' = \delta d_i + \tau^{-2} - \delta\tau_0^{-2}`, :math:`\delta h_i`
    and :math:`\delta c_i`: the sites of elsewhere to the power δ.

    Attributes
    ----------
    keys
        Whose each row is.
    rows
        dᵢ, hᵢ and cᵢ there; of weights that came later nothing is said.
    before
        τ₀², of effects there before anything was known.
    variance
        τ², that of here.

    Examples
    --------
    >>> there = OwnEffects(1, 4.0)
    >>> slots = there.enter(["ad-1"])
    >>> there.rows[slots] = [2.0, 3.0, 0.5]
    >>> found = InheritedEffects.of(there, Gaussian.isotropic(1), [0], variance=1.0)
    >>> found.discounted(0.1)
    array([[1.175, 0.3  , 0.05 ]])
    """

    keys: tuple[Key, ...]
    rows: FloatArray
    before: float
    variance: float

    @classmethod
    def of(
        cls, own: OwnEffects, belief: Gaussian, places: Sequence[int], variance: float
    ) -> InheritedEffects:
        """Of items of which something is known, beside some weights; others are integrated out."""
        rows = _beside(own.rows, belief, places)
        known = (rows[:, 0] * own.variance > 1.0 + LEAST).tolist()
        told = {
            key: place for place, key in enumerate(own.keys) if key is not None and known[place]
        }
        return cls(tuple(told), rows[list(told.values())], own.variance, variance)

    def discounted(self, discount: float) -> FloatArray:
        """The rows with which the items begin here."""
        rows = discount * self.rows
        rows[:, 0] += self._less(discount)
        return rows

    def coupling(self, discount: float, weights: int) -> Information:
        r"""What the weights keep beyond δ of their marginal precision: Σ wᵢ cᵢ cᵢᵀ.

        :math:`w_i = \delta/d_i - \delta^2/d_i'`, as when a belief ages.  It is negative where
        :math:`\tau^2 > \tau_0^2/\delta`, and then left out.
        """
        precision = self.rows[:, 0]
        share = discount * self._less(discount) / (precision * self.discounted(discount)[:, 0])
        told = share > 0.0
        cross = self.rows[told, 2:]
        rows = np.pad(cross, ((0, 0), (0, weights - cross.shape[1])))
        return Information(rows, Sites(share[told], share[told] * self.rows[told, 1]))

    def _less(self, discount: float) -> float:
        return 1.0 / self.variance - discount / self.before

    def put(self, own: OwnEffects, discount: float) -> None:
        """Let those of the items that are known there begin with what is known of them."""
        known = [place for place, key in enumerate(self.keys) if key in own]
        owned = own.written(own.enter([self.keys[place] for place in known]))
        columns = slice(0, self.rows.shape[1])
        owned.table[owned.slots, columns] = self.discounted(discount)[known]


def _beside(rows: FloatArray, belief: Gaussian, places: Sequence[int]) -> FloatArray:
    r"""The rows of a table beside some weights: exact for each item together with these.

    With the others given these, :math:`\mathcal N(m + B\theta, S)`, an effect given these has the
    mean :math:`(h - c_r^\top m - (c + B^\top c_r)^\top\theta)/d` and the variance
    :math:`1/d + c_r^\top S c_r/d^2`.  That this is one m for all items is not kept.
    """
    stay = np.array(places, dtype=np.intp)
    rest = np.setdiff1d(np.arange(belief.dimension), stay)
    precision, shift, cross = rows[:, 0], rows[:, 1], rows[:, 2:]
    if rest.size == 0:
        return np.column_stack([precision, shift, cross[:, stay]])
    covariance = belief.covariance
    slope = np.linalg.solve(covariance[np.ix_(stay, stay)], covariance[np.ix_(stay, rest)])
    left = covariance[np.ix_(rest, rest)] - covariance[np.ix_(rest, stay)] @ slope
    others = cross[:, rest]
    middle = belief.mean[rest] - slope.T @ belief.mean[stay]
    variance = 1.0 / precision + np.einsum("ij,jk,ik->i", others, left, others) / precision**2
    share = 1.0 / (variance * precision)
    beside = cross[:, stay] + others @ slope.T
    return np.column_stack(
        [1.0 / variance, share * (shift - others @ middle), share[:, None] * beside]
    )
