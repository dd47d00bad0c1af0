"""The rows of a catalogue in one context, as a product that is never written out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.features.layout import Places
from fabcost.impressions import FloatArray


class FoldedRows:
    r"""Rows :math:`x_{ij} = b_{i\,s(j)} f_j`: parts of the items times factors of the context.

    Each column j is a multiple of one part s(j) of the items, so a score is
    :math:`x_i^\top\theta = \sum_m b_{im} w_m` with :math:`w_m = \sum_{j: s(j)=m} f_j\theta_j`.
    Scoring costs one product with the parts, which are fewer than the columns and the same in
    every context.  Make them with `Schema.folded`.

    Parameters
    ----------
    parts
        b, a row for each item.
    source
        s, the part of each column.
    factors
        f, the factor of each column.

    Examples
    --------
    >>> rows = FoldedRows(
    ...     np.array([[1.0, 3.0], [1.0, 4.0]]), np.array([0, 1, 1]), np.array([1.0, 1.0, 0.5])
    ... )
    >>> rows.dense()
    array([[1. , 3. , 1.5],
           [1. , 4. , 2. ]])
    >>> rows.dot(np.array([1.0, 0.0, 2.0]))
    array([4., 5.])
    >>> rows.row(1), rows[[1]].shape
    (array([1., 4., 2.]), (1, 3))
    """

    __slots__ = ("_factors", "_parts", "_source")

    def __init__(self, parts: FloatArray, source: Places, factors: FloatArray) -> None:
        self._parts = parts
        self._source = source
        self._factors = factors

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Items and columns."""
        return len(self._parts), self._factors.size

    @property
    def own_bytes(self) -> int:
        """Bytes of sources and factors; the parts are those of the items."""
        return self._source.nbytes + self._factors.nbytes

    def dot(self, weights: FloatArray) -> FloatArray:
        """Scores under weights of shape (D,), or (D, S) for S of them at once."""
        folded = self.fold(weights)
        if folded.ndim == 1:
            scores: FloatArray = kernels.times(self._parts, folded)
            return scores
        return np.column_stack([kernels.times(self._parts, each) for each in folded.T.copy()])

    __matmul__ = dot

    def fold(self, weights: FloatArray) -> FloatArray:
        """w, the weights of the parts in this context."""
        self._check(weights)
        many = self._parts.shape[1]
        if weights.ndim == 1:
            sums = np.bincount(self._source, weights * self._factors, many)
            return np.asarray(sums, dtype=np.float64)
        folded: FloatArray = kernels.fold(weights, self._source, self._factors, many)
        return folded

    def law(self, mean: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `fabcost.bandit.candidates.law`: a draw needs no more normals than there are parts."""
        self._check(mean)
        centre, spread = kernels.folded_law(self._parts, self._source, self._factors, mean, root)
        return centre, spread

    def drawn(
        self, mean: FloatArray, root: FloatArray, uniforms: FloatArray, scale: float
    ) -> FloatArray:
        """Scores under the weights mean + scale · root z, in one go.

        z are the normal quantiles of ``uniforms``, which they replace.
        """
        self._check(mean)
        scores: FloatArray = kernels.folded_scores(
            self._parts, self._source, self._factors, mean, root, uniforms, scale
        )
        return scores

    def row(self, index: int) -> FloatArray:
        """One row, written out."""
        return np.asarray(self._parts[index].take(self._source) * self._factors)

    def dense(self) -> FloatArray:
        """All rows, written out."""
        rows = self._parts.take(self._source, axis=1)
        rows *= self._factors
        return rows

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[np.generic]:
        if copy is False:
            raise ValueError("folded rows become an array only as a copy")
        return self.dense().astype(dtype or np.float64, copy=False)

    def __getitem__(self, positions: Places | slice) -> FoldedRows:
        parts = np.atleast_2d(self._parts[positions])
        # As those of a catalogue: for arrays that can be written the kernels are compiled again.
        parts.setflags(write=False)
        return FoldedRows(parts, self._source, self._factors)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"FoldedRows({rows} rows of {columns} columns, {self._parts.shape[1]} parts)"

    def _check(self, weights: FloatArray) -> None:
        if len(weights) != self._factors.size:
            raise ValueError(
                f"there are {len(weights)} weights but the rows have {self._factors.size} columns"
            )
