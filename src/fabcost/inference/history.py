"""The impressions that a refresh can still refine, each with its site."""

from __future__ import annotations

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.inference.sites import Sites

_FIRST_CAPACITY = 64
_SPARE_COLUMNS = 1.25


class History:
    """Rows, labels and sites of the last ``window`` impressions, or of all if it is None.

    A ring of slots that grows up to the window.  What is overwritten is frozen: its site stays
    in the belief, only it is no longer refined.  Memory O(window · D).

    Examples
    --------
    >>> past = History(1, window=2)
    >>> for x in (1.0, 2.0, 3.0):
    ...     _ = past.room(), past.append(np.array([x]), 1.0, 1)
    >>> past.X.ravel()
    array([3., 2.])
    """

    def __init__(self, weights: int, window: int | None) -> None:
        self.window = window
        self.weights = weights
        self.count = 0
        self.slot = 0
        capacity = _FIRST_CAPACITY if window is None else min(window, _FIRST_CAPACITY)
        self.X = np.zeros((capacity, weights))
        self.y = np.empty(capacity)
        self.sites = Sites(np.empty(capacity), np.empty(capacity))

    def room(self) -> int:
        """How many impressions fit side by side from `slot` on; at least one."""
        if self.slot == self.y.size:
            if self.slot == self.window:
                self.slot = 0
            else:
                self._grow()
        return self.y.size - self.slot

    def append(self, X: FloatArray, y: FloatArray | float, many: int) -> tuple[int, int]:
        """Write ``many`` impressions, at most `room`; their slots, as start and stop."""
        start = self.slot
        stop = start + many
        self.X[start:stop, : self.weights] = X
        self.y[start:stop] = y
        self.slot = stop
        self.count = max(self.count, stop)
        return start, stop

    def kept(self) -> tuple[FloatArray, FloatArray, Sites]:
        """Rows, labels and sites in their slots: views, but for the rows after `widen`."""
        return self.between(0, self.count)

    @property
    def is_compact(self) -> bool:
        """Whether `X` has no spare columns."""
        return self.weights == self.X.shape[1]

    def between(self, start: int, stop: int) -> tuple[FloatArray, FloatArray, Sites]:
        """Rows (contiguous, without spare columns), labels and sites of some slots."""
        rows = np.ascontiguousarray(self.X[start:stop, : self.weights])
        return rows, self.y[start:stop], Sites(*(each[start:stop] for each in self.sites))

    def widen(self, count: int) -> None:
        """Give every row ``count`` more features, all zero; amortised over spare columns."""
        self.weights += count
        if self.weights <= self.X.shape[1]:
            return
        wider = np.zeros((self.y.size, max(self.weights, int(_SPARE_COLUMNS * self.X.shape[1]))))
        wider[:, : self.X.shape[1]] = self.X
        self.X = wider

    def _grow(self) -> None:
        capacity = 2 * self.y.size
        if self.window is not None:
            capacity = min(capacity, self.window)
        self.X = _grown(self.X, capacity)
        self.y = _grown(self.y, capacity)
        self.sites = Sites(*(_grown(each, capacity) for each in self.sites))

    def state(self) -> dict[str, FloatArray]:
        """The arrays that `restored` needs to go on with the same bits."""
        X, y, sites = self.kept()
        return {"X": X, "y": y, "site_precision": sites.precision, "site_shift": sites.shift}

    @classmethod
    def restored(cls, window: int | None, slot: int, state: dict[str, FloatArray]) -> History:
        """The history whose `state` this is, with the next impression going to ``slot``."""
        history = cls(state["X"].shape[1], window)
        history.X = np.array(state["X"], order="C")
        history.y = np.array(state["y"])
        history.sites = Sites(np.array(state["site_precision"]), np.array(state["site_shift"]))
        history.count = history.y.size
        history.slot = slot
        return history


def _grown(array: FloatArray, capacity: int) -> FloatArray:
    larger = np.zeros((max(capacity, 1), *array.shape[1:]))
    larger[: array.shape[0]] = array
    return larger
