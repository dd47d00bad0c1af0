"""Columns of a table: as numbers, or as their distinct values and which of them each row has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fabcost.features.layout import Places
from fabcost.impressions import FloatArray

_PLAIN_NUMBERS = frozenset({int, float, type(None)})
_STRINGS = frozenset({str, type(None)})


class Coded(NamedTuple):
    """Distinct values in the order of their first appearance, and each row's place among them.

    Examples
    --------
    >>> values, codes = Coded(["kia", "ford"], np.array([0, 1, 0]))
    >>> [values[code] for code in codes]
    ['kia', 'ford', 'kia']
    """

    values: list[Any]
    codes: Places


class Column(Protocol):
    """What encoding needs of a column; a missing value is None or NaN."""

    @property
    def numbers(self) -> FloatArray | None:
        """The rows as floats, NaN where missing, if every one is a number or missing."""

    @property
    def coded(self) -> Coded:
        """The rows by their distinct values."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> Any: ...


class Values:
    """A column of Python values.

    Examples
    --------
    >>> Values(["kia", None, "kia"]).coded
    Coded(values=['kia', None], codes=array([0, 1, 0]))
    >>> Values([3, None]).numbers
    array([ 3., nan])
    """

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: int) -> Any:
        return self._values[row]

    @cached_property
    def _types(self) -> set[type]:
        return set(map(type, self._values))

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The rows as floats, if all are numbers or missing."""
        if self._values and type(self._values[0]) not in _PLAIN_NUMBERS:
            return None
        if not self._types <= _PLAIN_NUMBERS or self._types <= {type(None)}:
            return None
        try:
            return np.array(self._values, dtype=np.float64)
        except OverflowError:  # an integer beyond all floats, which `Numeric` refuses by itself
            return None

    @cached_property
    def coded(self) -> Coded:
        """The rows by their distinct values; 1, 1.0 and True are three."""
        try:
            found = _coded(self._values, len(self))
        except TypeError:  # unhashable values: no feature takes them, and the first is refused
            return Coded(self._values, np.arange(len(self)))
        if set(map(type, found.values)) <= _STRINGS or len(self._types - {type(None)}) <= 1:
            return found
        typed = zip(map(type, self._values), self._values, strict=True)
        pairs, codes = _coded(typed, len(self))
        return Coded([value for _, value in pairs], codes)


class Numbers:
    """A column in an array of integers or floats.

    Examples
    --------
    >>> Numbers(np.array([7, 5, 7])).coded
    Coded(values=[7, 5], codes=array([0, 1, 0]))
    """

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array

    def __len__(self) -> int:
        return int(self._array.size)

    def __getitem__(self, row: int) -> Any:
        return self._array[row].item()

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The rows as floats."""
        return self._array.astype(np.float64, copy=False)

    @cached_property
    def coded(self) -> Coded:
        """The rows by their distinct values; all NaNs are one."""
        values, first, codes = np.unique(self._array, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        return Coded(values[order].tolist(), place[codes])


def _coded(rows: Iterable[Any], length: int) -> Coded:
    place: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place.__getitem__, rows), dtype=np.intp, count=length)
    return Coded(list(place), codes)
