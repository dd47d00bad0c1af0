"""Learners beside FAB-COST: what its bandit is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import Tally, as_label, as_outcomes, as_row, read_only
from fabcost.inference import laplace
from fabcost.inference.history import Carried, History
from fabcost.inference.schedule import Refresh


class BatchLaplace:
    """Laplace, refitted from the prior on all impressions whenever the schedule says.

    Examples
    --------
    >>> learner = BatchLaplace(Gaussian.isotropic(1, variance=4.0))
    >>> learner.observe([1.0], 1)
    >>> learner.posterior == laplace.fit(learner.prior, [[1.0]], [1]).posterior
    True
    """

    def __init__(self, prior: Gaussian, *, refit: Refresh | None = None) -> None:
        self.prior = prior
        self.posterior = prior
        self.seen = 0
        self._schedule = Refresh.always() if refit is None else refit
        self._next = self._schedule.next_after(0)
        self._history = History(prior.dimension, None)

    def observe(self, x: npt.ArrayLike, y: Any, *, weight: float = 1.0) -> None:
        """Keep one impression, and refit if it is time."""
        row, label = as_row(x, self.prior.dimension), as_label(y)
        counts = None if weight == 1.0 else as_outcomes([label], weight, 1).counts
        if weight != 0.0:
            self._history.room()
            self._history.append(row, label, 1, counts=counts)
        self.seen += 1
        if self.seen != self._next:
            return
        if self._schedule.is_due(self.seen):
            X, labels, _ = self._history.kept()
            told = self._history.counts_between(0, self._history.count)
            outcomes = labels if told is None else Tally(told[:, 0], told.sum(axis=1))
            found = laplace.fit(self.prior, X, outcomes, start=self.posterior.mean)
            self.posterior = found.posterior
        self._next = self._schedule.next_after(self.seen)


class OnlineLaplace:
    """Laplace with the last posterior as the prior of each impression (Chapelle & Li).

    Examples
    --------
    >>> learner = OnlineLaplace(Gaussian.isotropic(2), covariance="diagonal")
    >>> learner.observe([1.0, 1.0], 0)
    >>> float(learner.posterior.covariance[0, 1])
    0.0
    """

    def __init__(self, prior: Gaussian, *, covariance: laplace.Covariance = "full") -> None:
        self.posterior = prior
        self.covariance = covariance

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression."""
        row = as_row(x, self.posterior.dimension)[None, :]
        label = np.array([as_label(y)])
        self.posterior = laplace.update(self.posterior, row, label, covariance=self.covariance)


class LaplaceAsPublished:
    r"""The baseline of the paper's click figure, defects included: see `laplace.fit_as_published`.

    Each of its fits adds the curvature of *all* rows to the last fit's precision Λ.  The weights
    fall like one over the number of impressions, and once no row's :math:`|x^\top\theta|` exceeds
    ``straight`` the logistic function is a straight line to all of them.  Then Newton's method ends
    after one step, which needs two running sums instead of all rows,

    .. math:: \Lambda \leftarrow \Lambda + \tfrac14 \sum_i x_i x_i^\top, \qquad
              \theta = \Lambda^{-1}\,\tfrac12 \sum_i y_i x_i .

    Parameters
    ----------
    prior
        The belief before the first impression; of mean zero, as in the paper, if ``straight``.
    first_fit
        Impressions before the first fit.
    straight
        Bound below which that step is taken; 0 for never.  At 0.01 the line is off by less than
        1e-5 of its slope's part.

    Examples
    --------
    >>> learner = LaplaceAsPublished(Gaussian.isotropic(1), straight=0.01)
    >>> learner.observe([1.0], 1)
    >>> learner.posterior == Gaussian.isotropic(1)
    True
    >>> for _ in range(500):
    ...     learner.observe([1.0], 0)
    >>> learner.is_straight, bool(abs(learner.posterior.mean[0]) < 0.01)
    (True, True)
    """

    def __init__(self, prior: Gaussian, *, first_fit: int = 10, straight: float = 0.0) -> None:
        if straight and prior.mean.any():
            raise ValueError(f"prior has mean {prior.mean} but the published one is zero")
        self.prior = prior
        self.posterior = prior
        self.is_straight = False
        self._first_fit = first_fit
        self._straight = straight
        self._history = History(prior.dimension, None)
        self._precision = prior.precision
        self._gram = np.zeros((prior.dimension, prior.dimension))
        self._shift = np.zeros(prior.dimension)
        self._longest = 0.0

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Refit all rows but this newest one, around the last fit's precision."""
        row, label = as_row(x, self.prior.dimension), as_label(y)
        if self.is_straight:
            self._step()
        else:
            self._refit()
            self._history.room()
            self._history.append(row, label, 1)
        if self._straight:
            self._gram += np.outer(row, row)
            self._shift += 0.5 * label * row
            self._longest = max(self._longest, float(np.linalg.norm(row)))
            self._look()

    def _refit(self) -> None:
        X, labels, _ = self._history.kept()
        if labels.size >= self._first_fit:
            self.posterior = laplace.refit_as_published(
                self.prior, self.posterior, X, labels
            ).posterior

    def _step(self) -> None:
        self._precision = self._precision + 0.25 * self._gram
        mean = np.asarray(np.linalg.solve(self._precision, self._shift), dtype=float)
        factor = np.linalg.cholesky(self._precision)
        self.posterior = Gaussian.from_kernel(mean, np.linalg.inv(factor).T)

    def _look(self) -> None:
        """Straight from the first fit on that leaves every row below the bound."""
        size = float(np.linalg.norm(self.posterior.mean))
        if not self.is_straight and 0.0 < self._longest * size < self._straight:
            self.is_straight = True
            self._precision = self.posterior.precision


class LinearGaussian:
    r"""Bayesian linear regression of clicks (0 or 1): the conjugate case, as a baseline.

    Each impression multiplies the belief by :math:`\mathcal N(y; x^\top\theta, \text{noise})`,
    exactly.  With `Thompson` on top it is linear Thompson sampling.

    References
    ----------
    Agrawal & Goyal, "Thompson sampling for contextual bandits with linear payoffs" (2013).

    Examples
    --------
    >>> learner = LinearGaussian(Gaussian.isotropic(1), noise=1.0)
    >>> learner.observe([1.0], 1)
    >>> learner.posterior
    Gaussian(mean=array([0.5]), sd=array([0.70710678]))
    """

    def __init__(self, prior: Gaussian, *, noise: float = 0.25) -> None:
        if not noise > 0:
            raise ValueError(f"noise is {noise} but must be above zero")
        self._belief = Carried.of(prior)
        self._precision = np.array([1.0 / noise])

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        return self._belief.gaussian()

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression."""
        row, label = as_row(x, self._belief.mean.size), as_label(y)
        clicked = 1.0 if label > 0 else 0.0
        kernels.absorb(
            *self._belief,
            read_only(row[None, :]),
            self._precision,
            clicked * self._precision,
            0,
            1,
            *kernels.NO_ITEMS,
        )
