"""What every ``fit`` returns."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, field

from fabcost.gaussian import Gaussian
from fabcost.inference.own.effects import OwnEffects

_INNER = "fabcost.inference."


class ConvergenceWarning(UserWarning):
    """Iterations were to go on until nothing moves, and ended before.

    Examples
    --------
    >>> issubclass(ConvergenceWarning, UserWarning)
    True
    """


def warn_that_it_moves(seen: int, sweeps: int, skipped: int) -> None:
    """Say that a refresh on schedule ended before the belief stood still.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     warn_that_it_moves(100, sweeps=2, skipped=0)
    >>> told[0].category.__name__
    'ConvergenceWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_INNER):
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"EP at impression {seen} still moves after {sweeps} sweeps, of which {skipped} visits "
        "were skipped: allow it more by max_sweeps of the schedule, or a larger tolerance",
        ConvergenceWarning,
        stacklevel=level - 1,
    )


@dataclass(frozen=True, eq=False)
class Fit:
    """A posterior, and how it was found; the same for Laplace, ADF, EP and NUTS.

    Attributes
    ----------
    posterior
        The belief after the data.
    converged
        Whether the iterations came to an end of themselves.
    iterations
        Passes over the data: Newton steps, sweeps, or one; of NUTS, the draws of each chain.
    log_evidence
        The method's estimate of log p(y | X); NaN if it has none.
    skipped
        Visits that would have left the cone of positive definite covariances.
    own
        The effects that items have of their own, if they have any.

    Examples
    --------
    >>> Fit(Gaussian.isotropic(2), converged=True, iterations=1).log_evidence
    nan
    """

    posterior: Gaussian
    converged: bool
    iterations: int
    log_evidence: float = math.nan
    skipped: int = 0
    own: OwnEffects | None = field(default=None, kw_only=True)
