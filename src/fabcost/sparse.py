"""Rows of which most numbers are zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fabcost import kernels

FloatArray = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]
#: Beyond this magnitude the square of a feature times a variance could overflow.
LARGEST_FEATURE = kernels.LARGEST_FEATURE
_LARGEST_DENSE = 10_000_000


class SparseMatrix(Protocol):
    """What the matrices and the arrays of `scipy.sparse` have in common."""

    def tocsr(self) -> Any:
        """The same numbers, row by row."""


class SparseRows:
    """Rows over ``weights`` columns, each as the places and the values of its numbers.

    Parameters
    ----------
    starts
        Where each row begins among the numbers, and after the last where they end.
    columns, values
        Column and value of each number.  Within a row columns are in order and differ.
    weights
        How many columns there are.

    Examples
    --------
    >>> rows = SparseRows.of_pairs([([3, 1], [2.0, 1.0]), ([0], [4.0])], 5)
    >>> rows.shape, rows.dot(np.arange(5.0))
    ((2, 5), array([7., 0.]))
    >>> rows.dense()
    array([[0., 1., 0., 2., 0.],
           [4., 0., 0., 0., 0.]])
    """

    def __init__(
        self, starts: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike, weights: int
    ) -> None:
        self.starts: Columns = _whole(starts)
        self.columns: Columns = _whole(columns)
        self.values: FloatArray = _as_read_only(values, np.float64)
        self.weights = weights
        given = (self.starts, self.columns, self.values, weights)
        flat = self.starts.ndim == self.columns.ndim == self.values.ndim == 1
        if not (flat and kernels.are_sound(*given, LARGEST_FEATURE)):
            raise ValueError(_complaint(*given))

    @classmethod
    def of_pairs(cls, pairs: Any, weights: int) -> SparseRows:
        """Rows from pairs (indices, values); numbers of one column of a row are added up.

        Examples
        --------
        >>> SparseRows.of_pairs([([1, 1], [2.0, 3.0])], 2).dense()
        array([[0., 5.]])
        """
        merged = [_merged(*pair) for pair in pairs]
        sizes = [len(columns) for columns, _ in merged]
        columns = [columns for columns, _ in merged]
        values = [values for _, values in merged]
        return cls(
            np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
            np.concatenate(columns) if columns else np.empty(0, dtype=np.int64),
            np.concatenate(values) if values else np.empty(0),
            weights,
        )

    @classmethod
    def part_of(
        cls, starts: Columns, columns: Columns, values: FloatArray, weights: int
    ) -> SparseRows:
        """Rows of others, whose numbers need no check: for one row that takes longer than all else.

        Examples
        --------
        >>> SparseRows.part_of(np.array([0, 1]), np.array([1]), np.ones(1), 2).dense()
        array([[0., 1.]])
        """
        rows = cls.__new__(cls)
        rows.starts, rows.columns, rows.values = map(_view, (starts, columns, values))
        rows.weights = weights
        return rows

    @classmethod
    def joined(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Rows of several, at least one, below each other."""
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        columns = np.concatenate([part.columns for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls.part_of(np.append(0, np.cumsum(sizes)), columns, values, parts[0].weights)

    def tocsr(self) -> Any:
        """The rows as scikit-learn and `scipy` take them.

        Examples
        --------
        >>> SparseRows.of_pairs([([1], [2.0])], 2).tocsr().toarray()
        array([[0., 2.]])
        """
        from scipy.sparse import csr_matrix  # noqa: PLC0415  (takes a while, and few need it)

        return csr_matrix((self.values, self.columns, self.starts), shape=self.shape)

    def copy(self) -> SparseRows:
        """The same in memory of its own."""
        numbers = (self.columns.copy(), self.values.copy())
        return SparseRows.part_of(self.starts.copy(), *numbers, self.weights)

    @property
    def arrays(self) -> tuple[Columns, Columns, FloatArray]:
        """Starts, columns and values, as kernels take them."""
        return self.starts, self.columns, self.values

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.weights

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, position: Any) -> SparseRows:
        """Some rows by their positions, or the row at one; those of a span share its memory."""
        if isinstance(position, slice) and position.step in (None, 1):
            start, stop, _ = position.indices(len(self))
            if (start, stop) == (0, len(self)):
                return self
            starts = self.starts[start : max(start, stop) + 1]
            own = slice(starts[0], starts[-1])
            numbers = (self.columns[own], self.values[own])
            return SparseRows.part_of(starts - starts[0], *numbers, self.weights)
        chosen = np.atleast_1d(np.arange(len(self))[position])
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        taken = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        return SparseRows(starts, self.columns[taken], self.values[taken], self.weights)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return self.dense().astype(dtype or np.float64, copy=False)

    @property
    def own_bytes(self) -> int:
        """Bytes of all there is."""
        return sum(each.nbytes for each in self.arrays)

    @property
    def alike(self) -> bool:
        """Whether there are several rows and all are the same."""
        sizes = np.diff(self.starts)
        if len(self) < 2 or (sizes != sizes[0]).any():
            return False
        columns, values = (each.reshape(len(self), -1) for each in (self.columns, self.values))
        return bool((columns == columns[0]).all() and (values == values[0]).all())

    def numbers(self, place: int) -> tuple[Columns, FloatArray]:
        """Columns of a row's numbers that are not zero, and these.

        Examples
        --------
        >>> SparseRows.of_pairs([([3, 1], [2.0, 1.0])], 5).numbers(0)
        (array([1, 3]), array([1., 2.]))
        """
        start, stop = self.starts[place], self.starts[place + 1]
        return self.columns[start:stop], self.values[start:stop]

    def dense(self) -> FloatArray:
        """The rows as an array, if that is not too large."""
        if len(self) * self.weights > _LARGEST_DENSE:
            raise ValueError(
                f"{len(self)} rows of {self.weights} numbers are too many for an array: use dot"
            )
        array = np.zeros(self.shape)
        array[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = self.values
        return array

    def dot(self, weights: FloatArray) -> FloatArray:
        """The score of each row under weights (D,), or (D, S) for S of them at once."""
        if weights.ndim > 1:
            return np.column_stack([self.dot(each) for each in np.ascontiguousarray(weights.T)])
        given = np.asarray(weights, dtype=np.float64)
        scores: FloatArray = kernels.sparse_times(self.starts, self.columns, self.values, given)
        return scores

    __matmul__ = dot

    def sum(self, weight: FloatArray) -> FloatArray:
        """Σ wᵢ xᵢ over the rows."""
        found: FloatArray = kernels.sparse_sum(*self.arrays, weight, self.weights)
        return found

    def with_ones(self) -> SparseRows:
        """The rows with one column more, the last, which is all ones.

        Examples
        --------
        >>> SparseRows.of_pairs([([1], [2.0]), ([], [])], 2).with_ones().dense()
        array([[0., 2., 1.],
               [0., 0., 1.]])
        """
        ends = self.starts[1:]
        columns = np.insert(self.columns, ends, self.weights)
        starts, values = self.starts + np.arange(len(self) + 1), np.insert(self.values, ends, 1.0)
        return SparseRows(starts, columns, values, self.weights + 1)

    def groups(self, keys: Columns) -> tuple[Columns, Columns]:
        """The place where each group of equal rows of one key comes first, and the group of each.

        Examples
        --------
        >>> SparseRows.of_pairs([([1], [2.0]), ([0], [2.0]), ([1], [2.0])], 2).groups(np.zeros(3))
        (array([0, 1]), array([0, 1, 0]))
        """
        known: dict[tuple[Any, bytes, bytes], int] = {}
        first: list[int] = []
        numbers = np.empty(len(self), dtype=np.int64)
        for i, key in enumerate(keys.tolist()):
            own = slice(self.starts[i], self.starts[i + 1])
            there = self.values[own] != 0.0
            row = (key, self.columns[own][there].tobytes(), self.values[own][there].tobytes())
            numbers[i] = known.setdefault(row, len(known))
            if numbers[i] == len(first):
                first.append(i)
        return np.array(first, dtype=np.int64), numbers

    @cached_property
    def touched(self) -> tuple[Columns, Columns]:
        """The columns that any row has, in order, and the place among them of each number."""
        columns, places = np.unique(self.columns, return_inverse=True)
        return _whole(columns), _whole(places)


Rows = FloatArray | SparseRows


def is_sparse(rows: Any) -> bool:
    """Whether rows are given by their non-zeros: `SparseRows`, or a matrix of `scipy.sparse`.

    Examples
    --------
    >>> is_sparse(np.eye(2)), is_sparse(SparseRows([0], [], [], 2))
    (False, True)
    """
    return isinstance(rows, SparseRows) or hasattr(rows, "tocsr")


def as_sparse(rows: Any, weights: int) -> SparseRows:
    """Rows of a matrix of `scipy.sparse`, of pairs (indices, values), of one pair, or of an array.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> len(as_sparse(csr_array(np.eye(3)), 3)), len(as_sparse(([0, 2], [1.0, 1.0]), 3))
    (3, 1)
    """
    if isinstance(rows, SparseRows):
        found = rows
    elif hasattr(rows, "tocsr"):
        found = _of_scipy(rows)
    elif isinstance(rows, tuple) and len(rows) == 2:
        columns, values = _merged(*rows)
        return SparseRows([0, columns.size], columns, values, weights)
    elif isinstance(rows, list) and rows and isinstance(rows[0], tuple):
        return SparseRows.of_pairs(rows, weights)
    else:
        found = _of_array(np.atleast_2d(np.asarray(rows, dtype=np.float64)))
    if found.weights != weights:
        raise ValueError(f"the rows have {found.weights} columns but the prior has {weights}")
    return found


def _of_scipy(matrix: Any) -> SparseRows:
    rows = matrix.reshape(1, -1).tocsr() if matrix.ndim == 1 else matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return SparseRows(rows.indptr, rows.indices, rows.data, rows.shape[1])


def _of_array(array: FloatArray) -> SparseRows:
    if array.ndim != 2:
        raise ValueError(f"rows have shape {array.shape} but must have two dimensions")
    where, columns = np.nonzero(array)
    starts = np.append(0, np.cumsum(np.bincount(where, minlength=len(array))))
    return SparseRows(starts, columns, array[where, columns], array.shape[1])


def _merged(columns: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Columns, FloatArray]:
    """Columns in order, numbers of one column added up in the order in which they came."""
    places, numbers = _whole(columns), _as_read_only(values, np.float64)
    if places.ndim != 1 or places.shape != numbers.shape:
        raise ValueError(f"indices have shape {places.shape} but values {numbers.shape}")
    if kernels.are_rising(places):
        return places, numbers
    order = np.argsort(places, kind="stable")
    return kernels.added_up(places[order], numbers[order])  # type: ignore[no-any-return]


def _whole(given: npt.ArrayLike) -> Columns:
    found = np.asarray(given)
    if found.dtype.kind not in "iu" and found.size:
        raise ValueError(f"columns are of type {found.dtype} but must be whole numbers")
    return _as_read_only(found, np.int64)


def _as_read_only(given: npt.ArrayLike, kind: Any) -> npt.NDArray[Any]:
    """A kernel is compiled for one kind of array, not for those that can be written, too."""
    if np.iscomplexobj(given):
        raise ValueError("rows must contain numbers only: they contain complex numbers")
    return _view(np.ascontiguousarray(given, dtype=kind))


def _view(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.setflags(write=False)
    return view


def _complaint(starts: Columns, columns: Columns, values: FloatArray, weights: int) -> str:
    if columns.ndim != 1 or columns.shape != values.shape:
        return f"columns have shape {columns.shape} but values {values.shape}"
    if starts.ndim != 1 or not starts.size or starts[0] != 0 or starts[-1] != values.size:
        return f"starts must lead from 0 to the {values.size} numbers there are"
    for wrong in values[~(np.abs(values) <= LARGEST_FEATURE)]:
        return (
            f"a value is {wrong} but every feature must be a finite number of magnitude at most "
            f"{LARGEST_FEATURE:g}"
        )
    for wrong in columns[(columns < 0) | (columns >= weights)]:
        return f"a column is {wrong} but there are {weights} weights"
    return "columns must rise within each row, and starts must not fall"
