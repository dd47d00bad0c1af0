"""Costs as measured, and the ratios, exponents and counts that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.paper.cost.timing import Interval, median_interval, slope_interval

#: Distance in posterior sds from where EP ends, within which it counts as converged.
TOLERANCE = 0.01
#: The data sets as they are called everywhere else.
TITLES = {"day": "day", "authors": "design"}


@dataclass(frozen=True, eq=False)
class Batch:
    """Seconds of one update or visit, for each form, in rounds; ``weights`` is D.

    Examples
    --------
    >>> seconds = {"matrix EP": np.array([4.0, 5.0, 9.0]), "matrix ADF": np.array([1.0, 1.0, 2.0])}
    >>> Batch(6, seconds, 0.1).ratio("matrix EP", "matrix ADF").median
    4.5
    """

    weights: int
    seconds: Mapping[str, FloatArray]
    took: float

    def ratio(self, over: str, under: str, times: float = 1.0) -> Interval:
        """How many times longer the first takes, its seconds taken ``times``, in each round."""
        return median_interval(times * self.seconds[over] / self.seconds[under])


@dataclass(frozen=True, eq=False)
class Growth:
    """Seconds (rounds × sizes) of some forms as something grows.

    Examples
    --------
    >>> str(Growth((1, 2, 4), {"ADF": np.array([[1.0, 2.0, 4.0]])}, 0.1).exponent("ADF"))
    '1.00 [1.00, 1.00]'
    """

    sizes: Sequence[int]
    seconds: Mapping[str, FloatArray]
    took: float

    def exponent(self, form: str) -> Interval:
        """The p of seconds ∝ sizeᵖ."""
        return slope_interval(self.sizes, self.seconds[form])


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Distance from where EP ends (streams × sizes × sweeps), for each kind of moments.

    Examples
    --------
    >>> Sweeps((9,), {"exact": np.array([[[1.0, 0.1, 0.001, 0.0, 0.0, 0.0]]])}, 0.1).needed("exact")
    array([[3]])
    """

    sizes: Sequence[int]
    errors: Mapping[str, FloatArray]
    took: float

    def needed(self, moments: str) -> npt.NDArray[np.intp]:
        """Sweeps after which the distance stays within `TOLERANCE`; 0 where none does.

        Where only the second half of the sweeps is near the last, that is not a place of rest.
        """
        errors = self.errors[moments]
        moving = ~(errors <= TOLERANCE)
        last_move = np.where(moving.any(-1), errors.shape[-1] - moving[..., ::-1].argmax(-1), 0)
        return np.where(last_move < errors.shape[-1] // 2, last_move + 1, 0)


@dataclass(frozen=True, eq=False)
class Costs:
    """Everything that the figures and claims of the costs are made of."""

    batches: Mapping[str, Batch]
    sweeps: Mapping[str, Sweeps]
    online: Growth
    weights: Growth
