"""What a learner found out, apart from what it believed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.history import Carried, Sites
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
