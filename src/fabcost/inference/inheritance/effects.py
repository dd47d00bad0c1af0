"""What a learner has from another of the effects of items that both may show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.history import Sites
from fabcost.inference.inheritance.information import LEAST, Information
from fabcost.inference.own.directory import Key
from fabcost.inference.own.effects import OwnEffects


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
