"""The posterior itself, known far better than any approximation to it is accurate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_impressions
from fabcost.inference import ep

_TAIL_SHARE = 0.3
_TAIL_FREEDOM = 6.0
_FEWEST = 200
_ROWS_AT_ONCE = 256
_DRAWS_AT_ONCE = 256
_FACTORS = 8  # of which one logarithm is taken
_LARGEST_EXPONENT = 80.0  # its exponential to the power of _FACTORS is still a float
_REACH = 8.5  # sds beyond which a Gaussian is zero to rounding


@dataclass(frozen=True, eq=False)
class Truth:
    """Moments of the posterior and how well they are known."""

    mean: FloatArray  # of each weight
    covariance: FloatArray
    mean_error: FloatArray  # standard errors, in the units of the weights
    variance_error: FloatArray
    ess: float  # of the importance weights; control variates make the errors smaller than it says


def sample(
    prior: Gaussian, X: FloatArray, y: FloatArray, *, draws: int, rng: np.random.Generator
) -> Truth:
    r"""Importance sampling around converged EP, with its known moments as control variates.

    Draws are antithetic pairs: seven in ten of the Gaussian q that EP found, three in ten of
    a multivariate t of the same scale, weighted by the posterior p over the mixture of the two.
    For :math:`L = \log p/q` the expectations of L, :math:`L z` and :math:`L z z^\top` under q
    are known (`LogRatio`), so that each moment has a control variate that is L times it.  What is
    left to chance is about :math:`e^L - 1 - L`: the noise falls with the data as fast as the
    error of EP itself.

    Outcomes are 0/1, −1/+1 or booleans; ``draws`` is rounded down to a whole number of pairs.

    References
    ----------
    Owen & Zhou, "Safe and effective importance sampling" (2000).

    Examples
    --------
    >>> prior = Gaussian.isotropic(1, variance=4.0)
    >>> rng = np.random.default_rng(0)
    >>> truth = sample(prior, np.ones((2, 1)), np.array([1, 0]), draws=1000, rng=rng)
    >>> bool(abs(truth.mean[0]) < 1e-6), round(float(truth.covariance[0, 0]), 2)
    (True, 1.6)
    """
    if draws < _FEWEST:
        raise ValueError(f"draws is {draws} but must be at least {_FEWEST}")
    rows, labels = as_impressions(X, y, prior.dimension)
    q = ep.fit(prior, rows, labels).posterior
    ratio = LogRatio.of(prior, rows, labels, q)
    # One member of each pair, in the coordinates z of θ = μ + R z.
    z = rng.standard_normal((draws // 2, prior.dimension))
    tails = round(_TAIL_SHARE * len(z))
    z[:tails] *= np.sqrt(_TAIL_FREEDOM / rng.chisquare(_TAIL_FREEDOM, tails))[:, None]
    return _moments(q, ratio, z)


def _gaussian_share(z: FloatArray) -> FloatArray:
    """q over the density of the mixture."""
    dimension, freedom = z.shape[1], _TAIL_FREEDOM
    squares = (z * z).sum(axis=1)
    log_t = (
        gammaln(0.5 * (freedom + dimension))
        - gammaln(0.5 * freedom)
        - 0.5 * dimension * np.log(0.5 * freedom)
        - 0.5 * (freedom + dimension) * np.log1p(squares / freedom)
    )
    tail = np.exp(np.minimum(log_t + 0.5 * squares, 700.0))
    return np.asarray(1.0 / (1.0 - _TAIL_SHARE + _TAIL_SHARE * tail))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Sums over each pair, of f(−z) = f(z) or f(−z) = −f(z), by half: even and odd parts."""

    share: FloatArray
    even_weight: FloatArray
    odd_weight: FloatArray
    even_ratio: FloatArray
    odd_ratio: FloatArray

    @classmethod
    def of(cls, ratio: LogRatio, z: FloatArray) -> tuple[_Pairs, float]:
        values = ratio.at_pairs(z) - ratio.mean
        share = _gaussian_share(z)
        weights = np.exp(values - values.max()) * share
        weights /= weights.mean()
        ess = weights.size / float((weights**2).mean())
        parts = [
            0.5 * (each[0] + sign * each[1])
            for each in (weights, share * values)
            for sign in (1, -1)
        ]
        return cls(share, *parts), ess

    def odd_mean(self, f: FloatArray, with_ratio: float) -> tuple[float, float]:
        """E f and its error, for odd f with E_q[L f] = ``with_ratio``."""
        return self._mean(f * self.odd_weight, f * self.odd_ratio - with_ratio)

    def even_mean(self, f: FloatArray, alone: float, with_ratio: float) -> tuple[float, float]:
        """E f and its error, for even f with E_q f = ``alone``."""
        known = (f * self.share - alone, f * self.even_ratio - with_ratio)
        return self._mean(f * self.even_weight, *known)

    def _mean(self, weighted: FloatArray, *known: FloatArray) -> tuple[float, float]:
        """E[w f] / E[w], both corrected by the same variables, whose means are known to be zero.

        The correction comes before the ratio: the noise of both, multiplied, would show.
        """
        controls = np.column_stack([*known, self.share - 1.0, self.even_ratio])
        targets = np.column_stack([weighted, self.even_weight])
        left = targets - controls @ _regressed(targets, controls)
        above, below = left.mean(axis=0)
        mean = float(above / below)
        residual = left[:, 0] - mean * left[:, 1]
        error = residual.std(ddof=controls.shape[1] + 1) / np.sqrt(weighted.size) / below
        return mean, float(error)


