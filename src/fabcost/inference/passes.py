"""Passes over impressions with their sites: that of ADF, and sweeps of EP that may pause."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fabcost import kernels
from fabcost.gaussian import at_a_line
from fabcost.impressions import FloatArray, as_counts, read_only
from fabcost.inference.history import Carried, Pass, Sites
from fabcost.inference.own.directory import Slots
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.sparse.covariance import CovarianceSweep
from fabcost.inference.sparse.memory import AT_ONCE, LARGE, untouched
from fabcost.sparse import SparseRows

_NOTHING_ASIDE = (
    *(np.empty(0), np.empty((0, 0))),
    *(np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)),
)
#: With more sparse rows than these it pays to let all of the root follow.
_FEW = 8


class Swept(NamedTuple):
    """How sweeping went: visits skipped in all sweeps, and Σ log Cᵢ of the last.

    The factors are NaN if the last sweep left one out.
    """

    sweeps: int
    converged: bool
    skipped: int
    log_factors: float


class Sweeping:
    """EP sweeps over ``rows`` until nothing moves, some visits at a time.

    EP contracts linearly, so the move still to come is about change × (change / previous change).
    Between two visits the rows, their sites and the belief must stay as they are.

    Attributes
    ----------
    at : int
        The row to visit next.
    visits : int
        How many there were so far.
    swept : Swept | None
        How it went, once it is done.
    moved : float
        How far the last sweep moved the belief, in sds.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> belief, data = Carried.of(Gaussian.isotropic(1)), (read_only(np.ones((2, 1))), np.ones(2))
    >>> sweeps = Sweeping(2, width=8, tolerance=1e-6, max_sweeps=9)
    >>> sites = Sites.flat(2)
    >>> while sweeps.swept is None:
    ...     sweeps.visit(belief, Pass(*data, sites, sweeps.at, sweeps.at + 1), exact=True)
    >>> sweeps.visits, sweeps.swept.converged
    (6, True)
    """

    def __init__(
        self,
        rows: int,
        width: int,
        *,
        tolerance: float,
        max_sweeps: int,
        items: Slots | None = None,
        capacity: int = 0,
    ) -> None:
        check_stopping(tolerance, max_sweeps)
        self.at = self.visits = 0
        self.swept: Swept | None = None
        self._rows, self._tolerance, self._most = rows, tolerance, max_sweeps
        self._done = self._skipped = self._left_out = 0
        self.moved = math.inf
        self._by_covariance: CovarianceSweep | None = None
        self._shows_at = -1
        self._numbers, many = kernels.NO_ITEMS[0], 0
        if items is not None:
            self._numbers, many = kernels.numbered(items, capacity)
        self._sums = np.array(kernels.NO_SUMS)
        self._moves, self._own_moves = np.zeros(width), np.zeros(many)

    @property
    def outcome(self) -> Swept:
        """How it went; a ValueError if it goes on."""
        if self.swept is None:
            raise ValueError(f"sweeps go on at row {self.at} of {self._rows}")
        return self.swept

    def visit(
        self,
        belief: Carried,
        over: Pass,
        *,
        exact: bool,
        table: FloatArray | None = None,
        lag: Lag | None = None,
    ) -> None:
        """Visit the next rows, of a pass over them; the belief may lag behind.

        If rows are sparse the pass has all of them.
        """
        X, y, sites, start, stop, items, counts = over
        if isinstance(X, SparseRows):
            self._visit_sparse(belief, over, lag, table, exact=exact)
            return
        lag = None if lag is None else lag.where_it_pays(belief, over)
        numbers = self._numbers if table is None else self._numbers[self.at - start :]
        self._left_out += kernels.ep_visits(
            *(*belief, X, y, *sites, start, stop, exact, *_rest(items, table, counts, lag)),
            *(numbers, self._sums, self._moves, self._own_moves, lag),
        )
        self.visits += stop - start
        self.at += stop - start
        if self.at == self._rows:
            log_factors, change = kernels.ep_summary(self._sums, self._moves, self._own_moves)
            self._end_sweep(self._left_out, float(log_factors), float(change))

    def _visit_sparse(
        self, belief: Carried, over: Pass, lag: Lag | None, table: FloatArray | None, *, exact: bool
    ) -> None:
        """With the covariance where that pays, and no digits are lost; else as if it were dense."""
        if self.at == 0 and self._shows_at != self.visits:
            pays = table is None and CovarianceSweep.pays(self._rows, belief.mean.size)
            self._by_covariance = CovarianceSweep(belief, over.sites) if pays else None
        sweep = self._by_covariance
        if sweep is None:
            for some in _written_out(over):
                self.visit(belief, some, exact=exact, table=table, lag=lag)
            return
        sound = sweep.go_on(belief, over, lag, exact=exact)
        self.visits += over.stop - self.at if sound else self._rows - self.at
        self.at = over.stop if sound else 0
        if not sound:
            self._by_covariance, self._shows_at = None, self.visits
        elif sweep.found is not None:
            self._by_covariance = None
            self._end_sweep(*sweep.found)

    def _end_sweep(self, left_out: int, log_factors: float, change: float) -> None:
        self._skipped += left_out
        self._done += 1
        slows = change < self.moved < math.inf
        remaining = change * change / self.moved if slows else change
        if remaining <= self._tolerance or self._done == self._most:
            factors = math.nan if left_out else log_factors
            converged = remaining <= self._tolerance
            self.swept = Swept(self._done, converged, self._skipped, factors)
        else:
            self._sums[:], self._moves[:], self._own_moves[:] = kernels.NO_SUMS, 0.0, 0.0
        self.moved, self.at, self._left_out = change, 0, 0


def limit_of(most_kept: int | None, window: int | None) -> int | None:
    """How many impressions are kept, by the new name or the old.

    Examples
    --------
    >>> limit_of(100, None)
    100
    """
    if window is not None:
        told = "window is now most_kept, with which EP visits all rows before they leave"
        warnings.warn(told, DeprecationWarning, stacklevel=3)
    limit = most_kept if window is None else window
    if limit is not None and limit < 1:
        raise ValueError(f"most_kept is {limit} but must be at least 1, or None for all")
    return limit


def work_of(most: int | None) -> int | None:
    """How much work a refresh may take in one call.

    Examples
    --------
    >>> work_of(0)
    Traceback (most recent call last):
    ValueError: most_work is 0 but must be at least 1, or None for all at once
    """
    if most is not None and most < 1:
        raise ValueError(f"most_work is {most} but must be at least 1, or None for all at once")
    return most


def check_stopping(tolerance: float, max_sweeps: int) -> None:
    """Whether sweeps can end, and one is made; else a ValueError.

    Examples
    --------
    >>> check_stopping(1e-6, 0)
    Traceback (most recent call last):
    ValueError: max_sweeps is 0 but must be at least 1
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance is {tolerance} but must be above zero")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps is {max_sweeps} but must be at least 1")


