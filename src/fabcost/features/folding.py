"""A context folded into the weights, so that the rows of a catalogue need not be written for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.features.items import Placed, write
from fabcost.features.kinds import Role
from fabcost.features.layout import Block, Layout, Places
from fabcost.impressions import FloatArray, read_only

#: How many patterns are kept, and bytes of them; each has an integer for every column.
PATTERNS = 256
PATTERN_BYTES = 4 * 1024 * 1024
# A factor is 0, 1, a number of the context or a product of two: here by its place among them.
_NEVER, _ALWAYS, _FIRST_NUMBER = range(3)


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
    >>> rows.alike, rows[[1, 1]].alike, rows[[1]].alike
    (False, True, False)
    """

    __slots__ = ("_factors", "_parts", "_source")

    def __init__(self, parts: FloatArray, source: Places, factors: FloatArray) -> None:
        self._parts = read_only(parts) if parts.flags.writeable else parts
        self._source = source
        self._factors = factors

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Items and columns."""
        return len(self._parts), self._factors.size

    @property
    def folding(self) -> tuple[FloatArray, Places, FloatArray]:
        """Parts, sources and factors."""
        return self._parts, self._source, self._factors

    @property
    def own_bytes(self) -> int:
        """Bytes of sources and factors; the parts are those of the items."""
        return self._source.nbytes + self._factors.nbytes

    @property
    def alike(self) -> bool:
        """Whether there are several items and all are the same."""
        parts = self._parts
        # Mostly the last differs already, and the others need not be read.
        if len(parts) < 2 or not (parts[-1] == parts[0]).all():
            return False
        return bool((parts == parts[0]).all())

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
        """As `fabcost.bandit.rows.law`: a draw needs no more normals than there are parts."""
        self._check(mean)
        centre, spread = kernels.folded_law(self._parts, self._source, self._factors, mean, root)
        return centre, spread

    def drawn(
        self,
        mean: FloatArray,
        root: FloatArray,
        uniforms: FloatArray,
        scale: float,
        own: tuple[Any, ...] = (),
    ) -> FloatArray:
        """Scores under the weights mean + scale · root z, in one go.

        z are the normal quantiles of ``uniforms``, which they replace.  With ``own``, the last
        arguments of `fabcost.kernels.own_scores`, each has the effect of an item besides.
        """
        self._check(mean)
        given = (self._parts, self._source, self._factors, mean, root, uniforms, scale)
        scores: FloatArray
        scores = kernels.own_scores(*given, *own) if own else kernels.folded_scores(*given)
        return scores

    def drawn_wins(
        self,
        mean: FloatArray,
        root: FloatArray,
        normals: FloatArray,
        draws: int,
        own: tuple[Any, ...],
    ) -> tuple[FloatArray, FloatArray]:
        """Scores in one of ``draws`` and wins in all, by `fabcost.kernels.count_own_wins`."""
        self._check(mean)
        given = (self._parts, self._source, self._factors, mean, root, normals, draws)
        scores, wins = kernels.count_own_wins(*given, *own)
        return scores, wins

    def row(self, index: int) -> FloatArray:
        """One row, written out."""
        return np.asarray(self._parts[index].take(self._source) * self._factors)

    def numbers(self, index: int) -> tuple[Places, FloatArray]:
        """Columns of a row's numbers that are not zero, and these."""
        row = self.row(index)
        columns = row.nonzero()[0]
        return columns, row[columns]

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


class _Between(NamedTuple):
    """A cross of two features: its columns by the slots of the first and of the second."""

    first: Block
    second: Block
    where: Places