def _regressed(targets: FloatArray, controls: FloatArray) -> FloatArray:
    """Least squares with an intercept, through the normal equations: it need not be exact."""
    size = np.sqrt((controls**2).mean(axis=0)) + np.finfo(np.float64).tiny
    centred = (controls - controls.mean(axis=0)) / size
    gram, along = centred.T @ centred, centred.T @ targets
    return np.asarray(np.linalg.lstsq(gram, along, rcond=1e-12)[0] / size[:, None])


def _moments(q: Gaussian, ratio: LogRatio, z: FloatArray) -> Truth:
    """In the units t = (θ − μ)/sd of q, and back."""
    pairs, ess = _Pairs.of(ratio, z)
    units = q.root / q.sd[:, None]
    t = z @ units.T
    slope = units @ ratio.slope
    alone, bent = units @ units.T, units @ ratio.curvature @ units.T
    mean, mean_error = np.transpose(
        [pairs.odd_mean(t[:, j], float(slope[j])) for j in range(q.dimension)]
    )
    second, second_error = np.empty((2, q.dimension, q.dimension))
    for j, k in zip(*np.tril_indices(q.dimension), strict=True):
        found = pairs.even_mean(t[:, j] * t[:, k], float(alone[j, k]), float(bent[j, k]))
        second[j, k], second_error[j, k] = second[k, j], second_error[k, j] = found
    return Truth(
        mean=q.mean + q.sd * mean,
        covariance=(second - np.outer(mean, mean)) * np.outer(q.sd, q.sd),
        mean_error=q.sd * mean_error,
        variance_error=q.sd**2 * (second_error.diagonal() + 2.0 * np.abs(mean) * mean_error),
        ess=ess,
    )


