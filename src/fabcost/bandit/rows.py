"""Rows of candidates: what a policy needs of them, and items with effects of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian, Marginal
from fabcost.impressions import FloatArray, as_rows, read_only
from fabcost.inference.own.directory import Key, OwnLaw
from fabcost.inference.own.effects import OwnEffects

WIDE = 128  # weights from which on the spread of all scores is more work than their draws
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
    centre, spread = kernels.law(read_only(np.ascontiguousarray(rows)), mean, root)
    return centre, kernels.narrow(spread) if len(spread) < len(root) else spread


class OwnRows:
    r"""Rows x of which each has the effect b of an item beside its weights.

    Given θ a score is :math:`x^\top\theta + b = u^\top\theta + \text{offset} + \text{noise}\cdot z`
    with :math:`u = x - \text{tilt}`, and every item has a z of its own.

    Parameters
    ----------
    rows
        Rows that were checked.
    own
        The items' effects.
    items
        Whose each row is.

    Examples
    --------
    >>> rows = OwnRows(np.ones((2, 1)), OwnEffects(1, 4.0), ["ad-1", "ad-2"])
    >>> rows.marginal(Gaussian([1.0], [[9.0]]))
    Marginal(mean=array([1., 1.]), variance=array([13., 13.]))
    >>> rows.dot(np.array([3.0]))
    array([3., 3.])
    """

    __slots__ = ("_found", "_own", "_rows")

    def __init__(self, rows: Rows, own: OwnEffects, items: Sequence[Key | None]) -> None:
        if len(items) != len(rows):
            raise ValueError(f"there are {len(items)} items but {len(rows)} candidates")
        self._rows = rows
        self._own = own
        self._found = own.find(items)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Candidates and weights."""
        return len(self._rows), self._rows.shape[1]

    @property
    def law_of_items(self) -> OwnLaw:
        """What is known of the items' effects."""
        return self._own.law(self._found.keys)

    @property
    def normals(self) -> int:
        """How many normals a draw of all effects needs, given θ."""
        return self._found.many

    @property
    def are_wide(self) -> bool:
        """Whether `drawn_wins` takes less time than wins by the `law`, and can be asked."""
        candidates, weights = self.shape
        return candidates >= weights >= WIDE and hasattr(self._rows, "drawn_wins")

    def __getitem__(self, positions: Positions) -> OwnRows:
        items = [self._found.keys[position] for position in positions.tolist()]
        return OwnRows(self._rows[positions], self._own, items)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[np.generic]:
        raise ValueError(
            "rows of items with effects of their own are no array: use dot, law or marginal"
        )

    def dense(self) -> FloatArray:
        """u, along which the scores depend on the weights."""
        return self._tilted(self.law_of_items)

    def dot(self, weights: FloatArray) -> FloatArray:
        """Scores under weights (D,), or (D, S) for S of them, and the effects expected then."""
        if weights.ndim > 1:
            return np.column_stack([self.dot(each) for each in weights.T.copy()])
        law = self.law_of_items
        expected = law.offset - kernels.times(law.tilt, weights)
        return np.asarray(scored(self._rows, weights) + expected)

    def marginal(self, belief: Gaussian) -> Marginal:
        """Mean and variance of each score."""
        law = self.law_of_items
        centre, variance = belief.marginal(self._tilted(law))
        return Marginal(centre + law.offset, variance + law.noise * law.noise)

    def law(self, mean: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As the function of this name, without the noise of the effects given θ."""
        law, rows = self.law_of_items, cast("Any", self._rows)
        if self.are_folded:
            given = (*rows.folding, mean, root, law.tilt, law.offset)
            centre, spread = kernels.own_folded_law(*given)
        else:
            tilted = self._tilted(law)
            tilted.setflags(write=False)  # as of all rows: a kernel is compiled for one kind
            centre, spread = kernels.law(tilted, mean, root)
            centre += law.offset
        return centre, kernels.narrow(spread) if len(spread) < len(root) else spread

    def drawn(
        self,
        mean: FloatArray,
        root: FloatArray,
        uniforms: FloatArray,
        scale: float,
        own: tuple[Any, ...] = (),
    ) -> FloatArray:
        """Scores under mean + scale · root z and effects drawn given these weights.

        The last of the ``uniforms``, `kernels.SEEDS`, are those of the effects.
        """
        own = own or self.law_of_items
        if is_checked(self._rows):
            return self._rows.drawn(mean, root, uniforms, scale, own)
        rows = np.ascontiguousarray(self._rows)
        scores: FloatArray = kernels.own_scores(rows, None, None, mean, root, uniforms, scale, *own)
        return scores

    @property
    def are_folded(self) -> bool:
        """Whether the rows are folded: then `target_scores` can be asked."""
        return hasattr(self._rows, "folding")

    def target_scores(
        self, rule: tuple[bool, float, float], belief: Gaussian, uniforms: FloatArray
    ) -> FloatArray:
        """Those of `TSUCB` by one target, in one go: see `kernels.own_target_scores`."""
        rows: Any = self._rows
        given = (*rows.folding, belief.mean, belief.root, uniforms, *self.law_of_items)
        scores: FloatArray = kernels.own_target_scores(*rule, *given)
        return scores

    def drawn_wins(
        self,
        mean: FloatArray,
        root: FloatArray,
        normals: FloatArray,
        draws: int,
        noise: FloatArray,
        places: Positions,
        own_normals: FloatArray,
        row: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Scores in the first draw of a row, and wins in all; see `kernels.count_own_wins`."""
        law = self.law_of_items
        own = (law.tilt, law.offset, noise, law.tilted, places, own_normals, row)
        folded: Any = self._rows
        scores, wins = folded.drawn_wins(mean, root, normals, draws, own)
        return scores, wins

    def _tilted(self, law: OwnLaw) -> FloatArray:
        rows = self._rows.dense() if is_checked(self._rows) else np.asarray(self._rows)
        return np.asarray(rows - law.tilt)


def own_rows(
    candidates: npt.ArrayLike | CheckedRows,
    own: OwnEffects,
    items: Sequence[Key | None],
    weights: int,
) -> OwnRows:
    """Candidates with the effects of their items; a ValueError if they do not fit.

    Examples
    --------
    >>> len(own_rows(np.ones((2, 1)), OwnEffects(1, 4.0), ["ad-1", "ad-2"], 1))
    2
    """
    rows: Rows = candidates if is_checked(candidates) else as_rows(candidates, weights)
    return OwnRows(rows, own, items)
