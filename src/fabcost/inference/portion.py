"""What a learner is given: impressions in parts, limits and new weights."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Rows
from fabcost.inference.own.directory import Key


class Portion(NamedTuple):
    """Rows, labels, keys of items, clicks and misses, and times; None where there are none.

    Examples
    --------
    >>> batch = Portion(np.eye(2), np.ones(2), counts=np.array([[0.0, 0.0], [1.0, 2.0]]))
    >>> batch.told().rows, batch.part(slice(0, 1)).size
    (array([[0., 1.]]), 1)
    """

    rows: Rows
    labels: FloatArray
    keys: list[Key | None] | None = None
    counts: FloatArray | None = None
    at: npt.NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """How many rows."""
        return self.labels.size

    def told(self) -> Portion:
        """Without rows that stand for no impression."""
        if self.counts is None:
            return self
        told = np.flatnonzero(self.counts.any(axis=1))
        if told.size == self.size:
            return self
        keys = None if self.keys is None else [self.keys[row] for row in told]
        at = self.at if self.at is None or self.at.ndim == 0 else self.at[told]
        return Portion(self.rows[told], self.labels[told], keys, self.counts[told], at)

    def between(self, start: int, stop: int) -> Portion:
        """Some of the rows, with their times."""
        at = self.at if self.at is None or self.at.ndim == 0 else self.at[start:stop]
        return self.part(slice(start, stop))._replace(at=at)

    def copied(self) -> Portion:
        """The same in memory of its own."""
        counts = None if self.counts is None else self.counts.copy()
        at = None if self.at is None else self.at.copy()
        return Portion(self.rows.copy(), self.labels.copy(), self.keys, counts, at)

    def part(self, span: Any) -> Portion:
        """Some of the rows, without their times; or all in another order, if they have no keys."""
        keys = None if self.keys is None else self.keys[span]
        counts = None if self.counts is None else self.counts[span]
        return Portion(self.rows[span], self.labels[span], keys, counts)


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
