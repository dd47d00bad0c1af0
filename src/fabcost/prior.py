"""How far weights are expected to reach before anything is seen: one statement for all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from fabcost.gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, Gaussian

#: What the weight of a column belongs to.
Group = Literal["constant", "numbers", "categories", "crosses"]


@dataclasses.dataclass(frozen=True)
class Prior:
    r"""Variances of independent weights of mean zero, by what a weight belongs to.

    A weight of sd 1 moves the log-odds of a click by about 1 for each sd of a number, or for
    belonging to a category.

    Attributes
    ----------
    constant
        Of the weight that all rows share: wide, since click rates differ by orders of magnitude.
    numbers
        Of numbers that are standardised.
    categories
        Of strings, booleans and missing values.
    crosses
        Of products of two features.
    items
        τ², of the effect that each item has beside its features; 0 for none.

    Examples
    --------
    >>> Prior(items=0.0).numbers
    1.0
    >>> Prior.same(10.0).constant
    10.0
    >>> Prior().belief(["constant", "numbers", "categories"]).sd
    array([10.,  1.,  1.])
    """

    constant: float = 100.0
    numbers: float = 1.0
    categories: float = 1.0
    crosses: float = 1.0
    items: float = 0.3

    def __post_init__(self) -> None:
        for name, variance in dataclasses.asdict(self).items():
            none = name == "items" and variance == 0
            sound = math.isfinite(variance) and SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE
            if not (none or sound):
                raise ValueError(
                    f"the prior variance of {name} is {variance} but must lie between "
                    f"{SMALLEST_VARIANCE:g} and {LARGEST_VARIANCE:g}"
                )

    @classmethod
    def same(cls, variance: float, *, items: float = 0.0) -> Prior:
        """One variance for all weights."""
        return cls(variance, variance, variance, variance, items)

    def belief(self, groups: Sequence[Group]) -> Gaussian:
        """Weights of columns of these groups, before anything is seen."""
        variances = np.array([getattr(self, group) for group in groups], dtype=np.float64)
        return Gaussian(np.zeros(variances.size), np.diag(variances))
