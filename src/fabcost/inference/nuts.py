"""The reference: draws of the posterior itself by the No-U-Turn sampler (extra ``nuts``)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from fabcost.extras import told_what_is_missing
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_impressions
from fabcost.inference import laplace
from fabcost.inference.result import Fit

#: Below this R̂ chains are taken to agree (Vehtari et al.).
_AGREE = 1.01


@dataclass(frozen=True, eq=False)
class NutsResult(Fit):
    """A `Fit` with its draws and what they say about themselves.

    The posterior is the Gaussian of their mean and covariance.  It has converged if the chains
    agree (every R̂ below 1.01) and the integrator never went wrong.

    Attributes
    ----------
    draws
        All chains one after another, rows of weights.
    mean, covariance
        Of the draws.
    r_hat
        Rank-normalised split R̂ of each weight: 1 when the chains agree.
    ess
        Bulk effective sample size of each weight.
    divergences
        Transitions that the integrator got wrong; 0 for a trustworthy run.
    """

    draws: FloatArray = field(kw_only=True)
    mean: FloatArray = field(kw_only=True)
    covariance: FloatArray = field(kw_only=True)
    r_hat: FloatArray = field(kw_only=True)
    ess: FloatArray = field(kw_only=True)
    divergences: int = field(kw_only=True)


def fit(
    prior: Gaussian,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    draws: int = 2000,
    chains: int = 2,
    tune: int = 500,
    seed: int = 0,
    progress: bool = False,
) -> NutsResult:
    r"""Sample :math:`p(\theta \mid X, y)`, equation 6 of the paper, without approximation.

    The chains move in the coordinates u of :math:`\theta = \mu^* + R^* u`, with μ* and R* of the
    Laplace approximation: an affine map leaves the target as it is and makes it nearly round.

    Parameters
    ----------
    prior
        The belief before the data.
    X, y
        Rows and their outcomes: 0/1, −1/+1 or booleans.
    draws, chains, tune
        Draws kept and draws discarded first, of each chain, and how many chains.
    seed
        The same seed gives the same draws.
    progress
        Show the sampler's progress bar.

    References
    ----------
    Hoffman & Gelman, "The No-U-Turn sampler" (2014); Vehtari et al.,
    "Rank-normalization, folding, and localization: an improved R̂" (2021).

    Examples
    --------
    >>> result = fit(Gaussian.isotropic(1, variance=4.0), [[1.0]], [1], draws=500, seed=1)
    >>> result.draws.shape, bool(abs(result.mean[0] - 1.21) < 0.3)
    ((1000, 1), True)
    """
    if draws * chains <= prior.dimension:
        raise ValueError(
            f"{chains} chains of {draws} draws are few for {prior.dimension} weights: "
            "their covariance needs more draws than weights"
        )
    rows, labels = as_impressions(X, y, prior.dimension)
    nutpie, arviz = _samplers()
    start = laplace.fit(prior, rows, labels).posterior
    model = _model(nutpie, _Target(prior, start, rows, labels))
    trace = nutpie.sample(
        model,
        draws=draws,
        tune=tune,
        chains=chains,
        cores=1,  # the density is a Python function: chains in threads would wait for each other
        seed=seed,
        progress_bar=progress,
        save_warmup=False,
    )
    return _result(arviz, trace)


class _Target:
    """Log posterior and gradient as functions of u, for θ = start.mean + start.root u."""

    def __init__(self, prior: Gaussian, start: Gaussian, X: FloatArray, y: FloatArray) -> None:
        self.start = start
        self._rows = y[:, None] * (X @ start.root)
        self._margin = y * (X @ start.mean)
        self._prior_centre = prior.whiten(start.mean)
        self._prior_slope = np.linalg.solve(prior.root, start.root)

    def log_density(self, u: FloatArray) -> tuple[float, FloatArray]:
        margin = self._margin + self._rows @ u
        z = self._prior_centre + self._prior_slope @ u
        value = float(log_expit(margin).sum() - 0.5 * z @ z)
        return value, self._rows.T @ expit(-margin) - self._prior_slope.T @ z

    def weights(self, u: FloatArray) -> dict[str, FloatArray]:
        return {"theta": self.start.mean + self.start.root @ u}


def _model(nutpie: ModuleType, target: _Target) -> Any:
    dimension = target.start.dimension
    return nutpie.compiled_pyfunc.from_pyfunc(
        dimension,
        lambda: target.log_density,
        lambda *_: target.weights,
        [np.dtype(np.float64)],
        [(dimension,)],
        ["theta"],
    )


def _result(arviz: ModuleType, trace: Any) -> NutsResult:
    theta = np.asarray(trace.posterior["theta"])
    flat = theta.reshape(-1, theta.shape[-1])
    mean, covariance = flat.mean(axis=0), np.cov(flat, rowvar=False).reshape(2 * (flat.shape[1],))
    r_hat = np.asarray(arviz.rhat(trace)["theta"])
    divergences = int(np.asarray(trace.sample_stats["diverging"]).sum())
    return NutsResult(
        Gaussian(mean, covariance),
        converged=bool((r_hat < _AGREE).all()) and divergences == 0,
        iterations=theta.shape[1],
        draws=flat,
        mean=mean,
        covariance=covariance,
        r_hat=r_hat,
        ess=np.asarray(arviz.ess(trace)["theta"]),
        divergences=divergences,
    )


def _samplers() -> tuple[ModuleType, ModuleType]:
    with warnings.catch_warnings(), told_what_is_missing("NUTS", "nuts"):
        warnings.simplefilter("ignore", FutureWarning)  # arviz announces its next version
        import arviz
        import nutpie
        import nutpie.compiled_pyfunc
    return nutpie, arviz
