"""What a policy needs of candidates, whether they are an array or rows that are not written out."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray

Positions = npt.NDArray[np.intp]


class Rows(Protocol):
    """Candidate rows: a float64 matrix, or what behaves like one, such as `FoldedRows`."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Rows and columns."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, positions: Positions, /) -> Rows: ...

    def __array__(self) -> npt.NDArray[Any]: ...

    def dot(self, weights: FloatArray, /) -> FloatArray:
        """The score of each row under weights (D,), or (D, S) for S of them at once."""
        ...


class CheckedRows(Rows, Protocol):
    """Rows that are not an array, whose numbers were checked when they were made."""

    def dense(self) -> FloatArray:
        """The rows as an array."""
        ...


def is_checked(candidates: object) -> TypeGuard[CheckedRows]:
    """Whether candidates are `CheckedRows` and not an array, a list or a table.

    Examples
    --------
    >>> is_checked(np.ones((2, 2)))
    False
    """
    return hasattr(candidates, "dense")
