"""Impressions at the edge of the library: rows and labels, checked once and converted once.

Inside, a row is float64 and a label is −1.0 (no click) or +1.0 (click).  A row that stands for more
or less than one impression has two exponents beside its label: it is σ(η)ᵃ σ(−η)ᵇ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels, sparse
from fabcost.sparse import SparseRows, as_sparse, is_sparse

FloatArray = sparse.FloatArray
Rows = sparse.Rows
GivenRows = npt.ArrayLike | SparseRows | sparse.SparseMatrix
LARGEST_FEATURE = sparse.LARGEST_FEATURE
LARGEST_WEIGHT = 1e9  # up to here the moments of a weighed row were compared with 30 digits
_SHOWN, _FLOAT64 = 5, np.dtype(np.float64)


@dataclass(frozen=True)
class Tally:
    """Outcomes of equal impressions: ``clicks`` of so many ``impressions``, for one row or each.

    It goes wherever outcomes go.  Neither need be whole: a reward of 0.3 is 0.3 of one.

    Examples
    --------
    >>> Tally(clicks=3, impressions=40)
    Tally(clicks=3, impressions=40)
    """

    clicks: npt.ArrayLike
    impressions: npt.ArrayLike


class Outcomes(NamedTuple):
    """Labels −1/+1, and clicks and misses of each row, or None if each is one impression.

    Examples
    --------
    >>> Outcomes(np.array([1.0, -1.0])).counts is None
    True
    """

    labels: FloatArray
    counts: FloatArray | None = None

    @property
    def counted(self) -> FloatArray:
        """Clicks and misses of each row, whether or not they are single impressions."""
        single = self.labels[:, None] == (1.0, -1.0)
        return np.asarray(single, dtype=np.float64) if self.counts is None else self.counts

    @property
    def given(self) -> FloatArray | Tally:
        """As callers have them, for rows that were not labelled yet."""
        counts = self.counts
        return self.labels if counts is None else Tally(counts[:, 0], counts.sum(axis=1))


def as_row(x: GivenRows, weights: int) -> FloatArray:
    """One feature row of length ``weights``, or a ValueError that says what is wrong with it.

    Examples
    --------
    >>> as_row([1, 2], 2)
    array([1., 2.])
    """
    row = _as_floats(x, "x")
    if row.shape != (weights,):
        raise ValueError(f"x has shape {row.shape} but the prior has {weights} weights")
    # A square sum costs a tenth of np.isfinite, and is small for every ordinary row.
    if not row.dot(row) <= LARGEST_FEATURE:
        _check_magnitude(row, "x")
    return row


def as_label(y: Any) -> float:
    """−1.0 or +1.0 from 0/1, −1/+1 or a boolean.

    Examples
    --------
    >>> as_label(False), as_label(1)
    (-1.0, 1.0)
    """
    # A comparison with a number of NumPy's takes six times as long as one with Python's.
    given = y.item() if isinstance(y, np.generic) else y
    try:
        if given == 1:
            return 1.0
        if given in (0, -1):
            return -1.0
    except (TypeError, ValueError):  # a comparison that has no single answer
        pass
    raise ValueError(f"y is {y!r} but must be 0 or 1, -1 or +1, or a boolean")


def as_rows(X: GivenRows, weights: int) -> FloatArray:
    """A C-ordered float64 matrix with ``weights`` columns; copied only if it is not one yet.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]], 2).dtype
    dtype('float64')
    """
    rows = _as_floats(X, "X")
    if rows.ndim != 2:
        raise ValueError(f"X has shape {rows.shape} but must have two dimensions, rows x weights")
    if rows.shape[1] != weights:
        raise ValueError(f"X has {rows.shape[1]} columns but the prior has {weights} weights")
    _check_magnitude(rows, "X")
    return rows


def as_labels(y: npt.ArrayLike, rows: int) -> FloatArray:
    """Labels −1.0/+1.0 from an array of 0/1, of −1/+1 or of booleans, one for each row.

    Examples
    --------
    >>> as_labels([0, 1, 1], 3)
    array([-1.,  1.,  1.])
    """
    given = np.asarray(y)
    if given.shape != (rows,):
        raise ValueError(f"y has shape {given.shape} but X has {rows} rows")
    positive = np.asarray(given == 1, dtype=bool)
    zero = np.asarray(given == 0, dtype=bool)
    negative = np.asarray(given == -1, dtype=bool)
    unknown = ~(positive | zero | negative)
    if unknown.any() or (zero.any() and negative.any()):
        values = given[unknown] if unknown.any() else given
        shown = ", ".join(sorted({repr(value) for value in values.tolist()})[:_SHOWN])
        raise ValueError(
            f"y contains {shown} but must be all 0 or 1, all -1 or +1, or all booleans"
        )
    return np.where(positive, 1.0, -1.0)


def as_impressions(
    X: npt.ArrayLike, y: npt.ArrayLike, weights: int
) -> tuple[FloatArray, FloatArray]:
    """Rows and labels of a batch, checked against the number of weights of the prior.

    Examples
    --------
    >>> as_impressions([[1.0, 2.0]], [True], 2)
    (array([[1., 2.]]), array([1.]))
    """
    rows = as_rows(X, weights)
    return rows, as_labels(y, rows.shape[0])


def as_batch(
    X: GivenRows, y: npt.ArrayLike | Tally, weight: npt.ArrayLike | None, weights: int
) -> tuple[Rows, Outcomes]:
    """`as_impressions` where rows may be sparse and have weights.

    Examples
    --------
    >>> as_batch([[1.0, 2.0]], [True], 0.5, 2)[1].counts
    array([[0.5, 0. ]])
    """
    dense = type(X) is np.ndarray or not is_sparse(X)
    rows: Rows = as_rows(X, weights) if dense else as_sparse(X, weights)
    return rows, as_outcomes(y, weight, rows.shape[0])


def as_outcomes(y: npt.ArrayLike | Tally, weight: npt.ArrayLike | None, rows: int) -> Outcomes:
    """Outcomes of a batch with the weight of each, or one weight for all.

    Where all weights are one, it is as if there were none.

    Examples
    --------
    >>> as_outcomes([0, 1], [1.0, 2.5], 2).counts
    array([[0. , 1. ],
           [2.5, 0. ]])
    >>> as_outcomes(Tally([3], [40]), None, 1)
    Outcomes(labels=array([-1.]), counts=array([[ 3., 37.]]))
    """
    each = None if weight is None else as_weights(weight, rows)
    if isinstance(y, Tally):
        counts = _clicks_and_misses(y, rows)
        labels = np.where(counts[:, 0] > counts[:, 1], 1.0, -1.0)
        return Outcomes(labels, counts if each is None else each[:, None] * counts)
    labels = as_labels(y, rows)
    if each is None or (each == 1.0).all():
        return Outcomes(labels)
    return Outcomes(labels, each[:, None] * (labels[:, None] == (1.0, -1.0)))


def _clicks_and_misses(counts: Tally, rows: int) -> FloatArray:
    clicks = as_weights(counts.clicks, rows, "clicks")
    impressions = as_weights(counts.impressions, rows, "impressions")
    for i in np.flatnonzero(clicks > impressions):
        raise ValueError(
            f"row {i} has {clicks[i]} clicks but must have at most one of each of its "
            f"{impressions[i]} impressions"
        )
    return np.column_stack([clicks, impressions - clicks])


def as_weights(values: npt.ArrayLike, rows: int, name: str = "weight") -> FloatArray:
    """Numbers that can be exponents, one for each row or one for all.

    Examples
    --------
    >>> as_weights(2, 3)
    array([2., 2., 2.])
    """
    given = _as_floats(values, name)
    if np.ndim(values) == 0:
        given = np.full(rows, given[0])
    if given.shape != (rows,):
        raise ValueError(f"{name} has shape {given.shape} but X has {rows} rows")
    check_weights(given, name)
    return given


def check_weights(given: FloatArray, name: str) -> None:
    """A ValueError that shows the first number that is no weight.

    Examples
    --------
    >>> check_weights(np.array([2.0, -1.0]), "weight")
    Traceback (most recent call last):
    ValueError: weight contains -1.0 but must be from 0 to 1e+09
    """
    for wrong in given[~((given >= 0.0) & (given <= LARGEST_WEIGHT))]:
        raise ValueError(f"{name} contains {wrong} but must be from 0 to {LARGEST_WEIGHT:g}")


def is_ready(array: npt.NDArray[Any]) -> bool:
    """Whether an array has float64 numbers in C order, as kernels take them.

    Examples
    --------
    >>> is_ready(np.zeros(2)), is_ready(np.arange(2))
    (True, False)
    """
    return array.dtype is _FLOAT64 and array.flags.c_contiguous


def _as_floats(values: Any, name: str) -> FloatArray:
    if type(values) is np.ndarray and is_ready(values):
        return values
    try:
        if np.iscomplexobj(values):
            raise TypeError("it contains complex numbers")
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers only: {error}") from error


def as_keys(items: Iterable[Any] | None, rows: int) -> list[Any]:
    """An item for each row, or None for each if there are none; a ValueError if they do not fit.

    Examples
    --------
    >>> as_keys(np.array([3, 4]), 2), as_keys(None, 1)
    ([3, 4], [None])
    """
    if items is None:
        return [None] * rows
    keys = items.tolist() if isinstance(items, np.ndarray) else list(items)
    if len(keys) != rows:
        raise ValueError(f"there are {len(keys)} items but {rows} rows")
    return keys


def readable(rows: Rows) -> Rows:
    """`read_only` for rows, of which sparse ones are.

    Examples
    --------
    >>> readable(np.eye(2)).flags.writeable
    False
    """
    return rows if isinstance(rows, SparseRows) else read_only(rows)


def read_only(array: FloatArray) -> FloatArray:
    """A view that cannot be written: a kernel is compiled for one kind of array, not for both.

    Examples
    --------
    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.setflags(write=False)
    return view


