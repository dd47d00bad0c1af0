"""The published Laplace bandit at the length of the paper's run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost.bandit.baselines import LaplaceAsPublished
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_label, as_row

#: No |η| = |xᵀθ| above this: there σ(η) = ½ + η/4 to η²/12 of the second term, below 1e-5 of it.
STRAIGHT = 0.01


class RunawayLaplace:
    r"""`LaplaceAsPublished`, in closed form once its weights have shrunk to nothing.

    Each of its fits adds the curvature of *all* rows to the last fit's precision Λ.  The weights
    fall like one over the number of impressions, and when no row's :math:`\eta` exceeds
    `STRAIGHT` the logistic function is a straight line to all of them.  Then Newton's method ends
    after one step, which needs two running sums instead of all rows,

    .. math:: \Lambda \leftarrow \Lambda + \tfrac14 \sum_i x_i x_i^\top, \qquad
              \theta = \Lambda^{-1}\,\tfrac12 \sum_i y_i x_i .

    Parameters
    ----------
    prior
        Of mean zero, as in the paper.

    Examples
    --------
    >>> learner = RunawayLaplace(Gaussian.isotropic(1, variance=100.0))
    >>> for _ in range(500):
    ...     learner.observe([1.0], 0)
    >>> learner.is_straight, bool(abs(learner.posterior.mean[0]) < 0.01)
    (True, True)
    """

    def __init__(self, prior: Gaussian) -> None:
        if prior.mean.any():
            raise ValueError(f"prior has mean {prior.mean} but the published one is zero")
        self.posterior = prior
        self.is_straight = False
        self._refitted = LaplaceAsPublished(prior)
        self._precision = prior.precision
        self._gram = np.zeros((prior.dimension, prior.dimension))
        self._shift = np.zeros(prior.dimension)
        self._longest = 0.0

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Refit all rows but this newest one, around the last fit's precision."""
        row, label = as_row(x, self.posterior.dimension), as_label(y)
        if self.is_straight:
            self._step()
        else:
            self._refitted.observe(row, label)
            self.posterior = self._refitted.posterior
        self._gram += np.outer(row, row)
        self._shift += 0.5 * label * row
        self._longest = max(self._longest, float(np.linalg.norm(row)))
        self._look()

    def _step(self) -> None:
        self._precision = self._precision + 0.25 * self._gram
        mean: FloatArray = np.asarray(np.linalg.solve(self._precision, self._shift), dtype=float)
        factor = np.linalg.cholesky(self._precision)
        self.posterior = Gaussian.from_kernel(mean, np.linalg.inv(factor).T)

    def _look(self) -> None:
        """Straight from the first fit on that leaves every row below the bound."""
        size = float(np.linalg.norm(self.posterior.mean))
        if not self.is_straight and 0.0 < self._longest * size < STRAIGHT:
            self.is_straight = True
            self._precision = self.posterior.precision
