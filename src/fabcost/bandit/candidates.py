"""What a policy needs of candidates, whether they are an array or rows that are not written out."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.impressions import FloatArray, read_only

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

    def drawn(
        self,
        mean: FloatArray,
        root: FloatArray,
        uniforms: FloatArray,
        scale: float,
        own: tuple[Any, ...] = (),
        /,
    ) -> FloatArray:
        """Scores under the weights mean + scale · root z, for z the quantiles of ``uniforms``.

        With ``own``, the last arguments of `kernels.own_scores`, each has an effect besides.
        """
        ...

    def law(self, mean: FloatArray, root: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """As the function of this name."""
        ...


def is_checked(candidates: object) -> TypeGuard[CheckedRows]:
    """Whether candidates are `CheckedRows` and not an array, a list or a table.

    Examples
    --------
    >>> is_checked(np.ones((2, 2)))
    False
    """
    return hasattr(candidates, "dense")


def scored(rows: Rows, weights: FloatArray) -> FloatArray:
    """The score of each row under weights (D,): a product whose sums have one order.

    Examples
    --------
    >>> scored(np.array([[3.0, 4.0]]), np.array([1.0, 2.0]))
    array([11.])
    """
    if is_checked(rows):
        return rows.dot(weights)
    scores: FloatArray = kernels.times(read_only(np.ascontiguousarray(rows)), weights)
    return scores


def law(rows: Rows, mean: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    r"""Centre and spread of scores: :math:`X\theta` has the law of centre + spread z.

    Here :math:`\theta = \mu + R z`; the spread is made as narrow as is cheap, so that a draw needs
    fewer normals z.  Equal rows have the same centre and spread, bit for bit.

    Examples
    --------
    >>> law(np.array([[3.0, 4.0]]), np.array([1.0, 2.0]), np.eye(2))
    (array([11.]), array([[5.]]))
    """
    if is_checked(rows):
        return rows.law(mean, root)
    centre, spread = kernels.law(read_only(np.asarray(rows)), mean, root)
    return centre, kernels.narrow(spread) if len(spread) < len(root) else spread
