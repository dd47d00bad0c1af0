"""Learners beside FAB-COST: what its bandit is compared with."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import as_label, as_row, read_only
from fabcost.inference import laplace
from fabcost.inference.history import History
from fabcost.inference.schedule import Refresh
from fabcost.inference.sites import Carried


class Learner(Protocol):
    """What a bandit asks of a learner; `fabcost.FabCost` is one."""

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        ...

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression."""
        ...


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

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Keep one impression, and refit if it is time."""
        row, label = as_row(x, self.prior.dimension), as_label(y)
        self._history.room()
        self._history.append(row, label, 1)
        self.seen += 1
        if self.seen != self._next:
            return
        if self._schedule.is_due(self.seen):
            X, labels, _ = self._history.kept()
            self.posterior = laplace.fit(self.prior, X, labels, start=self.posterior.mean).posterior
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
    """The baseline of the paper's click figure, defects included: see `laplace.fit_as_published`.

    Examples
    --------
    >>> learner = LaplaceAsPublished(Gaussian.isotropic(1))
    >>> learner.observe([1.0], 1)
    >>> learner.posterior == Gaussian.isotropic(1)
    True
    """

    def __init__(self, prior: Gaussian, *, first_fit: int = 10) -> None:
        self.prior = prior
        self.posterior = prior
        self._first_fit = first_fit
        self._history = History(prior.dimension, None)

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Refit all rows but this newest one, around the last fit's precision."""
        row, label = as_row(x, self.prior.dimension), as_label(y)
        X, labels, _ = self._history.kept()
        if labels.size >= self._first_fit:
            runaway = Gaussian.from_root(self.prior.mean, self.posterior.root)
            self.posterior = laplace.fit(runaway, X, labels, start=self.posterior.mean).posterior
        self._history.room()
        self._history.append(row, label, 1)


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
        )