class Folding:
    """What of each column belongs to the item and what to the context, for one width of a layout.

    A column is a product of a *part* of the item and a factor of the context.  Part 0 is 1; the
    others are the item's features and their crosses with each other, in the order of their
    columns, so that growth adds parts only at the end.

    Attributes
    ----------
    width
        How many columns the layout had: once it has more, another folding is needed.
    source
        For each column the part that it is a multiple of.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean, Numeric
    >>> layout = Layout(bias=True)
    >>> mobile, age = layout.add(Boolean("mobile", "context")), layout.add(Numeric("age"))
    >>> cross = layout.cross(mobile, age)
    >>> folding = Folding(layout)
    >>> folding.source, folding.factors((0,), [0.5])
    (array([0, 0, 1, 1]), array([1. , 0.5, 1. , 0.5]))
    >>> parts = folding.parts({"age": Placed(np.array([0, 0]), np.array([3.0, 4.0]))}, 2)
    >>> folding.rows(parts, (0,), [0.5]).dense()
    array([[1. , 0.5, 3. , 1.5],
           [1. , 0.5, 4. , 2. ]])
    """

    def __init__(self, layout: Layout) -> None:
        self.width = len(layout.columns)
        self._layout = layout
        mixed = _crosses(layout, "context", "item")
        self.source = _sources(layout, mixed)
        self._many = 1 + int(self.source.max(initial=0))
        place = {block: k for k, block in enumerate(layout.by_role["context"])}
        self._touched = [(k, block.where) for block, k in place.items()]
        self._touched += [(place[first], where) for first, _, where in mixed]
        self._pairs = [
            (place[first], place[second], where)
            for first, second, where in _crosses(layout, "context", "context")
        ]
        self._plain = self._pattern_without_context()
        self._patterns: dict[tuple[int, ...], Places] = {}

    def parts(self, placed: Mapping[str, Placed], count: int) -> FloatArray:
        """The parts of ``count`` items, a row for each."""
        parts = np.zeros((count, self._many))
        write(parts, self._layout, placed, self.source, ones=True)
        return parts

    def rows(
        self, parts: FloatArray, slots: tuple[int, ...], numbers: Sequence[float]
    ) -> FoldedRows:
        """The rows of items in a context that has these slots and numbers, one for each feature.

        The parts may be from before the layout grew.
        """
        source, factors = self.source, self.factors(slots, numbers)
        if parts.shape[1] < self._many:
            known = source < parts.shape[1]
            source, factors = source * known, factors * known
        return FoldedRows(parts, source, factors)

    def factors(self, slots: tuple[int, ...], numbers: Sequence[float]) -> FloatArray:
        """What the context multiplies each column's part by."""
        pattern = self._patterns.get(slots)
        if pattern is None:
            pattern = self._keep(slots)
        products = [numbers[i] * numbers[j] for i, j, _ in self._pairs]
        return np.array([0.0, 1.0, *numbers, *products]).take(pattern)

    def _keep(self, slots: tuple[int, ...]) -> Places:
        most = min(PATTERNS, PATTERN_BYTES // (self.width * self._plain.itemsize))
        while self._patterns and len(self._patterns) >= most:
            del self._patterns[next(iter(self._patterns))]
        pattern = self._patterns[slots] = self._pattern(slots)
        return pattern

    def _pattern(self, slots: tuple[int, ...]) -> Places:
        """Which factor each column has in a context with these slots."""
        pattern = self._plain.copy()
        for k, where in self._touched:
            if slots[k] >= 0:
                pattern[where[slots[k]]] = _FIRST_NUMBER + k
        for n, (i, j, where) in enumerate(self._pairs):
            if slots[i] >= 0 and slots[j] >= 0:
                pattern[where[slots[i], slots[j]]] = _FIRST_NUMBER + len(slots) + n
        return pattern

    def _pattern_without_context(self) -> Places:
        pattern = np.full(self.width, _NEVER, dtype=np.intp)
        for where in _of_items(self._layout):
            pattern[where] = _ALWAYS
        if self._layout.bias:
            pattern[0] = _ALWAYS
        return pattern


def _sources(layout: Layout, mixed: Sequence[_Between]) -> Places:
    of_item = np.zeros(len(layout.columns), dtype=bool)
    for where in _of_items(layout):
        of_item[where] = True
    source = np.where(of_item, np.cumsum(of_item), 0)
    for _, item, where in mixed:
        source[where] = source[item.where]
    return np.asarray(source, dtype=np.intp)


def _of_items(layout: Layout) -> list[Places]:
    """The columns that do not depend on the context, but for the bias."""
    crosses = _crosses(layout, "item", "item")
    return [block.where for block in layout.by_role["item"]] + [each.where for each in crosses]


def _crosses(layout: Layout, first: Role, second: Role) -> list[_Between]:
    """The crosses of features of these roles, whichever was named first."""
    found = []
    for cross in layout.crosses:
        a, b = cross.first, cross.second
        if (a.feature.role, b.feature.role) == (first, second):
            found.append(_Between(a, b, cross.where))
        elif (b.feature.role, a.feature.role) == (first, second):
            found.append(_Between(b, a, cross.where.T))
    return found