class Lag(NamedTuple):
    """Steps that not all rows of a belief's root have taken yet; see `fabcost.kernels.lagging`.

    ``turn`` counts the steps, says whether the last row was dense, and after how many steps all
    rows had taken all; ``missing`` counts the rows that a copy still needs.

    Examples
    --------
    >>> Lag.of(Carried(np.zeros(LARGE), np.eye(LARGE))).taken.size
    256
    """

    alongs: FloatArray
    steps: FloatArray
    shrinks: FloatArray
    taken: Slots
    turn: Slots
    mean_aside: FloatArray
    root_aside: FloatArray
    taken_aside: Slots
    missing: Slots

    @classmethod
    def of(cls, belief: Carried) -> Lag | None:
        """None yet, for a belief so large that it pays."""
        weights, width = belief.root.shape
        if weights < LARGE:
            return None
        alongs, taken = at_a_line(kernels.LAG, width), np.zeros(weights, dtype=np.int64)
        numbers, turn = np.zeros((2, kernels.LAG)), np.zeros(3, dtype=np.int64)
        return cls(alongs, numbers[0], numbers[1], taken, turn, *_NOTHING_ASIDE)

    def where_it_pays(self, belief: Carried, over: Pass) -> Lag | None:
        """Itself if most numbers of the rows are zeros; else None, with all steps taken."""
        rows = None if isinstance(over.X, SparseRows) else over.X[over.start : over.stop]
        if rows is not None and np.count_nonzero(rows) * kernels.DENSE <= rows.size:
            return self
        # Calls with nine arrays take as long as a step itself, and mostly there is nothing to do.
        if self.missing[0] > 0:
            kernels.put_rest_aside(*belief, self)
        if self.turn[2] != self.turn[0]:
            kernels.settle(*belief, self, 0, belief.mean.size)
        return None

    def copied(self, belief: Carried) -> tuple[Carried, Lag, Lag]:
        """A copy of a belief, which is not whole before `complete`, its lag, and that of here.

        It is written to what was put aside before, since the system takes long to free much.
        """
        shape, room = belief.root.shape, self.root_aside
        aside = Carried(np.empty(shape[0]), room if room.shape == shape else untouched(*shape))
        taken = np.full(self.taken.size, -1)
        alongs, steps, shrinks = self.alongs.copy(), self.steps.copy(), self.shrinks.copy()
        turn = np.array([*self.turn[:2], -1])
        lag = Lag(alongs, steps, shrinks, taken, turn, *_NOTHING_ASIDE)
        missing = np.array([taken.size])
        source = self._replace(
            mean_aside=aside.mean, root_aside=aside.root, taken_aside=taken, missing=missing
        )
        return aside, lag, source


