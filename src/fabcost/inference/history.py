"""The impressions that a refresh can still refine, each with its site."""

from __future__ import annotations

import numpy as np

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.sites import Carried, Sites

_FIRST_CAPACITY = 64


class History:
    """Rows, labels and sites of the last ``window`` impressions, or of all of them.

    What leaves the window is frozen: its site is multiplied into ``base`` (at first the prior)
    and its row is overwritten.  Memory O(window · D).
    """

    def __init__(self, prior: Gaussian, window: int | None) -> None:
        self.window = window
        self.base = Carried.of(prior)
        self.count = 0
        self._oldest = 0
        capacity = _FIRST_CAPACITY if window is None else min(window, _FIRST_CAPACITY)
        self.X = np.empty((capacity, prior.dimension))
        self.y = np.empty(capacity)
        self.sites = Sites(np.empty(capacity), np.empty(capacity))

    def room(self) -> int:
        """How many impressions can be appended side by side before the next call."""
        self._make_room()
        if self.window is not None and self.count == self.window:
            return self.window - self._oldest
        return self.y.size - self.count

    def append(self, X: FloatArray, y: FloatArray) -> tuple[int, int]:
        """Write impressions (at most `room`) and return the slots they took, start and stop."""
        start = self._oldest if self.count == self.window else self.count
        stop = start + y.size
        if self.count == self.window:
            kernels.absorb(*self.base, self.X, *self.sites, start, stop)
            self._oldest = stop % self.window
        else:
            self.count = stop
        self.X[start:stop] = X
        self.y[start:stop] = y
        return start, stop

    def kept(self) -> tuple[FloatArray, FloatArray, Sites]:
        """Rows, labels and sites in their slots: views, not copies."""
        sites = Sites(self.sites.precision[: self.count], self.sites.shift[: self.count])
        return self.X[: self.count], self.y[: self.count], sites

    def _make_room(self) -> None:
        if self.count < self.y.size or self.count == self.window:
            return
        capacity = 2 * self.y.size
        if self.window is not None:
            capacity = min(capacity, self.window)
        self.X = _grown(self.X, capacity)
        self.y = _grown(self.y, capacity)
        self.sites = Sites(*(_grown(each, capacity) for each in self.sites))

    def state(self) -> dict[str, FloatArray]:
        """The arrays that `restored` needs to go on with the same bits."""
        X, y, sites = self.kept()
        return {
            "X": X,
            "y": y,
            "site_precision": sites.precision,
            "site_shift": sites.shift,
            "base_mean": self.base.mean,
            "base_root": self.base.root,
            "oldest": np.array([self._oldest], dtype=np.float64),
        }

    @classmethod
    def restored(
        cls, prior: Gaussian, window: int | None, state: dict[str, FloatArray]
    ) -> History:
        """The history whose `state` this is."""
        history = cls(prior, window)
        history.X = np.array(state["X"], order="C")
        history.y = np.array(state["y"])
        history.sites = Sites(np.array(state["site_precision"]), np.array(state["site_shift"]))
        history.count = history.y.size
        history.base = Carried(np.array(state["base_mean"]), np.array(state["base_root"]))
        history._oldest = int(state["oldest"][0])
        return history


def _grown(array: FloatArray, capacity: int) -> FloatArray:
    larger = np.empty((max(capacity, 1), *array.shape[1:]))
    larger[: array.shape[0]] = array
    return larger