@dataclass(frozen=True, eq=False)
class LogRatio:
    """L(z) = log p(y | X, θ) p(θ) − log q(θ), up to a constant, at θ = μ + R z of q."""

    mean: float  # E_q[L]
    slope: FloatArray  # E_q[L z] = E_q[∇L]
    curvature: FloatArray  # E_q[(L − E_q L) z zᵀ] = E_q[∇∇ᵀL]
    _margins: FloatArray
    _rows: FloatArray
    _prior_centre: FloatArray
    _prior_slope: FloatArray

    @classmethod
    def of(cls, prior: Gaussian, X: FloatArray, y: FloatArray, q: Gaussian) -> LogRatio:
        """With labels −1/+1.

        Every impression enters through one scalar, so its expectations under q are
        one-dimensional integrals, and integration by parts does the rest (Stein's lemma).

        Examples
        --------
        >>> q = Gaussian.isotropic(1)
        >>> ratio = LogRatio.of(q, np.zeros((3, 1)), np.ones(3), q)
        >>> round(ratio.mean, 4), ratio.slope, ratio.curvature
        (-2.0794, array([0.]), array([[0.]]))
        """
        rows = y[:, None] * (X @ q.root)
        margins = y * (X @ q.mean)
        centre = prior.whiten(q.mean)
        inside = np.asarray(np.linalg.solve(prior.root, q.root), dtype=np.float64)
        size = float(centre @ centre + (inside**2).sum()) - q.dimension
        mean, slope, curvature = _expectations(margins, rows)
        return cls(
            mean - 0.5 * size,
            slope - inside.T @ centre,
            curvature - inside.T @ inside + np.eye(q.dimension),
            margins,
            rows,
            centre,
            inside,
        )

    def at_pairs(self, z: FloatArray) -> FloatArray:
        """L at the rows of ``z`` and at their mirror images −z: two rows of values.

        Examples
        --------
        >>> q = Gaussian.isotropic(1)
        >>> ratio = LogRatio.of(q, np.ones((1, 1)), np.ones(1), q)
        >>> ratio.at_pairs(np.array([[2.0]])).round(4)
        array([[-0.1269],
               [-2.1269]])
        """
        values = np.empty((2, z.shape[0]))
        for start in range(0, z.shape[0], _DRAWS_AT_ONCE):
            chosen = slice(start, start + _DRAWS_AT_ONCE)
            values[:, chosen] = self._log_likelihoods(z[chosen])
        inside = z @ self._prior_slope.T
        away = np.stack([self._prior_centre + inside, self._prior_centre - inside])
        return np.asarray(values + 0.5 * ((z * z).sum(axis=1) - (away * away).sum(axis=2)))

    def _log_likelihoods(self, z: FloatArray) -> FloatArray:
        total = np.zeros((2, z.shape[0]))
        farthest = float(np.sqrt((z * z).sum(axis=1).max()))
        for start in range(0, self._margins.size, _ROWS_AT_ONCE):
            chosen = slice(start, start + _ROWS_AT_ONCE)
            rows, margins = self._rows[chosen], self._margins[chosen, None]
            away = rows @ z.T
            reach = np.abs(margins[:, 0]) + farthest * np.sqrt((rows * rows).sum(axis=1))
            if reach.max() > _LARGEST_EXPONENT:
                total[0] -= np.logaddexp(0.0, -margins - away).sum(axis=0)
                total[1] -= np.logaddexp(0.0, -margins + away).sum(axis=0)
            else:
                grown, odds = np.exp(away, out=away), np.exp(-margins)
                total[0] -= _sum_of_logs(odds / grown)
                total[1] -= _sum_of_logs(np.multiply(odds, grown, out=grown))
        return total


def _sum_of_logs(odds: FloatArray) -> FloatArray:
    """Σ log(1 + odds) over the rows, several rows to a logarithm."""
    odds += 1.0
    whole = odds.shape[0] // _FACTORS
    split = odds[: whole * _FACTORS].reshape(_FACTORS, whole, odds.shape[1])
    products = split[0]
    for each in split[1:]:
        products *= each
    rest = np.log(odds[whole * _FACTORS :])
    return np.asarray(np.log(products).sum(axis=0) + rest.sum(axis=0))


def _expectations(margins: FloatArray, rows: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Sums over the rows of E log σ(m), E σ(−m) g and −E σ(m)σ(−m) g gᵀ, m ~ N(margin, |g|²)."""
    dimension = rows.shape[1]
    mean, slope, curvature = 0.0, np.zeros(dimension), np.zeros((dimension, dimension))
    sds = np.sqrt((rows * rows).sum(axis=1))
    for start in range(0, sds.size, _ROWS_AT_ONCE):
        chosen = slice(start, start + _ROWS_AT_ONCE)
        # The trapezoid rule converges exponentially; the poles are at ±iπ.
        step = min(0.6, 0.6 / max(float(sds[chosen].max()), 1e-9))
        half = int(np.ceil(_REACH / step))
        nodes = step * np.arange(-half, half + 1)
        weights = np.exp(-0.5 * nodes**2)
        weights /= weights.sum()
        eta = margins[chosen, None] + sds[chosen, None] * nodes
        miss = expit(-eta)
        mean -= float((np.logaddexp(0.0, -eta) @ weights).sum())
        slope += (miss @ weights) @ rows[chosen]
        bend = (miss * (1.0 - miss)) @ weights
        curvature -= (rows[chosen] * bend[:, None]).T @ rows[chosen]
    return mean, slope, curvature