def _written_out(over: Pass) -> Iterator[Pass]:
    """The sparse rows of a pass as arrays, some at a time."""
    for start in range(over.start, over.stop, AT_ONCE):
        some = slice(start, min(start + AT_ONCE, over.stop))
        rows, sites = np.asarray(over.X[some]), Sites(*(each[some] for each in over.sites))
        items = None if over.items is None else over.items[some]
        counts = None if over.counts is None else over.counts[some]
        yield Pass(read_only(rows), over.y[some], sites, 0, len(rows), items, counts)


def filter_rows(
    belief: Carried, over: Pass, own: OwnEffects | None, lag: Lag | None = None, *, exact: bool
) -> int:
    """Learn the rows of a pass by ADF, each with its site; how many steps were skipped.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> belief = Carried.of(Gaussian.isotropic(1))
    >>> rows = Pass(read_only(np.ones((1, 1))), np.ones(1), Sites.flat(0), 0, 1)
    >>> filter_rows(belief, rows, None, exact=True), belief.mean.round(2)
    (0, array([0.41]))
    """
    X, y, sites, start, stop, items, counts = over
    if start == stop:
        return 0
    if isinstance(X, SparseRows):
        return _filter_sparse(belief, X, over, own, lag, exact=exact)
    if lag is not None:
        lag = lag.where_it_pays(belief, over)
    rest = _rest(items, None if own is None else own.table, counts, lag)
    given = (*belief, X, y, *sites, start, stop, exact, *rest, lag)
    return kernels.adf_pass(*given)  # type: ignore[no-any-return]


def _filter_sparse(
    belief: Carried,
    X: SparseRows,
    over: Pass,
    own: OwnEffects | None,
    lag: Lag | None,
    *,
    exact: bool,
) -> int:
    _, y, sites, start, stop, _, counts = over
    few = lag is not None and stop - start <= _FEW
    if few or own is not None:
        parts = _written_out(over)
        return sum([filter_rows(belief, some, own, lag, exact=exact) for some in parts])
    if lag is not None:
        lag.where_it_pays(belief, over)
    given = (*belief, *X.arrays, y, *sites, start, stop, exact, as_counts(counts))
    return int(kernels.sparse_adf_pass(*given))


def _rest(
    items: Slots | None, table: FloatArray | None, counts: FloatArray | None, lag: Lag | None
) -> tuple[Any, Any, Any]:
    """Slots, their table and counts, as kernels take them."""
    none = items is None or table is None
    if none and counts is None and lag is None:
        return None, None, None
    return (*(kernels.NO_ITEMS if none else (items, table)), as_counts(counts))
