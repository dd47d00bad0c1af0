"""Assumed density filtering: one moment projection for each impression, in one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, GivenRows, Rows, Tally, as_batch, readable
from fabcost.inference.history import Carried, Pass, Sites
from fabcost.inference.passes import filter_rows
from fabcost.inference.result import Fit
from fabcost.sparse import SparseRows
from fabcost.tilted import Moments, check_moments


def fit(
    prior: Gaussian,
    X: GivenRows,
    y: npt.ArrayLike | Tally,
    *,
    moments: Moments = "exact",
    weight: npt.ArrayLike | None = None,
) -> Fit:
    r"""Filter the impressions in their order (the paper's Algorithm 4, in rank-one form).

    Each step takes the belief so far as the cavity and matches the tilted moments:
    :math:`\mu \leftarrow \mu + g\,\Sigma x`,
    :math:`\Sigma \leftarrow \Sigma - c\,\Sigma x\,(\Sigma x)^\top`,
    with g and c of `fabcost.tilted.tilted`; O(D²) for each impression.

    Parameters
    ----------
    prior
        The belief before the first impression.
    X, y
        Rows, which may be sparse, and their outcomes: 0/1, −1/+1 or booleans, or `fabcost.Tally`.
    moments
        "exact" or the paper's "mackay", which has no weights.
    weight
        How many impressions each row stands for, whole or not; one unless given.

    References
    ----------
    Opper, "A Bayesian approach to online learning" (1998).

    Examples
    --------
    >>> result = fit(Gaussian.isotropic(1, variance=4.0), [[1.0], [1.0]], [1, 0])
    >>> result.posterior.mean.round(3)
    array([-0.037])
    """
    rows, (labels, counts) = as_batch(X, y, weight, prior.dimension)
    belief = Carried.of(prior)
    over = Pass(readable(rows), labels, Sites.flat(0), 0, labels.size, None, counts)
    skipped = filter_rows(belief, over, None, exact=check_moments(moments, counts))
    return Fit(belief.gaussian(keep=True), converged=True, iterations=1, skipped=skipped)


def scattered(rows: Rows, labels: FloatArray) -> npt.NDArray[np.intp]:
    """An order as good as a random one that depends on rows and labels alone, zeros left out.

    It is that of sums of the numbers' bits, times odd numbers, one for each column, modulo 2⁶⁴.

    Examples
    --------
    >>> rows, labels = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 1.0])
    >>> rows[scattered(rows, labels)].ravel() == rows[::-1][scattered(rows[::-1], labels)].ravel()
    array([ True,  True,  True])
    """
    factors = np.random.default_rng(0).integers(2**63, size=rows.shape[1] + 1, dtype=np.uint64)
    factors += factors + np.uint64(1)
    codes = (labels > 0.0) * factors[-1]
    if isinstance(rows, SparseRows):
        numbers = _mixed(rows.values) * factors[rows.columns]
        sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(numbers, dtype=np.uint64))
        codes += sums[rows.starts[1:]] - sums[rows.starts[:-1]]
    else:
        codes += _mixed(rows) @ factors[:-1]
    return np.argsort(codes, kind="stable")


def _mixed(numbers: FloatArray) -> npt.NDArray[np.uint64]:
    bits = (numbers + 0.0).view(np.uint64)  # there is no −0 after that
    return bits ^ (bits >> np.uint64(32))
