"""The impressions that a refresh can still refine, each with its site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import LANE, Gaussian, at_a_line
from fabcost.impressions import FloatArray, Rows, read_only, readable
from fabcost.inference.own.directory import NOBODY, NOT_OWNED, Owned, Slots
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.sparse.memory import AT_ONCE, KeptRows, SparseStore, absorb_rows
from fabcost.sparse import SparseRows

#: Clicks and misses of each row, or None where all are single impressions.
Paired = FloatArray | None

#: Names of a saved history's arrays if its rows are sparse: starts, columns and values.
SPARSE = ("row_starts", "row_columns", "row_values")
_FIRST_CAPACITY = 64


class Sites(NamedTuple):
    """τᵢ and νᵢ of the sites exp(νᵢ xᵢᵀθ − τᵢ (xᵢᵀθ)²/2), each along its own row."""

    precision: FloatArray
    shift: FloatArray

    @classmethod
    def flat(cls, count: int) -> Sites:
        """Sites that say nothing yet."""
        return cls(np.zeros(count), np.zeros(count))


class Carried(NamedTuple):
    """A belief in the form that the kernels change in place."""

    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, belief: Gaussian) -> Carried:
        """A copy of ``belief`` whose root is padded to whole vector registers."""
        weights = belief.dimension
        root = at_a_line(weights, -(-weights // LANE) * LANE)
        root[:, :weights] = belief.root
        return cls(belief.mean.copy(), root)

    def gaussian(self, *, keep: bool = False) -> Gaussian:
        """The belief as a value; if it is the last one, with the arrays themselves."""
        return Gaussian.from_kernel(self.mean, self.root[:, : self.mean.size], keep=keep)


class Pass(NamedTuple):
    """What an ADF pass goes over: some of these rows, with their sites, items and counts."""

    X: Rows
    y: FloatArray
    sites: Sites
    start: int
    stop: int
    items: Slots | None = None
    counts: FloatArray | None = None


class History:
    """Rows, labels and sites of the last ``window`` impressions, or of all if it is None.

    A ring of slots that grows up to the window.  What is overwritten is frozen: its site stays
    in the belief, only it is no longer refined.  Memory O(window · D); where rows are sparse, or
    ``compact`` and mostly zeros, O(window + non-zeros).  Where items have effects
    of their own, `items` has the slot of each impression's item among these.  From the first row
    on that stands for other than one impression, or has faded, `counts` has clicks and misses of
    each.

    Examples
    --------
    >>> past = History(1, window=2)
    >>> for x in (1.0, 2.0, 3.0):
    ...     _ = past.room(), past.append(np.array([x]), 1.0, 1)
    >>> past.kept()[0].ravel()
    array([3., 2.])
    """

    def __init__(
        self, weights: int, window: int | None, *, owned: bool = False, compact: bool = False
    ) -> None:
        self.window = window
        self.count = 0
        self.slot = 0
        capacity = _FIRST_CAPACITY if window is None else min(window, _FIRST_CAPACITY)
        self.rows = KeptRows(np.zeros((capacity, weights)), compact=compact)
        self.y = np.empty(capacity)
        self.sites = Sites(np.empty(capacity), np.empty(capacity))
        self.items: Slots | None = np.empty(capacity, dtype=np.int64) if owned else None
        self.counts: Paired = None

    @property
    def apart(self) -> bool:
        """Whether rows are handed out by their non-zeros."""
        return self.rows.sparse is not None and not self.rows.written_out

    def room(self) -> int:
        """How many impressions fit side by side from `slot` on; at least one."""
        if self.slot == self.y.size:
            if self.slot == self.window:
                self.slot = 0
            else:
                self._grow()
        return self.y.size - self.slot

    def append(
        self,
        X: Rows,
        y: FloatArray | float,
        many: int,
        items: Slots | int = NOBODY,
        counts: Paired = None,
    ) -> tuple[int, int]:
        """Write ``many`` impressions, at most `room`; their slots, as start and stop."""
        start = self.slot
        stop = start + many
        # A number at its place takes a quarter of the time that it takes as a slice.
        where = start if type(y) is float else slice(start, stop)
        rows = self.rows
        if rows.sparse is None and type(X) is not SparseRows:
            rows.X[where, : rows.weights] = X
        else:  # effects of items make every row a dense one
            rows.write(start, X, self.count, written_out=self.items is not None)
        self.y[where] = y
        if self.items is not None:
            self.items[where] = items
        if counts is not None and self.counts is None:
            self.counts = _single(self.y)
        if self.counts is not None:
            self.counts[start:stop] = _single(self.y[start:stop]) if counts is None else counts
        self.slot = stop
        if stop > self.count:  # noqa: PLR1730  (max takes several times as long)
            self.count = stop
        return start, stop

    def kept(self) -> tuple[Rows, FloatArray, Sites]:
        """Rows, labels and sites in their slots: views, but for the rows after `widen`."""
        return self.between(0, self.count)

    def over(self, start: int, stop: int, given: Rows | None = None) -> Pass:
        """A pass over some slots, whose rows may be at hand as they were ``given``."""
        rows = self.rows
        if rows.sparse is None and rows.weights == rows.X.shape[1]:
            return Pass(rows.readable, self.y, self.sites, start, stop, self.items, self.counts)
        X, y, sites = self.between(start, stop, given)
        rest = self.items_between(start, stop), self.counts_between(start, stop)
        return Pass(readable(X), y, sites, 0, stop - start, *rest)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Of all slots; several where rows are written out."""
        many = AT_ONCE if self.rows.written_out else max(self.count, 1)
        for start in range(0, self.count, many):
            yield start, min(start + many, self.count)

    def between(
        self, start: int, stop: int, given: Rows | None = None
    ) -> tuple[Rows, FloatArray, Sites]:
        """Rows (contiguous, without spare columns), labels and sites of some slots."""
        if given is None:
            rows = self.rows.between(start, stop)
        else:
            rows = given if isinstance(given, SparseRows) else given.reshape(stop - start, -1)
        return rows, self.y[start:stop], Sites(*(each[start:stop] for each in self.sites))

    def items_between(self, start: int, stop: int) -> Slots | None:
        """The slots of these impressions' items; None if items have no effects of their own."""
        return None if self.items is None else self.items[start:stop]

    def counts_between(self, start: int, stop: int) -> Paired:
        """Clicks and misses of these rows; None if all that were kept are single impressions."""
        return None if self.counts is None else self.counts[start:stop]

    def written(self, own: OwnEffects | None) -> Owned | tuple[()]:
        """The effects that a pass over all that is kept changes."""
        items = self.items_between(0, self.count)
        return NOT_OWNED if own is None or items is None else own.written(items)

    def rebuilt(
        self,
        prior: Gaussian,
        own: OwnEffects | None,
        begin: Callable[[OwnEffects], None] = OwnEffects.clear,
    ) -> Carried | None:
        """The belief that its sites make of a prior, and the effects; None if they make none."""
        belief, rows = Carried.of(prior), None if own is None else own.rows.copy()
        if own is not None:
            begin(own)
        owned, left_out = self.written(own), 0
        for start, stop in self.spans():
            X, _, sites = self.between(start, stop)
            if owned and not isinstance(X, SparseRows):
                given = (read_only(X), *sites, 0, stop - start)
                some = (owned.slots[start:stop], owned.table)
                left_out += kernels.absorb(*belief, *given, *some)
            else:
                left_out += absorb_rows(belief, X, sites)
        if not left_out:
            return belief
        # MacKay's sites may have negative precisions, which not every prior can bear.
        if own is not None:
            own.rows[:] = rows
        return None

    def drop(self, items: Slots) -> None:
        """Take out the impressions of some items; the others close up, the oldest first."""
        if self.items is None:
            return
        self._close_up(~np.isin(self.items[: self.count], items))

    def fade(self, kept: float, least: float) -> None:
        """Let a share of every impression remain, and drop those of which less than ``least`` does.

        Its site is then that of so much of it.
        """
        if self.count == 0:
            return
        if self.counts is None:
            self.counts = _single(self.y)
        for array in (self.counts, *self.sites):
            array[: self.count] *= kept
        self._close_up(self.counts[: self.count].sum(axis=1) >= least)

    def _close_up(self, stays: npt.NDArray[np.bool_]) -> None:
        if stays.all():
            return
        wrapped = self.slot if self.count == self.window else 0
        order = np.roll(np.arange(self.count), -wrapped)
        order = order[stays[order]]
        self.rows.reorder(order)
        for array in (self.y, *self.sites, self.items, self.counts):
            if array is not None:
                array[: order.size] = array[order]
        self.count = self.slot = order.size

    def widen(self, count: int) -> None:
        """Give every row ``count`` more features, all zero; amortised over spare columns."""
        self.rows.widen(count, self.count)

    def _grow(self) -> None:
        capacity = self._larger_capacity()
        self.rows.grow(capacity, self.count)
        self.y = _grown(self.y, capacity)
        self.sites = Sites(*(_grown(each, capacity) for each in self.sites))
        if self.items is not None:
            self.items = _grown(self.items, capacity)
        if self.counts is not None:
            self.counts = _grown(self.counts, capacity)

    def _larger_capacity(self) -> int:
        return max(1, min(2 * self.y.size, self.window or 2 * self.y.size))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that `restored` needs to go on with the same bits."""
        X = self.rows.kept(self.count)
        state: dict[str, npt.NDArray[Any]] = {
            **(dict(zip(SPARSE, X.arrays, strict=True)) if isinstance(X, SparseRows) else {"X": X}),
            "y": self.y[: self.count],
            "site_precision": self.sites.precision[: self.count],
            "site_shift": self.sites.shift[: self.count],
        }
        if self.items is not None:
            state["items"] = self.items[: self.count]
        if self.counts is not None:
            state["counts"] = self.counts[: self.count]
        return state

    @classmethod
    def restored(
        cls,
        weights: int,
        window: int | None,
        slot: int,
        state: Mapping[str, npt.NDArray[Any]],
        *,
        written_out: bool = False,
    ) -> History:
        """The history whose `state` this is, with the next impression going to ``slot``."""
        history = cls(weights, window, compact=True)
        history.items = np.array(state["items"]) if "items" in state else None
        history.counts = np.array(state["counts"], order="C") if "counts" in state else None
        history.y = np.array(state["y"])
        if "X" in state:
            history.rows = KeptRows(np.array(state["X"], order="C"), compact=True)
            history.rows.thin_out(history.y.size)
        else:
            history.rows = KeptRows(np.zeros((0, weights)), compact=True)
            history.rows.sparse = SparseStore(history.y.size)
            starts, columns, values = (state[name] for name in SPARSE)
            rows = SparseRows(starts, columns, values, weights)
            history.rows.write(0, rows, 0, written_out=written_out or history.items is not None)
        history.sites = Sites(np.array(state["site_precision"]), np.array(state["site_shift"]))
        history.count = history.y.size
        history.slot = slot
        return history


def _single(labels: FloatArray) -> FloatArray:
    """Clicks and misses of single impressions."""
    return np.asarray(labels[:, None] == (1.0, -1.0), dtype=np.float64)


def _grown(array: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.zeros((max(capacity, 1), *array.shape[1:]), dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


def joined(belief: Gaussian, other: Gaussian) -> Gaussian:
    """Both side by side, independent of each other.

    Examples
    --------
    >>> joined(Gaussian([1.0], [[4.0]]), Gaussian.isotropic(1))
    Gaussian(mean=array([1., 0.]), sd=array([2., 1.]))
    """
    old, weights = belief.dimension, belief.dimension + other.dimension
    root = np.zeros((weights, weights))
    root[:old, :old] = belief.root
    root[old:, old:] = other.root
    return Gaussian.from_kernel(np.concatenate([belief.mean, other.mean]), root)


def independent(variance: float | Gaussian, count: int) -> Gaussian:
    """Weights of mean zero and this variance, at least one; or those that are given.

    Examples
    --------
    >>> independent(4.0, 2).sd
    array([2., 2.])
    """
    if count < 0:
        raise ValueError(f"count is {count} but must be at least 0")
    if isinstance(variance, Gaussian):
        return variance
    return Gaussian.isotropic(max(count, 1), variance=variance)
