"""The tilted distribution of one site: log Z and its derivatives along the row.

A site σ(y η) touches the weights only through η = xᵀθ (the paper's linear subspace property),
so its moment projection needs two numbers of the scalar cavity marginal η ~ N(a, s²).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import FloatArray

Moments = Literal["exact", "mackay"]


class Tilted(NamedTuple):
    """log Z = log ∫ σ(y η) N(η; a, s²) dη, ∂ log Z/∂a, and −∂² log Z/∂a² as matching reads it.

    ``kept`` is the tilted variance in units of s², 1 − s² times the curvature: where the cavity
    is wide it is small, and the curvature alone no longer knows it.
    """

    log_z: FloatArray
    slope: FloatArray
    curvature: FloatArray
    kept: FloatArray


def is_exact(moments: Moments) -> bool:
    """Whether ``moments`` is "exact" rather than "mackay"; anything else is a ValueError.

    Examples
    --------
    >>> is_exact("mackay")
    False
    """
    if moments not in get_args(Moments):
        expected = " or ".join(repr(name) for name in get_args(Moments))
        raise ValueError(f"moments is {moments!r} but must be {expected}")
    return moments == "exact"


def check_moments(moments: Moments, counts: FloatArray | None) -> bool:
    """`is_exact`, as it must be where rows stand for other than one impression each.

    Examples
    --------
    >>> check_moments("mackay", np.array([[3.0, 37.0]]))
    Traceback (most recent call last):
    ValueError: moments is 'mackay' but rows with weights or counts need 'exact'
    """
    if counts is not None and not is_exact(moments):
        raise ValueError(f"moments is {moments!r} but rows with weights or counts need 'exact'")
    return is_exact(moments)


def tilted_counts(
    mean: npt.ArrayLike, variance: npt.ArrayLike, clicks: npt.ArrayLike, misses: npt.ArrayLike
) -> Tilted:
    r"""`tilted` of :math:`\sigma(\eta)^a\,\sigma(-\eta)^b`, elementwise, with exact moments.

    Parameters
    ----------
    mean, variance
        Cavity mean and variance s² > 0 of η = xᵀθ.
    clicks, misses
        a and b, real and at least 0; where both are, the site is flat.  Up to a + b of 1e6 the
        tilted mean is good to 1e-8 tilted sds, or to the rounding of the slope, and the tilted
        variance to 1e-8 of itself.

    Examples
    --------
    >>> site = tilted_counts(0.0, 4.0, 30.0, 970.0)
    >>> round(float(0.0 + 4.0 * site.slope), 3), round(float(np.sqrt(4.0 * site.kept)), 3)
    (-3.462, 0.183)
    """
    given = np.broadcast_arrays(
        *(np.asarray(each, dtype=np.float64) for each in (clicks, misses, mean, variance))
    )
    a, b, m, s2 = (each.ravel() for each in given)
    if not np.all((s2 > 0) & np.isfinite(s2) & np.isfinite(m)):
        raise ValueError("mean must be finite and variance finite and above zero")
    if not np.all((a >= 0) & (b >= 0) & np.isfinite(a + b)):
        raise ValueError("clicks and misses must be finite and at least zero")
    rows = kernels.counts_over_rows(a, b, m, s2)
    return Tilted(*(rows[:, k].reshape(given[0].shape) for k in range(4)))


def tilted(
    mean: npt.ArrayLike,
    variance: npt.ArrayLike,
    label: npt.ArrayLike = 1.0,
    *,
    moments: Moments = "exact",
) -> Tilted:
    r"""log Z and its derivatives for cavity marginals N(a, s²), elementwise.

    The tilted moments along the row follow as mean :math:`a + s^2 g` and variance
    :math:`s^2 (1 - s^2 c)`, s² times ``kept``, with slope :math:`g` and curvature :math:`c`; of the
    whole belief,
    :math:`\mu + g\,\Sigma x` and :math:`\Sigma - c\,\Sigma x (\Sigma x)^\top`
    (equations 13 and 14 of the paper, read along x).

    Parameters
    ----------
    mean, variance
        Cavity mean a and variance s² > 0 of η = xᵀθ.
    label
        −1 or +1.
    moments
        "exact": the integrals themselves (errors of log Z, of the tilted mean in tilted sds
        and of the tilted variance below 1e-9, relatively).  "mackay": the paper's
        Z ≈ σ(κ y a), κ = (1 + π s²/8)^(−1/2), with the paper's B corrected [1]_.

    References
    ----------
    .. [1] MacKay, "The evidence framework applied to classification networks",
       Neural Computation 4 (1992).

    Examples
    --------
    >>> site = tilted(0.0, 4.0)
    >>> round(float(np.exp(site.log_z)), 6), round(float(site.slope), 4)
    (0.5, 0.3029)
    """
    a, s2, y = np.broadcast_arrays(
        np.asarray(mean, dtype=np.float64),
        np.asarray(variance, dtype=np.float64),
        np.asarray(label, dtype=np.float64),
    )
    if not np.all((s2 > 0) & np.isfinite(s2) & np.isfinite(a)):
        raise ValueError("mean must be finite and variance finite and above zero")
    if not np.all(np.abs(y) == 1):
        raise ValueError("label must be -1 or +1")
    rows = kernels.sites_over_rows((y * a).ravel(), s2.ravel(), is_exact(moments))
    log_z, slope, curvature, kept = (rows[:, k].reshape(a.shape) for k in range(4))
    return Tilted(log_z, y * slope, curvature, kept)
