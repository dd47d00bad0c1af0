"""What a click is worth and what showing costs: amounts in any unit, and rows that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.bandit.rows import Positions, Rows
from fabcost.impressions import FloatArray


class ValuedRows:
    """Candidates of which a click has a value and showing has a cost.

    Their worth is value · P(click) − cost, in any unit.

    Parameters
    ----------
    rows
        Rows that were checked.
    values
        What a click on each is worth, at least 0; 1 unless given.
    costs
        What showing each costs; 0 unless given.

    Examples
    --------
    >>> ValuedRows(np.ones((2, 1)), [1.0, 2.0]).costs
    array([0., 0.])
    """

    __slots__ = ("costs", "rows", "values")

    def __init__(
        self, rows: Rows, values: npt.ArrayLike | None = None, costs: npt.ArrayLike | None = None
    ) -> None:
        self.rows = rows
        self.values, self.costs = checked_amounts(len(rows), values, costs)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Candidates and weights."""
        return self.rows.shape

    def __getitem__(self, positions: Positions) -> ValuedRows:
        return ValuedRows(self.rows[positions], self.values[positions], self.costs[positions])

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[np.generic]:
        raise ValueError("rows with values are no array: use Prospects")

    def dot(self, weights: FloatArray) -> FloatArray:
        """What each is worth under weights."""
        return worths(self.rows.dot(weights), self.values, self.costs)


def worths(
    log_odds: FloatArray, values: FloatArray | float = 1.0, costs: FloatArray | None = None
) -> FloatArray:
    """Value · σ(log-odds) − cost of each: click probabilities, unless values are given.

    Examples
    --------
    >>> worths(np.array([0.0]), np.array([3.0]))
    array([1.5])
    """
    size = log_odds.size
    given = np.full(size, values) if isinstance(values, float) else values
    found: FloatArray = kernels.worths_of(
        log_odds, given, np.zeros(size) if costs is None else costs
    )
    return found


def checked_amounts(
    many: int, values: npt.ArrayLike | None, costs: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Values and costs of so many candidates, or a ValueError that says what is wrong with one.

    Examples
    --------
    >>> checked_amounts(2, [1.0, -2.0], None)
    Traceback (most recent call last):
    ValueError: values[1] is -2.0 but must be at least 0
    """
    found = _amounts("values", np.ones(many) if values is None else values, many)
    for i in np.flatnonzero(found < 0.0)[:1]:
        raise ValueError(f"values[{i}] is {found[i]} but must be at least 0")
    return found, _amounts("costs", np.zeros(many) if costs is None else costs, many)


def _amounts(name: str, given: npt.ArrayLike, many: int) -> FloatArray:
    amounts = np.array(given, dtype=np.float64)
    if amounts.shape != (many,):
        raise ValueError(f"{name} have shape {amounts.shape} but there are {many} candidates")
    for i in np.flatnonzero(~(np.abs(amounts) <= LARGEST_AMOUNT))[:1]:
        raise ValueError(f"{name}[{i}] is {amounts[i]} but must be a number up to {LARGEST_AMOUNT}")
    return amounts


#: Of values and costs: squares of these do not overflow.
LARGEST_AMOUNT = 1e100