def _check_magnitude(values: FloatArray, name: str) -> None:
    if kernels.all_within(values.ravel(), LARGEST_FEATURE):
        return
    position = np.argwhere(~(np.abs(values) <= LARGEST_FEATURE))[0]
    raise ValueError(
        f"{name}[{', '.join(map(str, position))}] is {values[tuple(position)]} but every feature "
        f"must be a finite number of magnitude at most {LARGEST_FEATURE:g}"
    )


def as_counts(counts: FloatArray | None) -> FloatArray:
    """Counts as kernels take them, who have one kind of array for all: none are no rows.

    Examples
    --------
    >>> as_counts(None).shape
    (0, 2)
    """
    return kernels.NO_COUNTS if counts is None else counts


def grouped(
    X: Rows, outcomes: Outcomes, slots: npt.NDArray[np.int64] | None = None
) -> tuple[Rows, Outcomes, npt.NDArray[np.int64] | None]:
    """The distinct rows, in the order in which they come first, with their counts and items.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows, outcomes, _ = grouped(X, Outcomes(np.array([1.0, -1.0, -1.0])))
    >>> rows.ravel(), outcomes.counts
    (array([1., 2.]), array([[1., 1.],
           [0., 1.]]))
    """
    keys = np.zeros(len(X), dtype=np.int64) if slots is None else slots
    rows: Rows
    if isinstance(X, SparseRows):
        first, numbers = X.groups(keys)
        sums = [np.bincount(numbers, column) for column in outcomes.counted.T]
        rows, counts = X[first], np.column_stack(sums).astype(np.float64)
    else:
        dense = read_only(np.ascontiguousarray(X))
        given = (keys, outcomes.labels, as_counts(outcomes.counts))
        rows, first, counts = kernels.group_rows(dense, dense.view(np.uint64), *given)
    labels = np.where(counts[:, 0] > counts[:, 1], 1.0, -1.0)
    return rows, Outcomes(labels, counts), None if slots is None else slots[first]
