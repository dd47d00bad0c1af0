"""Columns of a table: as numbers, or as their distinct values and which of them each row has."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fabcost.extras import MissingExtraError, install
from fabcost.features.layout import Places
from fabcost.impressions import FloatArray

_PLAIN_NUMBERS = frozenset({int, float, type(None)})
_NUMERIC_TYPES = ("int", "uint", "float", "double", "halffloat")
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


class Arrow:
    """A column of a pyarrow table, whose nulls are None.

    Examples
    --------
    >>> import pyarrow
    >>> Arrow(pyarrow.chunked_array([["kia", None], ["kia"]])).coded
    Coded(values=['kia', None], codes=array([0, 1, 0]))
    """

    def __init__(self, column: Any) -> None:
        if hasattr(column.type, "index_type"):  # a dictionary, in an order of its own
            whole = _combined(column)
            column = _supported(whole.dictionary).take(whole.indices)
        self._column = _supported(column)

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: int) -> Any:
        return self._column[row].as_py()

    @cached_property
    def numbers(self) -> FloatArray | None:
        """The rows as floats, if the column's type is a number's."""
        if not str(self._column.type).startswith(_NUMERIC_TYPES):
            return None
        return np.asarray(self._column.to_numpy(zero_copy_only=False), dtype=np.float64)

    @cached_property
    def coded(self) -> Coded:
        """The rows by their distinct values."""
        try:
            encoded = _combined(self._column.dictionary_encode(null_encoding="encode"))
        except NotImplementedError:  # of a nested type
            return Values(self._column.to_pylist()).coded
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
        return Coded(encoded.dictionary.to_pylist(), codes)


def _combined(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _supported(column: Any) -> Any:
    """A column of a type that can be encoded; the nulls of a view are lost (pyarrow 26)."""
    kind = str(column.type)
    if kind == "string_view":
        return column.cast("string")
    return column.cast("double") if kind.startswith("decimal") else column


def column_of(name: str, values: Any) -> Column:
    """The column in an array or list, or in what hands out Arrow data.

    Examples
    --------
    >>> column_of("age", np.array([[3.0]]))
    Traceback (most recent call last):
    ValueError: column 'age' has shape (1, 1) but must be a vector
    """
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return Arrow(pyarrow_for(f"column {name!r}").chunked_array(values))
    if isinstance(values, Iterable) and not isinstance(values, np.ndarray | str):
        return Values(list(values))
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has shape {values.shape} but must be a vector")
    if values.dtype.kind in "iuf":
        return Numbers(values)
    # Dates would become plain integers as a list.
    return Values(list(values) if values.dtype.kind in "mM" else values.tolist())


def arrow_table(source: Any) -> Any:
    """What hands out Arrow data as a pyarrow table, without the index of a pandas DataFrame.

    Examples
    --------
    >>> import pandas
    >>> arrow_table(pandas.DataFrame({"age": [3, 5]}, index=[7, 9])).column_names
    ['age']
    """
    kind = type(source).__name__
    pyarrow = pyarrow_for(f"a {kind}")
    try:
        table = pyarrow.table(source)
    except (ValueError, TypeError, OverflowError, pyarrow.ArrowException) as error:
        raise ValueError(f"the {kind} cannot be read as a table: {error}") from error
    index = (table.schema.pandas_metadata or {}).get("index_columns", ())
    return table.drop_columns([name for name in index if name in table.column_names])


def pyarrow_for(what: str) -> Any:
    """The library, or an ImportError that says what needs it.

    Examples
    --------
    >>> pyarrow_for("a DataFrame").__name__
    'pyarrow'
    """
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise MissingExtraError(f"{what} needs pyarrow: {install(['reports'])}") from error


def _coded(rows: Iterable[Any], length: int) -> Coded:
    place: defaultdict[Any, int] = defaultdict(count().__next__)
    codes = np.fromiter(map(place.__getitem__, rows), dtype=np.intp, count=length)
    return Coded(list(place), codes)
